"""FX calls as data: the calls of eager ops, and the ATen ops that a launch computes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import sympy
import torch
from torch import fx

from ingot.errors import UnsupportedError
from ingot.fuse.reductions import reduction_of
from ingot.fuse.views import is_view
from ingot.plan.ir import Call, Computation, Entries, Items, Opaque, Operand, Ref
from ingot.plan.resources import Resources
from ingot.plan.sizes import is_printable
from ingot.program.graph import chain_root
from ingot.program.shapes import shape_of, size_of, strides_of
from ingot.program.spec import is_pure

Refer = Callable[[fx.Node], Any]
_PLAIN = (
    bool, int, float, complex, str, type(None), torch.dtype, torch.device, torch.layout,
    torch.memory_format,
)  # fmt: skip


def argument(value: Any, refer: Refer, resources: Resources) -> Any:
    """Converts an argument of an FX call; `refer` converts its nodes."""

    def convert(value: Any) -> Any:
        if isinstance(value, fx.Node):
            return refer(value)
        if isinstance(value, float) and math.isnan(value):
            return math.nan  # one object: records that hold it compare equal
        if isinstance(value, _PLAIN):
            return value
        if isinstance(value, torch.SymInt):
            return size_of(value)
        if isinstance(value, tuple):
            return tuple(map(convert, value))
        if isinstance(value, list):
            return Items(tuple(map(convert, value)))
        if isinstance(value, dict):
            return Entries(tuple((convert(k), convert(v)) for k, v in value.items()))
        if isinstance(value, slice):
            return slice(convert(value.start), convert(value.stop), convert(value.step))
        return Opaque(resources.object_name(value))

    return convert(value)


def call_of(node: fx.Node, result: str, refer: Refer, resources: Resources) -> Call:
    args = tuple(argument(a, refer, resources) for a in node.args)
    kwargs = tuple((k, argument(v, refer, resources)) for k, v in node.kwargs.items())
    return Call(result, resources.target_name(node.target), args, kwargs)


def size_expr(node: fx.Node, known: Iterable[str] | None = None) -> Any:
    """The integer value of a node as an expression. None for other values, and for expressions that
    cannot be printed or that use symbols outside `known`."""
    value = node.meta.get("val")
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if not isinstance(value, torch.SymInt):
        return None
    size = size_of(value)
    if isinstance(size, int):
        return size
    names = None if known is None else set(known)
    fits = names is None or all(symbol.name in names for symbol in size.free_symbols)
    return size if fits and is_printable(size) else None


class ComputationBuilder:
    """Collects the calls that compute the outputs of one launch from memory."""

    def __init__(
        self,
        members: Iterable[fx.Node],
        operand: Callable[[fx.Node], Operand | None],
        eager_name: Callable[[fx.Node], str | None],
        resources: Resources,
    ):
        """`members` and views of them are computed here even if they have memory. `operand` returns
        the memory of any other node; a node without memory is computed here as well."""
        self._members = set(members)
        self._operand, self._eager_name = operand, eager_name
        self._resources = resources
        self._inputs: dict[str, Operand | Ref] = {}
        self._calls: list[Call] = []
        self._known: dict[fx.Node, Any] = {}
        self._count = 0

    def built(self, outputs: Sequence[tuple[fx.Node, Operand]]) -> Computation:
        named = [(self._value(node), operand) for node, operand in outputs]
        return Computation(
            tuple(self._inputs.items()),
            tuple(self._calls),
            tuple((value.name, operand) for value, operand in named),
        )

    def _value(self, node: fx.Node) -> Any:
        """Depth first, with a stack of its own: a chain of ops may be deeper than Python's."""
        names: dict[fx.Node, str] = {}
        stack = [node]
        while stack:
            top = stack[-1]
            if top in names:
                self._calls.append(
                    call_of(top, names[top], self._known.__getitem__, self._resources)
                )
                self._known[top] = Ref(names.pop(top))
            elif top not in self._known:
                found = self._found(top)
                if found is None:
                    names[top] = self._name()
                    stack += reversed(top.all_input_nodes)
                    continue
                self._known[top] = found
            stack.pop()
        return self._known[node]

    def _name(self) -> str:
        self._count += 1
        return f"v{self._count - 1}"

    def _found(self, node: fx.Node) -> Any:
        """A value that is not computed here; None for others."""
        number = _symbolic_number(node)
        if number is not None or self._is_inside(node):
            return number
        operand = self._operand(node)
        eager = None if operand is not None else self._eager_name(node)
        if operand is None and eager is None and (is_pure(node) or self._is_pair(node)):
            return None
        name = self._name()
        if operand is not None:
            self._inputs[name] = operand
        elif eager is not None:
            self._inputs[name] = Ref(eager)
        else:
            self._calls.append(self._stand_in(node, name))
        return Ref(name)

    def _stand_in(self, node: fx.Node, name: str) -> Call:
        """A placeholder for a tensor whose elements the kernel never reads: ops need its shape."""
        value = node.meta.get("val")
        if not isinstance(value, torch.Tensor) or value.layout is not torch.strided:
            raise UnsupportedError(f"kernel operand {node} has no memory")
        made = self._resources.target_name(torch.ops.aten.empty_strided.default)
        layout = (Items(shape_of(node)), Items(strides_of(node)))
        return Call(name, made, layout, (("dtype", value.dtype),))

    def _is_inside(self, node: fx.Node) -> bool:
        owner = chain_root(node, lambda n: n not in self._members and is_view(n))
        return owner in self._members

    def _is_pair(self, node: fx.Node) -> bool:
        """Is it an op with several results, such as max.dim, of which only the results are
        steps?"""
        value = node.meta.get("val")
        return isinstance(value, list | tuple) and all(map(reduction_of, node.users))


def _symbolic_number(node: fx.Node) -> Any:
    """The value of size arithmetic as an expression; None for other nodes."""
    value = node.meta.get("val")
    if isinstance(value, torch.SymFloat | torch.SymBool):
        return value.node.expr
    return size_expr(node)


def recipe_calls(
    roots: Sequence[fx.Node], steps: Sequence[fx.Node], resources: Resources
) -> tuple[tuple[Call, ...], Mapping[fx.Node, str]]:
    """The calls of a recipe and the names of its values: s0, s1 … for the roots."""
    names = {root: f"s{k}" for k, root in enumerate(roots)}
    calls: list[Call] = []
    for node in steps:
        name = f"v{len(calls)}"
        calls.append(call_of(node, name, lambda n: Ref(names[n]), resources))
        names[node] = name
    return tuple(calls), names


def definitions(value: Any) -> Iterator[tuple[sympy.Symbol, str, int]]:
    """The symbols that a value defines, each with the query and dimension of its `Define`."""
    numbers: list[tuple[Any, str, int]] = [(value, "value", 0)]
    if isinstance(value, torch.Tensor) and value.layout is torch.strided:
        numbers += [(size, "size", k) for k, size in enumerate(value.shape)]
        numbers += [(stride, "stride", k) for k, stride in enumerate(value.stride())]
        numbers.append((value.storage_offset(), "offset", 0))
    for number, query, dim in numbers:
        symbol = symbol_of(number)
        if symbol is not None:
            yield symbol, query, dim


def symbol_of(value: Any) -> sympy.Symbol | None:
    """The symbol if the value is a single symbol, otherwise None."""
    if isinstance(value, torch.SymInt) and isinstance(value.node.expr, sympy.Symbol):
        return value.node.expr
    return None
