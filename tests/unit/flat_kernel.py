"""Flat kernels for tests: a body over contiguous buffers, as a vector loop with a scalar tail.

Many kernels are compiled as one module, because a module costs more than a function. A kernel whose
body reports a failure returns its code.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from ingot.codegen.jit.jit import FUNCTION_ATTRIBUTES, compile_module
from ingot.codegen.mlir.builder import Builder
from ingot.ops.values import Ptr, Val, Value

Body = Callable[[Builder, list[Val]], Val]


def function_text(
    name: str, inputs: Sequence[torch.dtype], body: Body, lanes: int, tail: bool
) -> tuple[str, dict[str, str]]:
    """The text of `void name(inputs..., output, int64 *error, int64 n)` and its declarations."""
    b = Builder(lanes)
    pointers = [Ptr(f"%in{i}") for i in range(len(inputs))]
    out, error = Ptr("%out"), Ptr("%error")
    low = b.const(0, torch.int64)
    count = Val("%n", torch.int64)

    def loop(start: Val, end: Val, step: Val, width: int) -> None:
        with b.loop(start, end, step) as at:
            values = [
                b.load(b.pointer_at(pointer, at, dtype), dtype, width)
                for pointer, dtype in zip(pointers, inputs)
            ]
            result = b.broadcast(body(b, values), width)
            b.store(b.pointer_at(out, at, result.dtype), result)
            for condition, code in b.failures:
                with b.when(b.any(condition)):
                    b.store_register(error, b.const(code, torch.int64))
            b.failures.clear()

    done = low
    if lanes > 1:
        width = b.const(lanes, torch.int64)
        done = b.mul(b.div(count, width), width)
        loop(low, done, width, lanes)
    if tail or lanes == 1:
        loop(done, count, b.const(1, torch.int64), 1)
    arguments: list[Value] = [*pointers, out, error, count]
    return b.function(name, arguments, attributes=FUNCTION_ATTRIBUTES), b.declarations


@dataclass
class Batch:
    """Kernels compiled as one module."""

    functions: dict[str, str] = field(default_factory=dict)
    declarations: dict[str, str] = field(default_factory=dict)
    native: Any = None

    def add(self, inputs: Sequence[torch.dtype], body: Body, lanes: int, tail: bool = True) -> str:
        """Add a kernel and return its name. Without a tail it compiles in half the time, but
        accepts only multiples of its lanes."""
        name = f"kernel_{len(self.functions)}"
        text, declared = function_text(name, inputs, body, lanes, tail)
        self.functions[name] = text
        self.declarations.update(declared)
        return name

    def compile(self) -> None:
        self.native = compile_module(list(self.declarations.values()), self.functions)

    def run(self, name: str, inputs: Sequence[Tensor], dtype: torch.dtype) -> tuple[Tensor, int]:
        """The result and the failure code (0 for none)."""
        flat = [t.contiguous() for t in inputs]
        out = torch.empty(flat[0].shape, dtype=dtype)
        error = torch.zeros(1, dtype=torch.int64)
        addresses = [t.data_ptr() for t in (*flat, out, error)]
        kinds = [ctypes.c_void_p] * len(addresses) + [ctypes.c_int64]
        entry = ctypes.CFUNCTYPE(None, *kinds)(self.native.addresses[name])
        entry(*addresses, out.numel())
        return out, int(error.item())
