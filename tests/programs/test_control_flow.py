"""torch.cond, while_loop, map and scan through the backend: both branches, both entry points,
nested, with gradients, on symbolic sizes."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch._higher_order_ops.while_loop import while_loop
from torch.export import Dim

import ingot
from ingot import observe
from ingot.fuse.fused import CallStep, KernelStep
from ingot.stages import Compiled
from tests.plans import native_call_steps

from .check import check


def assert_native(compiled: list[Compiled]) -> None:
    """All branches and loops of all graphs run natively."""
    steps = [s for graph in compiled for s in graph.fused.steps if isinstance(s, CallStep)]
    branching = [s for s in steps if s.bodies]
    assert branching
    assert all(any(s in native_call_steps(graph) for graph in compiled) for s in branching)
    assert not any(re.search(r"\bcontrol\d+\(", graph.source) for graph in compiled)


def either(x: Tensor) -> Tensor:
    return torch.cond(x.sum() > 0, lambda x: x.sin() + 1, lambda x: x.cos() - 1, (x,))


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_cond(sign: float) -> None:
    assert_native(check(either, sign * torch.ones(4)))


def test_cond_takes_the_other_branch_without_recompiling() -> None:
    from torch._dynamo.utils import counters

    compiled = torch.compile(either, backend="ingot", options={"strict": True}, fullgraph=True)
    counters.clear()
    for x in (torch.ones(4), -torch.ones(4), torch.ones(4)):
        expected = x.sin() + 1 if x.sum() > 0 else x.cos() - 1
        torch.testing.assert_close(compiled(x), expected)
    assert counters["stats"]["unique_graphs"] == 1


def test_cond_around_native_code() -> None:
    def function(x: Tensor, y: Tensor) -> Tensor:
        z = (x * y).softmax(-1)
        z = torch.cond(z.max() > 0.5, lambda a, b: a @ b, lambda a, b: a - b, (z, y))
        return z.exp().sum(0)

    check(function, torch.randn(3, 3), torch.randn(3, 3))
    check(function, torch.zeros(3, 3), torch.randn(3, 3))


def test_cond_with_several_results() -> None:
    def function(x: Tensor) -> tuple[Tensor, Tensor]:
        a, b = torch.cond(x[0] > 0, lambda x: (x + 1, x.sum()), lambda x: (x - 1, x.prod()), (x,))
        return a * 2, b

    check(function, torch.ones(4))
    check(function, -torch.ones(4))


def test_nested_cond_with_a_closure() -> None:
    w = torch.randn(4)

    def function(x: Tensor) -> Tensor:
        def inner(x: Tensor) -> Tensor:
            return torch.cond(x.max() > 2, lambda x: x * w, lambda x: x + w, (x,))

        return torch.cond(x.sum() > 0, inner, lambda x: x.abs(), (x,))

    assert_native(check(function, torch.ones(4)))
    check(function, torch.full((4,), 3.0))
    check(function, -torch.ones(4))


def test_cond_on_a_symbolic_size() -> None:
    """Dispatch on ranges of a size: three branches, one graph."""
    from torch._dynamo.utils import counters

    def function(x: Tensor) -> Tensor:
        n = x.shape[1]
        return torch.cond(
            n <= 8,
            lambda x: x.sin(),
            lambda x: torch.cond(n <= 16, lambda x: x.tanh(), lambda x: x.relu(), (x,)),
            (x,),
        )

    compiled = torch.compile(function, backend="ingot", dynamic=True, options={"strict": True})
    counters.clear()
    for n in (4, 12, 32, 8):
        x = torch.randn(2, n, 3)
        expected = x.sin() if n <= 8 else x.tanh() if n <= 16 else x.relu()
        torch.testing.assert_close(compiled(x), expected)
    assert counters["stats"]["unique_graphs"] == 1


def test_cond_with_gradients() -> None:
    for sign in (1, -1):
        x = (sign * torch.rand(4)).requires_grad_()
        check(lambda x: either(x * 2) * 3, x, grad=True)


def test_while_loop() -> None:
    def function(x: Tensor) -> tuple[Tensor, Tensor]:
        return while_loop(
            lambda i, x: i < 5, lambda i, x: (i + 1, x * 1.5 + i), (torch.tensor(0), x)
        )

    assert_native(check(function, torch.randn(3)))


def test_while_loop_on_data() -> None:
    def function(x: Tensor) -> Tensor:
        (y,) = while_loop(lambda x: x.abs().max() > 1, lambda x: (x / 2,), (x,))
        return y.exp()

    check(function, torch.tensor([100.0, -3.0]))
    check(function, torch.tensor([0.5, -0.5]))


def test_python_loop_is_unrolled() -> None:
    def function(x: Tensor) -> Tensor:
        for i in range(4):
            x = x.relu() * i + 1 if i % 2 else x.exp()
        return x

    (compiled,) = check(function, torch.randn(5))
    assert compiled.kernels == 1


def test_map() -> None:
    from torch._higher_order_ops.map import map as torch_map

    check(
        lambda xs, y: torch_map(lambda x, y: x.sin() + y, xs, y), torch.randn(3, 4), torch.ones(4)
    )


def test_scan() -> None:
    from torch._higher_order_ops.scan import scan

    def function(x: Tensor) -> tuple[Tensor, Tensor]:
        return scan(lambda carry, x: (carry + x, carry * x), torch.zeros(4), x)

    check(function, torch.randn(5, 4))


def test_associative_scan() -> None:
    from torch._higher_order_ops.associative_scan import associative_scan

    def function(x: Tensor) -> Tensor:
        return associative_scan(lambda a, b: a + b, x, dim=0, combine_mode="generic")

    check(function, torch.randn(8, 3))


def test_flex_attention() -> None:
    from torch.nn.attention.flex_attention import flex_attention

    def function(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return flex_attention(q, k, v, score_mod=lambda s, b, h, i, j: torch.where(i >= j, s, -1e9))

    q, k, v = (torch.randn(1, 2, 16, 8) for _ in range(3))
    check(function, q, k, v, loosen=4)


def test_assertions_inside() -> None:
    def function(x: Tensor) -> Tensor:
        torch._assert_async((x > 0).all(), "must be positive")
        return x.log()

    check(function, torch.ones(3))
    compiled = torch.compile(function, backend="ingot", options={"strict": True})
    with pytest.raises(RuntimeError, match="must be positive"):
        compiled(-torch.ones(3))


# -- native branches and loops ---------------------------------------------------------------------


def assert_right(function: Callable[..., Any], *calls: tuple[Any, ...], **how: Any) -> None:
    """Compiled once through Dynamo, native, and equal to eager for all calls."""
    heard: list[Compiled] = []
    options = {"strict": True}
    with observe.listening(heard.append):
        compiled = torch.compile(function, backend="ingot", fullgraph=True, options=options, **how)
        for args in calls:
            torch.testing.assert_close(compiled(*args), function(*args), rtol=1e-4, atol=1e-5)
    assert len(heard) == 1
    assert_native(heard)


def count(limit: int, step: Callable[..., Any], *carried: Tensor) -> tuple[Tensor, ...]:
    """A loop with a counter."""
    return while_loop(
        lambda i, *values: i < limit,
        lambda i, *values: (i + 1, *step(i, *values)),
        (torch.zeros((), dtype=torch.int64), *carried),
    )


def test_loop_that_swaps_what_it_carries() -> None:
    assert_right(
        lambda x, y: count(5, lambda i, x, y: (y.clone(), x + 1), x, y),
        (torch.randn(3), torch.randn(3)),
    )


def test_branch_in_a_loop_in_a_loop() -> None:
    def inner(i: Tensor, x: Tensor) -> tuple[Tensor]:
        return (torch.cond(x.sum() > 0, lambda x: x * 0.5 - 1, lambda x: x + 2, (x,)),)

    def outer(i: Tensor, x: Tensor) -> tuple[Tensor]:
        j, x = count(3, inner, x)
        return (x + j - i,)

    assert_right(lambda x: count(4, outer, x), (torch.randn(3, 5),), (-torch.ones(3, 5),))


def test_loop_over_a_size_that_depends_on_values() -> None:
    def function(x: Tensor) -> tuple[Tensor, ...]:
        return count(4, lambda i, y: (y * 0.5 + i,), x[x > 0])

    assert_right(function, (torch.randn(20),), (torch.ones(20),), (-torch.ones(20),))


def test_loop_of_dynamic_size() -> None:
    def function(x: Tensor) -> tuple[Tensor, ...]:
        return count(4, lambda i, x: (x * 0.5 + x.size(0),), x)

    assert_right(function, *((torch.randn(n, 4),) for n in (3, 7, 40)), dynamic=True)


def test_loop_with_a_module() -> None:
    class Repeated(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(16, 16)

        def forward(self, x: Tensor) -> Tensor:
            return count(6, lambda i, x: (self.linear(x).tanh() + x,), x)[1]

    with torch.no_grad():
        assert_right(Repeated(), (torch.randn(3, 16),))


def test_branches_on_sizes_become_versions() -> None:
    def function(x: Tensor) -> Tensor:
        return torch.cond(x.size(0) * 2 > 20, torch.sin, torch.cos, (x,))

    heard: list[Compiled] = []
    with observe.listening(heard.append):
        compiled = torch.compile(function, backend="ingot", fullgraph=True, dynamic=True)
        for n in (3, 10, 11, 40):
            x = torch.randn(n, 4)
            torch.testing.assert_close(compiled(x), function(x))
    assert len(heard) == 2
    for version in heard:
        assert [type(step) for step in version.fused.steps] == [KernelStep]


def test_a_decided_branch_folds_away() -> None:
    def function(x: Tensor) -> Tensor:
        return torch.cond(x.size(0) > 3, lambda x: x.sin() + 1, lambda x: x.cos(), (x,))

    shapes = ({0: Dim("n", min=8, max=64)},)
    compiled = ingot.compile(function, (torch.randn(9),), dynamic_shapes=shapes)
    x = torch.randn(20)
    torch.testing.assert_close(compiled(x), x.sin() + 1)
    program = compiled.compiled.fused.program
    assert not any("cond" in str(node.target) for node in program.graph.nodes)
    notes = [note for entry in program.journal.entries for note in entry.notes]
    assert any("is always True: only that branch is left" in note for note in notes)


def test_scan_along_another_dimension_and_backwards() -> None:
    from torch._higher_order_ops.scan import scan

    def step(carry: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        return carry * 0.5 + x, (carry * x).sum()

    for how in ({"dim": 1}, {"dim": 1, "reverse": True}):
        assert_right(lambda x, how=how: scan(step, torch.zeros(4), x, **how), (torch.randn(4, 5),))


def test_scan_and_map_with_gradients() -> None:
    from torch._higher_order_ops.map import map as torch_map
    from torch._higher_order_ops.scan import scan

    x, y = torch.randn(5, 4, requires_grad=True), torch.randn(4, requires_grad=True)
    heard = check(
        lambda x: scan(lambda c, x: (c * 0.5 + x.sin(), c * x), torch.zeros(4), x), x, grad=True
    )
    assert_native(heard)
    assert_native(check(lambda x, y: torch_map(lambda x, y: x.sin() * y, x, y), x, y, grad=True))


def test_while_loop_with_gradients() -> None:
    """The backward is a native loop over the values that the forward loop saved, stacked by
    PyTorch."""
    x, w = torch.randn(3, 4, requires_grad=True), torch.randn(4, 4, requires_grad=True)
    heard = check(lambda x: count(5, lambda i, x: (x.sin() * 1.5,), x)[1], x, grad=True)
    assert_native(heard[-1:])
    check(lambda x, w: count(4, lambda i, x: ((x @ w).sin(),), x)[1], x, w, grad=True)


def test_associative_scan_with_gradients() -> None:
    from torch._higher_order_ops.associative_scan import associative_scan

    def pairs(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return associative_scan(
            lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (x, y), dim=0, combine_mode="generic"
        )

    x, y = torch.rand(9, 3, requires_grad=True), torch.randn(9, 3, requires_grad=True)
    check(pairs, x, y, grad=True)
    check(
        lambda x: associative_scan(
            lambda a, b: a + b, x, dim=1, reverse=True, combine_mode="generic"
        ),
        torch.randn(4, 9, requires_grad=True), grad=True,
    )  # fmt: skip


# -- scalars carried by loops ----------------------------------------------------------------------


def both_roads(function: Callable[..., Any], *calls: tuple[Any, ...]) -> list[Compiled]:
    """Equal to eager through torch.compile and ahead of time."""
    heard: list[Compiled] = []
    torch._dynamo.reset()
    with observe.listening(heard.append):
        entry_points = [
            torch.compile(function, backend="ingot", fullgraph=True, options={"strict": True}),
            ingot.compile(function, calls[0], options={"strict": True}),
        ]
        for args in calls:
            wanted = function(*args)
            for entry_point in entry_points:
                torch.testing.assert_close(entry_point(*args), wanted, rtol=1e-4, atol=1e-5)
    return heard


def test_loop_that_carries_ints() -> None:
    def function(x: Tensor, rows: Tensor) -> tuple[int, int, Tensor]:
        def body(i: int, j: int, y: Tensor) -> tuple[int, int, Tensor]:
            more = torch.full((3,), i) + j // 2
            return i + 1, (j * 3 - i) % 7, y * 0.5 + rows[i] - rows[-1] + more

        return while_loop(lambda i, j, y: i < rows.size(0), body, (0, 2, x))

    assert_native(both_roads(function, (torch.randn(3), torch.randn(6, 3))))


def test_an_int_is_a_number_again_behind_the_loop() -> None:
    def function(x: Tensor) -> tuple[Tensor, Tensor]:
        i, y = while_loop(lambda i, x: i < 5, lambda i, x: (i + 1, x * 1.5 + i), (0, x))
        return y * i, x[:i]

    assert_native(both_roads(function, (torch.randn(8),), (torch.full((8,), 4.0),)))


def test_an_int_in_a_branch_of_a_loop() -> None:
    def body(i: int, x: Tensor) -> tuple[int, Tensor]:
        return i + 1, torch.cond(x.sum() > 0, lambda x: x * 0.5 - i, lambda x: x + 2 * i, (x,))

    def function(x: Tensor) -> tuple[int, Tensor]:
        return while_loop(lambda i, x: i < 4, body, (0, x))

    assert_native(both_roads(function, (torch.randn(3),), (-torch.ones(3),)))


def test_an_int_as_a_size_is_for_the_host() -> None:
    def function(x: Tensor) -> tuple[int, Tensor]:
        return while_loop(lambda i, x: i < 4, lambda i, x: (i + 1, x + x[:i].sum()), (1, x))

    both_roads(function, (torch.randn(9),))


def test_an_index_out_of_range_in_a_loop() -> None:
    def function(x: Tensor, rows: Tensor) -> tuple[int, Tensor]:
        return while_loop(lambda i, x: i < 9, lambda i, x: (i + 1, x + rows[i]), (0, x))

    args = (torch.zeros(3), torch.ones(9, 3))
    compiled = torch.compile(function, backend="ingot", fullgraph=True, dynamic=True)
    torch.testing.assert_close(compiled(*args), function(*args))
    with pytest.raises(IndexError, match="out of range"):
        compiled(torch.zeros(3), torch.ones(5, 3))


# -- results of branches ---------------------------------------------------------------------------


def test_branches_of_different_sizes() -> None:
    def function(x: Tensor) -> Tensor:
        return torch.cond(x.sum() > 0, lambda x: x[:2] * 1, lambda x: x[:3] * 2, (x,)).exp()

    both_roads(function, (torch.ones(4, 4),), (-torch.ones(4, 4),))


def test_branches_that_give_numbers() -> None:
    def function(x: Tensor) -> tuple[Tensor, int]:
        return torch.cond(x.sum() > 0, lambda x: (x + 1, 1), lambda x: (x * 2, 2), (x,))

    both_roads(function, (torch.ones(4),), (-torch.ones(4),))


def test_branches_without_operands() -> None:
    w = torch.randn(4)
    calls = ((torch.ones(4),), (-torch.ones(4),))

    def constant(x: Tensor) -> Tensor:
        return torch.cond(x.sum() > 0, lambda: w.sin(), lambda: torch.zeros(4)) + x

    def closed(x: Tensor) -> Tensor:
        return torch.cond(x.sum() > 0, lambda: x.sin(), lambda: x.cos())

    assert_native(both_roads(constant, *calls))
    assert_native(both_roads(closed, *calls))


def test_branch_on_a_number_that_is_read() -> None:
    def function(x: Tensor, n: Tensor) -> Tensor:
        return torch.cond(n.item() > 5, lambda x: x.sin(), lambda x: x.cos(), (x,))

    assert_native(both_roads(function, *((torch.randn(4), torch.tensor(n)) for n in (3, 9))))


def test_a_python_branch_on_a_value_says_what_to_do() -> None:
    def function(x: Tensor) -> Tensor:
        return x.sin() if x.sum() > 0 else x.cos()

    with pytest.raises(ingot.CaptureError, match=r"(?s)test_control_flow.*torch\.cond"):
        ingot.compile(function, (torch.ones(3),))


def test_control_flow_with_eager_steps() -> None:
    def function(x: Tensor) -> tuple[Tensor, ...]:
        return count(3, lambda i, x: (x.sort(0).values * 0.5 + i,), x)

    check(function, torch.randn(6))


SORTED: dict[str, Callable[[Tensor], Any]] = {
    "cond": lambda v: torch.cond(
        v.sum() > 0, lambda v: v.sort().values + v.shape[0], lambda v: v.abs() * 2, (v,)
    ),
    "nested cond": lambda v: torch.cond(
        v.sum() > 0,
        lambda v: torch.cond(v[0] > 0, lambda v: v.sort().values, lambda v: v * v.shape[0], (v,)),
        lambda v: v.abs() * 2,
        (v,),
    ),
    "while_loop": lambda v: count(2, lambda i, v: (v.sort().values * 0.5 + i,), v),
    "map": lambda v: torch._higher_order_ops.map(
        lambda row, w: row.sort().values + w.sum(), torch.stack([v, v * 2]), v
    ),
}


@pytest.mark.parametrize("name", SORTED)
def test_eager_bodies_on_a_product_of_sizes(name: str) -> None:
    """No input of such a body has one of the symbols as its size."""
    shapes = ({0: Dim.AUTO, 1: Dim.AUTO},)

    def function(x: Tensor) -> Any:
        return SORTED[name](x.reshape(-1))

    with torch.no_grad():
        x = torch.randn(3, 4)
        compiled = ingot.compile(function, (x,), dynamic_shapes=shapes, options={"strict": True})
        for given in (x, -x.abs(), torch.rand(5, 2), torch.randn(1, 7)):
            torch.testing.assert_close(compiled(given), function(given))


SHARING: dict[str, Callable[[Tensor], Any]] = {
    "loop that reads a carried size": lambda x: while_loop(
        lambda i, v: i < x.shape[0], lambda i, v: (i + 1, v * 2), (torch.tensor(0), x)
    ),
    "loop that reads the base of a carried view": lambda x: while_loop(
        lambda i, v: i < x.sum(), lambda i, v: (i + 1, v * 2), (torch.tensor(0), x[0])
    ),
    "branch on a tensor and a row of it": lambda x: torch.cond(
        x.sum() > 0, lambda a, b: a + b * x, lambda a, b: a - b, (x, x[0])
    ),
}


@pytest.mark.parametrize("name", SHARING)
def test_operands_in_one_memory(name: str) -> None:
    function, x = SHARING[name], torch.rand(3, 4)
    check(function, x)
    with torch.no_grad():
        for shapes in (None, ({0: Dim.AUTO},)):
            compiled = ingot.compile(
                function, (x,), dynamic_shapes=shapes, options={"strict": True}
            )
            torch.testing.assert_close(compiled(x), torch.compile(function, backend="eager")(x))


def test_a_thousand_small_iterations() -> None:
    def function(x: Tensor) -> Tensor:
        return count(1000, lambda i, x: (x * 0.99 + i.sin(),), x)[1]

    def plain(x: Tensor) -> Tensor:
        i = torch.zeros((), dtype=torch.int64)
        while i < 1000:
            i, x = i + 1, x * 0.99 + i.sin()
        return x

    x = torch.randn(16)
    compiled = torch.compile(function, backend="ingot", fullgraph=True)
    torch.testing.assert_close(compiled(x), plain(x))
    assert 20 * min(_seconds(compiled, x) for _ in range(20)) < _seconds(plain, x)


def _seconds(function: Callable[..., Any], *args: Any) -> float:
    start = time.perf_counter()
    function(*args)
    return time.perf_counter() - start
