"""Element rules: the expression of one element of a node in terms of its operands' elements, for
nodes that are not views. A rule looks only at its own op and asks the context for operands. What it
cannot express natively it rejects with an UnsupportedError, whose text the report shows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch
from torch import fx

import ingot.ops.scalar  # noqa: F401  (registers the pointwise rules)
from ingot.errors import UnsupportedError
from ingot.foreign_rules import note_registration
from ingot.fuse import index as ix
from ingot.fuse.expr import Apply, Checked, Expr, FromIndex, Guarded, Number, ordered
from ingot.fuse.index import Index
from ingot.fuse.reductions import POSITIONS, reduction_of, scan_of
from ingot.fuse.views import resolve
from ingot.ops.dtypes import HALVES, NATIVE_DTYPES
from ingot.ops.failures import OUT_OF_BOUNDS, OUT_OF_RANGE
from ingot.ops.rules import compute_dtypes, pointwise_rules
from ingot.program.shapes import Size, arguments_of, same_size, shape_of, size_of, tensor_of

aten, prims = torch.ops.aten, torch.ops.prims
MOST_PIECES = 8


class RuleContext(Protocol):
    """The interface of a rule to its operands."""

    def value(self, node: fx.Node, index: tuple[Index, ...]) -> Expr:
        """Element `index` of an operand."""

    def make(self, kind: type[Expr], *values: Any) -> Any:
        """An interned expression."""


Element = Callable[[RuleContext, fx.Node, tuple[Index, ...]], Expr]
element_rules: dict[Any, Element] = {}


def element(*targets: Any) -> Callable[[Element], Element]:
    def register(rule: Element) -> Element:
        for target in targets:
            if target in element_rules or target in pointwise_rules:
                raise ValueError(f"an element rule for {target} is registered already")
            note_registration(target, rule)
            element_rules[target] = rule
        return rule

    return register


def is_elementwise(node: fx.Node) -> bool:
    return node.op == "call_function" and (
        node.target in pointwise_rules or node.target in element_rules
    )


def element_of(context: RuleContext, node: fx.Node, index: tuple[Index, ...]) -> Expr:
    if node.target in pointwise_rules:
        return _pointwise(context, node, index)
    return element_rules[node.target](context, node, index)


# -- pointwise -------------------------------------------------------------------------------------


def broadcast(
    index: tuple[Index, ...], shape: Sequence[Size], operand: Sequence[Size]
) -> tuple[Index, ...]:
    """The index of the operand's element under PyTorch's broadcasting. A size that is not known to
    be 1 equals the result's, however it is written."""
    lead = len(shape) - len(operand)
    return tuple(ix.ZERO if s == 1 else i for i, s in zip(index[lead:], operand, strict=True))


def _pointwise(context: RuleContext, node: fx.Node, index: tuple[Index, ...]) -> Expr:
    target: Any = node.target
    rule, arguments = pointwise_rules[target], arguments_of(node)
    fake = {k: v.meta["val"] if isinstance(v, fx.Node) else v for k, v in arguments.items()}
    compute, _ = compute_dtypes(target, fake)
    result = tensor_of(node).dtype
    names, operands = [], []
    for name, value in arguments.items():
        operand = _operand(context, value, index, shape_of(node))
        if result in HALVES and name in rule.promoted:
            operand = _beside_halves(context, value, operand, result, name == rule.single)
        names.append(name)
        operands.append(operand)
    return context.make(Apply, result, target, tuple(names), tuple(operands), compute)


def _beside_halves(
    context: RuleContext, value: Any, operand: Any, half: torch.dtype, single: bool
) -> Any:
    """Eager first converts every tensor to the half-precision dtype, but with `single` a tensor of
    one element to f32."""
    if not isinstance(value, fx.Node) or not isinstance(value.meta["val"], torch.Tensor):
        return operand
    keeps = single and all(size == 1 for size in shape_of(value))
    return cast_to(context, operand, torch.float32 if keeps else half)


def _operand(
    context: RuleContext, value: Any, index: tuple[Index, ...], shape: Sequence[Size]
) -> Any:
    if not isinstance(value, fx.Node):
        return value
    meta = value.meta["val"]
    if isinstance(meta, torch.Tensor):
        return context.value(value, broadcast(index, shape, shape_of(value)))
    return symbolic(context, value)


