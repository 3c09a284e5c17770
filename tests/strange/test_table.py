"""The table of unusual tensors: every kind of tensor, through both entry points, in every position.
A row equals eager, errors included, or raises the error listed here; none ends the process.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from .kinds import KINDS

ROOT = Path(__file__).parents[2]
REFUSED = "raises InputError"
MORE = "wrong: eager raises"
"""Computes a result although eager has no kernel or refuses."""

WIDE = ["torch.float64", "torch.float16", "torch.bfloat16", "torch.uint8", "torch.int8",
        "torch.int64"]  # fmt: skip
UNSIGNED = ["torch.uint16", "torch.uint32", "torch.uint64"]
FLOAT8 = ["torch.float8_e4m3fn", "torch.float8_e5m2", "torch.float8_e8m0fnu"]
NO_MEMORY = ["freed", "shrunk"]
OTHER_SHAPES = ["of another size", "empty", "0-dim"]
NESTED = ["nested, strided", "nested, jagged"]
COMPLEX = ["conjugated lazily", "torch.complex64"]

AHEAD: dict[str, list[str]] = {
    "argument": [*NO_MEMORY, *OTHER_SHAPES, *NESTED, *COMPLEX, *WIDE, *UNSIGNED, *FLOAT8,
                 "torch.bool", "torch.complex32"],
    "read by PyTorch": [*NO_MEMORY, *OTHER_SHAPES, *COMPLEX, *WIDE, *UNSIGNED, "torch.bool"],
    "in a product": [*NO_MEMORY, *WIDE],
    "mutated": [*NO_MEMORY, *OTHER_SHAPES, *NESTED, *COMPLEX, *WIDE, "torch.complex32",
                "overlapping"],
    "in a structure": [*NO_MEMORY, *COMPLEX, *WIDE, *UNSIGNED, "torch.bool", "torch.complex32",
                       "0-dim", "a Python number", "under another default dtype"],
}  # fmt: skip
"""Kinds that a program compiled for f32[4, 4] refuses although eager accepts them. (The missing
kinds of the same groups are refused by eager too.)"""
OF_ANY_SIZE = {"of another size", "empty"}
"""Of these, kinds accepted by a program compiled with Dim.AUTO."""
TRACED = {"fake": REFUSED, "fake outside of its mode": REFUSED}
"""Fake tensors not made by Dynamo have no memory."""
UNDEFINED = {("mutated", "overlapping")}
"""Eager's result depends on the order in which it visits the elements."""
ENDS_PYTORCH = {
    ("torch.compile, after a plain one", "nested, strided"),
    ("torch.compile, dynamic", "nested, strided"),
}
"""Dynamo's own guards ask for its strides, and C++ aborts the process, with any backend."""
JUST_IN_TIME: dict[str, dict[str, str]] = {
    "argument": TRACED,
    "read by PyTorch": {**TRACED, "numpy array": MORE},
    "mutated": {**TRACED, "inference": MORE, **dict.fromkeys(UNSIGNED, MORE)},
}


def expected(entry: str, position: str) -> dict[str, str]:
    if entry.startswith("ahead"):
        taken = OF_ANY_SIZE if entry == "ahead, Dim.AUTO" else ()
        return {name: REFUSED for name in AHEAD[position] if name not in taken}
    return {**dict.fromkeys(NO_MEMORY, REFUSED), **JUST_IN_TIME[position]}


QUICK = [
    "plain", "meta", "fake", "ZeroTensor", "sparse COO", "wrapper subclass", "nested, jagged",
    "negated lazily", "conjugated lazily", "at an offset", "expanded", "misaligned", "empty",
    "0-dim", "leaf with gradient", "freed", "shrunk", "numpy array", "torch.bfloat16",
    "torch.uint16", "functional",
]  # fmt: skip
"""One kind of each group, for entries whose whole table is slow."""


def outcomes(entry: str, position: str, names: Iterable[str] = KINDS) -> dict[str, str]:
    """The outcome of each row. A row that ends the process is recorded, and a new process runs the
    rest."""
    found: dict[str, str] = {}
    skipped = {name for where, name in ENDS_PYTORCH if where == entry}
    left = [name for name in names if name not in skipped]
    while left:
        command = [sys.executable, "-m", "tests.strange.run", entry, position, *left]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        lines = [line.split("\t") for line in done.stdout.splitlines()]
        found |= {line[1]: line[2] for line in lines if line[0] == "end"}
        begun = [line[1] for line in lines if line[0] == "begin"]
        if done.returncode == 0:
            break
        assert begun, done.stderr[-2000:]
        found.setdefault(begun[-1], f"ends the process with {done.returncode}")
        left = left[left.index(begun[-1]) + 1 :]
    return found


def check(entry: str, position: str, names: Iterable[str] = KINDS) -> None:
    wanted = expected(entry, position)
    rows = outcomes(entry, position, names)
    different = {
        name: f"{outcome}, not {wanted.get(name, 'right')}"
        for name, outcome in rows.items()
        if outcome != wanted.get(name, "right") and (position, name) not in UNDEFINED
    }
    assert not different, different
    assert not any(outcome.startswith("ends") for outcome in rows.values())


def test_ahead() -> None:
    check("ahead", "argument")


def test_ahead_of_any_size() -> None:
    check("ahead, Dim.AUTO", "argument")


@pytest.mark.slow
@pytest.mark.parametrize("position", [p for p in AHEAD if p != "argument"])
@pytest.mark.parametrize("entry", ["ahead", "ahead, Dim.AUTO"])
def test_ahead_elsewhere(entry: str, position: str) -> None:
    check(entry, position)


@pytest.mark.parametrize("position", JUST_IN_TIME)
def test_torch_compile_of_each_group(position: str) -> None:
    check("torch.compile", position, QUICK)


@pytest.mark.slow
@pytest.mark.parametrize("position", JUST_IN_TIME)
@pytest.mark.parametrize("entry", [
    "torch.compile", "torch.compile, after a plain one", "torch.compile, dynamic",
])  # fmt: skip
def test_torch_compile(entry: str, position: str) -> None:
    check(entry, position)
