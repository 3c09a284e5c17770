"""The table of pointwise rules. Comes in: an ATen op with one Val or number for each argument; goes out: the Val of the
result. What holds: a rule sees its operands already in the dtype eager computes in, writes one op's arithmetic and
nothing else; rounding to the result's dtype is done here, once. Registering an op twice raises.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND as Kind
from torch._prims_common import elementwise_dtypes

from ingot.codegen.builder import Builder, Val

Operand = Val | Any
Emit = Callable[..., Val]


@dataclass(frozen=True)
class Rule:
    """How one op is written."""

    emit: Emit
    """(builder, *arguments in schema order) -> result, in the compute dtype, or bool for comparisons."""
    kind: Kind
    """How PyTorch promotes the operands."""
    promoted: frozenset[str]
    """Names of the schema's arguments that take part in promotion; other tensors come as they are."""
    cost: int
    """Rough instructions per element: 1 for an add, 20 for an exp."""


pointwise_rules: dict[torch._ops.OpOverload, Rule] = {}


def pointwise(
    *names: str, kind: Kind = Kind.DEFAULT, cost: int = 1, unpromoted: Sequence[str] = ("alpha",)
) -> Callable[[Emit], Emit]:
    """Register a rule for the ATen overloads `names`, such as "add.Tensor". Arguments of the schema that are tensors
    or Scalars become Vals of the compute dtype, but those in `unpromoted`: tensors there come in their own dtype and
    Scalars as Vals of the compute dtype that do not influence it. Everything else (str, bool, int[] …) stays Python.
    """

    def register(emit: Emit) -> Emit:
        for name in names:
            op, overload = name.split(".")
            target = getattr(getattr(torch.ops.aten, op), overload)
            if target in pointwise_rules:
                raise ValueError(f"a rule for {name} is registered already")
            promoted = frozenset(
                argument.name
                for argument in target._schema.arguments
                if str(argument.type) in ("Tensor", "Scalar", "number", "Optional[Tensor]", "Optional[number]")
                and argument.name not in unpromoted
            )
            pointwise_rules[target] = Rule(emit, kind, promoted, cost)
        return emit

    return register


def compute_dtypes(
    target: torch._ops.OpOverload, arguments: dict[str, Any]
) -> tuple[torch.dtype, torch.dtype]:
    """(dtype to compute in, dtype of the result) for fake tensors and numbers, by PyTorch's own promotion."""
    rule = pointwise_rules[target]
    operands = [value for name, value in arguments.items() if name in rule.promoted and value is not None]
    return elementwise_dtypes(*operands, type_promotion_kind=rule.kind)


def apply_rule(
    b: Builder,
    target: torch._ops.OpOverload,
    arguments: dict[str, Operand],
    compute: torch.dtype,
    result: torch.dtype,
) -> Val:
    """Write `target` on `arguments` (by schema name; a tensor is a Val in its own dtype, a Scalar a number or Val)."""
    rule = pointwise_rules[target]
    operands: list[Operand] = []
    for argument in target._schema.arguments:
        value = arguments.get(argument.name, argument.default_value)
        is_scalar = str(argument.type) in ("number", "Optional[number]", "Scalar")
        if isinstance(value, Val):
            cast = argument.name in rule.promoted or is_scalar
            value = b.cast(value, compute) if cast else value
        elif is_scalar and isinstance(value, int | float | bool):
            value = b.const(value, compute)
        operands.append(value)
    return b.cast(rule.emit(b, *operands), result)
