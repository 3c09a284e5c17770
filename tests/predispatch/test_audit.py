"""The table of liars is what the audit finds with this PyTorch."""

from __future__ import annotations

import json

import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db

from ingot.capture.audit import TABLE, audit, table_text

CHECKED = {
    "reshape", "to", "contiguous", "ravel", "nn.functional.dropout", "nn.functional.batch_norm",
    "native_batch_norm", "atleast_1d", "chunk", "einsum", "flatten",
}  # fmt: skip


def test_the_table_is_of_this_pytorch() -> None:
    assert json.loads(TABLE.read_text())["torch"] == torch.__version__.split("+")[0]


def test_a_part_of_the_audit_agrees_with_the_table() -> None:
    known = json.loads(TABLE.read_text())
    found = audit(info for info in op_db if info.name in CHECKED).as_table()
    for name, entry in found["liars"].items():
        assert set(entry["ways"]) <= set(known["liars"][name]["ways"]), name
    assert {
        "aten.to.dtype": ["fresh"],
        "aten.contiguous.default": ["fresh"],
        "aten.dropout.default": ["alias"],
        "aten.batch_norm.default": ["write"],
        "aten.native_batch_norm.default": ["write"],
    }.items() <= {name: entry["ways"] for name, entry in found["liars"].items()}.items()
    assert not set(found["honest"]) & set(known["without samples"])


@pytest.mark.slow
def test_the_table_is_current() -> None:
    assert table_text(audit()) == TABLE.read_text()
