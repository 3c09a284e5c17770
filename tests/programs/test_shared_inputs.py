"""Aliased inputs of which one is written: every arrangement in memory equals eager, whatever the
program was compiled with.

A function is compiled with one pair of inputs and called with others. Neither Dynamo nor
AOTAutograd guards on storage offsets, or on inputs that become aliased.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.export import Dim

import ingot

pytestmark = pytest.mark.filterwarnings("ignore::ingot.errors.EagerCallWarning")

Pair = Callable[[], tuple[Tensor, Tensor]]


def _base() -> Tensor:
    return torch.arange(36.0).view(6, 6)


def _of_one(first: Callable[[Tensor], Tensor], second: Callable[[Tensor], Tensor]) -> Pair:
    def pair() -> tuple[Tensor, Tensor]:
        base = _base()
        return first(base), second(base)

    return pair


PAIRS: dict[str, Pair] = {
    "apart": lambda: (_base()[0], _base()[1]),
    "the same": _of_one(lambda t: t[0], lambda t: t[0]),
    "an offset": _of_one(lambda t: t.view(-1)[:6], lambda t: t.view(-1)[2:8]),
    "the other offset": _of_one(lambda t: t.view(-1)[3:9], lambda t: t.view(-1)[:6]),
    "disjoint": _of_one(lambda t: t[0], lambda t: t[3]),
    "crossing": _of_one(lambda t: t[1], lambda t: t[:, 1]),
    "a column": _of_one(lambda t: t[:, 1], lambda t: t[:, 1]),
    "every second": _of_one(lambda t: t.view(-1)[:6], lambda t: t.view(-1)[:12:2]),
}


def copied_at_the_end(a: Tensor, b: Tensor) -> Tensor:
    a.copy_(a.flip(0))
    return b * 2


def in_a_part(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    before = b * 2
    a[1:3].add_(1)
    return before, b + 1


def the_second(a: Tensor, b: Tensor) -> Tensor:
    b.mul_(a.sum())
    return a - b


FUNCTIONS = (copied_at_the_end, in_a_part, the_second)
MODES: dict[str, bool | None] = {"static": False, "dynamic": True, "automatic": None}


def check(function: Callable[..., object], compiled: Callable[..., object], name: str) -> None:
    ours, theirs = PAIRS[name](), PAIRS[name]()
    with torch.no_grad():
        got, wanted = compiled(*ours), function(*theirs)
    torch.testing.assert_close(got, wanted, msg=lambda text: f"called with {name}: {text}")
    torch.testing.assert_close(ours, theirs, msg=lambda text: f"written, {name}: {text}")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("first", ["apart", "the same", "an offset", "disjoint"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_torch_compile(function: Callable[..., object], first: str, mode: str) -> None:
    torch._dynamo.reset()
    compiled = torch.compile(function, backend="ingot", dynamic=MODES[mode])
    with torch._dynamo.config.patch(recompile_limit=64):
        for name in (first, *PAIRS):
            check(function, compiled, name)


@pytest.mark.parametrize("sizes", ["static", "Dim.AUTO"])
@pytest.mark.parametrize("first", ["apart", "an offset"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_ahead(function: Callable[..., object], first: str, sizes: str) -> None:
    dynamic = ({0: Dim.AUTO}, {0: Dim.AUTO}) if sizes == "Dim.AUTO" else None
    compiled = ingot.compile(function, PAIRS[first](), dynamic_shapes=dynamic)
    for name in PAIRS:
        check(function, compiled, name)


def test_an_input_that_is_a_buffer_of_the_model() -> None:
    class Counts(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("seen", torch.zeros(4))

        def forward(self, x: Tensor) -> Tensor:
            self.seen.add_(x.flip(0))  # type: ignore[operator]
            return x * 2

    ours, theirs = Counts(), Counts()
    compiled = ingot.compile(ours, (torch.arange(4.0),))
    for model, call in ((ours, compiled), (theirs, theirs)):
        model.seen.copy_(torch.arange(4.0))  # type: ignore[operator]
        model.result = call(model.seen)
    torch.testing.assert_close(ours.result, theirs.result)
    torch.testing.assert_close(ours.seen, theirs.seen)
