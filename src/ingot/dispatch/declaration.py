"""The data of a dispatched op: a reference, the sizes that the choice depends on, implementations,
and what was measured. An invalid declaration raises an error with the user's line at once; a
dimension that a tensor does not have raises one at the first tensor.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

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
    box_text,
    boxes,
    pair_range,
    ranges_from,
)
from ingot.dispatch.size_expressions import Shapes, SizeError, SizeExpression, parse, size_of
from ingot.dispatch.tuning_record import TuningRecord
from ingot.errors import DispatchError, Place, did_you_mean

Function = Callable[..., Any]


class Declaration:
    """An op with a reference and several implementations."""

    target: torch._ops.OpOverload
    """The op by which a program calls it."""

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

    def __repr__(self) -> str:
        on = ", ".join(axis.text for axis in self.axes)
        return f"<dispatch {self.name} on {on}: {', '.join(self.candidates)}>"

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

    # -- declarations ------------------------------------------------------------------------------

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
