"""Slices, concatenations, paddings and rotations at dynamic sizes, down to pieces without elements:
a program refuses no size because a piece that nothing reads would be out of range."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.export import Dim

import ingot
from ingot.errors import InputError
from ingot.program.call import match

Program = Callable[[Tensor], Tensor]
ENDS = (None, 1, -1, -2)
SIZES = (5, 2, 1, 0, 3, 4, 9)
STRICT = {"strict": True}


def writes() -> Iterator[tuple[str, Program]]:
    for start, end, step in [
        *product(ENDS, ENDS, (1,)),
        (1, None, 2),
        (None, -1, 2),
        (-2, None, 2),
    ]:

        def fill(x: Tensor, piece: slice = slice(start, end, step)) -> Tensor:
            y = x.clone()
            y[piece] = 5
            y[:, piece] *= 2
            return y * 2

        yield f"write {start}:{end}:{step}", fill


def concatenations() -> Iterator[tuple[str, Program]]:
    pieces: dict[str, Callable[[Tensor], list[Tensor]]] = {
        "without one": lambda x: [x[:1], x[2:]],
        "without the end": lambda x: [x[:-2], x[-1:]],
        "turned by one": lambda x: [x[1:], x[:1]],
        "turned back": lambda x: [x[-1:], x[:-1]],
        "three turned": lambda x: [x[2:], x[1:2], x[:1]],
        "shifted sums": lambda x: [torch.zeros_like(x[:1]), x.cumsum(0)[:-1]],
        "nothing last": lambda x: [x, x[:0]],
        "nothing first": lambda x: [x[:0], x],
        "nothing at all": lambda x: [x[:0], x[2:2]],
        "halves": lambda x: [-x[x.shape[0] // 2 :], x[: x.shape[0] // 2]],
        "halves computed": lambda x: [-(x * 2)[x.shape[0] // 2 :], x.exp()[: x.shape[0] // 2]],
        "chunks": lambda x: list(reversed(x.chunk(2))),
        "splits": lambda x: list(reversed(x.tensor_split(3))),
        "every other": lambda x: [x[::2], x[1::2]],
        "another": lambda x: [x, torch.ones_like(x[1:]), x[:-1]],
    }
    for name, made in pieces.items():
        yield name, lambda x, made=made: torch.cat(made(x)) + 1
        yield (
            f"{name}, in rows",
            lambda x, made=made: torch.cat([y.t() for y in made(x.t())], 1) * 2,
        )


def moves() -> Iterator[tuple[str, Program]]:
    for before, after in product((0, 1, -1, 2, -2), (0, 1, -1)):
        yield f"pad {before} {after}", lambda x, p=(before, after): F.pad(x, p) + 1
        yield f"pad rows {before} {after}", lambda x, p=(0, 0, before, after): F.pad(x, p) * 2
    for by in (1, -1, 3):
        yield f"roll {by}", lambda x, by=by: x.roll(by, 0) + x.roll(by, 1)
    yield "narrow", lambda x: x.narrow(0, 0, x.shape[0] // 2) * 2
    yield "difference", lambda x: x[1:] - x[:-1]
    yield "flip", lambda x: x.flip(0)[1:] + 1
    yield "repeat", lambda x: x.repeat(2, 1)[1:-1] + 1


PROGRAMS = dict([*writes(), *concatenations(), *moves()])
FEW = ["write 1:2:1", "write -2:None:1", "without one", "turned back", "halves", "roll 1", "flip"]
NAMES = [n if n in FEW else pytest.param(n, marks=pytest.mark.slow) for n in PROGRAMS]


class Of(nn.Module):
    def __init__(self, program: Program):
        super().__init__()
        self.program = program

    def forward(self, x: Tensor) -> Tensor:
        return self.program(x)


def eager(program: Program, x: Tensor) -> Tensor | None:
    try:
        return program(x)
    except (RuntimeError, IndexError, ValueError):
        return None


def takes(compiled: ingot.Executable, x: Tensor) -> bool:
    """Are the sizes within the ranges and guards of the program, fixed when it was traced?"""
    try:
        match(compiled.program, (x,), {})
    except InputError:
        return False
    return True


@torch.no_grad()
@pytest.mark.parametrize("name", NAMES)
def test_any_size_under_auto(name: str) -> None:
    program, auto = PROGRAMS[name], ({0: Dim.AUTO, 1: Dim.AUTO},)
    for first in (5, 2):
        if eager(program, torch.randn(first, first + 1)) is None:
            continue
        compiled = ingot.compile(
            program, (torch.randn(first, first + 1),), dynamic_shapes=auto, options=STRICT
        )
        for rows, columns in product(SIZES, SIZES):
            x = torch.randn(rows, columns)
            want = eager(program, x)
            if want is not None and takes(compiled, x):
                torch.testing.assert_close(compiled(x), want)


@torch.no_grad()
@pytest.mark.parametrize("name", NAMES)
def test_any_size_under_dynamic(name: str) -> None:
    program = PROGRAMS[name]
    for first in (5, 2):
        torch._dynamo.reset()
        compiled = torch.compile(program, backend="ingot", dynamic=True, options=STRICT)
        for rows in (first, *SIZES):
            x = torch.randn(rows, 3)
            want = eager(program, x)
            if want is not None:
                torch.testing.assert_close(compiled(x), want)
