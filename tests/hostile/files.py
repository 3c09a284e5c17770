"""Unpacks saved files and writes them back, valid or not."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

GRAPH, PROGRAM, TENSORS = "graph.json", "program.json", "tensors.safetensors"
Path_ = tuple[str | int, ...]


@dataclass
class File:
    """The mutable contents of a saved program."""

    graph: Any
    program: Any
    tensors: bytes
    extra: dict[str, bytes] = field(default_factory=dict)
    compression: int = zipfile.ZIP_STORED

    @staticmethod
    def read(path: Path) -> File:
        with zipfile.ZipFile(path) as archive:
            return File(
                json.loads(archive.read(GRAPH)),
                json.loads(archive.read(PROGRAM)),
                archive.read(TENSORS),
            )

    def write(self, path: Path) -> Path:
        members = {GRAPH: _bytes(self.graph), PROGRAM: _bytes(self.program), TENSORS: self.tensors}
        return write_members(path, {**members, **self.extra}, self.compression)

    def node(self, name: str) -> Any:
        return next(n for n in self.graph["graph"]["nodes"] if n["name"] == name)

    def call(self, target: str = "") -> Any:
        """The first call whose target starts with `target`."""
        return next(
            n
            for n in self.graph["graph"]["nodes"]
            if n["op"] == "call" and n["target"].startswith(target)
        )


def _bytes(document: Any) -> bytes:
    return document if isinstance(document, bytes) else json.dumps(document).encode()


def write_members(path: Path, members: dict[str, bytes], compression: int = 0) -> Path:
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data, compression)
    return path


def places(document: Any, path: Path_ = ()) -> Iterator[tuple[Path_, Any]]:
    """Every part of a document with its path."""
    yield path, document
    if isinstance(document, dict):
        for key, value in document.items():
            yield from places(value, (*path, key))
    if isinstance(document, list):
        for i, value in enumerate(document):
            yield from places(value, (*path, i))


def at(document: Any, path: Path_) -> Any:
    for key in path:
        document = document[key]
    return document


def shape(path: Path_) -> tuple[str, ...]:
    """The path with indices replaced by "*"."""
    return tuple("*" if isinstance(key, int) else key for key in path)
