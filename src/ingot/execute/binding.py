"""The quick way into a whole program. Comes in: a Program with a CallSpec; goes out: a function
from the user's arguments to a value for each placeholder, written as Python text for this program.
What holds: it gives None where anything does not fit as it stands (another dtype, size, layout, a
guard that fails), and the long way has to say what, or to copy. Tensors that are in every respect
like some that fitted fit as well, and PyTorch itself tells that quickest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sympy
import torch
from torch import fx
from torch._C._dynamo.guards import TensorGuards
from torch.utils import _pytree as pytree

from ingot.fuse.index import Size
from ingot.fuse.shapes import shape_of, size_of, strides_of
from ingot.plan.sizes import SizePrinter
from ingot.program.call import call_spec
from ingot.program.graph import placeholders
from ingot.program.program import Fixed, Program

Binding = Callable[[tuple[Any, ...]], "list[Any] | None"]


def quick_binding(program: Program) -> Binding | None:
    """For a plain list of tensors and sizes; None where the arguments are anything else."""
    calling, nodes = call_spec(program), placeholders(program.graph)
    positions = [a for a in calling.arguments if not isinstance(a, Fixed)]
    plain = pytree.tree_structure(((None,) * len(positions), {}))
    if calling.in_spec != plain or len(positions) != len(calling.arguments):
        return None
    given = [nodes[position] for position in positions]
    if not all(_is_simple(node.meta["val"]) for node in given):
        return None
    writer = _Writer(program)
    for k, node in enumerate(given):
        writer.check_kind(k, node)
    writer.check_sizes()
    state = [program.state.get(s.target) if s.target else None for s in program.signature.inputs]
    writer.scope["state"] = state
    return writer.function(positions, all(isinstance(n.meta["val"], torch.Tensor) for n in given))


def _is_simple(value: Any) -> bool:
    if isinstance(value, torch.SymInt):
        return isinstance(size_of(value), sympy.Symbol)
    return isinstance(value, torch.Tensor) and value.layout is torch.strided


class _Writer:
    def __init__(self, program: Program):
        self.program = program
        self.lines: list[str] = []
        self.scope: dict[str, Any] = {"Tensor": torch.Tensor}
        self._names: dict[sympy.Symbol, str] = {}
        self._printer = SizePrinter(self._names)
        self._equal: list[tuple[str, Size]] = []
        """Texts, and the sizes that they have to be: known once every symbol is."""
        self._laid_out: list[tuple[int, tuple[Size, ...]]] = []

    def check_kind(self, k: int, node: fx.Node) -> None:
        """What a value is; learns the symbols that it tells."""
        value = node.meta["val"]
        if not isinstance(value, torch.Tensor):
            self.refuse(f"type(a{k}) is not int")
            self._learn(f"a{k}", size_of(value))
            return
        self.scope[f"d{k}"] = value.dtype
        self.refuse(
            f"type(a{k}) is not Tensor or a{k}.dtype is not d{k} or a{k}.is_neg() "
            f"or a{k}.dim() != {value.dim()}"
        )
        sizes = [f"a{k}_{i}" for i in range(value.dim())]
        if sizes:
            self.lines.append(f"{', '.join(sizes)}, = a{k}.shape")
        for name, size in zip(sizes, shape_of(node), strict=True):
            self._learn(name, size)
        self._laid_out.append((k, strides_of(node)))

    def _learn(self, name: str, size: Size) -> None:
        if isinstance(size, sympy.Symbol) and size not in self._names:
            self._names[size] = name
        elif isinstance(size, int):
            self.refuse(f"{name} != {size}")
        else:
            self._equal.append((name, size))

    def _text(self, size: Size) -> str:
        return str(size) if isinstance(size, int) else self._printer.doprint(size)

    def check_sizes(self) -> None:
        for symbol, name in self._names.items():
            known = self.program.symbols.get(symbol.name)
            self.refuse(f"{name} < {max(1, known.lower if known is not None else 0)}")
            if known is not None and known.upper is not None:
                self.refuse(f"{name} > {known.upper}")
        for name, size in self._equal:
            self.refuse(f"{name} != {self._text(size)}")
        for k, strides in self._laid_out:
            self.refuse(f"a{k}.stride() != ({''.join(f'{self._text(s)}, ' for s in strides)})")
        for guard in self.program.guards:
            self.refuse(f"not {self._printer.doprint(guard.condition)}")

    def refuse(self, condition: str) -> None:
        self.lines.append(f"if {condition}: return None")

    def function(self, positions: Sequence[int], tensors: bool) -> Binding:
        """`tensors`: are there no numbers among the arguments?"""
        count = len(positions)
        unpack = [f"{''.join(f'a{k}, ' for k in range(count))}= args"] if count else []
        known = ["alike = likeness(args)"] if tensors and count else []
        checks = [*(f"    {line}" for line in [*self.lines, *known])] or ["    pass"]
        body = [
            f"if len(args) != {count}: return None",
            *unpack,
            "global alike",
            "if alike is None or not alike(*args):",
            *checks,
            "values = state[:]",
            *(f"values[{position}] = a{k}" for k, position in enumerate(positions)),
            "return values",
        ]
        self.scope |= {"alike": None, "likeness": _Likeness()}
        exec("def bind(args):\n    " + "\n    ".join(body), self.scope)
        return self.scope["bind"]


class _Likeness:
    """From tensors to a function that tells whether others are like them. What a tensor is depends
    on modes as well (inference_mode), so there may be several to tell apart; a caller who changes
    them in every call gets no further ones."""

    MOST = 16

    def __init__(self) -> None:
        self._made = 0

    def __call__(self, args: tuple[torch.Tensor, ...]) -> Callable[..., bool] | None:
        self._made += 1
        if self._made > self.MOST:
            return None
        sizes: Any = [list(t.shape) for t in args]
        strides: Any = [list(t.stride()) for t in args]
        return TensorGuards(*args, dynamic_dims_sizes=sizes, dynamic_dims_strides=strides).check
