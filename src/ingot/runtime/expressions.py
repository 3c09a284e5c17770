"""Values of a plan as expressions of the generated Python function. Objects without a text form are
captured: they become globals of the function.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy
import torch

from ingot.plan.ir import Entries, Items, Kind, Opaque, Plan, Ref
from ingot.plan.resources import Resources
from ingot.plan.sizes import SizePrinter, identifier
from ingot.program.shapes import Size


class ExpressionWriter:
    def __init__(self, plan: Plan, resources: Resources):
        self.plan, self.resources = plan, resources
        self.buffers = plan.by_name()
        self.scope: dict[str, Any] = {}
        """The function's globals."""
        self._symbols = {s.expr: identifier("size", s.name) for s in plan.symbols}
        self._printer = SizePrinter(self._symbols)
        self._variables = {name: f"in{k}" for k, name in enumerate(plan.inputs)}
        self._targets: dict[str, str] = {}

    def capture(self, stem: str, value: Any) -> str:
        name = f"{stem}{len(self.scope)}"
        self.scope[name] = value
        return name

    def variable(self, name: str) -> str:
        known = self._variables.get(name)
        if known is None:
            buffer = self.buffers[name]
            if buffer.kind is Kind.CONSTANT or name in self.resources.constants:
                known = self.capture("constant", self.resources.constants[name])
            else:
                known = f"v_{name}"
            self._variables[name] = known
        return known

    def size(self, size: Size) -> str:
        if isinstance(size, int):
            return str(size)
        for symbol in size.free_symbols:
            if symbol not in self._symbols:
                raise KeyError(f"the symbol {symbol} has no value when it is needed")
        if isinstance(size, sympy.Symbol):
            return self._symbols[size]
        return f"int({self._printer.doprint(size)})"

    def sizes(self, sizes: Sequence[Size]) -> str:
        return "(" + "".join(f"{self.size(s)}, " for s in sizes) + ")"

    def argument(self, value: Any) -> str:
        match value:
            case Ref():
                return self.variable(value.name)
            case Items():
                return f"[{', '.join(map(self.argument, value.values))}]"
            case tuple():
                return "(" + "".join(f"{self.argument(v)}, " for v in value) + ")"
            case bool() | int() | str() | None:
                return repr(value)
            case sympy.Basic():
                return self.size(value)
            case Entries():
                pairs = ((self.argument(k), self.argument(v)) for k, v in value.pairs)
                return "{" + ", ".join(f"{k}: {v}" for k, v in pairs) + "}"
            case slice():
                parts = map(self.argument, (value.start, value.stop, value.step))
                return f"slice({', '.join(parts)})"
            case Opaque():
                return self.capture("object", self.resources.objects[value.name])
        return self.capture("value", value)

    def target(self, name: str) -> str:
        known = self._targets.get(name)
        if known is None:
            target = self.resources.target(name)
            plain = isinstance(target, torch._ops.OpOverload) and _is_plain(target)
            known = self._targets[name] = self.capture("op", target._op if plain else target)
        return known


def _is_plain(target: torch._ops.OpOverload) -> bool:
    """Can the C++ op be called without the Python layers around it?"""
    return target.namespace == "aten" and not target._schema.is_mutable
