"""Branches on sizes become versions of a program, and a chooser between them."""

from __future__ import annotations

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
    """The user's own branches on sizes."""
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
