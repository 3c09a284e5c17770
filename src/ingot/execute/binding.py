"""The quick way into a whole program. Comes in: a Program with a CallSpec; goes out: a function
from the user's arguments to a value for each placeholder, written as Python text for this program.
What holds: it gives None where anything does not fit as it stands (another dtype, size, layout, a
guard that fails), and the long way has to say what, or to copy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy
import torch
from torch import fx
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
    for k, position in enumerate(positions):
        writer.lines.append(f"values[{position}] = a{k}")
    return writer.function(len(positions))


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

    def function(self, count: int) -> Binding:
        names = "".join(f"a{k}, " for k in range(count))
        unpack = [f"{names}= args"] if count else []
        head = [f"if len(args) != {count}: return None", *unpack]
        body = "\n    ".join([*head, "values = state[:]", *self.lines, "return values"])
        exec(f"def bind(args):\n    {body}", self.scope)
        return self.scope["bind"]
