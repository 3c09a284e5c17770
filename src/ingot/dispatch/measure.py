"""Time candidates against each other. The timed code is the native code that a program would run,
and its result is compared with the reference's first. Candidates take turns in random order, so
that a disturbance affects all of them.
"""

from __future__ import annotations

import math
import random
import statistics
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import sympy
import torch
from torch.utils import _pytree as pytree

from ingot.dispatch.candidates import REFERENCE, Candidate
from ingot.dispatch.declaration import Declaration
from ingot.dispatch.narrow import bounds_of, expression, solved, world_of
from ingot.dispatch.ranges import Box, Range
from ingot.dispatch.symbolic_calls import call_at
from ingot.dispatch.trace import OperatorCall, Traced, Untraceable, trace
from ingot.extensions import extension
from ingot.options import Options

SAMPLE_SECONDS = 3e-4
"""Approximate minimum duration of a timed sample."""
MOST_ROUNDS, LEAST_ROUNDS = 15, 5
HOPELESS = 20
"""A candidate this many times slower than the fastest is timed once, for all rounds."""
MOST_BYTES = 1 << 28
"""Arguments larger than this are not measured."""
TOLERANCES = {
    torch.float16: 1e-2,
    torch.bfloat16: 4e-2,
    torch.float32: 1e-4,
    torch.float64: 1e-9,
    torch.complex64: 1e-4,
    torch.complex128: 1e-9,
}


class Disqualified(Exception):
    """Why a candidate is excluded."""


