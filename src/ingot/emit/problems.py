"""One EmitError for everything that a dialect cannot take. A problem comes from a check of a node
or from a pipeline's diagnostic. It names the operation, the user's line, dtype and shape, the
reason and a hint.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from torch.fx import Node

from ingot.emit.isolate import Complaint, PipelineError
from ingot.emit.levels import Dialect
from ingot.errors import EmitError, Place
from ingot.program.program import Program
from ingot.program.source import node_place
from ingot.program.text import target_name, value_type


@dataclass(frozen=True)
class Problem:
    """One node that the dialect cannot take."""

    op: str
    value: str
    """Its dtype and shape."""
    why: str
    hint: str = ""
    place: Place | None = None
    node: str = field(default="", compare=False)
    """The node's name in the legalized graph."""

    def as_text(self) -> str:
        lines = [f"{self.op} -> {self.value}: {self.why}"]
        if self.place is not None:
            lines.append(f"  at {self.place}")
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return "\n  ".join(lines)


def problem(node: Node, why: str, hint: str = "") -> Problem:
    name = target_name(node.target) if node.op == "call_function" else node.op
    return Problem(name, value_type(node.meta.get("val")), why, hint, node_place(node), node.name)


def problems_error(dialect: Dialect, problems: Sequence[Problem]) -> EmitError:
    count = f"{len(problems)} operations" if len(problems) > 1 else "one operation"
    text = "\n  ".join(p.as_text() for p in problems)
    error = EmitError(f"{dialect.name} cannot take {count}:\n  {text}")
    error.problems = tuple(problems)
    return error


def complaints_error(program: Program, dialect: Dialect, error: PipelineError) -> EmitError:
    nodes = {node.name: node for node in program.graph.nodes}
    found = [_from_complaint(complaint, nodes, error.step) for complaint in error.complaints]
    unique = list(dict.fromkeys(found))
    return problems_error(dialect, unique)


def first_line(error: Exception) -> str:
    if isinstance(error, PipelineError):
        return f"{error.step}: {_plain(error.complaints[0].message)}"
    return str(error).splitlines()[0]


_NODE = re.compile(r'"([^"]+)"\(')
_PYTHON_ERROR = re.compile(r'error: "([^"]+)"\(')


def _from_complaint(complaint: Complaint, nodes: dict[str, Node], step: str) -> Problem:
    why = _plain(complaint.message)
    match = _NODE.search(complaint.location) or _PYTHON_ERROR.search(complaint.message)
    node = nodes.get(match.group(1)) if match else None
    if node is None:
        return Problem("the whole program", step, why)
    return problem(node, f"{step}: {why}")


def _plain(message: str) -> str:
    """The first line, without the printed operation that follows it."""
    text = message.strip().splitlines()[0]
    return re.sub(r": %\d.*$", "", text)[:300]
