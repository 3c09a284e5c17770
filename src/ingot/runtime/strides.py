"""Symbols that are strides of an input but not sizes: torch.export makes them for an example that
is not dense (`x[:, 1:]`, `x[::2]`) under dynamic shapes. The tensors of a call give their values; a
tensor that does not fit the example's layout is copied, to strides chosen here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import sympy
import torch

from ingot.program.shapes import Size


def stride_symbols(
    layouts: Iterable[tuple[int, Sequence[Size]]], known: Iterable[sympy.Symbol]
) -> Iterator[tuple[sympy.Symbol, int, int]]:
    """Each unknown symbol, with the number of the first tensor and the dimension whose stride it
    is."""
    seen = set(known)
    for number, strides in layouts:
        for dim, stride in enumerate(strides):
            if isinstance(stride, sympy.Symbol) and stride not in seen:
                seen.add(stride)
                yield stride, number, dim


def apart(
    tensor: torch.Tensor, strides: Sequence[Size], known: Mapping[sympy.Symbol, int]
) -> dict[sympy.Symbol, int]:
    """Values for the stride symbols that are not in `known`, such that no two elements of a tensor
    of this shape share memory. The dimensions are ordered as in the example, as far as its strides
    tell: constants, then values that follow from sizes, then symbols from the last dimension to the
    first."""
    chosen: dict[sympy.Symbol, int] = {}
    reach = 1 + sum(
        (size - 1) * value
        for size, stride in zip(tensor.shape, strides, strict=True)
        if (value := _value(stride, known)) is not None
    )
    for size, stride in reversed(list(zip(tensor.shape, strides, strict=True))):
        if isinstance(stride, sympy.Symbol) and stride not in known and stride not in chosen:
            chosen[stride] = reach
            reach += (size - 1) * reach
    return chosen


def _value(stride: Size, known: Mapping[sympy.Symbol, int]) -> int | None:
    if isinstance(stride, int):
        return stride
    found = stride.xreplace({symbol: sympy.Integer(value) for symbol, value in known.items()})
    return int(found) if found.is_Integer else None
