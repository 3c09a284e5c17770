"""Draws a program from a seed. Every candidate statement is run in eager first; statements that
eager refuses or leaves undefined are dropped.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import torch
from torch import Tensor

from .arguments import draw_call
from .catalogue import draw_op
from .defined import leaves_range, undefined, written_names
from .inputs import ALIASES, DTYPES, FLOATS, KINDS, LAYOUTS, Input, Size, fill
from .outcome import plain_control_flow, unreadable
from .program import Program, Ref, Sizes, Statement
from .special import draw_assignment, draw_control, draw_index
from .spellings import spell

SYMBOLS = ("a", "b", "c", "d")
SIZES = (1, 1, 1, 2, 2, 3, 3, 4, 5, 7, 0)
LARGEST = 2048
TRIES = 16
MOST_INPUTS = 5


@dataclass
class Tally:
    """Counts of one generation."""

    tried: int = 0
    accepted: int = 0
    reasons: dict[str, int] = field(default_factory=dict)

    def note(self, reason: str) -> None:
        self.reasons[reason] = self.reasons.get(reason, 0) + 1


class Generator:
    """The state of one draw: inputs and statements so far, with their eager values."""

    def __init__(self, seed: int, report: Callable[[str], None] = lambda text: None) -> None:
        self.rng = Random(seed)
        self.report = report
        self.tally = Tally()
        self.inputs: list[Input] = []
        self.statements: list[Statement] = []
        self.values: dict[str, Any] = {}
        self.grad = self.rng.random() < 0.25
        self.sizes: tuple[Sizes, ...] = tuple(
            tuple((name, self.rng.choice(SIZES)) for name in SYMBOLS) for _ in range(3)
        )
        self.refused: list[Statement] = []
        self.seeds = 0

    def program(self, returned: tuple[str, ...]) -> Program:
        return Program(tuple(self.inputs), tuple(self.statements), returned, self.sizes, self.grad)

    # Inputs

    def new_input(self, like: Tensor | None) -> str:
        rng = self.rng
        name = f"x{len(self.inputs)}"
        tensors = [each for each in self.inputs if each.is_tensor]
        self.seeds += 1
        if tensors and rng.random() < 0.2:
            source = rng.choice(tensors)
            made = Input(
                name, source.dtype, source.shape, rng.choice(ALIASES), alias_of=source.name
            )
        else:
            dtype = rng.choice(DTYPES)
            if like is not None and rng.random() < 0.75:
                dtype = str(like.dtype).removeprefix("torch.")
            kind = rng.choice(KINDS)
            layout = rng.choice(LAYOUTS)
            shape = self.shape(like)
            grad = self.grad and dtype in (*FLOATS, "complex64") and rng.random() < 0.8
            made = Input(name, dtype, shape, layout, kind, rng.randrange(1000), grad=grad)
        self.inputs.append(made)
        try:
            if made.alias_of:
                self.replay()
            else:
                self.values[name] = self._make(made)
        except (RuntimeError, IndexError, ValueError):
            self.inputs.pop()
            return self.new_input(like)
        return name

    def _make(self, made: Input) -> Any:
        scope = {"fill": fill, "torch": torch, "values": 0, **dict(self.sizes[0]), **self.values}
        return eval(made.text(), scope)

    def shape(self, like: Tensor | None) -> tuple[Size, ...]:
        """Equal to another input's shape, broadcastable with it, suitable for a matmul, or
        arbitrary."""
        rng = self.rng
        known = [each.shape for each in self.inputs if each.is_tensor and not each.alias_of]
        if known and rng.random() < 0.65:
            shape = list(rng.choice(known))
            match rng.choice(("same", "same", "ones", "tail", "product", "other")):
                case "ones" if shape:
                    shape[rng.randrange(len(shape))] = 1
                case "tail" if shape:
                    del shape[: rng.randrange(1, len(shape) + 1)]
                case "product" if len(shape) > 1:
                    shape[-2:] = [shape[-1], rng.choice(SYMBOLS)]
                case "other" if shape:
                    shape[rng.randrange(len(shape))] = rng.choice((*SYMBOLS, 1, 2))
            return tuple(shape)
        rank = rng.choice((0, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5))
        return tuple(rng.choice((*SYMBOLS, *SYMBOLS, 1, 2, 3)) for _ in range(rank))

    def operand(self, like: Tensor | None) -> str:
        rng = self.rng
        names = [name for name, value in self.values.items() if isinstance(value, Tensor)]
        if not names or (len(self.inputs) < MOST_INPUTS and rng.random() < 0.35):
            return self.new_input(like)
        return rng.choice(names[-3:]) if rng.random() < 0.6 else rng.choice(names)

    # Statements

    def extend(self, choose: Callable[[], Statement | None]) -> bool:
        """Append a statement that eager accepts; `choose` draws a candidate."""
        for _ in range(TRIES):
            inputs = len(self.inputs)
            candidate = choose()
            if candidate is not None and self.accept(candidate):
                return True
            for dropped in self.inputs[inputs:]:
                self.values.pop(dropped.name, None)
            del self.inputs[inputs:]
        return False

    def accept(self, candidate: Statement) -> bool:
        self.tally.tried += 1
        self.report(candidate.text())
        reason = undefined(candidate, self.values)
        if reason:
            self.tally.note(reason)
            return False
        state = torch.get_rng_state()
        bound = self.attempt(candidate)
        if bound is None:
            torch.set_rng_state(state)
            if written_names(candidate):
                self.replay()
            return False
        self.tally.accepted += 1
        self.statements.append(bound)
        return True

    def attempt(self, candidate: Statement) -> Statement | None:
        """The statement with its results bound; None if eager refuses it or leaves it undefined."""
        scope = {"torch": torch, **self.values, "result": None}
        before = {name: self.shape_of(name) for name in written_names(candidate)}
        try:
            text = candidate.text()
            if candidate.target == "[]=":
                exec(text, scope)
            else:
                scope["result"] = eval(text, scope)
        except Exception as error:
            self.tally.note(f"eager: {type(error).__name__}")
            if isinstance(error, RuntimeError | IndexError | ValueError):
                self.refused.append(candidate)
            return None
        resized = {name for name, shape in before.items() if self.shape_of(name) != shape}
        if resized & {value.name for key, value in candidate.kwargs if isinstance(value, Ref)}:
            self.tally.note("out= resized")
            return None
        if leaves_range(candidate, self.values, scope["result"]):
            self.tally.note("cast out of range")
            return None
        return self.bind(candidate, scope["result"])

    def shape_of(self, name: str) -> Any:
        value = self.values.get(name)
        return value.shape if isinstance(value, Tensor) else None

    def bind(self, candidate: Statement, result: Any) -> Statement | None:
        """The statement with names for its results, or None if they cannot be used."""
        made = f"v{len(self.statements)}"
        if candidate.target == "[]=" or result is None:
            return candidate
        if isinstance(result, tuple | list):
            if not result or len(result) > 8 or not all(self.usable(each) for each in result):
                return None
            names = tuple(f"{made}_{index}" for index in range(len(result)))
            self.values.update(zip(names, result))
            return _with(candidate, names, True)
        if not self.usable(result):
            self.tally.note("result cannot be used")
            return None
        self.values[made] = result
        return _with(candidate, (made,), False)

    def usable(self, value: Any) -> bool:
        if not isinstance(value, Tensor):
            return isinstance(value, int | float | complex)
        plain = value.layout is torch.strided and value.device.type == "cpu"
        if not plain or value.is_quantized or value.is_nested or value.numel() > LARGEST:
            return False
        if value._is_zerotensor() or unreadable(value):
            return False
        return value.untyped_storage().nbytes() < 64 * LARGEST

    def replay(self) -> None:
        """Recompute all values, after a candidate that may have written to them."""
        self.values = replayed(self.program(()))


def replayed(program: Program, call: int = 0) -> dict[str, Any]:
    torch.manual_seed(0)
    scope: dict[str, Any] = dict(zip((i.name for i in program.inputs), program.make_inputs(call)))
    if any(isinstance(v, Tensor) and v.requires_grad and not v.is_leaf for v in scope.values()):
        raise ValueError("an input is a leaf")
    scope["torch"] = torch
    for statement in program.statements:
        exec(statement.text(), scope)
    return {name: value for name, value in scope.items() if name not in ("torch", "__builtins__")}


def _with(candidate: Statement, outputs: tuple[str, ...], unpacks: bool) -> Statement:
    return replace(candidate, outputs=outputs, unpacks=unpacks)


def generate(seed: int, report: Callable[[str], None] = lambda text: None) -> tuple[Program, Tally]:
    """The program of a seed."""
    torch.manual_seed(0)
    state = Generator(seed, report)
    rng = state.rng
    with plain_control_flow(), warnings.catch_warnings(), torch.set_grad_enabled(state.grad):
        warnings.simplefilter("ignore")
        state.new_input(None)
        if rng.random() < 0.15:
            number = Input("n", rng.choice(("int", "float")), (), seed=rng.randrange(3))
            state.inputs.append(number)
            state.values["n"] = state._make(number)
        wanted = rng.choice((1, 2, 2, 3, 3, 4, 5, 6))
        for _ in range(4 * wanted):
            if len(state.statements) == wanted:
                break
            state.extend(chooser(state))
        if rng.random() < 0.06 and state.refused:
            state.statements.append(_with(rng.choice(state.refused[-8:]), ("failed",), False))
            state.values["failed"] = None
    return state.program(returned(state)), state.tally


def returned(state: Generator) -> tuple[str, ...]:
    inputs = {each.name for each in state.inputs}
    made = [name for name in state.values if name not in inputs]
    if not made:
        return tuple(each.name for each in state.inputs[:1])
    kept = [name for name in made[:-1] if state.rng.random() < 0.6]
    if state.rng.random() < 0.1:
        kept.append(state.inputs[0].name)
    return (*kept, made[-1])


def chooser(state: Generator) -> Callable[[], Statement | None]:
    kind = state.rng.random()
    if kind < 0.04:
        return lambda: draw_index(state)
    if kind < 0.08:
        return lambda: draw_assignment(state)
    if kind < 0.11:
        return lambda: draw_control(state)
    op = draw_op(state.rng)
    return lambda: spell(state.rng, draw_call(state, op), op)
