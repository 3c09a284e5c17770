"""Every op of PyTorch's OpInfo table lowered to the four dialects: run back and equal to eager, or
refused as refusals.py says. An op that starts to lower must leave that table."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

import pytest

from tests.emit.refusals import LEFT_OUT, REFUSED
from tests.emit.sweep import (
    DIALECTS,
    exported,
    outcome,
    refused_by,
    taking_part,
)
from tests.ops.cases import OPS

IN_CI = 40
"""CI runs one op in this many."""


def cases() -> Iterator[Any]:
    for name in taking_part():
        slow = zlib.crc32(name.encode()) % IN_CI != 0
        yield pytest.param(name, marks=[pytest.mark.slow] if slow else [])


@pytest.mark.parametrize("name", list(cases()))
def test_op(name: str) -> None:
    made = exported(name)
    assert made is not None, "it takes part in nothing: LEFT_OUT has to say why"
    program, tensors = made
    refused = refused_by(name)
    for dialect in DIALECTS:
        found = outcome(program, tensors, dialect)
        wanted = "refused" if dialect in refused else "equal"
        assert found.kind == wanted, f"{dialect}: {found.kind}, not {wanted}: {found.why}"


@pytest.mark.slow
@pytest.mark.parametrize("reason", LEFT_OUT)
def test_what_is_left_out_cannot_take_part(reason: str) -> None:
    for name in LEFT_OUT[reason]:
        assert exported(name) is None, f"{name} can take part by now"


def test_the_tables_name_ops_once() -> None:
    left_out = [name for names in LEFT_OUT.values() for name in names]
    refused = [name for _, _, names in REFUSED for name in names]
    assert len(set(left_out)) == len(left_out)
    assert len(set(refused)) == len(refused)
    assert set(left_out) | set(refused) <= set(OPS)
    assert not set(left_out) & set(refused)
