"""Matmuls by PyTorch's BLAS library, called by its C symbol: C = A · B + addend. A and C are
row-major; B is row-major or column-major, in place. BLAS is column-major, so it computes the
transpose of C: Bᵀ · Aᵀ.
"""

from __future__ import annotations

import torch

from ingot.codegen.jit.jit import compile_module
from ingot.codegen.jit.lazy import OnceStored
from ingot.codegen.jit.native import Native
from ingot.codegen.mlir.functions import Writer
from ingot.linkage import declared, has_symbol
from ingot.ops.values import Ptr, Val

FIELDS = (
    "a", "lda", "b", "ldb", "by_columns", "addend", "ldadd", "c", "ldc", "m", "n", "k",
)  # fmt: skip
"""The frame. `addend` may be null; `ldadd` is 0 for one row that is added to all."""
_POINTERS = ("a", "b", "addend", "c")
_SYMBOLS = {torch.float32: "sgemm_", torch.float64: "dgemm_"}
LARGEST = (1 << 31) - 1
"""BLAS counts in 32 bits."""


def has_library(dtype: torch.dtype) -> bool:
    return dtype in _SYMBOLS and has_symbol(_SYMBOLS[dtype])


def library_function(dtype: torch.dtype) -> int:
    """The address of the matmul for `dtype`, in the executor's calling convention."""
    return _compiled(dtype).addresses["matmul"]


@OnceStored
def _compiled(dtype: torch.dtype) -> Native:
    pointers = ", ".join(["!llvm.ptr"] * 13)
    return compile_module(
        [declared(_SYMBOLS[dtype], f"({pointers})")], {"matmul": _Matmul(dtype).text()}
    )


class _Matmul(Writer):
    def __init__(self, dtype: torch.dtype):
        super().__init__()
        self.dtype = dtype
        self.read_frame(FIELDS, _POINTERS)

    def text(self) -> str:
        b, size = self.b, self.size
        some = self.given(self.pointer["addend"])
        with self.when(some):
            self._copy_addend()
        turned = b.cmp("ne", size["by_columns"], self.const(0))
        letters = [ord("T"), ord("N")]
        first = b.select(turned, *(b.const(c, torch.int8) for c in letters))
        numbers = {name: b.cast(size[name], torch.int32) for name in ("m", "n", "k")}
        numbers |= {name: b.cast(size[name], torch.int32) for name in ("lda", "ldb", "ldc")}
        one, zero = b.const(1.0, self.dtype), b.const(0.0, self.dtype)
        arguments = [
            self._held(first), self._held(b.const(ord("N"), torch.int8)),
            self._held(numbers["n"]), self._held(numbers["m"]), self._held(numbers["k"]),
            self._held(one), self.pointer["b"], self._held(numbers["ldb"]),
            self.pointer["a"], self._held(numbers["lda"]),
            self._held(b.select(some, one, zero)), self.pointer["c"], self._held(numbers["ldc"]),
        ]  # fmt: skip
        b.invoke_library(_SYMBOLS[self.dtype], arguments, lambda: self._extents(turned))
        return self.function("matmul", result=self.const(0))

    def _extents(self, turned: Val) -> list[tuple[Ptr, Val, bool]]:
        """Each matrix from its first element to its last."""
        b, (m, n, k) = self.b, (self.size[name] for name in "mnk")

        def matrix(name: str, rows: Val, columns: Val) -> tuple[Ptr, Val, bool]:
            before = b.mul(b.sub(rows, self.const(1)), self.size[f"ld{name}"])
            size = b.mul(b.add(before, columns), self.const(self.dtype.itemsize))
            return self.pointer[name], size, name == "c"

        depth, width = b.select(turned, n, k), b.select(turned, k, n)
        return [matrix("b", depth, width), matrix("a", m, k), matrix("c", m, n)]

    def _held(self, value: Val) -> Ptr:
        """The address of memory that holds the value: BLAS takes all arguments by reference."""
        place = self.stack(1, value.dtype)
        self.b.store(place, value)
        return place

    def _copy_addend(self) -> None:
        b, size = self.b, self.size
        count = b.mul(size["n"], self.const(self.dtype.itemsize))
        with self.loop(self.const(0), size["m"], self.const(1)) as i:
            to = self.moved(self.pointer["c"], b.mul(i, size["ldc"]), self.dtype)
            start = self.moved(self.pointer["addend"], b.mul(i, size["ldadd"]), self.dtype)
            b.copy(to, start, count)
