"""Random programs of views, writes and nested regions. A program is a list of statements over a
growing list of 3×4 tensors and views of them. Eager and tracing both execute `run`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import torch
from hypothesis import strategies as st
from torch import Tensor


@dataclass(frozen=True)
class Make:
    """A new tensor computed from one or two others."""

    op: str
    source: int
    other: int


@dataclass(frozen=True)
class View:
    op: str
    source: int


@dataclass(frozen=True)
class Write:
    op: str
    target: int
    source: int


@dataclass(frozen=True)
class Block:
    """Statements under a grad or autocast state."""

    state: str
    body: tuple[Any, ...]


Statement = Make | View | Write | Block

MAKES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "double": lambda a, b: a * 2,
    "sin": lambda a, b: a.sin(),
    "plus": lambda a, b: a + b.sum(),
    "clone": lambda a, b: a.clone(),
    "product": lambda a, b: (a.unsqueeze(-1) @ b.sum().to(a.dtype).view(1, 1)).squeeze(-1),
    "detach": lambda a, b: a.detach(),
    "softmax": lambda a, b: torch.softmax(a, -1) if a.dim() else a * 1,
}
VIEWS: dict[str, Callable[[Tensor], Tensor]] = {
    "first": lambda a: a[0] if a.dim() else a.view(1),
    "tail": lambda a: a[1:] if a.dim() and a.shape[0] > 1 else a.unsqueeze(0),
    "every other": lambda a: a[..., ::2] if a.dim() else a.view(1),
    "transpose": lambda a: a.transpose(0, -1) if a.dim() else a.view(1),
    "flat": lambda a: a.reshape(-1),
    "unsqueeze": lambda a: a.unsqueeze(-1),
    "squeeze": lambda a: a.squeeze(),
    "alias": lambda a: a.view_as(a),
    "diagonal": lambda a: a.diagonal() if a.dim() > 1 else a.unsqueeze(0),
    "narrow": lambda a: a.narrow(-1, 0, 1) if a.dim() else a.view(1),
    "last part": lambda a: a.chunk(2)[-1] if a.dim() else a.view(1),
    "columns": lambda a: a.unbind(-1)[0] if a.dim() else a.view(1),
    "windows": lambda a: a.unfold(-1, 1, 1) if a.dim() else a.view(1),
    "twice": lambda a: a.expand(2, *a.shape),
    "as float": lambda a: a.float(),
    "plain data": lambda a: a.data,
}
WRITES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "add one": lambda a, b: a.add_(1),
    "scale": lambda a, b: a.mul_(0.5),
    "add sum": lambda a, b: a.add_(b.sum()),
    "times sum": lambda a, b: a.mul_(b.detach().sum()),
    "zero": lambda a, b: a.zero_(),
    "fill": lambda a, b: a.fill_(3),
    "copy": lambda a, b: a.copy_(b.clone().sum()),
    "clamp": lambda a, b: a.clamp_(-1, 1),
    "add other": lambda a, b: a.add_(b if a.shape == b.shape else b.sum()),
    "copy other": lambda a, b: a.copy_(b if a.shape == b.shape else b.clone().sum()),
    "out": lambda a, b: torch.mul(b.detach().clone().sum(), 2, out=a) if not a.dim() else a.add_(2),
}
STATES: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "no_grad": torch.no_grad,
    "enable_grad": torch.enable_grad,
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "autocast off": lambda: torch.autocast("cpu", enabled=False),
    "autocast half": lambda: torch.autocast("cpu", dtype=torch.float16, cache_enabled=False),
    "inference_mode": torch.inference_mode,
}


def run(statements: Sequence[Statement], tensors: list[Tensor]) -> None:
    """Execute the statements and append new tensors to the list."""
    for statement in statements:
        if isinstance(statement, Block):
            with STATES[statement.state]():
                run(statement.body, tensors)
        elif isinstance(statement, Make):
            source, other = pick(tensors, statement.source), pick(tensors, statement.other)
            tensors.append(MAKES[statement.op](source, other))
        elif isinstance(statement, View):
            tensors.append(VIEWS[statement.op](pick(tensors, statement.source)))
        else:
            target, source = pick(tensors, statement.target), pick(tensors, statement.source)
            WRITES[statement.op](target, source)


def pick(tensors: list[Tensor], number: int) -> Tensor:
    return tensors[number % len(tensors)]


@dataclass(frozen=True)
class Setup:
    """The inputs of the program, and whether it is differentiated."""

    writes_input: bool
    """The first input itself is among the tensors of the program."""
    grad: tuple[bool, bool]
    """Which of the inputs require grad."""


SETUPS = {
    "grad": Setup(False, (True, True)),
    "no grad": Setup(False, (False, False)),
    "writes an input": Setup(True, (False, False)),
    "writes an input with grad": Setup(True, (False, True)),
}


class RandomProgram(torch.nn.Module):
    """Writes to an intermediate, to a buffer and, if `writes_input`, to the input."""

    store: Tensor

    def __init__(self, statements: Sequence[Statement], writes_input: bool) -> None:
        super().__init__()
        self.statements, self.writes_input = tuple(statements), writes_input
        self.register_buffer("store", torch.linspace(-1, 1, 12).view(3, 4))

    def forward(self, x: Tensor, y: Tensor) -> Any:
        tensors = [x * 1, self.store, y * 2, *([x] if self.writes_input else [])]
        run(self.statements, tensors)
        return tuple(tensors[:3]) + tuple(t for t in tensors[3:] if t is not x)


numbers = st.integers(0, 11)
simple = st.one_of(
    st.builds(Make, st.sampled_from(sorted(MAKES)), numbers, numbers),
    st.builds(View, st.sampled_from(sorted(VIEWS)), numbers),
    st.builds(Write, st.sampled_from(sorted(WRITES)), numbers, numbers),
)
setups = st.sampled_from(sorted(SETUPS))
statements = st.lists(
    st.recursive(
        simple,
        lambda inner: st.builds(
            Block,
            st.sampled_from(sorted(STATES)),
            st.lists(inner, min_size=1, max_size=4).map(tuple),
        ),
        max_leaves=6,
    ),
    min_size=2,
    max_size=7,
)
