"""Seeded mutants of valid files: changed bytes, truncated files, and changed documents that are
still JSON: keys deleted, duplicated, swapped and retyped, huge numbers, deep nesting, code as text.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from .files import GRAPH, PROGRAM, TENSORS, File, at, places, write_members

NUMBERS = (0, 1, -1, 2, 7, 255, 2**31, 2**31 - 1, 2**53, 2**63 - 1, 2**63, -(2**63), 10**30, 1e308)
TEXTS = (
    "", "x", "s0", "u0", "s0*0", "aten.add.Tensor", "aten.sym_size.int", "operator.getitem",
    "int64", "cpu", "../../etc/passwd", "\x00", "\ud800", "a" * 70_000, "true", "*", "node",
    "__class__",
)  # fmt: skip


def code(canary: Path) -> str:
    return f"__import__('os').system('touch {canary}')"


def mutant(seed: int, source: Path, target: Path, canary: Path) -> str:
    """Write a mutant of `source` and return a description of the change."""
    rng = random.Random(seed)
    if rng.random() < 0.25:
        return _of_bytes(rng, source, target)
    file = File.read(source)
    if rng.random() < 0.08:
        file.tensors, done = flipped(rng, file.tensors)
        file.write(target)
        return f"{TENSORS}: {done}"
    name = rng.choice((GRAPH, GRAPH, PROGRAM))
    document = file.graph if name == GRAPH else file.program
    changes = []
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        document, what = changed(rng, document, canary)
        changes.append(what)
    if name == GRAPH:
        file.graph = document
    else:
        file.program = document
    file.write(target)
    return f"{name}: {'; '.join(changes)}"


def _of_bytes(rng: random.Random, source: Path, target: Path) -> str:
    """Change bytes of the archive, or of one member with a corrected checksum."""
    if rng.random() < 0.5:
        data, done = flipped(rng, source.read_bytes())
        target.write_bytes(data)
        return done
    file = File.read(source)
    graph, program = (json.dumps(d).encode() for d in (file.graph, file.program))
    members = {GRAPH: graph, PROGRAM: program, TENSORS: file.tensors}
    name = rng.choice(list(members))
    members[name], done = flipped(rng, members[name])
    write_members(target, members)
    return f"{name}: {done}"


def flipped(rng: random.Random, data: bytes) -> tuple[bytes, str]:
    made = bytearray(data)
    kind = rng.choice(("flip", "flip", "cut", "drop", "double"))
    at_ = rng.randrange(max(1, len(made)))
    count = rng.choice((1, 2, 8, 64))
    if kind == "flip":
        for _ in range(count):
            made[rng.randrange(len(made))] ^= 1 << rng.randrange(8)
    elif kind == "cut":
        del made[at_:]
    elif kind == "drop":
        del made[at_ : at_ + count]
    else:
        made[at_:at_] = made[at_ : at_ + count]
    return bytes(made), f"{kind} {count} at {at_}"


def changed(rng: random.Random, document: Any, canary: Path) -> tuple[Any, str]:
    document = _copy(document)
    spots = [(path, value) for path, value in places(document) if path]
    path, value = rng.choice(spots)
    owner, key = at(document, path[:-1]), path[-1]
    kind = rng.choice(("delete", "double", "retype", "number", "text", "code", "swap", "nest"))
    if kind == "delete":
        del owner[key]
    elif kind == "double":
        if isinstance(owner, list):
            owner.insert(int(key), _copy(value))
        else:
            owner[f"{key}_"] = value
    elif kind == "swap":
        other, _ = rng.choice(spots)
        owner[key] = _copy(at(document, other))
    elif kind == "nest":
        owner[key] = [value] if rng.random() < 0.5 else _nested(value)
    else:
        made: dict[str, Any] = {
            "retype": (None, True, [], {}, "", 0, 0.5, [value]),
            "number": NUMBERS,
            "text": TEXTS,
            "code": (code(canary),),
        }
        owner[key] = rng.choice(made[kind])
    return document, f"{kind} at {path}"


def _copy(document: Any) -> Any:
    """copy.deepcopy needs several stack frames per level, and mutants are deeply nested."""
    return json.loads(json.dumps(document))


def _nested(value: Any) -> Any:
    for _ in range(120):
        value = {"tuple": [value]}
    return value