def symbolic(context: RuleContext, value: Any) -> Any:
    """A scalar from the graph: a Python number, or for one made of sizes an expression in int64 or
    float64."""
    meta = value.meta["val"] if isinstance(value, fx.Node) else value
    if isinstance(meta, torch.SymInt):
        return context.make(FromIndex, torch.int64, ix.of(size_of(meta)))
    if isinstance(meta, torch.SymFloat):
        return _symbolic_float(context, meta.node.expr)
    if isinstance(meta, torch.SymBool):
        raise UnsupportedError("a symbolic bool as a value")
    return meta


_FLOAT_ARITHMETIC = {
    "IntTrueDiv": aten.div.Tensor, "FloatTrueDiv": aten.div.Tensor, "Mul": aten.mul.Tensor,
    "Add": aten.add.Tensor,
}  # fmt: skip


def _symbolic_float(context: RuleContext, expr: Any) -> Expr:
    """In double precision, as in Python."""
    double = torch.float64
    if expr.is_Number:
        return context.make(Number, double, float(expr))
    if expr.is_integer:
        return cast_to(context, context.make(FromIndex, torch.int64, ix.of(expr)), double)
    name = type(expr).__name__
    if name == "ToFloat":
        return _symbolic_float(context, expr.args[0])
    target = _FLOAT_ARITHMETIC.get(name)
    if target is None:
        raise UnsupportedError(f"a symbolic float of the form {expr}")
    total, *more = [_symbolic_float(context, a) for a in expr.args]
    names = ("self", "other", "alpha") if target is aten.add.Tensor else ("self", "other")
    for value in more:
        operands = (total, value, 1) if target is aten.add.Tensor else (total, value)
        total = context.make(Apply, double, target, names, operands, double)
    return total


def cast_to(context: RuleContext, value: Expr, dtype: torch.dtype) -> Expr:
    if value.dtype is dtype:
        return value
    convert = prims.convert_element_type.default
    return context.make(Apply, dtype, convert, ("a", "dtype"), (value, dtype), dtype)


@element(aten.contiguous.default)
def copied(context: RuleContext, node: fx.Node, index: tuple[Index, ...]) -> Expr:
    base = node.args[0]
    assert isinstance(base, fx.Node)
    return context.value(base, index)


# -- factories -------------------------------------------------------------------------------------


@element(
    aten.full.default, aten.full_like.default, aten.scalar_tensor.default, aten.new_full.default,
)  # fmt: skip
def filled(context: RuleContext, node: fx.Node, index: tuple[Index, ...]) -> Expr:
    arguments = arguments_of(node)
    value = symbolic(context, arguments["s"] if "s" in arguments else arguments["fill_value"])
    dtype = tensor_of(node).dtype
    if isinstance(value, Expr):
        return cast_to(context, value, dtype)
    if isinstance(value, complex):
        raise UnsupportedError("a complex fill value")
    return context.make(Number, dtype, value)


@element(
    aten.zeros.default, aten.zeros_like.default, aten.new_zeros.default, aten.empty.memory_format,
    aten.empty_like.default, aten.new_empty.default, aten.empty_strided.default,
    aten.new_empty_strided.default, prims.empty_strided.default,
)  # fmt: skip
def zeros(context: RuleContext, node: fx.Node, index: tuple[Index, ...]) -> Expr:
    return context.make(Number, tensor_of(node).dtype, 0)


@element(aten.ones.default, aten.ones_like.default, aten.new_ones.default)
def ones(context: RuleContext, node: fx.Node, index: tuple[Index, ...]) -> Expr:
    return context.make(Number, tensor_of(node).dtype, 1)


@element(aten.arange.start_step, prims.iota.default)
def counted(context: RuleContext, node: fx.Node, index: tuple[Index, ...]) -> Expr:
    arguments = arguments_of(node)
    dtype = tensor_of(node).dtype
    start, step = arguments["start"], arguments["step"]
    if isinstance(start, float) or isinstance(step, float):
        raise UnsupportedError("a floating-point range")
    value = context.make(FromIndex, torch.int64, index[0] * size_of(step) + size_of(start))
    return cast_to(context, value, dtype)


