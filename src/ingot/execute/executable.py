"""A whole program, compiled ahead of time and called like the model. Comes in: a Program with a
CallSpec, its Compiled and the model; goes out: a callable. What holds: arguments that the program
was not made for are refused before anything runs; tensors that lie differently in memory than those
it was made with are taken over into the layout that the code counts on, and written back where it
writes; where a dynamic size is zero, the tracer's assumptions do not hold and nothing is left to
compute: the model itself says what it gives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import sympy
import torch
from torch.utils import _pytree as pytree

from ingot.execute.binding import quick_binding
from ingot.fuse.shapes import shape_of, strides_of
from ingot.plan.sizes import evaluator, symbols_in
from ingot.program.call import bind, call_spec
from ingot.program.graph import placeholders
from ingot.program.program import Fixed, Program
from ingot.stages import Compiled


class Executable:
    """`exe(*args, **kwargs)` equals the model's call."""

    def __init__(self, program: Program, compiled: Compiled, model: Callable[..., Any]):
        self.program = program
        self.compiled = compiled
        self._run = compiled.run
        self._model = model
        self._inputs = placeholders(program.graph)
        self._layouts = _Layouts(program)
        self._quick = quick_binding(program)
        self._result = _result_maker(call_spec(program).out_spec)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        values = self._quick(args) if self._quick is not None and not kwargs else None
        if values is not None:
            return self._result(self._run(values))
        if self._is_empty(args, kwargs):
            return self._model(*args, **kwargs)
        values = bind(self.program, args, kwargs)
        moved = self._layouts.arrange(values)
        results = self.compiled.run(list(values))
        for original, copy in moved:
            original.copy_(copy)
        return self._result(results)

    def __deepcopy__(self, memo: dict[int, Any]) -> Executable:
        """Itself, as functions are: it goes with the model that it was made of."""
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "what ingot.compile returns is machine code of this process and cannot be pickled; "
            "pickle the model, or keep the program with ingot.export(...).save(path)"
        )

    def _is_empty(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Is a size zero that may be?"""
        leaves = pytree.tree_leaves((args, kwargs))
        for value, wanted in zip(leaves, call_spec(self.program).arguments, strict=False):
            if not isinstance(value, torch.Tensor) or isinstance(wanted, Fixed):
                continue
            for given, size in zip(value.shape, shape_of(self._inputs[wanted]), strict=False):
                known = self.program.symbols.get(str(size))
                if given == 0 and known is not None and known.lower == 0:
                    return True
        return False


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


def _result_maker(spec: pytree.TreeSpec) -> Callable[[Sequence[Any]], Any]:
    if spec.is_leaf():
        return lambda results: results[0]
    if spec.type is tuple and all(child.is_leaf() for child in spec.children()):
        return tuple
    return lambda results: pytree.tree_unflatten(list(results), spec)
