"""Plans with inputs: what a plan computes when it is interpreted, for several sizes and values."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch

from ingot.plan import ir
from ingot.plan.interpret import interpret
from ingot.plan.text import parse
from tests.plan.random_plans import random_plan
from tests.plan.resources import Resources
from tests.plan.samples import SAMPLES

MOST_CALLS = 300
"""Calls after which a run counts as endless."""


@dataclass
class Limited(Resources):
    """Stops plans whose loops do not end."""

    calls: int = field(default=0)

    def target(self, name: str) -> Any:
        self.calls += 1
        if self.calls > MOST_CALLS:
            raise RuntimeError("the plan does not end")
        return super().target(name)


@dataclass(frozen=True)
class Run:
    sizes: Mapping[str, int]
    inputs: Callable[[], list[Any]]
    constants: Mapping[str, Any] = field(default_factory=dict)

    def outcome(self, plan: ir.Plan) -> Any:
        """The results and the inputs after the call, or the error."""
        torch.manual_seed(0)
        given = self.inputs()
        try:
            results = interpret(plan, Limited(dict(self.constants)), given)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return [results, given]


def same(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        layout = one.dtype is other.dtype and one.shape == other.shape
        return layout and torch.allclose(one, other, equal_nan=True)
    if isinstance(one, list | tuple):
        alike = type(one) is type(other) and len(one) == len(other)
        return alike and all(map(same, one, other))
    if isinstance(one, dict):
        return (
            isinstance(other, dict)
            and one.keys() == other.keys()
            and all(same(one[key], other[key]) for key in one)
        )
    return bool(one == other)


def _values(*shapes: tuple[int, ...]) -> list[Any]:
    generator = torch.Generator().manual_seed(1)
    return [torch.rand(shape, generator=generator) for shape in shapes]


def _linear(rows: int) -> Run:
    return Run({"s0": rows}, lambda: _values((rows, 64), (32, 64)))


def _branches(rows: int, flag: bool) -> Run:
    inputs = lambda: [*_values((rows, 4)), torch.zeros(16, 4), 7]  # noqa: E731
    return Run({"s0": rows}, inputs, {"flag": torch.tensor(flag)})


def _eager(values: list[float], flag: bool) -> Run:
    def inputs() -> list[Any]:
        return [torch.tensor(values), *_values((6,)), torch.tensor(flag)]

    return Run({"u0": sum(map(bool, values))}, inputs, {"table": torch.arange(6.0)})


RUNS: dict[str, list[Run]] = {
    "linear": [_linear(5), _linear(45)],  # a requirement fails for the second
    "static": [Run({}, lambda: _values((4, 8)))],
    "branches": [_branches(rows, flag) for rows, flag in
                 ((3, True), (8, False), (9, True), (16, True), (17, False), (20, True))],
    "loops": [Run({}, lambda: _values((3, 4), (4,)), {"zero": torch.tensor(0)})],
    "eager": [_eager([0.0, 1, 0, 2, 3, 0], True), _eager([1.0, 1, 1, 2, 3, 4], False)],
}  # fmt: skip


def samples() -> list[tuple[ir.Plan, list[Run]]]:
    """Every hand-written plan and a random one, with inputs."""
    found = [(parse(SAMPLES[name]), runs) for name, runs in RUNS.items()]
    for seed in range(1):
        made = random_plan(random.Random(seed))
        found.append((made.plan, [Run(made.sizes, partial(made.inputs, 0))]))
    return found
