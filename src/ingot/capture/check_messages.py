"""Keep the messages and lines of torch._check calls for the assertions that stand for them in the
graph. By default the tracer keeps only the condition, and reports `Runtime assertion failed for
expression u0 >= 0`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import sympy
import torch
from torch.fx import Graph

from ingot.errors import Place
from ingot.exclusive import replaced
from ingot.program.source import running_place

aten = torch.ops.aten


@dataclass(frozen=True)
class CapturedCheck:
    condition: sympy.Basic
    text: str
    place: Place | None

    def message(self) -> str:
        return self.text if self.place is None else f"{self.text}\n  at {self.place}"


@contextmanager
def noting_checks(found: list[CapturedCheck]) -> Iterator[None]:
    """Record every torch._check of a symbolic condition."""
    original: Callable[..., None] = torch._check

    def check(cond: Any, message: Any = None) -> None:
        if isinstance(cond, torch.SymBool):
            text = f"torch._check failed: {cond}" if message is None else str(message())
            found.append(CapturedCheck(cond.node.expr, text, running_place()))
        original(cond, message)

    with replaced(torch, "_check", check):
        yield


def restore_texts(graph: Graph, checks: list[CapturedCheck]) -> None:
    """Give each assertion the message of its check."""
    by_condition = {str(check.condition): check for check in reversed(checks)}
    for node in graph.nodes:
        if node.target is not aten._assert_scalar.default:
            continue
        condition = node.args[0].meta.get("val") if hasattr(node.args[0], "meta") else None
        if isinstance(condition, torch.SymBool):
            check = by_condition.get(str(condition.node.expr))
            if check is not None:
                node.args = (node.args[0], check.message())
