"""The names in a Python file, which is not run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path


def names_in(file: str, start: str = "") -> Iterator[str]:
    """Public functions, classes and variables whose names start so."""
    try:
        body = ast.parse(Path(file).read_text()).body
    except (OSError, SyntaxError, ValueError):
        return
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            names = [statement.name]
        elif isinstance(statement, ast.Assign):
            names = [node.id for node in statement.targets if isinstance(node, ast.Name)]
        else:
            continue
        yield from (n for n in names if n.startswith(start) and not n.startswith("_"))
