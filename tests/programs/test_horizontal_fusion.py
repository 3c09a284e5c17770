"""Horizontal fusion of matmuls of the same activations: compared with f64, and bitwise with each
matmul alone, for every number of threads. Also which matmuls are fused and which must not be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch._higher_order_ops.while_loop import while_loop

import ingot
from ingot.runtime.executable import Executable
from ingot.select.reorder import NEAR
from tests.plans import group_sizes, in_step, launches_of
from tests.programs.check import by_threads

Use = Callable[..., Any]


class Shared(nn.Module):
    """Matmuls of one input and a function of their results."""

    def __init__(self, inner: int, columns: Sequence[int], use: Use, bias: bool = True):
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.ModuleList(nn.Linear(inner, n, bias) for n in columns)
        self.use = use

    def forward(self, x: Tensor) -> Any:
        return self.use(x, *(layer(x) for layer in self.layers))


def groups(compiled: Executable) -> list[int]:
    """The number of matmuls in each fused launch."""
    return group_sizes(compiled.compiled)


def steps_in_order(compiled: Executable) -> None:
    """No step reads the result of a later one."""
    steps = compiled.compiled.fused.steps
    made: dict[Any, int] = {}
    for k, step in enumerate(steps):
        nodes: Any = step.region.stored if hasattr(step, "region") else [step.node]
        made |= dict.fromkeys(nodes, k)
    for k, step in enumerate(steps):
        read: Any = (
            [node for node, _ in step.region.reads]
            if hasattr(step, "region")
            else step.node.all_input_nodes
        )
        assert all(made.get(node, -1) <= k for node in read), step


@torch.no_grad()
def check(module: nn.Module, x: Tensor, **options: Any) -> Executable:
    compiled = ingot.compile(module, (x,), options={"strict": True, **options})
    steps_in_order(compiled)
    agrees(compiled, module, x)
    return compiled


@torch.no_grad()
def agrees(compiled: Executable, module: nn.Module, x: Tensor) -> None:
    wide = module.double()(x.double())
    module.to(x.dtype)
    results = by_threads(lambda: compiled(x))
    tolerance = {torch.bfloat16: 0.05, torch.float16: 0.01}.get(x.dtype, 1e-5)
    torch.testing.assert_close(
        results[0], wide, rtol=tolerance, atol=tolerance, equal_nan=True, check_dtype=False
    )
    for result in results[1:]:
        torch.testing.assert_close(result, results[0], rtol=0, atol=0, equal_nan=True)


def apart(_: Tensor, *results: Tensor) -> Any:
    return results


@pytest.mark.parametrize("rows", [1, 2, 5, 7, 13, 128, 301])
@pytest.mark.parametrize("columns", [(64, 64, 64), (96, 16, 16), (5, 130), (33, 1, 64, 257)])
def test_widths(rows: int, columns: tuple[int, ...]) -> None:
    module, x = Shared(70, columns, apart), torch.randn(rows, 70)
    compiled = check(module, x)
    assert groups(compiled) == [len(columns)]
    with torch.no_grad():
        for layer, result in zip(module.layers, compiled(x), strict=True):
            assert torch.equal(ingot.compile(layer, (x,))(x), result)


@pytest.mark.parametrize("inner", [1, 256, 700, 1500])
def test_long_sums(inner: int) -> None:
    assert groups(check(Shared(inner, (80, 40, 7), apart, bias=False), torch.randn(40, inner)))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_other_dtypes(dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingot.passes.widen.library_multiplies", lambda _: False)
    module = Shared(64, (64, 48), apart).to(dtype)
    assert groups(check(module, torch.randn(9, 64, dtype=dtype))) == [2]


def test_weights_of_8_bits() -> None:
    module, x = Shared(64, (96, 48), apart), torch.randn(9, 64)
    with torch.no_grad():
        compiled = ingot.compile(module, (x,), options={"weights": "int8"})
        assert groups(compiled) == [2]
        for layer, result in zip(module.layers, compiled(x), strict=True):
            assert torch.equal(ingot.compile(layer, (x,), options={"weights": "int8"})(x), result)


def test_not_a_number_stays_in_its_row() -> None:
    x = torch.randn(9, 40)
    x[3, 5], x[7, 1] = float("nan"), float("inf")
    compiled = check(Shared(40, (64, 64, 64), apart), x)
    with torch.no_grad():
        assert all(result[[0, 1, 2, 4, 5, 6, 8]].isfinite().all() for result in compiled(x))


def test_no_rows() -> None:
    with torch.no_grad():
        module, x = Shared(40, (64, 32), apart), torch.randn(0, 40)
        assert [r.shape for r in ingot.compile(module, (x,))(x)] == [(0, 64), (0, 32)]


def heads(t: Tensor) -> Tensor:
    return t.unflatten(-1, (4, 16)).transpose(1, 2)


def attention(x: Tensor, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    mixed = F.scaled_dot_product_attention(heads(q * 0.5), heads(k), heads(v))
    return x + mixed.transpose(1, 2).flatten(2)


def test_attention() -> None:
    assert groups(check(Shared(64, (64, 64, 64), attention), torch.randn(2, 24, 64))) == [3]


def test_sizes_that_move() -> None:
    dynamic = ({0: torch.export.Dim("rows", min=1, max=4096)},)
    module = Shared(70, (96, 16, 16), apart)
    with torch.no_grad():
        compiled = ingot.compile(module, (torch.randn(6, 70),), dynamic_shapes=dynamic)
    assert groups(compiled) == [3]
    for rows in (1, 2, 3, 7, 128, 1025):
        agrees(compiled, module, torch.randn(rows, 70))


def test_an_input_that_begins_where_a_size_says() -> None:
    class Later(Shared):
        def forward(self, x: Tensor) -> Any:
            return super().forward(x[x.shape[0] // 2 :])

    dynamic = ({0: torch.export.Dim("rows", min=2, max=4096)},)
    module = Later(70, (96, 16), apart)
    with torch.no_grad():
        compiled = ingot.compile(module, (torch.randn(6, 70),), dynamic_shapes=dynamic)
    assert groups(compiled) == [2]
    for rows in (2, 7, 128):
        agrees(compiled, module, torch.randn(rows, 70))


def test_weights_that_change() -> None:
    module, x = Shared(40, (64, 32), apart), torch.randn(9, 40)
    compiled = check(module, x)
    with torch.no_grad():
        module.layers[1].weight.mul_(3)
    agrees(compiled, module, x)


def test_training() -> None:
    module, x = Shared(64, (64, 64, 64), attention), torch.randn(2, 24, 64)
    expected = torch.autograd.grad(module(x).square().sum(), list(module.parameters()))
    compiled = torch.compile(module, backend="ingot")
    found = torch.autograd.grad(compiled(x).square().sum(), list(module.parameters()))
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


# -- epilogues that read the results of the other matmuls ------------------------------------------


def twisted(index: Callable[[Tensor], Tensor]) -> Use:
    return lambda x, gate, up: F.silu(gate) * index(up)


IN_STEP: dict[str, Use] = {
    "gate": lambda x, gate, up: F.silu(gate) * up,
    "gate, kept": lambda x, gate, up: (F.silu(gate) * up, up),
    "both activated": lambda x, gate, up: F.silu(gate) + F.gelu(up),
}
NOT_IN_STEP: dict[str, Use] = {
    "reversed columns": twisted(lambda up: up.flip(-1)),
    "reversed rows": twisted(lambda up: up.flip(0)),
    "one column": twisted(lambda up: up[..., :1]),
    "one row": twisted(lambda up: up[:1]),
    "rolled": twisted(lambda up: up.roll(1, -1)),
}


@pytest.mark.parametrize("rows", [1, 2, 7, 128, 301])
@pytest.mark.parametrize("name", IN_STEP)
def test_in_step(name: str, rows: int) -> None:
    compiled = check(Shared(70, (257, 257), IN_STEP[name]), torch.randn(rows, 70))
    assert [in_step(launch) for launch in launches_of(compiled.compiled, "matmul")] == [True]


@pytest.mark.parametrize("rows", [2, 7, 128, 301])
@pytest.mark.parametrize("name", NOT_IN_STEP)
def test_what_is_not_in_step_waits(name: str, rows: int) -> None:
    compiled = check(Shared(70, (257, 257), NOT_IN_STEP[name]), torch.randn(rows, 70))
    assert not any(map(in_step, launches_of(compiled.compiled, "matmul")))


def test_in_step_only_if_as_wide() -> None:
    def use(_: Tensor, gate: Tensor, up: Tensor, more: Tensor) -> Any:
        return F.silu(gate) * up, more

    wide = check(Shared(70, (257, 257, 257), use), torch.randn(40, 70))
    assert groups(wide) == [3]
    narrow = check(Shared(70, (257, 257, 64), use), torch.randn(40, 70))
    assert groups(narrow) == [2]


def test_a_product_on_top_of_another_waits() -> None:
    class Stacked(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(40, 64), nn.Parameter(torch.randn(40, 64))

        def forward(self, x: Tensor) -> Tensor:
            return torch.addmm(self.first(x), x, self.second)

    assert groups(check(Stacked(), torch.randn(200, 40))) == []


# -- positions of the matmuls ----------------------------------------------------------------------


class Far(nn.Module):
    """Two matmuls of the input, with matmuls of another input between them."""

    def __init__(self, between: int):
        super().__init__()
        self.one, self.other = nn.Linear(64, 64), nn.Linear(64, 64)
        self.between = nn.ModuleList(nn.Linear(64, 64) for _ in range(between))

    def forward(self, x: Tensor) -> Tensor:
        y = self.one(x)
        for layer in self.between:
            y = layer(y.relu().softmax(-1))
        return y + self.other(x)


@pytest.mark.parametrize("between", [1, NEAR - 1, NEAR + 2])
def test_only_near_ones_are_brought_together(between: int) -> None:
    compiled = check(Far(between), torch.randn(12, 64))
    assert groups(compiled) == ([2] if between < NEAR else [])


def test_an_input_that_is_written() -> None:
    module = Shared(64, (64, 64), lambda x, a, b: (a.relu(), b.tanh(), x.add_(a)))
    compiled = torch.compile(module, backend="ingot")
    with torch.no_grad():
        for _ in range(2):
            x = torch.randn(130, 64)
            given, expected = x.clone(), module(y := x.clone())
            torch.testing.assert_close(compiled(given), expected, rtol=1e-5, atol=1e-5)
            torch.testing.assert_close(given, y, rtol=1e-5, atol=1e-5)


def test_inside_of_a_loop() -> None:
    class Looped(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = Shared(64, (64, 64), lambda x, a, b: torch.tanh(x + a * b.sigmoid()))

        def forward(self, x: Tensor) -> Tensor:
            return while_loop(
                lambda n, x: n < 5, lambda n, x: (n + 1, self.body(x)), (torch.tensor(0), x)
            )[1]

    module, x = Looped(), torch.randn(12, 64)
    compiled = check(module, x)
    assert groups(compiled) == [2]
