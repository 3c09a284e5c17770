"""Writes through views that functionalization writes back wrongly. Through windows of an input or
an intermediate: elements between windows, and those after the last, keep their values. To tensors
in which several indices refer to one element: eager's values, or its error.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.export import Dim

import ingot
from ingot.errors import CompileError, FallbackWarning, IngotError

WINDOWS = {"tail": (1, 2, 2), "gaps": (1, 2, 3), "overlapping": (1, 3, 1), "rows": (0, 1, 2)}
EXACT = {"pairs": (1, 1, 1), "whole": (1, 5, 5), "each row": (0, 1, 1)}
WRITES: dict[str, Callable[[Tensor], Any]] = {
    "mul_": lambda y: y.mul_(2),
    "zero_": lambda y: y.zero_(),
    "copy_": lambda y: y.copy_(torch.full((), 3.0)),
    "of a part": lambda y: y[0].add_(1),
    "twice": lambda y: y.mul_(2).select(-1, 0).neg_(),
    "none": lambda y: None,
}
BASES: dict[str, Callable[[Tensor], Tensor]] = {
    "input": lambda x: x,
    "view": lambda x: x[:, :],
    "intermediate": lambda x: x * 2,
}
ENTRIES = ("torch.compile", "torch.compile, dynamic", "ingot.compile", "ingot.compile, dynamic")


def program(window: tuple[int, int, int], write: str, base: str) -> Callable[[Tensor], Any]:
    def function(x: Tensor) -> tuple[Tensor, Tensor]:
        z = BASES[base](x)
        y = z.unfold(*window)
        WRITES[write](y)
        return z + 1, y + 1

    return function


def example() -> Tensor:
    return torch.arange(15.0).view(3, 5)


def compiled_for(function: Callable[[Tensor], Any], entry: str, strict: bool) -> Any:
    dynamic, options = entry.endswith("dynamic"), {"strict": strict}
    if entry.startswith("torch.compile"):
        torch._dynamo.reset()
        return torch.compile(function, backend="ingot", dynamic=dynamic, options=options)
    shapes = ({0: Dim.AUTO, 1: Dim.AUTO},) if dynamic else None
    return ingot.compile(function, (example(),), dynamic_shapes=shapes, options=options)


def check(function: Callable[[Tensor], Any], entry: str, strict: bool = False) -> None:
    ours, theirs = example(), example()
    with torch.no_grad():
        got, wanted = compiled_for(function, entry, strict)(ours), function(theirs)
    torch.testing.assert_close(got, wanted)
    torch.testing.assert_close(ours, theirs)


@pytest.mark.filterwarnings("ignore::ingot.errors.FallbackWarning")
@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("window", ["tail", "gaps", "rows"])
def test_uncovered_elements_stay(window: str, base: str, entry: str) -> None:
    for write in WRITES:
        check(program(WINDOWS[window], write, base), entry)


@pytest.mark.parametrize("window", EXACT)
@pytest.mark.parametrize("entry", ["torch.compile", "ingot.compile"])
def test_covering_windows_are_compiled(entry: str, window: str) -> None:
    for write in WRITES:
        check(program(EXACT[window], write, "input"), entry, strict=True)


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("window", WINDOWS)
def test_windows_without_a_write_are_compiled(window: str, entry: str) -> None:
    check(program(WINDOWS[window], "none", "intermediate"), entry, strict=True)


def test_the_fallback_tells_why() -> None:
    function = program(WINDOWS["gaps"], "mul_", "input")
    with pytest.warns(FallbackWarning, match="unfold"):
        check(function, "ingot.compile")
    with pytest.raises(CompileError, match="unfold"):
        check(function, "ingot.compile", strict=True)
    with pytest.raises(IngotError, match="unfold"):
        ingot.export(function, (example(),), level="core")


def test_gradients_of_windows_are_compiled() -> None:
    def function(x: Tensor) -> Tensor:
        return x.unfold(*WINDOWS["gaps"]).sin().sum()

    ours, theirs = example().requires_grad_(), example().requires_grad_()
    compiled_for(function, "torch.compile", strict=True)(ours).backward()
    function(theirs).backward()
    torch.testing.assert_close(ours.grad, theirs.grad)


EXPANDED: dict[str, Callable[[Tensor], Tensor]] = {
    "column": lambda x: x[:, 1].unsqueeze(1).expand(-1, 3),
    "new dim": lambda x: x[None].expand(2, -1, -1),
    "expand_as": lambda x: x[0].expand_as(x),
    "broadcast_to": lambda x: torch.broadcast_to(x[0], (4, 5)),
    "broadcast_tensors": lambda x: torch.broadcast_tensors(x[0], x)[0],
    "part of it": lambda x: x[0].expand(4, -1)[1:],
    "as_strided": lambda x: x.as_strided((3, 3), (1, 1)),
}
OVERLAPPING_WRITES: dict[str, Callable[[Tensor], Any]] = {
    "fill_": lambda y: y.fill_(5),
    "zero_": lambda y: y.zero_(),
    "add_": lambda y: y.add_(1),
    "copy_": lambda y: y.copy_(torch.full((), 3.0)),
    "setitem": lambda y: operator.setitem(y, slice(None), 7),
    "iadd": lambda y: operator.iadd(y, 1),
    "out": lambda y: torch.neg(y, out=y),
    "inplace": lambda y: F.relu(y, inplace=True),
    "positional": lambda y: F.relu(y, True),
    "function": lambda y: torch.relu_(y),
}


def overlapping(expanded: str, write: str, base: str) -> Callable[[Tensor], Any]:
    def function(x: Tensor) -> Tensor:
        z = BASES[base](x)
        OVERLAPPING_WRITES[write](EXPANDED[expanded](z))
        return z + 1

    return function


def outcome(function: Callable[[Tensor], Any]) -> Any:
    """The result and the written input, or the error."""
    x = example()
    try:
        with torch.no_grad():
            return function(x), x
    except (RuntimeError, IngotError) as error:
        assert "single memory location" in str(error)
        return "refused"


def _compiled_call(function: Callable[[Tensor], Any], entry: str, x: Tensor) -> Any:
    return compiled_for(function, entry, strict=False)(x)


def assert_same(got: Any, wanted: Any) -> None:
    if isinstance(wanted, str):
        assert got == wanted
    else:
        torch.testing.assert_close(got, wanted)


@pytest.mark.filterwarnings("ignore::ingot.errors.FallbackWarning")
@pytest.mark.parametrize("write", OVERLAPPING_WRITES)
@pytest.mark.parametrize("entry", ENTRIES)
def test_elements_with_several_indices(entry: str, write: str) -> None:
    for expanded in EXPANDED:
        function = overlapping(expanded, write, "input")
        compiled = partial(_compiled_call, function, entry)
        assert_same(outcome(compiled), outcome(function))


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("entry", ["torch.compile", "ingot.compile"])
def test_no_write_adds_up(entry: str, base: str) -> None:
    function = overlapping("column", "fill_", base)
    with pytest.raises(Exception, match="several indices"):
        check(function, entry, strict=True)
    with pytest.raises(IngotError, match=r"several indices|single memory location"):
        ingot.export(function, (example(),), level="pre-dispatch")


@pytest.mark.parametrize("entry", ENTRIES)
def test_expanded_tensors_that_are_only_read_are_compiled(entry: str) -> None:
    def function(x: Tensor) -> tuple[Tensor, Tensor]:
        x.mul_(2)
        y = x[:, None].expand(-1, 2, -1)
        z = y.clone()
        z.add_(1)
        return z, y + x[0].expand(2, -1).unsqueeze_(0).requires_grad_(False)

    check(function, entry, strict=True)


def test_an_empty_tensor_does_not_overlap() -> None:
    """Its strides may be 0."""

    def function(x: Tensor) -> Tensor:
        return x.add_(1) * 2

    torch._dynamo.reset()
    compiled = torch.compile(function, backend="ingot", options={"strict": True})
    for rows in (2, 3, 4):
        for size in (2, 0):
            x = torch.ones(rows, size, size, 1)
            torch.testing.assert_close(compiled(x.clone()), function(x))
