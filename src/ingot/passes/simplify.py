"""Exact simplifications: neutral elements, casts that undo or contain each other, views of views,
selects with a known condition. Values stay the same bit for bit, including -0.0, NaN and dtypes: `x
+ 0` stays for floats, since -0.0 + 0 is 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch.fx import Node

from ingot.passes.base import Pass, ProgramDraft, RuleTable, apply_rules, args_of
from ingot.passes.normalize import argument, respell, val
from ingot.program.graph import same_numbers

aten = torch.ops.aten
simplify_rules = RuleTable()


@dataclass(frozen=True)
class Simplify(Pass):
    name: ClassVar[str] = "simplify"

    def rewrite(self, draft: ProgramDraft) -> list[str]:
        return apply_rules(draft, simplify_rules)


def number(value: Any) -> Any:
    """The scalar that a value consists of, if it is known: a literal, or a full tensor."""
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, Node) and value.target is aten.full.default:
        return args_of(value)[1] if isinstance(args_of(value)[1], bool | int | float) else None
    return None


def same_kind(node: Node, source: Any) -> bool:
    """Whether `source` is a tensor with the dtype, shape and strides of `node`."""
    if not isinstance(source, Node) or not isinstance(val(source), torch.Tensor):
        return False
    a, b = val(node), val(source)
    return (
        a.dtype == b.dtype
        and same_numbers(a.shape, b.shape)
        and same_numbers(a.stride(), b.stride())
    )


def become(draft: ProgramDraft, node: Node, source: Any) -> Node | None:
    """Replace `node`, which recomputes `source` in memory of its own, by `source`, or by a plain
    copy if the user must get one."""
    if not same_kind(node, source):
        return None
    if draft.may_share(node, source):
        return source
    if node.target is aten.clone.default:
        return None
    return respell(node, aten.clone.default, (source,))


def reuse(draft: ProgramDraft, node: Node, source: Node) -> Node | None:
    """Replace `node`, a view of all of `source`, by `source`."""
    return source if same_kind(node, source) and draft.may_stand_for(node, source) else None


@simplify_rules.on(aten.mul.Tensor)
def times_one(draft: ProgramDraft, node: Node) -> Node | None:
    a, b = args_of(node)
    if number(b) == 1:
        return become(draft, node, a)
    return become(draft, node, b) if number(a) == 1 else None


@simplify_rules.on(aten.div.Tensor)
def divided_by_one(draft: ProgramDraft, node: Node) -> Node | None:
    return become(draft, node, args_of(node)[0]) if number(args_of(node)[1]) == 1 else None


@simplify_rules.on(aten.sub.Tensor)
def minus_zero(draft: ProgramDraft, node: Node) -> Node | None:
    zero = number(args_of(node)[1])
    if zero != 0 or math.copysign(1, zero) < 0 or not _is_plain(node.kwargs.get("alpha", 1)):
        return None
    return become(draft, node, args_of(node)[0])


@simplify_rules.on(aten.add.Tensor)
def plus_zero(draft: ProgramDraft, node: Node) -> Node | None:
    """Exact for integers, and for floats if the zero is negative."""
    a, b = args_of(node)
    exact = not val(node).dtype.is_floating_point and not val(node).dtype.is_complex
    for kept, zero in ((a, number(b)), (b, number(a))):
        if zero != 0 or node.kwargs.get("alpha", 1) != 1:
            continue
        if exact or (isinstance(zero, float) and math.copysign(1, zero) < 0):
            return become(draft, node, kept)
    return None


def _is_plain(alpha: Any) -> bool:
    """Whether the factor keeps +0 as it is."""
    return isinstance(alpha, int | float) and math.isfinite(alpha) and alpha > 0


_POWERS = {0.5: aten.sqrt.default, -0.5: aten.rsqrt.default, -1: aten.reciprocal.default}


@simplify_rules.on(aten.pow.Tensor_Scalar)
def small_power(draft: ProgramDraft, node: Node) -> Node | None:
    """Matches eager's kernels. The kernel for f16 does not use roots, which shows at -0.0."""
    base, exponent = args_of(node)
    dtype = val(node).dtype
    if exponent == 1:
        return become(draft, node, base)
    if dtype != val(base).dtype or isinstance(exponent, Node):
        return None
    if exponent == 2:
        return respell(node, aten.mul.Tensor, (base, base))
    if exponent not in _POWERS or not dtype.is_floating_point:
        return None
    if dtype == torch.float16 and exponent != -1:
        return None
    return respell(node, _POWERS[exponent], (base,))


