"""The memory traffic of a kernel: bytes loaded and stored, at the symbols' values in the run. A
buffer counts once, however often a loop rereads it. A lookup in a large table counts the elements
read, not the table.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import sympy
from torch import fx

from ingot.codegen.loops.kernels import CompiledKernel
from ingot.fuse.index import Gathered
from ingot.program.graph import fake_mode
from ingot.program.shapes import Size, shape_of, strides_of, tensor_of

Hints = Mapping[sympy.Symbol, int]


def size_hints(graph: fx.Graph) -> Hints:
    """The values that symbols had when the graph was captured: those of the example run."""
    env = getattr(fake_mode(graph), "shape_env", None)
    if env is None:
        return {}
    return {symbol: int(value) for symbol, value in env.backed_var_to_val.items()}


def kernel_bytes(kernel: CompiledKernel, hints: Hints) -> int | None:
    total = 0
    for buffer in kernel.buffers:
        elements = _touched(kernel, buffer, hints)
        if elements is None:
            return None
        total += elements * tensor_of(buffer).dtype.itemsize
    return total


def _touched(kernel: CompiledKernel, buffer: fx.Node, hints: Hints) -> int | None:
    held = product([s for s, t in zip(shape_of(buffer), strides_of(buffer)) if t != 0], hints)
    if buffer in kernel.region.stored or held is None:
        return held
    points = [point for node, point in kernel.region.reads if node is buffer]
    read = 0
    for point in points:
        if any(isinstance(atom, Gathered) for index in point for atom in index.terms):
            variables = set(kernel.region.domain)
        else:
            variables = {v for index in point for v in index.variables()}
        visited = product([v.size for v in variables], hints)
        if visited is None:
            return held
        read += visited
    return min(held, read) if points else held


def product(sizes: Iterable[Size], hints: Hints) -> int | None:
    values = [number(size, hints) for size in sizes]
    return None if None in values else math.prod(v for v in values if v is not None)


def number(size: Size, hints: Hints) -> int | None:
    """A size at the symbols' values; None if it depends on data."""
    if isinstance(size, int):
        return size
    value = size.subs(hints)
    return int(value) if value.is_Integer else None
