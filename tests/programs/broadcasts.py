"""Functions that broadcast, with shapes whose every dimension is 1, 2 or more. Each is compiled for
one combination with all sizes dynamic and called with the others."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

SIZES = (1, 2, 5)
Shape = tuple[int, ...]


def pointwise(a: Tensor, b: Tensor) -> list[Tensor]:
    """Binary and ternary ops; all results have the shape of a + b."""
    twos = [
        torch.add, torch.sub, torch.mul, torch.div, torch.atan2, torch.maximum, torch.minimum,
        torch.fmod, torch.remainder, torch.hypot, torch.copysign, torch.eq, torch.lt,
        torch.logical_and, torch.logaddexp, torch.fmax, torch.xlogy, torch.heaviside,
    ]  # fmt: skip
    threes = [
        torch.addcmul(a, b, b), torch.addcdiv(b, a, b + 9), torch.lerp(a, b, b),
        torch.where(a > b, a, b), torch.where(b > 0, b, a), torch.clamp(a, b - 1, b + 1),
        (a + b).masked_fill(b > 0, 2.0),
    ]  # fmt: skip
    return [op(a, b) for op in twos] + threes


def products(a: Tensor, b: Tensor) -> list[Tensor]:
    """The sizes of a matmul broadcast with those of an addend."""
    square = a @ a.t()
    return [
        torch.addcmul(square, square, b), square + b, torch.where(square > 0, square, b),
        torch.maximum(b, square) * 2, (square * b).softmax(-1), (square - b).sum(0),
    ]  # fmt: skip


def shaped(a: Tensor, b: Tensor) -> list[Tensor]:
    """Expansions, normalisations and sums of broadcast values."""
    both = a * b
    return [
        both.softmax(1), both.sum(0) + b, F.layer_norm(both, both.shape[1:]),
        both - both.amax(1, True), a.expand_as(both) + b.expand_as(both),
        torch.cat([both, a.expand_as(both)], 1),
        (both + a.mean(0, keepdim=True)).cumsum(1), both[:, None] + b[None], both.t() + 1,
    ]  # fmt: skip


def joined(a: Tensor, b: Tensor) -> list[Tensor]:
    return [torch.cat([a, b], 0), torch.cat([b, a, a * 2], 0) + 1, torch.cat([a, b]).sum(1)]


FUNCTIONS: dict[str, Callable[[Tensor, Tensor], list[Tensor]]] = {
    f.__name__: f for f in (pointwise, products, shaped, joined)
}


def shapes() -> Iterator[tuple[Shape, Shape]]:
    """The shapes of both operands."""
    for p, q, r, s in itertools.product(SIZES, repeat=4):
        yield (p, q), (r, s)


def inputs(both: tuple[Shape, Shape]) -> tuple[Tensor, Tensor]:
    first, second = both
    generator = torch.Generator().manual_seed(hash(both) % 1000)
    return torch.randn(first, generator=generator), torch.randn(second, generator=generator)


def outcome(function: Callable[..., Any], args: tuple[Tensor, ...]) -> Any:
    """The results or the exception."""
    try:
        return function(*args)
    except Exception as error:
        return error
