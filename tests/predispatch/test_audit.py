"""The stored table of schema violations equals what the audit finds with this version of
PyTorch."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db

from ingot.capture.audit import TABLE, audit, composite_ops, op_name, samples

PARTS = 12
CHECKED = {
    "reshape", "to", "contiguous", "ravel", "nn.functional.dropout", "nn.functional.batch_norm",
    "native_batch_norm", "atleast_1d", "chunk", "einsum", "flatten",
    "reshape_as", "resolve_conj", "resolve_neg",
}  # fmt: skip


def test_the_table_is_of_this_pytorch() -> None:
    assert json.loads(TABLE.read_text())["torch"] == torch.__version__.split("+")[0]


def test_a_part_of_the_audit_agrees_with_the_table() -> None:
    known = json.loads(TABLE.read_text())
    found = audit(info for info in op_db if info.name in CHECKED).as_table()
    for name, entry in found["violations"].items():
        assert set(entry["kinds"]) <= set(known["violations"][name]["kinds"]), name
    assert {
        "aten.to.dtype": ["fresh"],
        "aten.contiguous.default": ["fresh"],
        "aten.flatten.using_ints": ["fresh"],
        "aten.reshape.default": ["fresh"],
        "aten.reshape_as.default": ["fresh"],
        "aten.resolve_conj.default": ["fresh"],
        "aten.resolve_neg.default": ["fresh"],
        "aten.dropout.default": ["alias"],
        "aten.batch_norm.default": ["write"],
        "aten.native_batch_norm.default": ["write"],
    }.items() <= {name: entry["kinds"] for name, entry in found["violations"].items()}.items()
    assert not set(found["honest"]) & set(known["without samples"])


def test_the_table_knows_every_composite_op_once() -> None:
    known = json.loads(TABLE.read_text())
    groups = [set(known[name]) for name in ("violations", "honest", "without samples")]
    composites = {op_name(op) for op in composite_ops()}
    assert composites <= set.union(*groups)
    assert set.union(*groups[1:]) <= composites
    assert sum(map(len, groups)) == len(set.union(*groups))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_the_table_is_current(part: int) -> None:
    """No part finds a row that is not in the table, and every row is found first by the sample that
    it names. So the parts together find exactly the table."""
    infos = op_db[part * len(op_db) // PARTS : (part + 1) * len(op_db) // PARTS]
    known, found = json.loads(TABLE.read_text()), audit(infos).as_table()
    labels = {label for info in infos for label, *_ in samples(info)}

    def rows(table: dict[str, Any]) -> dict[tuple[str, str], str]:
        violations = {
            (name, kind): sample
            for name, entry in table["violations"].items()
            for kind, sample in entry["samples"].items()
        }
        return violations | {(name, "honest"): sample for name, sample in table["honest"].items()}

    theirs, ours = rows(known), rows(found)
    violating = {name for name, kind in theirs if kind != "honest"}
    unknown = {
        row
        for row in ours
        if row not in theirs and not (row[1] == "honest" and row[0] in violating)
    }
    assert not unknown
    for row, sample in theirs.items():
        if sample in labels:
            assert ours.get(row) == sample, row
