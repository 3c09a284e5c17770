"""Control flow executed by Python; each body is a plan of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

Run = Callable[[list[Any]], Sequence[Any]]


def eager_control_flow(
    kind: str, carried: int, sliced: int, runs: Sequence[Run]
) -> Callable[..., Sequence[Any]]:
    """A function of the predicate and the operands. The first `carried` operands pass from
    iteration to iteration; the next `sliced` are iterated over."""

    def branch(predicate: Any, operands: tuple[Any, ...]) -> Sequence[Any]:
        yes, no = runs
        return (yes if predicate else no)(list(operands))

    def loop(_: None, operands: tuple[Any, ...]) -> Sequence[Any]:
        test, body = runs
        values, shared = list(operands[:carried]), operands[carried:]
        while test([*values, *shared])[0]:
            values = list(body([*values, *shared]))
        return [_own(value, operands) for value in values]

    def scan(_: None, operands: tuple[Any, ...]) -> Sequence[Any]:
        (body,) = runs
        values, shared = list(operands[:carried]), operands[carried + sliced :]
        stacked: list[Sequence[Any]] = []
        for elements in zip(*operands[carried : carried + sliced]):
            results = list(body([*values, *elements, *shared]))
            values = results[:carried]
            stacked.append(results[carried:])
        return [
            *(_own(value, operands) for value in values),
            *(torch.stack(parts) for parts in zip(*stacked)),
        ]

    kinds: dict[str, Callable[..., Sequence[Any]]] = {"branch": branch, "loop": loop, "scan": scan}
    return kinds[kind]


def _own(value: Any, operands: tuple[Any, ...]) -> Any:
    """A loop without iterations returns copies of its initial values."""
    same = isinstance(value, torch.Tensor) and any(value is operand for operand in operands)
    return value.clone() if same else value
