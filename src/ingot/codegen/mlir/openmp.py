"""Threads of generated code, by OpenMP. Without it everything runs on the caller's thread."""

from __future__ import annotations

import torch

from ingot.codegen.mlir.builder import Builder
from ingot.linkage import declared, has_symbol
from ingot.ops.values import Ptr, Val

_FUNCTIONS = {
    "GOMP_parallel": ("(!llvm.ptr, !llvm.ptr, i32, i32)", ""),
    "GOMP_barrier": ("()", ""),
    "omp_get_thread_num": ("()", " -> i32"),
    "omp_get_num_threads": ("()", " -> i32"),
    "omp_get_max_threads": ("()", " -> i32"),
}


def has_openmp() -> bool:
    return all(map(has_symbol, ("GOMP_parallel", "GOMP_barrier", "omp_get_max_threads")))


def openmp_declarations() -> dict[str, str]:
    if not has_openmp():
        return {}
    return {name: declared(name, *types) for name, types in _FUNCTIONS.items()}


def thread_number(b: Builder) -> Val:
    return _count(b, "omp_get_thread_num")


def thread_count(b: Builder) -> Val:
    """The number of threads that run the same task."""
    return _count(b, "omp_get_num_threads")


def most_threads(b: Builder) -> Val:
    """The number of threads that are allowed."""
    return _count(b, "omp_get_max_threads")


def _count(b: Builder, function: str) -> Val:
    return b.cast(b.invoke_value(function, [], torch.int32), torch.int64)


def start_threads(b: Builder, task: str, data: Ptr, threads: Val) -> None:
    """Calls `task` with `data` on each of so many threads, and waits for all."""
    count = b.cast(threads, torch.int32)
    b.invoke("GOMP_parallel", [b.address_of(task), data, count, b.const(0, torch.int32)])


def barrier(b: Builder) -> None:
    b.invoke("GOMP_barrier", [])
