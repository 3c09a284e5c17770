"""Calls of Sleef, which libtorch exports, on operands in f32 or f64 with any number of lanes. The
result is assembled from calls of the widths that this machine has. A symbol is called only if it
exists and the processor has its instructions; otherwise an UnsupportedError leaves the op to ATen.
"""

from __future__ import annotations

from collections.abc import Sequence

from ingot.errors import UnsupportedError
from ingot.linkage import has_symbol
from ingot.machine import this_machine
from ingot.ops.polynomials.forms import F64
from ingot.ops.registers import RegisterBuilder
from ingot.ops.values import Val


def library(b: RegisterBuilder, name: str, *operands: Val, suffix: str = "_u10") -> Val:
    """Sleef's `name` over all lanes, such as library(b, "lgamma", x). A scalar is computed in a
    vector, so that the tail of a loop gets the same bits as its body; without vector versions, the
    C library is called."""
    values = b.same_lanes(*operands)
    first = values[0]
    letter = "d" if first.dtype is F64 else "f"
    width = _width(name, letter, first.dtype.itemsize, first.lanes, suffix)
    if width == 0:
        return _one_by_one(b, name if first.dtype is F64 else name + "f", values)
    symbol = f"Sleef_{name}{letter}{width}{suffix}"
    if width == first.lanes:
        return b.call(symbol, values, first.dtype)
    if first.lanes == 1:
        return b.lane(b.call(symbol, [b.broadcast(v, width) for v in values], first.dtype), 0)
    if width > first.lanes:
        padding = [i % first.lanes for i in range(width)]
        result = b.call(symbol, [b.shuffle(v, v, padding) for v in values], first.dtype)
        return b.shuffle(result, result, range(first.lanes))
    return _in_parts(b, symbol, values, width)


def _in_parts(b: RegisterBuilder, symbol: str, values: Sequence[Val], width: int) -> Val:
    parts = []
    for start in range(0, values[0].lanes, width):
        window = range(start, start + width)
        parts.append(b.call(symbol, [b.shuffle(v, v, window) for v in values], values[0].dtype))
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=True)
        parts = [b.shuffle(left, right, range(2 * left.lanes)) for left, right in pairs]
    return parts[0]


def _one_by_one(b: RegisterBuilder, symbol: str, values: Sequence[Val]) -> Val:
    if not has_symbol(symbol):
        raise UnsupportedError(f"neither PyTorch's library nor the C library has {symbol}")
    lanes = range(values[0].lanes)
    results = [b.call(symbol, [b.lane(v, i) for v in values], values[0].dtype) for i in lanes]
    return results[0] if len(results) == 1 else b.from_lanes(results)


def _width(name: str, letter: str, size: int, lanes: int, suffix: str) -> int:
    """The widest available call that is not wider than needed; else the narrowest; 0 if there is
    none."""
    widths = [bits // 8 // size for bits in (512, 256) if bits <= this_machine().vector_bits]
    there = [w for w in widths if has_symbol(f"Sleef_{name}{letter}{w}{suffix}")]
    return next((w for w in there if w <= lanes), there[-1] if there else 0)
