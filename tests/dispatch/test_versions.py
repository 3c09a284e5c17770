"""Branches on sizes become versions of a program with a branch between them. The branch is native
if all versions are."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import sympy
import torch
from torch import Tensor
from torch.export import Dim
from torch.utils._sympy.value_ranges import ValueRanges

import ingot
from ingot.passes import versions as versions_module
from ingot.passes.facts import Known
from ingot.passes.versions import leaves, versions

S = sympy.Symbol("s", integer=True, positive=True)


def test_what_follows_is_decided() -> None:
    known = Known({S: ValueRanges(2, 100)})
    assert known.decide(S <= 100) is True
    assert known.decide(S > 100) is False
    assert known.decide(S <= 50) is None
    above = known.learned(sympy.Gt(S, 50))
    assert above.decide(S <= 50) is False
    assert above.decide(sympy.And(S >= 51, S <= 80)) is None
    assert above.open_part(sympy.And(S >= 51, S <= 80)) == (S <= 80)
    even = sympy.Eq(sympy.Mod(S, 2), 0)
    assert known.learned(even).decide(even) is True
    assert known.learned(sympy.Not(even)).decide(even) is False


def nested(x: Tensor) -> Tensor:
    """Branches on sizes written by the user."""
    n = x.shape[0]
    y = torch.cond(
        n <= 8,
        lambda x: x.sin(),
        lambda x: torch.cond(n <= 16, lambda x: x.tanh(), lambda x: x.relu(), (x,)),
        (x * 2,),
    )
    return torch.cond(n <= 8, lambda y: y + 1, lambda y: y - 1, (y,))


FREE = ({0: Dim("n", min=2, max=1000)},)


def test_a_version_for_each_way() -> None:
    program = ingot.export(nested, (torch.randn(12, 3),), dynamic_shapes=FREE, level="core")
    assert len(list(leaves(versions(program)))) == 3
    exe = ingot.compile(nested, (torch.randn(12, 3),), dynamic_shapes=FREE)
    assert [part.kernels for part in exe.compiled.versions] == [1, 1, 1]
    for n in (4, 8, 9, 16, 17, 100):
        x = torch.randn(n, 3)
        y = x * 2
        y = y.sin() + 1 if n <= 8 else y.tanh() - 1 if n <= 16 else y.relu() - 1
        torch.testing.assert_close(exe(x), y)


def test_versions_are_few(monkeypatch) -> None:
    monkeypatch.setattr(versions_module, "MOST_VERSIONS", 2)
    program = ingot.export(nested, (torch.randn(12, 3),), dynamic_shapes=FREE, level="core")
    found = list(leaves(versions(program)))
    assert len(found) == 2
    cond = torch.ops.higher_order.cond
    assert sum(node.target is cond for each in found for node in each.graph.nodes) == 1
    exe = ingot.compile(nested, (torch.randn(12, 3),), dynamic_shapes=FREE)
    for n in (4, 12, 100):
        x = torch.randn(n, 3)
        y = x * 2
        y = y.sin() + 1 if n <= 8 else y.tanh() - 1 if n <= 16 else y.relu() - 1
        torch.testing.assert_close(exe(x), y)


def test_inputs_are_written_in_each_version() -> None:
    def writing(x: Tensor) -> Tensor:
        y = torch.cond(x.shape[0] <= 8, lambda x: x + 1, lambda x: x - 1, (x,))
        x.copy_(y)
        return y * 2

    compiled = torch.compile(writing, backend="ingot", dynamic=True)
    for n in (4, 12):
        x = torch.zeros(n, 3)
        step = 1.0 if n <= 8 else -1.0
        assert compiled(x).eq(2 * step).all()
        assert x.eq(step).all()


def two_ways(x: Tensor) -> Tensor:
    return torch.cond(x.shape[0] <= 8, lambda x: x.sin(), lambda x: x.cos(), (x,))


def either(x: Tensor) -> Tensor:
    return x.sin() if x.shape[0] <= 8 else x.cos()


def is_native(exe: ingot.Executable) -> bool:
    return (
        not re.search(r"if \(*size_", exe.compiled.source) and "failed(error" in exe.compiled.source
    )


def test_an_input_is_written_where_it_lies() -> None:
    def adding(x: Tensor, total: Tensor) -> Tensor:
        total.add_(two_ways(x))
        return x + 1

    n = Dim("n", min=2, max=1000)
    exe = ingot.compile(
        adding, (torch.randn(5, 3), torch.zeros(5, 3)), dynamic_shapes=({0: n}, {0: n})
    )
    assert is_native(exe)
    assert "copy_" not in exe.compiled.source, "no way round by another tensor"
    for size in (4, 12):
        x, total = torch.randn(size, 3), torch.randn(size, 3)
        want = total + either(x)
        torch.testing.assert_close(exe(x, total), x + 1)
        torch.testing.assert_close(total, want)


class Layers(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(16, 24)
        self.second = torch.nn.Linear(24, 16)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        y = self.second(two_ways(self.first(x)))
        return y, y.sum(1).view(1, -1), x

    def plain(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        y = self.second(either(self.first(x)))
        return y, y.sum(1).view(1, -1), x


def test_weights_views_and_inputs_come_out_of_each_version() -> None:
    model = Layers()
    with torch.no_grad():
        exe = ingot.compile(model, (torch.randn(5, 16),), dynamic_shapes=FREE)
        assert is_native(exe)
        assert len(exe.compiled.prepared) == 2, "each weight is packed once for all"
        for _ in range(2):
            for n in (4, 8, 9, 100):
                x = torch.randn(n, 16)
                torch.testing.assert_close(exe(x), model.plain(x), rtol=1e-4, atol=1e-5)
            model.first.weight.mul_(0.5)


def test_training_goes_through_each_version() -> None:
    model = Layers()
    compiled = torch.compile(model, backend="ingot", dynamic=True, fullgraph=True)
    for n in (4, 12):
        x = torch.randn(n, 16)
        found = []
        for call in (compiled, model.plain):
            model.zero_grad()
            call(x)[0].square().sum().backward()
            found.append([p.grad.clone() for p in model.parameters() if p.grad is not None])
        assert len(found[0]) == 4
        torch.testing.assert_close(found[0], found[1], rtol=1e-4, atol=1e-4)


def test_the_host_asks_where_a_version_needs_it() -> None:
    def sorting(x: Tensor) -> Tensor:
        return torch.cond(
            x.shape[0] <= 8, lambda x: x.sin(), lambda x: x.sort(0).values + 1, (x * 2,)
        )

    exe = ingot.compile(sorting, (torch.randn(5, 3),), dynamic_shapes=FREE)
    assert not is_native(exe)
    for n in (4, 8, 9, 30):
        x = torch.randn(n, 3)
        want = (x * 2).sin() if n <= 8 else (x * 2).sort(0).values + 1
        torch.testing.assert_close(exe(x), want)


def test_versions_in_several_threads() -> None:
    exe = ingot.compile(two_ways, (torch.randn(5, 3),), dynamic_shapes=FREE)
    assert is_native(exe)
    inputs = [torch.randn(n, 3) for n in range(2, 18)] * 20
    with ThreadPoolExecutor(4) as pool:
        for x, y in zip(inputs, pool.map(exe, inputs)):
            torch.testing.assert_close(y, either(x))
