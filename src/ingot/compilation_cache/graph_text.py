"""A graph as text for the key of what is compiled from it: all that the compiler reads of it. The
user's lines are left out, so that a moved or edited file finds its entry; they are counted, and a
program from the cache gets those of the new graph. Constants are in the key by content.

This is on the critical path of a second process, so it prints and does not check.
"""

from __future__ import annotations

import hashlib
import types
from collections.abc import Mapping
from operator import attrgetter
from typing import Any

import sympy
import torch
from torch import Tensor
from torch._ops import HigherOrderOperator, OpOverload
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx import GraphModule, Node

from ingot.program.annotations import FROZEN, STORED

MOST_BYTES = 1 << 28
"""Of all constants of a graph, whose contents are read."""
_MARKS = ("original_aten", "in_bounds", "unbacked_bindings", FROZEN, STORED)
"""The annotations of nodes that the compiler reads, besides their value."""
_MODULES = ("operator", "_operator", "math", "builtins", "torch")
"""Of the functions that a graph may call besides ops."""
OWN = ("aten", "prims", "prim", "ingot_native")
"""Namespaces of ops whose schemas come with PyTorch and ingot. Those of others are in the key."""
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...))
_NAMED = (torch.dtype, torch.layout, torch.memory_format, torch.device)
_SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)


class Unencodable(Exception):
    """The graph has a part without a text, so that what is compiled from it is not kept."""


