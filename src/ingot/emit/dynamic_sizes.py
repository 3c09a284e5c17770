"""Dynamic sizes for dialects whose pipelines do not compute with them. Each op of a legalized graph
that takes a dynamic size becomes a call, marked with its computation (`Sized`). Sizes are read from
dimensions of inputs, the witnesses, which become operands of the call. After the pipelines
`function_bodies.py` gives each call a body in the dialect's ops.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import sympy
import torch
from torch.fx import Node
from torch.utils._sympy.functions import FloorDiv, Max, Min, Mod, PythonMod

from ingot.emit.declared_calls import BODY, CALL
from ingot.passes.base import Pass, ProgramDraft, RuleTable, apply_rules, args_of
from ingot.program.graph import placeholders, same_numbers

aten = torch.ops.aten

Size: TypeAlias = Any
"""An int or a sympy expression; sympy is untyped."""


@dataclass(frozen=True)
class Witness:
    """The dimension of an input from which a symbol is read."""

    symbol: sympy.Symbol
    input: str
    axis: int


@dataclass(frozen=True)
class Sized:
    """A call that makes a tensor of a computed size."""

    kind: str
    """One of reshape, expand, slice, pick, choose, rows, join, gather, convert, wide_sum, arange,
    full, scalar."""
    sizes: tuple[Size, ...]
    """The sizes of the result; of a slice, its start positions."""
    witnesses: tuple[Witness, ...]
    fill: Any = None
    """The fill value of full. slice: the sizes; arange: (start, step, maximum count); wide_sum:
    (op, the first operand's rank, both operands' sizes); join: (dim, operands); gather: (rows,
    their size, indices per row); pick: (dim, sizes before, rows, sizes behind, indices)."""


@dataclass(frozen=True)
class Sizes(Pass):
    name: ClassVar[str] = "sizes"
    several_only: bool = False
    """The pipelines infer a single dynamic size by themselves."""

    def rewrite(self, draft: ProgramDraft) -> list[str]:
        if not draft.symbols:
            return []
        notes = apply_rules(draft, several_rules if self.several_only else single_rules)
        notes += apply_rules(draft, size_rules)
        draft.graph.eliminate_dead_code()
        return notes


size_rules = RuleTable()
several_rules = RuleTable()
"""For dialects whose reshape infers a single dynamic size, and no more."""
single_rules = RuleTable()
"""For all other dialects."""


def is_dynamic(size: Any) -> bool:
    return isinstance(size, torch.SymInt)


def unknown(val: Any) -> int:
    """The number of dynamic sizes of a tensor."""
    return sum(map(is_dynamic, val.shape)) if isinstance(val, torch.Tensor) else 0


def size_of(size: Any) -> Size:
    return sympy.sympify(size.node.expr) if is_dynamic(size) else int(size)


ARITHMETIC: tuple[tuple[Any, str], ...] = (
    (sympy.Add, "add"),
    (sympy.Mul, "mul"),
    (FloorDiv, "div"),
    ((Mod, PythonMod), "mod"),
    (Max, "max"),
    (Min, "min"),
)
"""Operations in sizes, with their names in `body_writer.py`."""
_WRITABLE = (
    sympy.Integer, sympy.Symbol, sympy.Pow, sympy.Add, sympy.Mul, FloorDiv, Mod, PythonMod, Max,
    Min,
)  # fmt: skip


def _is_writable(size: Size) -> bool:
    parts = sympy.preorder_traversal(sympy.sympify(size))
    return all(isinstance(part, _WRITABLE) for part in parts)


def find_witnesses(draft: ProgramDraft, sizes: Sequence[Size]) -> tuple[Witness, ...] | None:
    """None if a symbol is not a dimension of any input."""
    symbols = {s for size in sizes if isinstance(size, sympy.Expr) for s in size.free_symbols}
    known: dict[Any, Witness] = {}
    for node in placeholders(draft.graph):
        val = node.meta["val"]
        sizes_here: Sequence[Any] = val.shape if isinstance(val, torch.Tensor) else ()
        for axis, size in enumerate(sizes_here):
            if is_dynamic(size) and size.node.expr in symbols:
                symbol = size.node.expr
                known.setdefault(symbol, Witness(symbol, node.name, axis))
    if set(known) != symbols:
        return None
    return tuple(sorted(known.values(), key=lambda w: str(w.symbol)))


def mark(
    draft: ProgramDraft, node: Node, kind: str, sizes: Sequence[Any], fill: Any = None
) -> Node | None:
    """Make the node a call; None if its sizes cannot be computed or it is a call already."""
    plain = tuple(map(size_of, sizes))
    more = fill if isinstance(fill, tuple) else ()
    witnesses = find_witnesses(draft, [*plain, *more])
    if witnesses is None or CALL in node.meta or not all(map(_is_writable, plain)):
        return None
    body = Sized(kind, plain, witnesses, fill)
    node.meta = {**node.meta, CALL: f"ingot_sized_{node.name}", BODY: body}
    return node


@size_rules.on(aten.expand.default)
def expanded(draft: ProgramDraft, node: Node) -> Node | None:
    source, val = args_of(node)[0], node.meta["val"]
    if same_numbers(source.meta["val"].shape, val.shape):
        return source
    return mark(draft, node, "expand", val.shape) if unknown(val) else None


@several_rules.on(aten.view.default)
def one_size_is_worked_out(draft: ProgramDraft, node: Node) -> Node | None:
    sizes = node.meta["val"].shape
    if unknown(node.meta["val"]) > 1:
        return mark(draft, node, "reshape", sizes)
    if not unknown(node.meta["val"]):
        return None
    node.args = (node.args[0], [-1 if is_dynamic(size) else size for size in sizes])
    return node


@several_rules.on(aten.cat.default)
def joined(draft: ProgramDraft, node: Node) -> Node | None:
    """The pipeline concatenates tensors of static sizes only."""
    tensors, dim = (*args_of(node), 0)[:2]
    val = node.meta["val"]
    alike = all(n.meta["val"].dim() == val.dim() for n in tensors)
    if not unknown(val) or not alike:
        return None
    operands = node.all_input_nodes
    order = tuple(operands.index(n) for n in tensors)
    return mark(draft, node, "join", [], (dim % val.dim(), *order))


@several_rules.on(aten.mm.default)
def product_in_a_batch(draft: ProgramDraft, node: Node) -> Node | None:
    """The pipeline reshapes the result of a matmul, which allows one dynamic size."""
    val = node.meta["val"]
    if unknown(val) < 2:
        return None
    sides = [_with_one(draft, node, side) for side in args_of(node)]
    if None in sides:
        return None
    with val.fake_mode:
        batch = val.new_empty((1, *val.shape))
    product = draft.call(node, aten.bmm.default, tuple(sides), batch)
    return mark(draft, draft.call(node, aten.squeeze.dim, (product, 0), val), "reshape", val.shape)


def _with_one(draft: ProgramDraft, before: Node, source: Node) -> Node | None:
    val = source.meta["val"]
    with val.fake_mode:
        wide = val.new_empty((1, *val.shape))
    made = draft.call(before, aten.unsqueeze.default, (source, 0), wide)
    return mark(draft, made, "reshape", wide.shape) if unknown(wide) > 1 else made


@several_rules.on(torch.ops.prims.convert_element_type.default)
def converted(draft: ProgramDraft, node: Node) -> Node | None:
    return mark(draft, node, "convert", []) if unknown(node.meta["val"]) else None


@size_rules.on(aten.gather.default)
def gathered(draft: ProgramDraft, node: Node) -> Node | None:
    """Only along the last dim, with the same sizes in the others."""
    source, dim, index = args_of(node)[:3]
    shape, places = source.meta["val"].shape, index.meta["val"].shape
    last = dim % len(shape) == len(shape) - 1
    if not unknown(node.meta["val"]) or not last or not same_numbers(shape[:-1], places[:-1]):
        return None
    rows = math.prod(shape[:-1])
    return mark(draft, node, "gather", places, tuple(map(size_of, (rows, shape[-1], places[-1]))))


@several_rules.on(aten.unsqueeze.default, aten.squeeze.default, aten.squeeze.dim, aten.squeeze.dims)
def ones_of_several(draft: ProgramDraft, node: Node) -> Node | None:
    val = node.meta["val"]
    return mark(draft, node, "reshape", val.shape) if unknown(val) > 1 else None


@single_rules.on(aten.view.default)
def reshaped(draft: ProgramDraft, node: Node) -> Node | None:
    val = node.meta["val"]
    return mark(draft, node, "reshape", val.shape) if unknown(val) else None


@single_rules.on(aten.where.self)
def chosen(draft: ProgramDraft, node: Node) -> Node | None:
    """The pipeline does not compute the broadcast shape of three operands."""
    val = node.meta["val"]
    operands = [*args_of(node)]
    if len({id(operand) for operand in operands}) < 3:
        return None
    same = [o.meta["val"].dtype for o in operands[1:]] == [val.dtype] * 2
    return mark(draft, node, "choose", val.shape) if unknown(val) and same else None


@single_rules.on(aten.embedding.default)
def rows_of_fixed_width(draft: ProgramDraft, node: Node) -> Node | None:
    if unknown(args_of(node)[0].meta["val"]):
        return None
    return mark(draft, node, "rows", node.meta["val"].shape)


@several_rules.on(aten.embedding.default)
def rows_at_places_of_several_sizes(draft: ProgramDraft, node: Node) -> Node | None:
    return rows_of_fixed_width(draft, node) if unknown(node.meta["val"]) > 1 else None


@size_rules.on(aten.index_select.default)
def picked(draft: ProgramDraft, node: Node) -> Node | None:
    """Rows of the tensor viewed as (before, rows, behind)."""
    source, dim, index = args_of(node)
    shape = source.meta["val"].shape
    if not unknown(source.meta["val"]):
        return None
    dim = dim % len(shape)
    parts = (math.prod(shape[:dim]), shape[dim], math.prod(shape[dim + 1 :]))
    fill = (dim, *map(size_of, (*parts, *index.meta["val"].shape)))
    return mark(draft, node, "pick", node.meta["val"].shape, fill)


@several_rules.on(aten.arange.start_step)
def counted_by_a_table(draft: ProgramDraft, node: Node) -> Node | None:
    """The dialect has no iota: a slice of a constant table of the maximum length."""
    return _counted(draft, node, 1 << 24)


@single_rules.on(aten.arange.start_step)
def counted(draft: ProgramDraft, node: Node) -> Node | None:
    return _counted(draft, node, None)


def _counted(draft: ProgramDraft, node: Node, most: int | None) -> Node | None:
    start, _, step = (*args_of(node), 1)[:3]
    (count,) = node.meta["val"].shape
    if not is_dynamic(count) or not all(isinstance(n, int | float) for n in (start, step)):
        return None
    known = count.node.shape_env.bound_sympy(count.node.expr).upper
    largest = int(known) if known.is_Integer else None
    if most is not None and (largest is None or largest > most):
        return None
    return mark(draft, node, "arange", [count], (start, step, largest))


_EMPTY = (aten.empty_strided.default, aten.empty.memory_format)


@size_rules.on(aten.full.default, aten.full_like.default, aten.zeros_like.default, *_EMPTY)
def filled(draft: ProgramDraft, node: Node) -> Node | None:
    number = node.args[1] if len(node.args) > 1 and node.target not in _EMPTY else 0
    val = node.meta["val"]
    if not unknown(val) or not isinstance(number, int | float):
        return None
    return mark(draft, node, "full", val.shape, number)


def _places(draft: ProgramDraft, node: Node) -> list[Any] | None:
    """The start of a slice in every dimension."""
    given: list[Any] = list(node.args)
    source, dim, start, _, step = given + [0, None, None, 1][len(given) - 1 :]
    val = source.meta["val"]
    starts: list[Any] = [0] * val.dim()
    first = start.meta["val"] if isinstance(start, Node) else start or 0
    size = val.shape[dim]
    if step != 1 or (isinstance(first, int) and first < 0 and is_dynamic(size) is False):
        return None
    starts[dim % val.dim()] = size + first if isinstance(first, int) and first < 0 else first
    return starts


@size_rules.on(aten.slice.Tensor)
def cut(draft: ProgramDraft, node: Node) -> Node | None:
    starts = _places(draft, node)
    val = node.meta["val"]
    if starts is None or not (unknown(val) or any(map(is_dynamic, starts))):
        return None
    return mark(draft, node, "slice", starts, tuple(map(size_of, val.shape)))


_ELEMENTWISE: dict[Any, slice] = {
    **dict.fromkeys(
        (
            aten.add.Tensor, aten.sub.Tensor, aten.mul.Tensor, aten.div.Tensor, aten.le.Tensor,
            aten.lt.Tensor, aten.ge.Tensor, aten.gt.Tensor, aten.eq.Tensor, aten.ne.Tensor,
            aten.bitwise_and.Tensor, aten.bitwise_or.Tensor, aten.logical_and.default,
            aten.logical_or.default, aten.maximum.default, aten.minimum.default,
            aten.pow.Tensor_Tensor,
        ),
        slice(0, 2),
    ),
    aten.where.self: slice(0, 3),
}  # fmt: skip
"""Ops that broadcast, and the arguments that they broadcast."""


@several_rules.on(*_ELEMENTWISE)
def ranks_are_equal(draft: ProgramDraft, node: Node) -> Node | None:
    """The pipeline adds leading dims by a reshape, which allows one dynamic size."""
    rank = node.meta["val"].dim()
    changed = False
    for i in range(len(node.args))[_ELEMENTWISE[node.target]]:
        operand: Any = node.args[i]
        if not isinstance(operand, Node) or unknown(operand.meta["val"]) < 2:
            continue
        val = operand.meta["val"]
        for _ in range(rank - val.dim()):
            operand = _with_one(draft, node, operand)
            if operand is None:
                return None
            node.update_arg(i, operand)
            changed = True
    return node if changed else None


@size_rules.on(*_ELEMENTWISE, aten.scalar_tensor.default)
def size_is_a_tensor(draft: ProgramDraft, node: Node) -> Node | None:
    """A size that is an operand becomes a 0-d tensor."""
    changed = False
    for i, number in enumerate(args_of(node)):
        if not isinstance(number, Node) or not is_dynamic(number.meta["val"]):
            continue
        size = number.meta["val"]
        with node.meta["val"].fake_mode:
            val = torch.empty((), dtype=torch.int64)
        made = draft.call(node, aten.scalar_tensor.default, (number,), val, dtype=torch.int64)
        if mark(draft, made, "scalar", [size]) is None:
            return None
        if node.target is aten.scalar_tensor.default:
            return draft.call(
                node, torch.ops.prims.convert_element_type.default,
                (made, node.meta["val"].dtype), node.meta["val"],
            )  # fmt: skip
        node.update_arg(i, made)
        changed = True
    return node if changed else None
