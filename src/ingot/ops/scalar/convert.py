"""Ops that only change a value's representation: casts, copies, aliases, fills. `b.cast` defines
the conversions; the rules here name the dtypes. Device, layout and memory format are the caller's
responsibility. No operand is promoted: it is read in its own dtype and converted once. Through a
third dtype, 65520 would become inf, and inf an integer.
"""

from __future__ import annotations

from typing import Any

import torch

from ingot.ops.registers import RegisterBuilder
from ingot.ops.rules import pointwise
from ingot.ops.values import Val


def _to_dtype(arguments: dict[str, Any]) -> tuple[torch.dtype, torch.dtype]:
    source = next(iter(arguments.values())).dtype
    return source, arguments.get("dtype") or source


@pointwise(
    "_to_copy.default", "prims::convert_element_type.default", unpromoted=("self", "a"),
    dtypes=_to_dtype, halves="exact",
)  # fmt: skip
def convert(b: RegisterBuilder, x: Val, *_: object) -> Val:
    return x


@pointwise(
    "clone.default", "alias.default", "detach.default", "positive.default", "conj_physical.default",
    "lift_fresh_copy.default", unpromoted=("self",), dtypes=_to_dtype, halves="exact", cost=0,
)  # fmt: skip
def same(b: RegisterBuilder, x: Val, *_: object) -> Val:
    return x


@pointwise(
    "fill.Scalar", "fill.Tensor", "copy.default", unpromoted=("self", "value", "src"),
    dtypes=_to_dtype, halves="exact", cost=0,
)  # fmt: skip
def replaced(b: RegisterBuilder, x: Val, value: Val, *_: object) -> Val:
    """The second operand, in the dtype of the first."""
    return b.cast(value, x.dtype)