# -- gathers ---------------------------------------------------------------------------------------


def _looked(
    context: RuleContext,
    indices: fx.Node,
    at: tuple[Index, ...],
    size: Size,
    wraps: bool,
    failure: int = OUT_OF_RANGE,
) -> Index:
    value = context.value(indices, at)
    if value.dtype not in (torch.int64, torch.int32, torch.uint8, torch.int16, torch.int8):
        raise UnsupportedError(f"an index of {value.dtype}")
    checked = context.make(Checked, torch.int64, value, size, wraps, failure)
    return ix.of(ix.Gathered(*resolve(indices, at), size, (wraps, failure), checked))


def _with_checks(context: RuleContext, value: Expr, gathered: Sequence[Index]) -> Expr:
    """The value, with the checks of those indices that it does not depend on: a dimension of size
    1, an expanded one or a constant needs no index, but eager still rejects one out of range."""
    used = set(ordered([value]))
    for index in gathered:
        for atom in index.gathered():
            if atom.value not in used:
                passed = context.make(
                    Apply, torch.bool, aten.ge.Scalar, ("self", "other"), (atom.value, 0),
                    torch.int64,
                )  # fmt: skip
                value = context.make(
                    Apply, value.dtype, aten.where.self, ("condition", "self", "other"),
                    (passed, value, value), value.dtype,
                )  # fmt: skip
    return value


_look_up: set[Any] = set()


def _lookup(*targets: Any) -> Callable[[Element], Element]:
    """As `element`, for ops whose indices may be out of range."""
    _look_up.update(targets)
    return element(*targets)


def looks_up(node: fx.Node) -> bool:
    return node.target in _look_up


@_lookup(aten.gather.default)
def gather(context: RuleContext, node: fx.Node, index: tuple[Index, ...]) -> Expr:
    arguments = arguments_of(node)
    base, indices = arguments["self"], arguments["index"]
    shape = shape_of(base)
    if not shape or not shape_of(indices):
        raise UnsupportedError("gather on a 0-dimensional tensor")
    dim = arguments["dim"] % len(shape)
    # A decomposed loss raises its own kind of error.
    own = str(node.meta.get("original_aten", node.target)) == str(node.target)
    failure = OUT_OF_BOUNDS if own else OUT_OF_RANGE
    found = _looked(context, indices, index, shape[dim], wraps=False, failure=failure)
    value = context.value(base, (*index[:dim], found, *index[dim + 1 :]))
    return _with_checks(context, value, [found])


@_lookup(aten.index_select.default)
def index_select(context: RuleContext, node: fx.Node, index: tuple[Index, ...]) -> Expr:
    arguments = arguments_of(node)
    base, indices = arguments["self"], arguments["index"]
    shape = shape_of(base)
    if not shape or not shape_of(indices):
        raise UnsupportedError("index_select on a 0-dimensional tensor")
    dim = arguments["dim"] % len(shape)
    found = _looked(context, indices, (index[dim],), shape[dim], wraps=False)
    value = context.value(base, (*index[:dim], found, *index[dim + 1 :]))
    return _with_checks(context, value, [found])


@_lookup(aten.embedding.default)
def embedding(context: RuleContext, node: fx.Node, index: tuple[Index, ...]) -> Expr:
    weight, indices = node.args[0], node.args[1]
    assert isinstance(weight, fx.Node) and isinstance(indices, fx.Node)
    found = _looked(context, indices, index[:-1], shape_of(weight)[0], wraps=False)
    return _with_checks(context, context.value(weight, (found, index[-1])), [found])


