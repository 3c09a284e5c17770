"""A whole program, compiled ahead of time and called like the model. Comes in: a Program with a
CallSpec and its Compiled; goes out: a callable. What holds: arguments that the program was not made
for are refused before anything runs; tensors that lie differently in memory than those it was made
with are taken over into the layout that the code counts on, and written back where it writes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sympy
import torch
from torch.utils import _pytree as pytree

from ingot.fuse.shapes import shape_of, strides_of
from ingot.plan.sizes import evaluator, symbols_in
from ingot.program.call import bind, call_spec
from ingot.program.graph import placeholders
from ingot.program.program import Fixed, Program
from ingot.stages import Compiled


class Executable:
    """`exe(*args, **kwargs)` equals the model's call."""

    def __init__(self, program: Program, compiled: Compiled):
        self.program = program
        self.compiled = compiled
        self._inputs = placeholders(program.graph)
        self._layouts = _Layouts(program)
        self._quick = _quick_binding(program)
        self._result = _result_maker(call_spec(program).out_spec)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        values = self._quick(args) if self._quick is not None and not kwargs else None
        if values is not None:
            return self._result(self.compiled.run(values))
        values = bind(self.program, args, kwargs)
        moved = self._layouts.arrange(values)
        results = self.compiled.run(list(values))
        for original, copy in moved:
            original.copy_(copy)
        return self._result(results)


class _Layouts:
    """The strides of the inputs, as the code counts on them."""

    def __init__(self, program: Program):
        self._tensors = [
            (i, node)
            for i, node in enumerate(placeholders(program.graph))
            if isinstance(node.meta["val"], torch.Tensor)
            and node.meta["val"].layout is torch.strided
        ]
        strides = [s for _, node in self._tensors for s in strides_of(node)]
        self._symbols = symbols_in(strides)
        self._evaluate = evaluator(strides, self._symbols)
        self._written = {spec.target for spec in program.signature.outputs}

    def arrange(self, values: list[Any]) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Replace tensors that lie otherwise by copies; (original, copy) of those that are
        written."""
        strides = iter(self._evaluate(self._symbol_values(values)))
        moved = []
        for i, _ in self._tensors:
            tensor = values[i]
            wanted = tuple(next(strides) for _ in tensor.shape)
            if tensor.stride() == wanted and not tensor.is_neg() and not tensor.is_conj():
                continue
            copy = torch.empty_strided(tensor.shape, wanted, dtype=tensor.dtype).copy_(tensor)
            values[i] = copy
            if i in self._written:
                moved.append((tensor, copy))
        return moved

    def _symbol_values(self, values: Sequence[Any]) -> list[int]:
        known: dict[sympy.Symbol, int] = {}
        for i, node in self._tensors:
            for size, given in zip(shape_of(node), values[i].shape, strict=True):
                if isinstance(size, sympy.Symbol):
                    known.setdefault(size, given)
        return [known[symbol] for symbol in self._symbols]


def _quick_binding(program: Program) -> Callable[[tuple[Any, ...]], list[Any] | None] | None:
    """The way for a plain list of tensors of known sizes: values for the placeholders, or None
    where something does not fit and the long way has to say what. None where there is no such
    way."""
    calling, nodes = call_spec(program), placeholders(program.graph)
    positions = [a for a in calling.arguments if not isinstance(a, Fixed)]
    plain = pytree.tree_structure(((None,) * len(positions), {}))
    if calling.in_spec != plain or len(positions) != len(calling.arguments) or program.symbols:
        return None
    wanted = []
    for position in positions:
        value = nodes[position].meta["val"]
        if not isinstance(value, torch.Tensor) or value.layout is not torch.strided:
            return None
        wanted.append(
            (
                position,
                value.dtype,
                torch.Size(shape_of(nodes[position])),
                strides_of(nodes[position]),
            )
        )
    state = [program.state.get(s.target) if s.target else None for s in program.signature.inputs]
    count = len(wanted)

    def quick(args: tuple[Any, ...]) -> list[Any] | None:
        if len(args) != count:
            return None
        values = state[:]
        for (position, dtype, shape, strides), value in zip(wanted, args, strict=True):
            if (
                type(value) is not torch.Tensor
                or value.dtype is not dtype
                or value.shape != shape
                or value.stride() != strides
                or value.is_neg()
            ):
                return None
            values[position] = value
        return values

    return quick


def _result_maker(spec: pytree.TreeSpec) -> Callable[[Sequence[Any]], Any]:
    if spec.is_leaf():
        return lambda results: results[0]
    if spec.type is tuple and all(child.is_leaf() for child in spec.children()):
        return tuple
    return lambda results: pytree.tree_unflatten(list(results), spec)
