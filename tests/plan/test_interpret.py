"""The interpreter: results of plans, visible mutation and aliases, poison, errors."""

from __future__ import annotations

import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ingot.errors import InputError, PlanError
from ingot.plan.interpret import interpret
from ingot.plan.text import parse
from ingot.plan.verify import verify
from tests.plan.random_plans import random_plan
from tests.plan.resources import Resources
from tests.plan.samples import BRANCHES, EAGER, LINEAR, LOOPS, STATIC


def test_linear() -> None:
    x, w = torch.rand(5, 64), torch.rand(32, 64)
    (y,) = interpret(parse(LINEAR), Resources(), [x, w])
    torch.testing.assert_close(y, torch.relu(x @ w.t()))


def test_operands_are_views_of_bytes() -> None:
    x = torch.rand(4, 8)
    (y,) = interpret(parse(STATIC), Resources(), [x])
    a = x + 2
    b = (x.flatten().as_strided((8, 4), (1, 8)) * 3).t().contiguous()
    c = torch.cat([a[:1], -a[1:]])
    torch.testing.assert_close(y, b + c)


@pytest.mark.parametrize("rows", [3, 12, 20])
@pytest.mark.parametrize("flag", [True, False])
def test_branches_by_sizes_and_by_memory(rows: int, flag: bool) -> None:
    x, cache = torch.rand(rows, 4), torch.zeros(16, 4)
    resources = Resources({"flag": torch.tensor(flag)})
    y, row, size, n, none = interpret(parse(BRANCHES), resources, [x, cache, 7])
    expected = -torch.exp(-x) if rows <= 16 else -torch.exp(x)
    torch.testing.assert_close(y, expected)
    assert row.data_ptr() == y[1].data_ptr()  # a view
    assert (size, n, none) == (2 * rows, 7, None)
    torch.testing.assert_close(cache[1], -y[0] if flag else torch.zeros(4))  # written in place
    assert not cache[0].any()


def test_loops() -> None:
    x, h = torch.rand(3, 4), torch.rand(4)
    last, stacked, count = interpret(parse(LOOPS), Resources({"zero": torch.tensor(0)}), [x, h])
    for k in range(3):
        h = (h + x[k]) * 0.5
        torch.testing.assert_close(stacked[k], h.exp())
    torch.testing.assert_close(last, h)
    assert count == 5


@pytest.mark.parametrize("flag", [True, False])
def test_eager_ops(flag: bool) -> None:
    x, w, table = torch.tensor([0.0, 1, 0, 2, 3, 0]), torch.rand(6), torch.rand(6)
    given = x.clone()
    resources = Resources({"table": table})
    twice = w * 2 + table
    first, pick, chosen, nested, text, named = interpret(
        parse(EAGER), resources, [given, w, torch.tensor(flag)]
    )
    torch.testing.assert_close(first, (x - 0.5 * twice)[:2])
    torch.testing.assert_close(pick, torch.full((3,), 1.5))
    torch.testing.assert_close(given, x * twice)  # the input is mutated
    torch.testing.assert_close(chosen, given + twice if flag else given - twice)
    assert nested == [3, (1,)] and text == "text"
    torch.testing.assert_close(named["k"], x - 0.5 * twice)


def test_a_check_that_fails() -> None:
    text = EAGER.replace("sym(u0 <= 6)", "sym(u0 <= 2)")
    given = [torch.ones(6), torch.ones(6), torch.tensor(True)]
    with pytest.raises(RuntimeError, match="u0 is too large"):
        interpret(parse(text), Resources({"table": torch.ones(6)}), given)


def test_a_requirement_that_sizes_break() -> None:
    text = LINEAR.replace("< (20 + s0) for", "< 5 for")
    given = [torch.rand(5, 64), torch.rand(32, 64)]
    with pytest.raises(InputError, match=r"read element \d+ of a dimension of 5"):
        interpret(parse(text), Resources(), given)
    interpret(parse(text), Resources(), [torch.rand(2, 64), torch.rand(32, 64)])


def test_what_is_never_written_is_poison() -> None:
    text = STATIC.replace("      %1 -> %c+32:f32[3, 8]\n", "")
    (y,) = interpret(parse(text), Resources(), [torch.rand(4, 8)])
    assert not y[0].isnan().any() and y[1:].isnan().all()


def test_a_computation_of_another_shape() -> None:
    text = STATIC.replace("%2 = aten.add.Tensor(%0, %1)", "%2 = aten.sum.default(%0)")
    with pytest.raises(PlanError, match="a launch computes"):
        interpret(parse(text), Resources(), [torch.rand(4, 8)])


def test_views_that_leave_their_memory() -> None:
    text = STATIC.replace("%0 = %a+32:f32[3, 8]", "%0 = %a+64:f32[3, 8]")
    with pytest.raises(PlanError, match="a view of bytes 64 to 160 of 128"):
        interpret(parse(text), Resources(), [torch.rand(4, 8)])


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 2**32))
def test_random_plans(seed: int) -> None:
    """They verify, round-trip through the text form, and compute their reference."""
    made = random_plan(random.Random(seed))
    verify(made.plan)
    verify(made.plan, made.sizes)
    plan = parse(made.plan.as_text())
    assert plan == made.plan
    inputs = made.inputs(seed)
    expected = made.expected(inputs)
    for a, b in zip(interpret(plan, Resources(), inputs), expected, strict=True):
        torch.testing.assert_close(a, b)
