"""Collects the source lines that nodes came from: the files, and each distinct stack once.

A stack has every line between the model's call and the operation. Lines of PyTorch are left out
unless there are no others.
"""

from __future__ import annotations

import linecache
import os

import torch
from torch import fx

from ingot.errors import Place
from ingot.explain.records import Line, Source
from ingot.program.source import trace_places

MOST_LINES = 20_000
"""Of a file; the rest is left out."""
_TORCH = os.path.dirname(torch.__file__) + os.sep


class Sources:
    def __init__(self) -> None:
        self._files: dict[str, int] = {}
        self._known: dict[str, dict[int, str]] = {}
        """Lines by file as the traces show them, in case the file cannot be read."""
        self._stacks: dict[tuple[Line, ...], int] = {}
        self._by_trace: dict[str, int] = {}

    def stack_of(self, node: fx.Node) -> int:
        trace = node.meta.get("stack_trace") or ""
        found = self._by_trace.get(trace)
        if found is None:
            found = self._by_trace[trace] = self._stack(trace)
        return found

    def _stack(self, trace: str) -> int:
        places = [place for place in trace_places(trace) if not _is_internal(place)]
        own = [place for place in places if not place.file.startswith(_TORCH)]
        lines = tuple(dict.fromkeys(self._line(place) for place in own or places[-1:]))
        return self._stacks.setdefault(lines, len(self._stacks)) if lines else -1

    def _line(self, place: Place) -> Line:
        number = self._files.setdefault(place.file, len(self._files))
        self._known.setdefault(place.file, {})[place.line] = place.code
        return number, place.line

    def stacks(self) -> tuple[tuple[Line, ...], ...]:
        return tuple(self._stacks)

    def sources(self) -> tuple[Source, ...]:
        return tuple(Source(name, self._text(file)) for file, name in _names(self._files).items())

    def _text(self, file: str) -> str:
        lines = [line.rstrip("\r\n") for line in linecache.getlines(file)[:MOST_LINES]]
        known = {n: code for n, code in self._known[file].items() if 0 < n <= MOST_LINES}
        if not lines:
            lines = [known.get(n, "") for n in range(1, max(known, default=0) + 1)]
        return "\n".join(lines)


def _is_internal(place: Place) -> bool:
    return place.file.startswith("<") and not linecache.getlines(place.file)


def _names(files: dict[str, int]) -> dict[str, str]:
    """A short name for each file: the fewest last parts of its path that no other file has."""
    parts = {file: file.split(os.sep) for file in files}
    return {file: _name(file, parts) for file in files}


def _name(file: str, parts: dict[str, list[str]]) -> str:
    own = parts[file]
    for count in range(1, len(own) + 1):
        if all(other == file or parts[other][-count:] != own[-count:] for other in parts):
            return "/".join(own[-count:])
    return file
