"""Ops that give an input another shape in place. Functionalization loses such a change: a program
leaves the caller's tensor as eager leaves it, or is refused."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.export import Dim

import ingot
from ingot.errors import CaptureError, FallbackWarning


def _later(op: Callable[[Tensor], Any]) -> Callable[[Tensor], Tensor]:
    def function(x: Tensor) -> Tensor:
        op(x)
        return x + 1

    return function


PROGRAMS: dict[str, Callable[[Tensor], Any]] = {
    "t_": _later(lambda x: x.t_()),
    "t_ returned": lambda x: x.t_(),
    "t_ twice": _later(lambda x: x.t_().t_()),
    "t_, write": _later(lambda x: x.t_().mul_(2)),
    "write, t_": _later(lambda x: x.mul_(2).t_()),
    "view, t_, write": _later(lambda x: (x[0], x.t_())[0].add_(1)),
    "transpose_": _later(lambda x: x.transpose_(-1, 0)),
    "swapaxes_, write": _later(lambda x: x.swapaxes_(0, 1).neg_()),
    "swapdims_": _later(lambda x: x.swapdims_(0, 1)),
    "as_strided_, write": _later(lambda x: x.as_strided_((3, 3), (1, 3)).neg_()),
    "squeeze_, write": _later(lambda x: x.squeeze_().neg_()),
    "unsqueeze_": _later(lambda x: x.unsqueeze_(0)),
    "resize_": _later(lambda x: x.resize_(2, 2)),
    "resize_, larger": _later(lambda x: x.resize_(4, 5).fill_(2)),
    "resize_as_": _later(lambda x: x.resize_as_(torch.ones(1, 4))),
    "set_, write": _later(lambda x: x.set_(torch.zeros(3, 3)).add_(1)),
    "data": _later(lambda x: setattr(x, "data", torch.ones(2, 2))),
    "t_ of a view": _later(lambda x: x.view(x.shape).t_().mul_(2)),
}
REFUSED = {"unsqueeze_": "another shape in place", "data": "memory of a tensor is exchanged"}
REFUSED_IF_DYNAMIC = {
    **REFUSED,
    **dict.fromkeys(("resize_", "resize_, larger", "resize_as_"), "another shape in place"),
}
SHAPES = [(3, 3), (3, 4), (4, 1)]
ENTRIES = [
    "ingot.compile",
    pytest.param("torch.compile", marks=pytest.mark.slow),
    pytest.param("dynamic", marks=pytest.mark.slow),
]


def compiled(entry: str, function: Callable[[Tensor], Any], example: Tensor) -> Callable[..., Any]:
    if entry == "torch.compile":
        torch._dynamo.reset()
        return torch.compile(function, backend="ingot")
    shapes = ({0: Dim.AUTO},) if entry == "dynamic" else None
    return ingot.compile(function, (example,), dynamic_shapes=shapes)


def observed(function: Callable[..., Any], x: Tensor) -> tuple[Any, ...]:
    """Everything that the caller sees, of its tensor, of the result and of the memory. As with
    Inductor, strides of dimensions of size 1 are the caller's only in its own tensor."""
    memory = x.view(-1)
    result = function(x)
    strides = [s for s, size in zip(result.stride(), result.shape, strict=True) if size != 1]
    layouts = x.shape, x.stride(), x.storage_offset(), result.shape, strides
    return result is x, layouts, result.clone(), x.clone(), memory


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_callers_tensor(name: str, entry: str) -> None:
    function = PROGRAMS[name]
    refused = {"ingot.compile": REFUSED, "dynamic": REFUSED_IF_DYNAMIC}.get(entry, {})
    for shape in SHAPES if "strided" not in name else SHAPES[:1]:
        x = torch.randn(shape)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FallbackWarning)
            if name in refused:
                with pytest.raises(CaptureError, match=refused[name]):
                    compiled(entry, function, x.clone())
                continue
            example = x.clone()
            program = compiled(entry, function, example)
            assert torch.equal(example, x) and example.stride() == x.stride()
            for values in (x, torch.randn(shape)):
                got, wanted = observed(program, values.clone()), observed(function, values.clone())
                assert got[:2] == wanted[:2], shape
                for a, b in zip(got[2:], wanted[2:], strict=True):
                    assert torch.equal(a, b), shape


@pytest.mark.parametrize("name", ["t_", "t_, write", "set_, write"])
def test_strict_and_export_refuse(name: str) -> None:
    """On a square example too, where every shape in the functional program agrees."""
    for attempt in (
        lambda: ingot.compile(PROGRAMS[name], (torch.randn(3, 3),), options={"strict": True}),
        lambda: ingot.export(PROGRAMS[name], (torch.randn(3, 3),)),
    ):
        with pytest.raises(ingot.errors.IngotError, match="an input is given another shape"):
            attempt()


def test_without_an_effect() -> None:
    """`squeeze_` without a dimension of size 1 changes nothing: native code."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", FallbackWarning)
        program = compiled("ingot.compile", PROGRAMS["squeeze_, write"], torch.randn(3, 4))
    x = torch.randn(3, 4)
    assert torch.equal(program(x.clone()), -x + 1)
