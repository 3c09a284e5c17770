"""Imports runtime assertions as `torch.runtime.assert`; torch-mlir's importer does not."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import Node
from torch_mlir import ir

from ingot.emit.prim_if import as_bool

aten = torch.ops.aten

ASSERTIONS: tuple[Any, ...] = (
    aten._assert_async.default,
    aten._assert_async.msg,
    aten._assert_scalar.default,
)


def import_assertion(importer: Any, loc: ir.Location, node: Node) -> None:
    condition, *rest = node.args
    message = str(rest[0]) if rest else "an assertion of the program"
    with loc:
        ir.Operation.create(
            "torch.runtime.assert",
            operands=[as_bool(importer, loc, condition)],
            attributes={"message": ir.StringAttr.get(message)},
        )
