"""The table of pointwise rules. A rule writes one ATen op's arithmetic and nothing else: it takes a
Val or number for each argument, in the dtype that eager computes in, and returns the Val of the
result. Rounding to the result's dtype is done here, once. Registering an op twice raises.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import torch
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND as Kind
from torch._prims_common import elementwise_dtypes

from ingot.errors import UnsupportedError
from ingot.foreign_rules import note_registration
from ingot.ops.dtypes import HALVES, NATIVE_DTYPES, rounded
from ingot.ops.registers import RegisterBuilder
from ingot.ops.values import Val

Operand = Val | Any
Emit = Callable[..., Val]
Dtypes = Callable[[dict[str, Any]], tuple[torch.dtype, torch.dtype]]
Halves = Literal["wide", "rounded", "exact"]
_SCALARS = frozenset({"number", "Optional[number]", "Scalar"})
_TENSORS = frozenset({"Tensor", "Optional[Tensor]"})


@dataclass(frozen=True)
class Rule:
    """The lowering of one pointwise op."""

    emit: Emit
    """(builder, *arguments in schema order) -> result, in the compute dtype, or bool for
    comparisons."""
    kind: Kind
    """How PyTorch promotes the operands."""
    promoted: frozenset[str]
    """The schema's arguments that take part in promotion; other tensors are passed as they are."""
    cost: int
    """Rough instructions per element: 1 for an add, 20 for an exp."""
    halves: Halves = "wide"
    """How eager treats f16 and bf16. wide: Scalars keep f32's precision. rounded: Scalars are first
    rounded to the half-precision type. exact: as rounded, and no result of the op needs rounding
    (max, where, neg …)."""
    raw: frozenset[str] = frozenset()
    """Scalars passed as Python numbers, because the rule selects its formula by them."""
    integers: bool = True
    """Whether eager has this op for integers and bool, where promotion keeps them."""
    checks: str | None = None
    """The name of the exception that the op may raise: the rule calls the builder's `fail_if`."""
    dtypes: Dtypes | None = None
    """Overrides promotion: (compute, result) from the arguments."""
    bools: bool = True
    """Whether eager has this op for bool, where promotion keeps it."""
    single: str | None = None
    """The operand that eager keeps in f32 next to half precision if it has a single element."""


ROUNDING = 6
"""Instructions to round an f32 to bf16."""
pointwise_rules: dict[torch._ops.OpOverload, Rule] = {}


def instructions(target: torch._ops.OpOverload, dtype: torch.dtype) -> int:
    """Rough instructions per element of this op with a result of this dtype."""
    rule = pointwise_rules[target]
    return rule.cost + (ROUNDING if dtype is torch.bfloat16 and rule.halves != "exact" else 0)


def pointwise(
    *names: str,
    kind: Kind = Kind.DEFAULT,
    cost: int = 1,
    unpromoted: Sequence[str] = ("alpha",),
    halves: Halves = "wide",
    raw: Sequence[str] = (),
    integers: bool = True,
    checks: str | None = None,
    dtypes: Dtypes | None = None,
    bools: bool = True,
    single: str | None = None,
) -> Callable[[Emit], Emit]:
    """Register a rule for the ATen overloads `names`, such as "add.Tensor" or "prims::sin.default".
    Tensor and Scalar arguments become Vals of the compute dtype, except those in `unpromoted`:
    there, tensors keep their own dtype, and Scalars are Vals of the compute dtype that do not
    influence it. Everything else (str, bool, float, int[] …) stays Python, and so do the Scalars in
    `raw`.
    """

    def register(emit: Emit) -> Emit:
        for name in names:
            target = overload(name)
            if target in pointwise_rules:
                raise ValueError(f"a rule for {name} is registered already")
            note_registration(name, emit)
            promoted = frozenset(
                argument.name
                for argument in target._schema.arguments
                if str(argument.type) in _SCALARS | _TENSORS and argument.name not in unpromoted
            )
            pointwise_rules[target] = Rule(
                emit, kind, promoted, cost, halves, frozenset(raw), integers, checks, dtypes, bools,
                single,
            )  # fmt: skip
        return emit

    return register


