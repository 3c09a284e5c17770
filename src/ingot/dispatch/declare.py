"""Declares dispatched ops. A declared op is a callable that works like the reference everywhere and
is known to the compiler.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from ingot.dispatch.declaration import Declaration, Function
from ingot.dispatch.operator import make_operator
from ingot.dispatch.ranges import RangeError, RangeTable, Row, check_disjoint
from ingot.dispatch.tuning_record import TuningRecord
from ingot.errors import DispatchError, Place

SPAN = (1, 4096)
BUDGET = 20.0


def dispatch(
    *,
    on: Any,
    ranges: Any,
    span: tuple[int, int] = SPAN,
    budget: float = BUDGET,
    tolerance: float | None = None,
) -> Callable[[Function], Dispatch]:
    """Declare the decorated function as the reference of an op with several implementations.

    `on` is the size that decides: ("x", 1) for x.shape[1], an expression such as
    "x.shape[0] * w.shape[1]", or a list of either. `ranges` are upper bounds ([512, 2048]), pairs
    of a first and a last size, or "auto" to search within `span`; with several sizes, a list of
    these. `budget` is the number of seconds that measuring may take when a program is compiled;
    with 0, the reference serves all sizes that are not pinned. `tolerance` is the largest allowed
    difference from the reference, as a share of the largest value."""

    def declare(reference: Function) -> Dispatch:
        return Dispatch(reference, on, ranges, span=span, budget=budget, tolerance=tolerance)

    return declare


class Dispatch(Declaration):
    """An op with a reference and several implementations. It is called like the reference."""

    def __init__(
        self,
        reference: Function,
        on: Any,
        ranges: Any,
        *,
        span: tuple[int, int],
        budget: float,
        tolerance: float | None,
    ):
        super().__init__(reference, on, ranges, span=span, budget=budget, tolerance=tolerance)
        self.op = make_operator(self)
        self.target = self.op._opoverload

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not torch.compiler.is_compiling() and _transforming():
            return self.reference(*args, **kwargs)
        return self.op(*args, **kwargs)

    # -- declarations ------------------------------------------------------------------------------

    def implementation(
        self,
        *,
        name: str | None = None,
        when: str | None = None,
        **parameters: Sequence[Any],
    ) -> Callable[[Function], Function]:
        """Declare the decorated function as an implementation that is valid where the expression
        `when` holds. Each of `parameters` is a list of values to try."""

        def declare(function: Function) -> Function:
            self._add(name or function.__name__, function, when, parameters)
            return function

        return declare

    def mlir(
        self, text: str, *, name: str, when: str | None = None, function: str = "main"
    ) -> Function:
        """Declare a function in MLIR text as an implementation. It takes the reference's tensors
        and the result as memrefs, and writes the result."""
        from ingot.dispatch.foreign import mlir_function

        made = mlir_function(self, name, text, function)
        self._add(name, made, when, {})
        return made

    def inputs(self, generator: Callable[..., Sequence[Any]]) -> Callable[..., Sequence[Any]]:
        """Declare a generator of arguments for measuring: a function of the sizes in `on`."""
        self.generator = generator
        return generator

    def pin(self, choices: Mapping[Any, str]) -> None:
        """Fix the implementation of ranges of sizes: {(1, 512): "short", (513, None): "long"}. With
        several sizes, a key has one pair for each. Pinned ranges are not measured."""
        place = _caller()
        rows = []
        for key, name in choices.items():
            box = self._box(key, place)
            rows.append(Row(box, self._candidate(name, place), 1.0, "pinned"))
        try:
            check_disjoint(row.box for row in rows)
        except RangeError as error:
            raise DispatchError(f"pin of {self.name}: {error}", place=place) from error
        self.pinned = RangeTable(
            tuple(sorted(rows, key=lambda row: [part.low for part in row.box]))
        )
        self.chosen.clear()

    def unpin(self) -> None:
        """Undo `pin`."""
        self.pinned = None
        self.chosen.clear()

    # -- measuring ---------------------------------------------------------------------------------

    def tune(self, *args: Any, budget: float | None = None, again: bool = False) -> TuningRecord:
        """Measure with arguments like these, unless the tuning file has the result; `again`
        measures in any case."""
        from ingot.dispatch.tune import record_for

        bound = self.bind(args, {})
        return record_for(self, bound, budget=budget, again=again)

    def report(self) -> str:
        """Measurements and choices, as text."""
        from ingot.dispatch.tuning_report import report_text

        return report_text(self)

    def plot(self, path: str | Path | None = None) -> str:
        """Plot time against size for every implementation, with the chosen ranges: as text, and as
        an SVG at `path`."""
        from ingot.dispatch.plot import plot

        return plot(self, path)


def _caller() -> Place | None:
    frame = inspect.currentframe()
    outer = frame.f_back.f_back if frame is not None and frame.f_back is not None else None
    return None if outer is None else Place(outer.f_code.co_filename, outer.f_lineno)


def _transforming() -> bool:
    """Is a transform of torch.func active? Custom ops do not take part in those."""
    return torch._C._functorch.peek_interpreter_stack() is not None
