"""Declarations of dispatched ops: a reference, the sizes that the choice depends on, and
implementations. A declared op is a callable that works like the reference everywhere and is known
to the compiler. An invalid declaration raises an error with the user's line at once; a dimension
that a tensor does not have raises one at the first tensor.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch._library.infer_schema import infer_schema

from ingot.dispatch.candidates import (
    REFERENCE,
    Candidate,
    candidates_of,
    signature_difference,
)
from ingot.dispatch.ranges import (
    Box,
    Range,
    RangeError,
    RangeTable,
    Row,
    box_text,
    boxes,
    check_disjoint,
    pair_range,
    ranges_from,
)
from ingot.dispatch.size_expressions import Shapes, SizeError, SizeExpression, parse, size_of
from ingot.errors import DispatchError, Place, did_you_mean

if TYPE_CHECKING:
    from ingot.dispatch.records import TuningRecord

Function = Callable[..., Any]
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


class Dispatch:
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
        self.name = reference.__name__
        self.__doc__ = reference.__doc__
        self.reference = reference
        self.place = place_of(reference)
        self.signature = self.__signature__ = inspect.signature(reference)
        self.tensors = _tensor_names(reference, self.signature, self.place)
        self.axes = self._axes(on)
        self.ranges = self._ranges(ranges)
        self.span = span
        self.budget = budget
        self.tolerance = tolerance
        self.candidates: dict[str, Candidate] = {REFERENCE: Candidate(REFERENCE, reference)}
        self.generator: Callable[..., Sequence[Any]] | None = None
        self.pinned: RangeTable | None = None
        self.records: dict[str, TuningRecord] = {}
        """Measurements, by setting."""
        self.files: set[Path] = set()
        """Tuning files already read."""
        self.frozen: tuple[str, ...] = ()
        """Arguments that stay the same from call to call, such as weights."""
        self.code: tuple[str, ...] = ()
        """For built-in variants: the source of the compiler's modules that run it."""
        self.chosen: dict[Any, Any] = {}
        """The candidate for eager calls of these sizes; cleared by measuring and pinning."""
        from ingot.dispatch.operator import make_operator

        self.op = make_operator(self)
        self.target = self.op._opoverload

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not torch.compiler.is_compiling() and _transforming():
            return self.reference(*args, **kwargs)
        return self.op(*args, **kwargs)

    def __repr__(self) -> str:
        on = ", ".join(axis.text for axis in self.axes)
        return f"<dispatch {self.name} on {on}: {', '.join(self.candidates)}>"

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

    # -- questions ---------------------------------------------------------------------------------

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return dict(bound.arguments)

    def shapes(self, bound: Mapping[str, Any]) -> Shapes:
        return {name: tuple(bound[name].shape) for name in self.tensors if name in bound}

    def sizes(self, shapes: Shapes) -> list[Any]:
        """The dispatched sizes, for arguments of these shapes."""
        try:
            return [axis.of(shapes) for axis in self.axes]
        except SizeError as error:
            raise DispatchError(f"{self.name}: {error}", place=self.place) from error

    def boxes(self) -> list[Box] | None:
        """The declared boxes; None if they are to be found by search."""
        return None if self.ranges is None else boxes(self.ranges)

    # -- checks ------------------------------------------------------------------------------------

    def _add(
        self,
        name: str,
        function: Function,
        when: str | None,
        parameters: Mapping[str, Sequence[Any]],
    ) -> None:
        place = place_of(function)
        difference = signature_difference(
            self.signature, inspect.signature(function), list(parameters)
        )
        if difference:
            raise DispatchError(
                f"the signature of {name} differs from that of {self.name}: {difference}",
                place=place,
            )
        for key, values in parameters.items():
            if not isinstance(values, list | tuple) or not values:
                raise DispatchError(f"{key}={values!r} is no list of values to try", place=place)
        valid = None if when is None else self._expression(when, place)
        for candidate in candidates_of(name, function, parameters, valid):
            if candidate.name in self.candidates:
                raise DispatchError(
                    f"{self.name} has an implementation {candidate.name} already", place=place
                )
            self.candidates[candidate.name] = candidate
        self.records.clear()
        self.files.clear()
        self.chosen.clear()

    def _axes(self, on: Any) -> tuple[SizeExpression, ...]:
        given = on if isinstance(on, list) else [on]
        if not given:
            raise DispatchError("`on` names no size", place=self.place)
        return tuple(self._axis(item) for item in given)

    def _axis(self, item: Any) -> SizeExpression:
        match item:
            case (str(name), int(dimension)):
                return self._expression(size_of(name, dimension).text, self.place)
            case str(text):
                return self._expression(text, self.place)
        raise DispatchError(
            f"on={item!r} names no size",
            place=self.place,
            hints=['write ("x", 1), or an expression such as "x.shape[1] * y.shape[0]"'],
        )

    def _expression(self, text: str, place: Place | None) -> SizeExpression:
        try:
            found = parse(text)
        except (SizeError, AttributeError) as error:
            raise DispatchError(str(error), place=place) from error
        for name in sorted(found.names()):
            if name not in self.tensors:
                raise DispatchError(
                    f"{self.name} has no tensor {name!r}",
                    place=place,
                    hints=[did_you_mean(name, self.tensors)],
                )
        return found

    def _ranges(self, given: Any) -> tuple[tuple[Range, ...], ...] | None:
        if isinstance(given, str) and given == "auto":
            if len(self.axes) != 1:
                raise DispatchError('ranges="auto" takes one size', place=self.place)
            return None
        several = len(self.axes) > 1
        parts = given if several else [given]
        if several and (not isinstance(given, list | tuple) or len(given) != len(self.axes)):
            raise DispatchError(
                f"ranges={given!r} is no list of {len(self.axes)}, one for each size of `on`",
                place=self.place,
            )
        try:
            return tuple(ranges_from(part) for part in parts)
        except RangeError as error:
            raise DispatchError(f"ranges of {self.name}: {error}", place=self.place) from error

    def _box(self, key: Any, place: Place | None) -> Box:
        parts = [key] if len(self.axes) == 1 else key
        try:
            if len(parts) != len(self.axes):
                raise RangeError(f"{key!r} is not one pair for each of {len(self.axes)} sizes")
            return tuple(pair_range(item) for item in parts)
        except (RangeError, TypeError) as error:
            raise DispatchError(f"pin of {self.name}: {error}", place=place) from error

    def _candidate(self, name: str, place: Place | None) -> str:
        if name in self.candidates:
            return name
        raise DispatchError(
            f"{self.name} has no implementation {name!r}",
            place=place,
            hints=[did_you_mean(name, self.candidates)],
        )

    def describe(self, box: Box) -> str:
        return f"{', '.join(axis.text for axis in self.axes)} in {box_text(box)}"


def place_of(function: Function) -> Place | None:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return None if code is None else Place(code.co_filename, code.co_firstlineno)


def _caller() -> Place | None:
    frame = inspect.currentframe()
    outer = frame.f_back.f_back if frame is not None and frame.f_back is not None else None
    return None if outer is None else Place(outer.f_code.co_filename, outer.f_lineno)


def _tensor_names(
    reference: Function, signature: inspect.Signature, place: Place | None
) -> tuple[str, ...]:
    try:
        infer_schema(reference, mutates_args=())
        hints = inspect.get_annotations(reference, eval_str=True)
    except Exception as error:
        raise DispatchError(
            f"the signature of {reference.__name__} is no operation's: {error}",
            place=place,
            hints=[
                "annotate every argument and the result: def f(x: torch.Tensor) -> torch.Tensor"
            ],
        ) from error
    return tuple(name for name in signature.parameters if hints.get(name) is torch.Tensor)


def _transforming() -> bool:
    """Is a transform of torch.func active? Custom ops do not take part in those."""
    return torch._C._functorch.peek_interpreter_stack() is not None