@simplify_rules.on(aten._to_copy.default)
def cast_of_cast(draft: ProgramDraft, node: Node) -> Node | None:
    """Skip an intermediate dtype that holds every value of the first."""
    inner = args_of(node)[0]
    if inner.target is not aten._to_copy.default or set(inner.kwargs) != {"dtype"}:
        return None
    source = inner.args[0]
    if set(node.kwargs) != {"dtype"} or not _holds(val(inner).dtype, val(source).dtype):
        return None
    if not same_numbers(val(node).stride(), val(source).stride()):
        return None
    if val(node).dtype == val(source).dtype:
        return become(draft, node, source)
    return respell(node, aten._to_copy.default, (source,), dtype=val(node).dtype)


_INTEGER_BITS = {
    torch.bool: 1,
    torch.uint8: 8,
    torch.int8: 7,
    torch.int16: 15,
    torch.int32: 31,
    torch.int64: 63,
}
_FLOAT_BITS = {torch.bfloat16: 8, torch.float16: 11, torch.float32: 24, torch.float64: 53}
_WIDER = {
    torch.bfloat16: (torch.float32, torch.float64),
    torch.float16: (torch.float32, torch.float64),
    torch.float32: (torch.float64,),
}


def _holds(wide: torch.dtype, narrow: torch.dtype) -> bool:
    """Whether every value of `narrow` is a value of `wide`."""
    if wide == narrow:
        return True
    if narrow not in _INTEGER_BITS:
        return wide in _WIDER.get(narrow, ())
    bits = _INTEGER_BITS[narrow]
    if wide in _FLOAT_BITS:
        return bits <= _FLOAT_BITS[wide]
    unsigned_target = wide in (torch.bool, torch.uint8)
    if unsigned_target and narrow not in (torch.bool, torch.uint8):
        return False
    return bits <= _INTEGER_BITS.get(wide, 0)


@simplify_rules.on(aten.sum.dim_IntList, aten.amax.default, aten.amin.default)
def reduction_of_nothing(draft: ProgramDraft, node: Node) -> Node | None:
    """A reduction over no dims is the identity."""
    return become(draft, node, args_of(node)[0]) if not args_of(node)[1] else None


@simplify_rules.on(aten.where.self)
def choice_made(draft: ProgramDraft, node: Node) -> Node | None:
    condition = number(args_of(node)[0])
    if condition is None:
        return None
    return become(draft, node, args_of(node)[1] if condition else args_of(node)[2])


@simplify_rules.on(aten.cat.default)
def join_of_one(draft: ProgramDraft, node: Node) -> Node | None:
    parts = args_of(node)[0]
    return become(draft, node, parts[0]) if len(parts) == 1 else None


@simplify_rules.on(aten.constant_pad_nd.default)
def pad_by_nothing(draft: ProgramDraft, node: Node) -> Node | None:
    nothing = all(isinstance(pad, int) and pad == 0 for pad in args_of(node)[1])
    return become(draft, node, args_of(node)[0]) if nothing else None


@simplify_rules.on(aten.expand.default, aten.slice.Tensor, aten.squeeze.dims)
def view_of_all(draft: ProgramDraft, node: Node) -> Node | None:
    """A view with the same sizes and a step of one omits nothing."""
    if node.target is aten.slice.Tensor and argument(node, 4, "step", 1) != 1:
        return None
    return reuse(draft, node, args_of(node)[0])


@simplify_rules.on(aten.view.default)
def view_of_view(draft: ProgramDraft, node: Node) -> Node | None:
    source, sizes = args_of(node)
    if (same := reuse(draft, node, source)) is not None:
        return same
    if source.target is not aten.view.default:
        return None
    base = source.args[0]
    if (same := reuse(draft, node, base)) is not None:
        return same
    return respell(node, aten.view.default, (base, sizes))


@simplify_rules.on(aten.permute.default)
def permute_of_permute(draft: ProgramDraft, node: Node) -> Node | None:
    source, dims = args_of(node)
    if list(dims) == list(range(len(dims))):
        return source if draft.may_stand_for(node, source) else None
    if source.target is not aten.permute.default:
        return None
    base, inner = source.args
    composed = [inner[dim] for dim in dims]
    if composed == list(range(len(dims))) and draft.may_stand_for(node, base):
        return base
    return respell(node, aten.permute.default, (base, composed))


@simplify_rules.on(aten.expand.default)
def expand_of_expand(draft: ProgramDraft, node: Node) -> Node | None:
    source, sizes = args_of(node)[:2]
    if source.target is not aten.expand.default or val(source).dim() != val(node).dim():
        return None
    return respell(node, aten.expand.default, (source.args[0], sizes))


@simplify_rules.on(aten.squeeze.dims)
def squeeze_of_unsqueeze(draft: ProgramDraft, node: Node) -> Node | None:
    source, dims = args_of(node)
    if source.target is not aten.unsqueeze.default or list(dims) != [source.args[1]]:
        return None
    return reuse(draft, node, source.args[0])
