"""Every OpInfo op that contains composite ops, exported at pre-dispatch level, equals eager. Each
composite op that it calls is kept or, if it violates its schema, replaced with a note in the
journal."""

from __future__ import annotations

import zlib
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils import _pytree as pytree

import ingot
from ingot.capture.mode_changes import keeping_toggles
from ingot.program.graph import composite_ops
from tests.ops.cases import OPS, op_name
from tests.ops.compare import assert_same_metadata
from tests.ops.expected import METADATA_ONLY
from tests.ops.harness import Program, copy_tensors
from tests.programs.check import assert_same_value

from .check import assert_functional
from .expected import REFUSED

PART_IN_CI = 6
DTYPES = (torch.float32, torch.complex64, torch.int64, torch.bool)


def parameters() -> list[Any]:
    """CI runs one op in PART_IN_CI, chosen by a stable hash."""
    found = []
    for name in OPS:
        marks = [] if zlib.crc32(name.encode()) % PART_IN_CI == 0 else [pytest.mark.slow]
        found.append(pytest.param(name, marks=marks, id=name))
    return found


def sample_of(name: str) -> Program | None:
    op = OPS[name]
    supported = op.supported_dtypes("cpu")
    dtype = next((d for d in DTYPES if d in supported), None)
    if dtype is None:
        return None
    for sample in op.sample_inputs("cpu", dtype, requires_grad=False):
        program = Program(op.op, (sample.input, *sample.args), sample.kwargs)
        if program.tensors() and all(t.layout is torch.strided for t in program.tensors()):
            return program
    return None


@pytest.mark.parametrize("name", parameters())
def test_composite_op(name: str) -> None:
    program = sample_of(name)
    if program is None:
        pytest.skip("no sample with dense tensors")
    tensors = copy_tensors(program.tensors())

    def function(*given: Tensor) -> Any:
        return program.call(given)

    torch.manual_seed(1)
    eager_inputs = copy_tensors(program.tensors())
    try:
        want = pytree.tree_leaves(function(*eager_inputs))
    except AssertionError as error:
        pytest.skip(str(error))
    if name in REFUSED:
        with pytest.raises(ingot.IngotError):
            ingot.export(function, tensors, level="pre-dispatch")
        return
    made = ingot.export(function, tensors, level="pre-dispatch")
    assert_functional(made)
    torch.manual_seed(1)
    inputs = copy_tensors(program.tensors())
    got = pytree.tree_leaves(made(*inputs))
    for label, actual, expected in (("results", got, want), ("inputs", inputs, eager_inputs)):
        for i, (a, b) in enumerate(zip(actual, expected, strict=True)):
            if isinstance(b, Tensor) and b.layout is torch.strided:
                assert_same_metadata(a, b, f"{label}[{i}]", strides=False)
                if name not in METADATA_ONLY:
                    assert_same_value(a, b, f"{label}[{i}]", 0.1)
    check_kept(function, tensors)


def check_kept(function: Any, tensors: list[Tensor]) -> None:
    class Model(torch.nn.Module):
        def forward(self, *given: Tensor) -> Any:
            return function(*given)

    with keeping_toggles():
        exported = torch.export.export(Model(), tuple(tensors), strict=False)
    made = ingot.Program.from_exported(exported)
    told = "\n".join(made.journal.entries[0].notes)
    after = composite_ops(made.graph_module)
    for op, count in composite_ops(exported.graph_module).items():
        kept = after[op] >= count or op._schema.is_mutable
        assert kept or f"{op}: replaced" in told, f"{op} is gone"


def test_names_in_the_table_are_known() -> None:
    assert set(REFUSED) <= {op_name(op) for op in OPS.values()} | set(OPS)
