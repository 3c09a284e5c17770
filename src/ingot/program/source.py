"""Source locations in the user's program. From a node's stack trace, or from the running frames,
finds the innermost line that is not PyTorch's, ours or a library's, or None.
"""

from __future__ import annotations

import os
import re
import sysconfig
import traceback
from functools import cache

import torch
from torch.fx import Node

from ingot.errors import Place

_FRAME = re.compile(r'^\s*File "(?P<file>.+)", line (?P<line>\d+)(?:, in .*)?$')


def node_place(node: Node) -> Place | None:
    """The innermost line of the user's; if only library lines are known, the innermost of those."""
    trace = node.meta.get("stack_trace")
    return trace_place(trace) if trace else None


def running_place() -> Place | None:
    """The innermost line of the user's that is running."""
    for frame in reversed(traceback.extract_stack()):
        if not is_library(frame.filename):
            return Place(frame.filename, frame.lineno or 0, frame.line or "")
    return None


@cache
def trace_place(trace: str) -> Place | None:
    places = trace_places(trace)
    own = [place for place in places if not is_library(place.file)]
    if own:
        return own[-1]
    files = [place for place in places if not place.file.startswith("<")]
    return files[-1] if files else None


def trace_places(trace: str) -> list[Place]:
    """Every line in a stack trace, the innermost last."""
    lines = trace.splitlines()
    places = []
    for i, text in enumerate(lines):
        if (match := _FRAME.match(text)) is None:
            continue
        code = lines[i + 1].strip() if i + 1 < len(lines) else ""
        code = "" if _FRAME.match(code) else code
        places.append(Place(match["file"], int(match["line"]), code))
    return places


@cache
def _library_folders() -> tuple[str, ...]:
    paths = {sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")}
    paths.add(os.path.dirname(torch.__file__))
    paths.add(os.path.dirname(os.path.dirname(__file__)))
    return tuple(sorted(path for path in paths if path))


@cache
def is_library(file: str) -> bool:
    return (
        file.startswith(_library_folders())
        or "site-packages" in file
        or "dist-packages" in file
        or file.startswith("<")
    )