@dataclass(frozen=True)
class Timed:
    """Seconds per round at one size, by candidate; all have the same number of rounds."""

    sizes: tuple[int, ...]
    rounds: Mapping[str, Sequence[float]]

    def typical(self) -> dict[str, float]:
        """The lower quartile of each: a disturbance only makes a call slower."""
        return {name: sorted(times)[len(times) // 4] for name, times in self.rounds.items()}

    def costs(self) -> dict[str, float]:
        """The logarithm of each candidate's time over the fastest's, as the median over rounds: a
        disturbance of a round affects all candidates in it."""
        typical = self.typical()
        fastest = self.rounds[min(typical, key=typical.__getitem__)]
        return {
            name: statistics.median(math.log(a / b) for a, b in zip(times, fastest, strict=True))
            for name, times in self.rounds.items()
        }

    def joined(self, other: Timed) -> Timed:
        """With the rounds of another measurement, for candidates that ran in both."""
        both = [name for name in self.rounds if name in other.rounds]
        return Timed(self.sizes, {n: [*self.rounds[n], *other.rounds[n]] for n in both})


@dataclass
class Bench:
    """The measurement of one call."""

    call: OperatorCall
    options: Options
    deadline: float
    disqualified: dict[str, str] = field(default_factory=dict)
    _compiled: dict[tuple[str, Box], Any] = field(default_factory=dict)
    _calls: dict[Box, OperatorCall] = field(default_factory=dict)

    @property
    def dispatch(self) -> Declaration:
        return self.call.dispatch

    def spent(self) -> bool:
        return time.perf_counter() >= self.deadline

    def possible(self) -> list[Range]:
        """Known ranges of the dispatched sizes."""
        world = world_of(self.call.inputs)
        return [Range(*bounds_of(size, world)) for size in self.call.sizes()]

    def call_in(self, box: Box) -> OperatorCall:
        """The call under a box; without symbols if the box is a single size."""
        if box not in self._calls:
            sizes = [part.only() for part in box]
            known = [size for size in sizes if size is not None]
            fixed = None
            if len(known) == len(sizes):
                fixed = call_at(self.dispatch, self.call.bound, known)
            self._calls[box] = fixed or self.call
        return self._calls[box]

    def time_at(self, sizes: tuple[int, ...], box: Box) -> Timed | None:
        """None if no arguments of these sizes can be made, or no time is left."""
        if self.spent():
            return None
        bound = arguments_at(self.call_in(box), sizes, box)
        if bound is None:
            return None
        sizes = tuple(self.dispatch.sizes(self.dispatch.shapes(bound)))
        runs = self._runs(bound, sizes, box)
        return Timed(sizes, _in_turns(runs, self.deadline)) if runs else None

    def _runs(
        self, bound: dict[str, Any], sizes: tuple[int, ...], box: Box
    ) -> dict[str, Callable[[], Any]]:
        """The candidates whose results match the reference's, ready to be timed."""
        shapes = self.dispatch.shapes(bound)
        with torch.no_grad():
            wanted = self.dispatch.reference(**bound)
        inputs = call_inputs(self.call_in(box), bound)
        runs: dict[str, Callable[[], Any]] = {}
        for candidate in self.dispatch.candidates.values():
            if candidate.name in self.disqualified or not candidate.serves(shapes):
                continue
            try:
                run = self._native(candidate, box, shapes)
                if run is None:
                    continue
                with torch.no_grad():
                    check_result(self.dispatch, candidate, run(list(inputs)), wanted, sizes)
            except Disqualified as error:
                self.disqualify(candidate, str(error))
                continue
            runs[candidate.name] = partial(_run, run, inputs)
        return runs

    def disqualify(self, candidate: Candidate, why: str) -> None:
        self.disqualified[candidate.name] = why
        if candidate.name != REFERENCE:
            warnings.warn(
                f"{self.dispatch.name}: {candidate.name} is not used: {why}", stacklevel=2
            )

    def _native(self, candidate: Candidate, box: Box, shapes: Any) -> Callable[..., Any] | None:
        """The compiled candidate; None if it assumes conditions that do not hold here."""
        key = (candidate.name, box)
        if key not in self._compiled:
            self._compiled[key] = self._made(candidate, box)
        run, assumed = self._compiled[key]
        if not assumed:
            return run
        values = _symbol_values(self.call_in(box), shapes)
        return run if all(bool(fact.xreplace(values)) for fact in assumed) else None

    def _made(self, candidate: Candidate, box: Box) -> tuple[Callable[..., Any], Any]:
        from ingot.passes.decompose import decomposition_table

        try:
            traced = trace(self.call_in(box), candidate, box, decomposition_table())
            return self._native_code(traced, candidate, box), traced.assumed
        except Untraceable as error:
            if candidate.name != REFERENCE:
                raise Disqualified(f"tracing it failed: {error}") from error
            return partial(self._eager_reference, self.call_in(box)), ()
        except Exception as error:
            raise Disqualified(f"it cannot be compiled: {_first_line(error)}") from error

    def _native_code(self, traced: Traced, candidate: Candidate, box: Box) -> Callable[..., Any]:
        from ingot.program.program import program_from_fx

        bound = self.call_in(box).bound.items()
        names = [n for n, v in bound if isinstance(v, torch.Tensor | torch.SymInt)]
        static = [i for i, name in enumerate(names) if name in self.dispatch.frozen]
        program = program_from_fx(traced.module, static_input_indices=static)
        compiled = extension("compile_version")(
            program, replace(self.options, variants=candidate.variants)
        )
        return compiled.run

    def _eager_reference(self, call: OperatorCall, values: list[Any]) -> Any:
        return pytree.tree_leaves(self.dispatch.reference(**call.with_inputs(values)))


def call_inputs(call: OperatorCall, bound: Mapping[str, Any]) -> list[Any]:
    """The real arguments that the code of the call takes."""
    known = zip(bound.values(), call.bound.values(), strict=True)
    return [value for value, fake in known if isinstance(fake, torch.Tensor | torch.SymInt)]


def _run(run: Callable[[list[Any]], Any], inputs: Sequence[Any]) -> Any:
    return run(list(inputs))


def _in_turns(runs: Mapping[str, Callable[[], Any]], deadline: float) -> dict[str, list[float]]:
    once = {name: _once(run) for name, run in runs.items()}
    close = [name for name in runs if once[name] < HOPELESS * min(once.values())]
    counts = {name: max(1, min(1000, round(SAMPLE_SECONDS / once[name]))) for name in close}
    mixed = random.Random(0)
    rounds: list[dict[str, float]] = []
    while len(rounds) < LEAST_ROUNDS or (
        len(rounds) < MOST_ROUNDS and time.perf_counter() < deadline
    ):
        order = mixed.sample(close, len(close))
        rounds.append(once | {name: _seconds(runs[name], counts[name]) for name in order})
    return {name: [each[name] for each in rounds] for name in runs}


def _once(run: Callable[[], Any]) -> float:
    """Seconds of one warm call."""
    run()
    return max(min(_seconds(run, 1) for _ in range(3)), 1e-7)


def _seconds(run: Callable[[], Any], count: int) -> float:
    with torch.no_grad():
        start = time.perf_counter()
        for _ in range(count):
            run()
        return (time.perf_counter() - start) / count


def check_result(
    dispatch: Declaration, candidate: Candidate, got: Any, wanted: Any, sizes: tuple[int, ...]
) -> None:
    """Raises Disqualified if the result differs from the reference's."""
    where = ", ".join(f"{axis.text} = {n}" for axis, n in zip(dispatch.axes, sizes, strict=True))
    for a, b in zip(pytree.tree_leaves(got), pytree.tree_leaves(wanted), strict=True):
        if a.shape != b.shape or a.dtype != b.dtype:
            raise Disqualified(f"at {where} it returns {a.dtype}{list(a.shape)}")
        difference, scale = _difference(a, b)
        allowed = TOLERANCES.get(b.dtype, 0.0) if dispatch.tolerance is None else dispatch.tolerance
        if not difference <= allowed * scale:
            raise Disqualified(
                f"at {where} it differs from the reference by {difference:.3g}, where the largest "
                f"value is {scale:.3g}"
            )


def _difference(a: torch.Tensor, b: torch.Tensor) -> tuple[float, float]:
    """The largest difference, and the largest finite value."""
    if not b.numel():
        return 0.0, 0.0
    wide = torch.complex128 if b.is_complex() else torch.float64
    x, y = a.to(wide), b.to(wide)
    same = (x == y) | (x.isnan() & y.isnan())
    difference = torch.where(same, 0.0, (x - y).abs()).nan_to_num(nan=float("inf"))
    finite = torch.where(y.isfinite(), y.abs(), 0.0)
    return float(difference.max()), float(finite.max())


# -- arguments -------------------------------------------------------------------------------------


def arguments_at(call: OperatorCall, sizes: Sequence[int], box: Box) -> dict[str, Any] | None:
    """Real arguments whose dispatched sizes are these, or close to them."""
    dispatch = call.dispatch
    if dispatch.generator is not None:
        with torch.random.fork_rng(devices=[]):
            made = dispatch.generator(*sizes)
        return dispatch.bind(made if isinstance(made, tuple | list) else (made,), {})
    values = solved(call.inputs, list(zip(call.sizes(), sizes, box, strict=True)))
    if values is None:
        return None
    bound = {name: _real(value, values) for name, value in call.bound.items()}
    lost = any(isinstance(call.bound[n], torch.Tensor) and v is None for n, v in bound.items())
    return None if lost else bound


def _symbol_values(
    call: OperatorCall, shapes: Mapping[str, Sequence[int]]
) -> dict[sympy.Symbol, Any]:
    found: dict[sympy.Symbol, Any] = {}
    for name, shape in shapes.items():
        for symbolic, number in zip(call.bound[name].shape, shape, strict=True):
            expr = expression(symbolic)
            if isinstance(expr, sympy.Symbol):
                found[expr] = sympy.Integer(number)
    return found


def _real(value: Any, values: Mapping[sympy.Symbol, Any]) -> Any:
    """A tensor of random values with the dtype, sizes and strides of a fake one; None if it is too
    large."""
    if not isinstance(value, torch.Tensor):
        expr = expression(value)
        return int(expr.xreplace(values)) if isinstance(value, torch.SymInt) else expr
    sizes = [_number(n, values) for n in value.shape]
    strides = [_number(n, values) for n in value.stride()]
    span = 1 + sum((n - 1) * s for n, s in zip(sizes, strides)) if all(sizes) else 0
    if span * value.dtype.itemsize > MOST_BYTES:
        return None
    generator = torch.Generator().manual_seed(0)
    if value.dtype.is_floating_point or value.dtype.is_complex:
        flat = torch.randn(span, generator=generator, dtype=_drawn(value.dtype)).to(value.dtype)
    else:
        high = 2 if value.dtype is torch.bool else 10
        flat = torch.randint(0, high, (span,), generator=generator).to(value.dtype)
    return flat.as_strided(sizes, strides)


def _drawn(dtype: torch.dtype) -> torch.dtype:
    return dtype if dtype in TOLERANCES else torch.float32


def _number(number: Any, values: Mapping[sympy.Symbol, Any]) -> int:
    expr = expression(number)
    return expr if isinstance(expr, int) else int(expr.xreplace(values))


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
