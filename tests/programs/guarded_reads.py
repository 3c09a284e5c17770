"""Concatenations and paddings of many kinds, with each piece next to a protected page; run as a
subprocess. Guards select the piece of each element, and the other pieces must not be read for it.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch.export import Dim

import ingot
from tests.programs.fences import fenced

Case = tuple[str, Callable[..., Any], list[torch.Tensor]]


def readout(tokens: torch.Tensor, image: torch.Tensor) -> torch.Tensor:
    """The class token before the patches, which are channels-last."""
    patches = image.permute(0, 2, 3, 1).flatten(1, 2)
    return torch.cat([tokens[:, :1], patches], 1)


def cases(dtype: torch.dtype) -> Iterator[Case]:
    def make(*shape: int) -> torch.Tensor:
        return torch.arange(torch.Size(shape).numel()).reshape(shape).to(dtype)

    last = torch.channels_last
    yield "readout", readout, [make(2, 17, 32), make(2, 32, 4, 4).contiguous(memory_format=last)]
    for dim, (m, n) in itertools.product((0, 1), ((3, 5), (1, 37), (19, 2))):
        a, b = (make(m, 37), make(n, 37)) if dim == 0 else (make(37, m), make(37, n))
        yield f"cat{dim} {m} {n}", lambda a, b, d=dim: torch.cat([a, b], d) + 1, [a, b]
        turned = [a.t().contiguous().t(), b.t().contiguous().t()]
        yield f"turned{dim} {m} {n}", lambda a, b, d=dim: torch.cat([a * 2, b], d), turned
        yield f"three{dim} {m} {n}", lambda a, b, d=dim: torch.cat([a, b, a], d), [a, b]
    for left, right in ((1, 0), (0, 3), (5, 9)):
        x = make(6, 21)
        yield f"pad {left} {right}", lambda x, p=(left, right): F.pad(x, p) + 1, [x]
        yield f"rows {left} {right}", lambda x, p=(0, 0, left, right): F.pad(x, p), [x]
    yield "windows", lambda x: F.pad(x, (1, 1, 2, 2)).unfold(2, 3, 2).sum(-1), [make(2, 3, 9, 9)]


def run(dtype: torch.dtype, static: bool) -> int:
    """All cases in one program, to compile once."""
    made = list(cases(dtype))
    inputs = [x for _, _, given in made for x in given]

    def everything(*args: torch.Tensor) -> list[torch.Tensor]:
        rest = iter(args)
        return [function(*(next(rest) for _ in given)) for _, function, given in made]

    shapes = None if static else (tuple({0: Dim.AUTO, 1: Dim.AUTO} for _ in inputs),)
    compiled = ingot.compile(everything, inputs, dynamic_shapes=shapes)
    for before in (True, False):
        given = [fenced(x, before) for x in inputs]
        for (name, _, _), got, want in zip(made, compiled(*given), everything(*given)):
            torch.testing.assert_close(got, want, msg=name)
    return len(made)


if __name__ == "__main__":
    print(run(getattr(torch, sys.argv[1]), sys.argv[2] == "static"), "programs")
