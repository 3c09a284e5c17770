"""Bounds on the accuracy of eager's own results: the program in f64, and runs in which every
rounded result is moved by one ulp. Computed only after a difference was found.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from .defined import written_names
from .inputs import fill, ulp_away
from .outcome import SEED, FuzzerError, Outcome, observe, plain_control_flow
from .program import Program, Statement

RUNS = 4
NARROW = re.compile(r"torch\.(float32|float16|bfloat16|half|float)\b")


def widened_text(text: str) -> str:
    return NARROW.sub("torch.float64", text).replace("torch.complex64", "torch.complex128")


def widen(value: Any) -> Any:
    if not isinstance(value, Tensor):
        return value
    if value.is_complex():
        return value.to(torch.complex128)
    return value.double() if value.is_floating_point() else value


class Evidence:
    """Evidence for one call of a program."""

    def __init__(self, program: Program, call: int, want: Outcome) -> None:
        self.program = program
        self.call = call
        self.random = want.rng is not None and not torch.equal(want.rng, fresh_state())
        """The program samples random numbers. Those of f64 differ, so there is no truth."""

    @cached_property
    def truth(self) -> Outcome:
        """The program with f64 in place of every narrower type."""
        program = self.program

        def wide(shape: Any, dtype: torch.dtype, kind: str, seed: int) -> Tensor:
            return widen(fill(shape, getattr(torch, str(dtype)[6:]), kind, seed))

        text = widened_text(program.function_text())
        scope: dict[str, Any] = {"torch": torch}
        exec(text, scope)
        with plain_control_flow():
            function = program.called(scope["program"])
            return observe(function, program, program.make_inputs(self.call, fill=wide))

    @cached_property
    def shaken(self) -> list[Outcome]:
        """Runs with rounded intermediate values moved by one ulp."""
        return [self._shake(seed, inputs=False) for seed in range(RUNS)]

    @cached_property
    def shaken_inputs(self) -> list[Outcome]:
        """As `shaken`, with the inputs moved as well: the effect of rounding inside a kernel."""
        return [self._shake(seed, inputs=True) for seed in range(RUNS)]

    def _shake(self, seed: int, inputs: bool) -> Outcome:
        program = self.program
        generator = torch.Generator().manual_seed(seed)

        def moved(shape: Any, dtype: torch.dtype, kind: str, number: int) -> Tensor:
            value = fill(shape, dtype, kind, number)
            return ulp_away(value, generator) if inputs else value

        with plain_control_flow():
            function = interpreted(
                program, lambda s, before, after: shake(s, before, after, generator)
            )
            return observe(function, program, program.make_inputs(self.call, fill=moved))


def fresh_state() -> Tensor:
    torch.manual_seed(SEED)
    return torch.get_rng_state()


def interpreted(
    program: Program, after: Callable[[Statement, dict[str, Any], dict[str, Any]], None]
) -> Callable[..., Any]:
    """The program run statement by statement, with a callback on the values after each."""

    def run(*inputs: Any) -> list[Any]:
        scope: dict[str, Any] = dict(zip((each.name for each in program.inputs), inputs))
        scope["torch"] = torch
        for statement in program.statements:
            before = operands(statement, scope)
            exec(statement.text(), scope)
            try:
                after(statement, before, scope)
            except Exception as error:
                raise FuzzerError(f"after {statement.text()}: {error}") from error
        return [scope[name] for name in program.returned]

    return program.called(run)


def operands(statement: Statement, scope: dict[str, Any]) -> dict[str, Any]:
    """Widened copies of the operands of a statement."""
    names = dict.fromkeys(statement.references())
    return {
        name: widen(scope[name].detach()).clone()
        if isinstance(scope[name], Tensor)
        else scope[name]
        for name in names
    }


def shake(
    statement: Statement, before: dict[str, Any], scope: dict[str, Any], generator: torch.Generator
) -> None:
    """Move the rounded results of the statement; results equal to f64's stay."""
    names = [*statement.outputs, *written_names(statement)]
    if all_exact(statement, before, scope, names):
        return
    for name in dict.fromkeys(names):
        value = scope.get(name)
        if not isinstance(value, Tensor) or not (value.is_floating_point() or value.is_complex()):
            continue
        flat = torch.empty(0, dtype=value.dtype).set_(value.detach().untyped_storage())
        flat.copy_(ulp_away(flat.clone(), generator))


def all_exact(
    statement: Statement, before: dict[str, Any], scope: dict[str, Any], names: list[str]
) -> bool:
    wide = {"torch": torch, **before}
    state = torch.get_rng_state()
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(widened_text(statement.text()), wide)
        return all(
            torch.equal(_plain(scope[name]), _plain(wide[name])) for name in names
            if isinstance(scope.get(name), Tensor)
        )  # fmt: skip
    except Exception:
        return False
    finally:
        torch.set_rng_state(state)


def _plain(value: Tensor) -> Tensor:
    value = widen(value.detach().resolve_conj().resolve_neg())
    value = torch.view_as_real(value) if value.is_complex() else value
    return value.nan_to_num(0.123) if value.is_floating_point() else value