class GraphText:
    def __init__(self, module: GraphModule) -> None:
        self.traces: list[str] = []
        """The distinct stack traces of nodes; the text refers to them by index."""
        self.constants: dict[str, Tensor] = {}
        """The tensors in the graph, by path."""
        self.symbols: dict[sympy.Symbol, None] = {}
        self.env: Any = None
        """The ShapeEnv of the symbols."""
        self._indices: dict[str, int] = {}
        self._targets: dict[Any, str] = {}
        self._numbers: dict[sympy.Basic, str] = {}
        self.text = "\n".join(self._lines(module, ""))

    # -- nodes -------------------------------------------------------------------------------------

    def _lines(self, module: GraphModule, path: str) -> list[str]:
        lines: list[str] = []
        bodies: dict[str, GraphModule] = {}
        for node in module.graph.nodes:
            meta = node.meta
            line = f"{node.name} {self._called(module, node, path, bodies)}"
            if "val" in meta:
                line = f"{line} : {self.value(meta['val'])}"
            for mark in _MARKS:
                if mark in meta and meta[mark] is not None:
                    line = f"{line} {mark}={self._mark(mark, meta[mark])}"
            trace = meta.get("stack_trace")
            if trace:
                line = f"{line} at {self._trace(trace)}"
            lines.append(line)
        for target, body in bodies.items():
            lines += [f"{path}{target}:", *self._lines(body, f"{path}{target}.")]
        return lines

    def _called(
        self, module: GraphModule, node: Node, path: str, bodies: dict[str, GraphModule]
    ) -> str:
        if node.op == "call_function":
            given = f"({self.argument(node.args)} {self.argument(node.kwargs)})"
            return f"{self._target(node.target)}{given}"
        if node.op == "placeholder":
            described = type(node.meta.get("desc")).__name__
            return f"input {described} {isinstance(node.meta.get('val'), torch.nn.Parameter)}"
        if node.op == "output":
            return f"output {self.argument(node.args)}"
        if node.op != "get_attr":
            raise Unencodable(f"a {node.op} node")
        target = str(node.target)
        found = attrgetter(target)(module)
        if isinstance(found, GraphModule):
            bodies[target] = found
        elif isinstance(found, Tensor):
            self.constants[path + target] = found
        else:
            raise Unencodable(f"the {type(found).__name__} {target}")
        return f"get_attr {target}"

    def _target(self, target: Any) -> str:
        known = self._targets.get(target)
        if known is None:
            known = self._targets[target] = _target_name(target)
        return known

    def _mark(self, name: str, value: Any) -> str:
        if name == "unbacked_bindings":
            return " ".join(sorted(f"{symbol}={path}" for symbol, path in value.items()))
        return str(value)

    def _trace(self, trace: str) -> int:
        known = self._indices.get(trace)
        if known is None:
            known = self._indices[trace] = len(self.traces)
            self.traces.append(trace)
        return known

    # -- arguments and values ----------------------------------------------------------------------

    def argument(self, value: Any) -> str:
        if isinstance(value, Node):
            return f"%{value.name}"
        if isinstance(value, _PLAIN):
            return repr(value)
        if isinstance(value, list):
            return f"[{', '.join(map(self.argument, value))}]"
        if isinstance(value, tuple):
            return f"({', '.join(map(self.argument, value))})"
        if isinstance(value, Mapping):
            pairs = (f"{self.argument(k)}: {self.argument(v)}" for k, v in value.items())
            return f"{{{', '.join(pairs)}}}"
        if isinstance(value, _NAMED):
            return f"<{value}>"
        if isinstance(value, _SYMBOLIC):
            return self._number(value)
        if isinstance(value, slice):
            return f"slice{self.argument((value.start, value.stop, value.step))}"
        raise Unencodable(f"a {type(value).__name__} among the arguments")

    def value(self, value: Any) -> str:
        """The metadata of a node's value."""
        if isinstance(value, Tensor):
            return self._tensor(value)
        if isinstance(value, list | tuple):
            return f"({', '.join(map(self.value, value))})"
        return self.argument(value)

    def _tensor(self, value: Tensor) -> str:
        if type(value) not in (FakeTensor, Tensor, torch.nn.Parameter):
            raise Unencodable(f"a {type(value).__name__}")
        flags = f"{value.requires_grad:d}{value.is_conj():d}{value.is_neg():d}"
        if value.layout is not torch.strided:
            return f"{value.layout} {value.dtype} {self._sizes(value.shape)} {flags}"
        if not value._has_symbolic_sizes_strides:
            shape, strides, offset = tuple(value.shape), value.stride(), value.storage_offset()
            return f"{value.dtype}{shape}{strides}{offset} {value.device} {flags}"
        sizes = f"{self._sizes(value.shape)}{self._sizes(value.stride())}"
        return f"{value.dtype}{sizes}{self._size(value.storage_offset())} {value.device} {flags}"

    def _sizes(self, sizes: Any) -> str:
        return f"({', '.join(map(self._size, sizes))})"

    def _size(self, size: Any) -> str:
        return self._number(size) if isinstance(size, _SYMBOLIC) else str(size)

    def _number(self, number: Any) -> str:
        expr = number.node.expr
        known = self._numbers.get(expr)
        if known is None:
            self.env = number.node.shape_env
            self.symbols |= dict.fromkeys(sorted(expr.free_symbols, key=lambda s: s.name))
            known = self._numbers[expr] = str(expr)
        return known

    # -- the rest of the key -----------------------------------------------------------------------

    def symbol_text(self) -> str:
        """What is known of the symbols."""
        if self.env is None:
            return ""
        env = self.env
        lines = [
            f"{symbol.name} {sorted(symbol._assumptions_orig.items())} "
            f"{env.var_to_range.get(symbol)} {symbol in env.size_like}"
            for symbol in self.symbols
        ]
        lines += [f"guard {guard.expr}" for guard in env.guards]
        deferred = (each for found in env.deferred_runtime_asserts.values() for each in found)
        lines += [f"assert {each.expr}" for each in deferred]
        return "\n".join(lines)

    def constant_text(self) -> str:
        if sum(t.untyped_storage().nbytes() for t in self.constants.values()) > MOST_BYTES:
            raise Unencodable(f"constants of more than {MOST_BYTES >> 20} MB")
        return "\n".join(f"{name} {digest_of(t)}" for name, t in self.constants.items())


def _target_name(target: Any) -> str:
    if isinstance(target, OpOverload):
        if target.namespace in OWN:
            return str(target)
        return f"{target} {target._schema} {sorted(map(str, target.tags))}"
    if isinstance(target, HigherOrderOperator):
        return f"higher_order.{target.name()}"
    module = getattr(target, "__module__", None)
    if isinstance(target, _FUNCTIONS) and module in _MODULES:
        return f"{module}.{target.__qualname__}"
    raise Unencodable(f"a call of {target}")


_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, type)


def digest_of(tensor: Tensor) -> str:
    """Of dtype, geometry and content."""
    plain = type(tensor) in (Tensor, torch.nn.Parameter) and tensor.layout is torch.strided
    if not plain or tensor.device.type != "cpu" or tensor.is_quantized:
        raise Unencodable(f"a {type(tensor).__name__} on {tensor.device} as a constant")
    content = tensor.detach().resolve_conj().resolve_neg().contiguous()
    kind = f"{tensor.dtype}{tuple(tensor.shape)}{tensor.stride()}"
    digest = hashlib.sha256(f"{kind}{tensor.is_conj()}{tensor.is_neg()}".encode())
    digest.update(content.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()[:32]
