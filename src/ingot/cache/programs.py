"""Entries of compiled programs: the parts of the key, kept to tell entries apart, and the program.
If compiling asked questions (environment.py), an entry under the key without their answers lists
them, and the program is under the key with them. Read without PyTorch.
"""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

from ingot.errors import CompileError

MOST_BYTES = 1 << 26
"""Of a part of an entry, inflated."""
_MAGIC, _QUESTIONS = b"ingotpr1", b"ingotqu1"
_HEAD = struct.Struct("<8sQ")
_MOST_QUESTIONS = 10_000


class ProgramEntryError(CompileError):
    """A damaged entry."""


@dataclass(frozen=True)
class ProgramKey:
    """The parts of a program's key, in the order in which they are compared."""

    format: str
    """Of entries."""
    ingot: str
    """The version of ingot; in a checkout, the digest of its sources."""
    torch: str
    compiler: str
    machine: str
    state: str
    """Of the thread: the default dtype, grad mode."""
    options: str
    signature: str
    """Of inputs and outputs: which are the module's own, which are written."""
    symbols: str
    """Ranges of sizes, and what the tracer assumed of them."""
    constants: str
    """The digest of each tensor in the graph."""
    graph: str
    """The graph as text, without the places of its lines."""
    environment: str = ""
    """Questions that compiling asked, with the answers."""

    def key(self) -> str:
        digest = hashlib.sha256()
        for field in fields(self):
            digest.update(getattr(self, field.name).encode())
            digest.update(b"\0")
        return digest.hexdigest()[:32]

    def answered(self, questions: Sequence[str], answers: Sequence[str]) -> ProgramKey:
        """With these questions about the environment."""
        return replace(self, environment=json.dumps([*zip(questions, answers, strict=True)]))


def program_entry(key: ProgramKey, program: bytes) -> bytes:
    parts = zlib.compress(json.dumps([getattr(key, f.name) for f in fields(key)]).encode(), 1)
    return _HEAD.pack(_MAGIC, len(parts)) + parts + zlib.compress(program, 1)


def is_program(entry: bytes) -> bool:
    return entry.startswith(_MAGIC)


def read_program(entry: bytes) -> bytes:
    return _inflated(_split(entry)[1])


def read_key(entry: bytes) -> ProgramKey:
    parts = _json(_inflated(_split(entry)[0]))
    if len(parts) != len(fields(ProgramKey)):
        raise ProgramEntryError("a damaged key")
    return ProgramKey(*parts)


def questions_entry(questions: Sequence[str]) -> bytes:
    return _QUESTIONS + json.dumps(list(questions)).encode()


def is_questions(entry: bytes) -> bool:
    return entry.startswith(_QUESTIONS)


def read_questions(entry: bytes) -> list[str]:
    found = _json(entry[len(_QUESTIONS) :])
    if len(found) > _MOST_QUESTIONS:
        raise ProgramEntryError("too many questions")
    return found


def check_program_entry(key: str, entry: bytes) -> None:
    """A ProgramEntryError unless the entry is whole and belongs under the key. What is in a program
    is verified when it is loaded."""
    if is_questions(entry):
        read_questions(entry)
    elif read_key(entry).key() != key:
        raise ProgramEntryError("the key does not fit the program")
    else:
        read_program(entry)


def _split(entry: bytes) -> tuple[bytes, bytes]:
    if len(entry) < _HEAD.size:
        raise ProgramEntryError("an entry without a header")
    magic, size = _HEAD.unpack_from(entry)
    if magic != _MAGIC or size > len(entry) - _HEAD.size:
        raise ProgramEntryError("an entry of another form, or cut off")
    return entry[_HEAD.size : _HEAD.size + size], entry[_HEAD.size + size :]


def _inflated(data: bytes) -> bytes:
    try:
        inflate = zlib.decompressobj()
        found = inflate.decompress(data, MOST_BYTES)
    except zlib.error as error:
        raise ProgramEntryError(f"damaged: {error}") from None
    if not inflate.eof:
        raise ProgramEntryError("too long, or cut off")
    return found


def _json(data: bytes) -> list[str]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise ProgramEntryError("damaged: not a list of text")
    return found
