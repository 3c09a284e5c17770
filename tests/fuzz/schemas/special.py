"""Statements that no schema describes: indexing, assignment to an index, control flow."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .arguments import NUMBERS, Pool, draw_call
from .catalogue import draw_op
from .outcome import share_storage
from .program import Index, Raw, Ref, SizeOf, Statement


def draw_indices(state: Pool) -> tuple[str, Any]:
    rng = state.rng
    name = state.operand(None)
    value = state.values[name]
    integral = [n for n, v in state.values.items() if isinstance(v, Tensor)
                and v.dtype in (torch.int64, torch.bool, torch.int32)]  # fmt: skip

    def one() -> Any:
        choice = rng.random()
        if choice < 0.25:
            return rng.choice((0, -1, 1))
        if choice < 0.65:
            end = SizeOf(name, 0) if value.dim() and rng.random() < 0.2 else None
            return slice(rng.choice((None, 0, 1, -2, 2)), rng.choice((None, -1, 2, 3, end)),
                         rng.choice((None, None, 1, 2)))  # fmt: skip
        if choice < 0.75:
            return None
        if choice < 0.8:
            return ...
        return Ref(rng.choice(integral)) if integral else 0

    count = rng.choice((1, 1, 2, 2, 3))
    return name, Index(tuple(one() for _ in range(count)))


def draw_index(state: Pool) -> Statement:
    name, index = draw_indices(state)
    return Statement((), "[]", (Ref(name), index), op="__getitem__")


def draw_assignment(state: Pool) -> Statement:
    name, index = draw_indices(state)
    value: Ref | int | float = state.rng.choice(NUMBERS)
    if state.rng.random() < 0.6:
        value = Ref(state.operand(state.values[name]))
    return Statement((), "[]=", (Ref(name), index, value), op="__setitem__")


def draw_control(state: Pool) -> Statement | None:
    """A cond or a while_loop whose bodies are functional and keep the operand's metadata."""
    rng = state.rng
    name = state.operand(None)
    bodies = [body for _ in range(2) if (body := draw_body(state, name)) is not None]
    if len(bodies) < 2:
        return None
    if rng.random() < 0.5:
        limit = SizeOf(name, 0) if state.values[name].dim() and rng.random() < 0.4 else 3
        return Statement((), "while_loop", (Ref(name), limit), op="while_loop", bodies=(bodies[0],))
    flags = [n for n, v in state.values.items()
             if isinstance(v, Tensor) and v.dtype == torch.bool and v.numel() == 1]  # fmt: skip
    flag: Any = Ref(rng.choice(flags)) if flags else Raw(f"{name}.sum().abs() > 1")
    return Statement((), "cond", (flag, Ref(name)), op="cond", bodies=tuple(bodies))


def draw_body(state: Pool, name: str) -> Statement | None:
    value = state.values[name]
    if not isinstance(value, Tensor):
        return None
    for _ in range(40):
        op = draw_op(state.rng)
        if op.writes or op.views or not op.arguments or op.arguments[0][1] != "Tensor":
            continue
        inner = _Body(state, value)
        call = draw_call(inner, op)
        state.report(call.text())
        try:
            given = value.detach().clone()
            result = eval(call._call(), {"torch": torch, "p": given})
        except Exception:
            continue
        if isinstance(result, Tensor) and like(result, value) and not share_storage(result, given):
            return call
    return None


class _Body:
    """The pool inside a control-flow body: its parameter only."""

    def __init__(self, state: Pool, value: Tensor) -> None:
        self.rng = state.rng
        self.values: dict[str, Any] = {"p": value}

    def operand(self, like: Tensor | None) -> str:
        return "p"

    def report(self, text: str) -> None:
        """Reported by the enclosing program."""


def like(result: Tensor, value: Tensor) -> bool:
    """Same dtype, shape and strides, as required of loop bodies and of both branches."""
    return (
        result.dtype == value.dtype
        and result.shape == value.shape
        and result.stride() == value.stride()
    )