@_lookup(aten.index.Tensor, aten._unsafe_index.Tensor)
def index_tensor(context: RuleContext, node: fx.Node, index: tuple[Index, ...]) -> Expr:
    base, given = node.args[0], node.args[1]
    assert isinstance(base, fx.Node) and isinstance(given, Sequence)
    shape = shape_of(base)
    picks = [*given, *([None] * (len(shape) - len(given)))]
    chosen = [(d, pick) for d, pick in enumerate(picks) if pick is not None]
    if any(tensor_of(pick).dtype in (torch.bool, torch.uint8) for _, pick in chosen):  # type: ignore[arg-type]
        raise UnsupportedError(
            "a boolean mask as an index: the size of the result depends on values"
        )
    common = torch.broadcast_shapes(*(tensor_of(pick).shape for _, pick in chosen))  # type: ignore[arg-type]
    dims = [d for d, _ in chosen]
    together = dims == list(range(dims[0], dims[0] + len(dims)))
    front = dims[0] if together else 0
    middle = index[front : front + len(common)]
    rest = iter((*index[:front], *index[front + len(common) :]))
    common_sizes = tuple(size_of(s) for s in common)
    result: list[Index] = []
    for d, pick in enumerate(picks):
        if pick is None:
            result.append(next(rest))
            continue
        at = broadcast(middle, common_sizes, shape_of(pick))  # type: ignore[arg-type]
        result.append(_looked(context, pick, at, shape[d], wraps=True))  # type: ignore[arg-type]
    gathered = [result[d] for d in dims]
    return _with_checks(context, context.value(base, tuple(result)), gathered)


# -- concatenation and padding ---------------------------------------------------------------------


@element(aten.cat.default)
def cat(context: RuleContext, node: fx.Node, index: tuple[Index, ...]) -> Expr:
    arguments = arguments_of(node)
    pieces = [p for p in arguments["tensors"] if shape_of(p) != (0,)]
    if len(pieces) > MOST_PIECES:
        raise UnsupportedError(f"a concatenation of more than {MOST_PIECES} tensors")
    dim = arguments["dim"] % len(index)
    dtype = tensor_of(node).dtype
    starts: list[Size] = [0]
    for piece in pieces:
        starts.append(starts[-1] + shape_of(piece)[dim])
    result: Expr | None = None
    for piece, start, end in reversed(list(zip(pieces, starts, starts[1:], strict=False))):
        if same_size(start, end):
            continue
        moved = (*index[:dim], index[dim] - start, *index[dim + 1 :])
        value = cast_to(context, context.value(piece, moved), dtype)
        result = (
            value
            if result is None
            else context.make(Guarded, dtype, index[dim], start, end, value, result)
        )
    assert result is not None
    return result


@element(aten.constant_pad_nd.default)
def constant_pad(context: RuleContext, node: fx.Node, index: tuple[Index, ...]) -> Expr:
    arguments = arguments_of(node)
    base, pads = arguments["self"], [size_of(p) for p in arguments["pad"]]
    dtype = tensor_of(node).dtype
    shape = shape_of(base)
    fill = context.make(Number, dtype, symbolic(context, arguments["value"]))
    moved = list(index)
    guards: list[tuple[Index, Size, Size]] = []
    for k in range(len(pads) // 2):
        dim = len(index) - 1 - k
        before = pads[2 * k]
        moved[dim] = index[dim] - before
        if before != 0 or pads[2 * k + 1] != 0:
            guards.append((index[dim], before, before + shape[dim]))
    result = context.value(base, tuple(moved))
    for at, low, high in guards:
        result = context.make(Guarded, dtype, at, low, high, result, fill)
    return result


# -- claims ----------------------------------------------------------------------------------------


def why_not_native(node: fx.Node) -> str | None:
    """The reason against generated code for a computing node, or None."""
    reduction = reduction_of(node)
    if not (is_elementwise(node) or reduction is not None or scan_of(node) is not None):
        return "no rule for this op"
    operands = [reduction.operand] if reduction is not None else []
    if node.target in POSITIONS and tensor_of(operands[0]).dtype is torch.bool:
        return "eager has no argmax or argmin of bool"
    for value in (node, *node.all_input_nodes, *operands):
        reason = _why_not_value(value.meta.get("val"))
        if reason is not None:
            return reason
    return None


def _why_not_value(value: Any) -> str | None:
    if isinstance(value, list | tuple):
        return next((reason for v in value if (reason := _why_not_value(v))), None)
    if not isinstance(value, torch.Tensor):
        return None
    if value.dtype not in NATIVE_DTYPES:
        return f"no native code for {value.dtype}"
    if value.device.type != "cpu":
        return f"on {value.device}"
    if value.layout is not torch.strided:
        return f"{value.layout} tensors"
    if any(isinstance(s, int) and s == 0 for s in value.shape):
        return "an empty tensor"
    return None
