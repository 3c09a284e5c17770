"""Registry of test programs: each is a function or module with its arguments. `grad` states whether
eager supports backward through it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True)
class Case:
    name: str
    build: Callable[[], tuple[Callable[..., Any], tuple[Any, ...]]]
    grad: bool = True


CASES: list[Case] = []


def case(*shapes: tuple[int, ...], grad: bool = True) -> Callable[[Any], Any]:
    """Register a function of float tensors of these shapes, or a module class."""

    def register(made: Any) -> Any:
        def build() -> tuple[Callable[..., Any], tuple[Any, ...]]:
            torch.manual_seed(7)
            function = made() if isinstance(made, type) else made
            args = tuple(torch.randn(shape).requires_grad_(grad) for shape in shapes)
            return function, args

        CASES.append(Case(made.__name__, build, grad))
        return made

    return register