def overload(name: str) -> torch._ops.OpOverload:
    """The op named "add.Tensor" (in ATen) or "prims::sin.default"."""
    namespace, _, rest = name.rpartition("::")
    op, which = rest.split(".")
    return getattr(getattr(getattr(torch.ops, namespace or "aten"), op), which)


def compute_dtypes(
    target: torch._ops.OpOverload, arguments: dict[str, Any]
) -> tuple[torch.dtype, torch.dtype]:
    """(compute dtype, result dtype) for fake tensors and numbers, by PyTorch's own promotion."""
    rule = pointwise_rules[target]
    if rule.dtypes is not None:
        return _known(target, *rule.dtypes(arguments))
    operands = [
        value for name, value in arguments.items() if name in rule.promoted and value is not None
    ]
    kinds = tuple(
        (v.dtype, v.dim() == 0) if isinstance(v, torch.Tensor) else _NUMBERS.get(type(v), type(v))
        for v in operands
    )
    compute, result = _promoted(rule.kind, rule.halves, kinds)
    refused = not rule.bools and compute is torch.bool
    if refused or (not rule.integers and not compute.is_floating_point):
        raise UnsupportedError(f"eager has no {target} for {compute}")
    return _known(target, compute, result)


_NUMBERS = {torch.SymInt: int, torch.SymFloat: float, torch.SymBool: bool}


@cache
def _promoted(
    kind: Kind, halves: Halves, operands: tuple[tuple[torch.dtype, bool] | type, ...]
) -> tuple[torch.dtype, torch.dtype]:
    """Promotion depends only on a tensor's dtype and whether it has dimensions, and on a number's
    type."""
    examples = [
        o(0)
        if isinstance(o, type)
        else torch.empty(() if o[1] else (1,), dtype=o[0], device="meta")
        for o in operands
    ]
    compute, result = elementwise_dtypes(*examples, type_promotion_kind=kind)
    if halves != "wide":
        unwidened = Kind.INT_TO_FLOAT if kind is Kind.INT_TO_FLOAT else Kind.NO_OPMATH
        _, narrow = elementwise_dtypes(*examples, type_promotion_kind=unwidened)
        compute = narrow if narrow in HALVES else compute
    return compute, result


def _known(
    target: torch._ops.OpOverload, compute: torch.dtype, result: torch.dtype
) -> tuple[torch.dtype, torch.dtype]:
    for dtype in (compute, result):
        if dtype not in NATIVE_DTYPES:
            raise UnsupportedError(f"{target} on {dtype}: no native arithmetic for it")
    return compute, result


def apply_rule(
    b: RegisterBuilder,
    target: torch._ops.OpOverload,
    arguments: dict[str, Operand],
    compute: torch.dtype,
    result: torch.dtype,
) -> Val:
    """Write `target` on `arguments`, by schema name: a tensor is a Val in its own dtype, a Scalar a
    number or Val."""
    rule = pointwise_rules[target]
    operands = [
        _operand(b, rule, argument, arguments.get(argument.name, argument.default_value), compute)
        for argument in target._schema.arguments
    ]
    return b.cast(rule.emit(b, *operands), result)


def _operand(
    b: RegisterBuilder,
    rule: Rule,
    argument: torch._C.Argument,
    value: Operand,
    compute: torch.dtype,
) -> Operand:
    """The rule's operand for one argument: a Val of the compute dtype, or the value as passed."""
    kind, name = str(argument.type), argument.name
    widened = compute in HALVES and rule.halves != "exact"
    # Graphs also pass numbers where the schema says Tensor: add.Tensor(x, 2).
    if isinstance(value, int | float) and (name in rule.raw or kind in _SCALARS | _TENSORS):
        if name in rule.raw:
            return rounded(value, compute) if widened and isinstance(value, float) else value
        value = b.const(value, compute)
    if not isinstance(value, Val) or (name not in rule.promoted and kind not in _SCALARS):
        return value
    if name == rule.single and compute in HALVES and value.dtype is torch.float32:
        return value
    value = b.cast(value, compute)
    return Val(value.name, torch.float32, value.lanes) if widened else value
