"""What lies in weights, by samples. PyTorch counts a write to a tensor, but not one through `.data`
or NumPy, as running averages of weights are often written. Comes in: weights; goes out: addresses
of samples. What holds: the samples of a weight are spread over all of it, and are all of it where
it is small; only memory of the weights' own pages is read.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from functools import lru_cache

import torch

from ingot.codegen.watch import ROW

PLACES, RUN = 8, 4
"""Samples of one weight: so many in a row at so many places. A place costs a miss of the cache, the
rest of the row nothing."""
WORD = 4
SPREAD = (math.sqrt(5) - 1) / 2
"""Multiples of it, without their whole parts, are spread evenly between 0 and 1."""


class Samples:
    """Where they lie. The weights have to stay where they are."""

    def __init__(self, weights: Sequence[torch.Tensor]):
        self.rows, self.words = array("q"), array("q")
        """Addresses of four words side by side, and of words alone."""
        for weight in weights:
            start = weight.data_ptr()
            rows, words = _offsets(tuple(weight.shape), weight.stride(), weight.itemsize)
            self.rows.extend(start + offset for offset in rows)
            self.words.extend((start + offset) // WORD * WORD for offset in words)


@lru_cache(maxsize=4096)
def _offsets(
    shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """In bytes, of the samples: rows of four words, and what is left."""
    count = math.prod(shape)
    numbers: Iterable[int] = range(count)
    if count > PLACES * RUN:
        rows = [int((count - RUN) * (k * SPREAD % 1)) for k in range(PLACES)]
        numbers = sorted({row + i for row in rows for i in range(RUN)})
    starts = [itemsize * _element(number, shape, strides) for number in numbers]
    return _in_rows([start + half for start in starts for half in range(0, itemsize, WORD)])


def _in_rows(words: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    rows, alone = [], []
    k = 0
    while k < len(words):
        if list(words[k : k + ROW]) == [words[k] + WORD * i for i in range(ROW)]:
            rows.append(words[k])
            k += ROW
        else:
            alone.append(words[k])
            k += 1
    return tuple(rows), tuple(alone)


def _element(number: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """Where an element lies, by its number in the order of the shape."""
    place = 0
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        number, index = divmod(number, size)
        place += index * stride
    return place
