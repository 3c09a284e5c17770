"""The observable effects of a call: results, inputs afterwards, metadata, aliasing, gradients, the
state of the random generator, or the error.
"""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from .program import Program

SEED = 77
"""Seeds the random generator before every call."""


@dataclass(frozen=True)
class Snapshot:
    """A tensor at one moment."""

    value: Tensor
    strides: tuple[int, ...]
    bits: tuple[bool, bool, bool]
    """Conjugate bit, negative bit, requires_grad."""


@dataclass(frozen=True)
class Unreadable:
    """A tensor whose own kernels refuse to copy it. Eager never returns one: see `unreadable`."""

    reason: str


class FuzzerError(BaseException):
    """A failure of the fuzzer. Not an Exception: no handler may take it for one of the program."""


@dataclass
class Outcome:
    results: list[Any] = field(default_factory=list)
    """Snapshots, or values that are not tensors."""
    inputs: list[Any] = field(default_factory=list)
    """Snapshots after the call."""
    grads: list[Any] = field(default_factory=list)
    aliases: tuple[str, ...] = ()
    rng: Tensor | None = None
    error: str = ""
    """The exception's type and message; empty if none was raised."""
    trace: str = ""


@contextmanager
def plain_control_flow() -> Iterator[None]:
    """Runs control flow as plain Python, because eager's goes through Dynamo."""

    def cond(flag: Any, yes: Any, no: Any, operands: Any = ()) -> Any:
        return yes(*operands) if flag else no(*operands)

    def while_loop(goes_on: Any, body: Any, carried: Any) -> Any:
        while goes_on(*carried):
            carried = body(*carried)
        return carried

    with mock.patch.object(torch, "cond", cond), mock.patch.object(torch, "while_loop", while_loop):
        yield


def observe(function: Callable[..., Any], program: Program, inputs: Sequence[Any]) -> Outcome:
    """Call the function and record the outcome. Exceptions become part of it."""
    outcome = Outcome()
    torch.manual_seed(SEED)
    try:
        with warnings.catch_warnings(), torch.set_grad_enabled(program.grad):
            warnings.simplefilter("ignore")
            results = pytree.tree_leaves(list(function(*inputs)))
            outcome.grads = gradients(results, inputs) if program.grad else []
    except Exception as error:
        outcome.error = f"{type(error).__name__}: {error}"
        outcome.trace = "".join(traceback.format_exception(error))[-6000:]
        return outcome
    outcome.rng = torch.get_rng_state()
    outcome.aliases = tuple(sharing(results, inputs))
    outcome.results = [snapshot(each) for each in results]
    outcome.inputs = [snapshot(each) for each in inputs]
    return outcome


def eager(program: Program, call: int, **names: Any) -> Outcome:
    with plain_control_flow():
        return observe(program.function(**names), program, program.make_inputs(call))


def gradients(results: Sequence[Any], inputs: Sequence[Any]) -> list[Any]:
    """Gradients of a weighted sum of all results, for every input that requires one."""
    ends = [r for r in results if isinstance(r, Tensor) and r.requires_grad]
    leaves = [x for x in inputs if isinstance(x, Tensor) and x.requires_grad and x.is_leaf]
    if not ends or not leaves:
        return []
    weights = [torch.linspace(0.5, 1.5, r.numel()).reshape(r.shape).to(r.dtype) for r in ends]
    found = torch.autograd.grad(ends, leaves, weights, allow_unused=True)
    return [snapshot(each) for each in found]


def sharing(results: Sequence[Any], inputs: Sequence[Any]) -> Iterator[str]:
    """Which results alias which inputs and earlier results, and at what distance."""
    seen: list[tuple[str, Any]] = [(f"input {i}", x) for i, x in enumerate(inputs)]
    for index, result in enumerate(results):
        if not isinstance(result, Tensor):
            continue
        for label, other in seen:
            if result is other:
                yield f"result {index} is {label}"
            elif isinstance(other, Tensor) and share_storage(result, other):
                # An empty tensor has no address of its own.
                away = "empty" if not result.numel() or not other.numel() else (
                    f"{result.data_ptr() - other.data_ptr()} bytes"
                )  # fmt: skip
                yield f"result {index} - {label} = {away}"
        seen.append((f"result {index}", result))


def share_storage(left: Tensor, right: Tensor) -> bool:
    if left.layout is not torch.strided or right.layout is not torch.strided:
        return False
    mine, other = left.untyped_storage(), right.untyped_storage()
    return mine.nbytes() > 0 and mine.data_ptr() == other.data_ptr()


def snapshot(value: Any) -> Any:
    """A detached copy of the observable state of a tensor; other values are returned unchanged."""
    if not isinstance(value, Tensor):
        return value
    reason = unreadable(value)
    if reason:
        return Unreadable(reason)
    strides = value.stride() if value.layout is torch.strided else ()
    bits = (value.is_conj(), value.is_neg(), value.requires_grad)
    plain = value.detach().resolve_conj().resolve_neg().clone()
    return Snapshot(plain, tuple(strides), bits)


def unreadable(tensor: Tensor) -> str:
    """Why a tensor cannot be read without an error or foreign memory; empty if it can.

    Unchecked ops of eager make such tensors: `_reshape_alias` of any size, `_neg_view` of booleans.
    """
    if tensor.layout is not torch.strided:
        return ""
    if any(size < 0 for size in tensor.shape):
        return f"negative size: {tuple(tensor.shape)}"
    if tensor.is_neg() and tensor.dtype == torch.bool:
        return "negative bit of a boolean tensor"
    if not tensor.numel():
        return ""
    steps = [(size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride())]
    first = tensor.storage_offset() + sum(step for step in steps if step < 0)
    last = tensor.storage_offset() + sum(step for step in steps if step > 0)
    held = tensor.untyped_storage().nbytes() // tensor.element_size()
    return "" if first >= 0 and last < held else f"elements {first} to {last} of {held}"
