"""Tests every cell of the table of refusals in docs/export.md."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.export import Dim

import ingot
from tests.emit.programs import DIALECTS

PAGE = (Path(__file__).parents[2] / "docs" / "export.md").read_text()


def cells() -> dict[str, tuple[str, ...]]:
    """Program name of each row → the cell of each dialect."""
    head = "| program | torch | linalg | TOSA | StableHLO |"
    lines = PAGE[PAGE.index(head) :].splitlines()[2:]
    rows = [line.strip("| ").split(" | ") for line in lines[: lines.index("")]]
    return {row[0]: tuple(row[1:]) for row in rows}


@dataclass(frozen=True)
class Sample:
    run: Callable[..., Any]
    args: tuple[Any, ...]
    settings: dict[str, Any] = field(default_factory=dict)
    """Arguments of ingot.export."""
    words: dict[str, Any] = field(default_factory=dict)
    """Arguments of to_mlir and verify."""


def checked(x: Tensor) -> Tensor:
    torch._assert_async((x > -100).all(), "too small")
    return x.exp()


X = torch.randn(4, 3)
LONG = torch.tensor([[5, 2**40, -7], [1, 1, 0], [3, -(2**35), 3], [9, 8, 7]])
ROWS = torch.tensor([[0, 1, 2], [1, 1, 0]])
FREE = {"dynamic_shapes": ({0: Dim("n")},)}
FREE_ROWS = {"dynamic_shapes": ({0: Dim("n", min=3)}, None, None)}

SAMPLES: dict[str, dict[str, Sample]] = {
    "sizes that depend on values (`nonzero`, `x[mask]`, `unique`)": {
        "nonzero": Sample(lambda x: x.nonzero(), (X,)),
        "mask": Sample(lambda x: x[x > 0] * 2, (X,)),
        "unique": Sample(lambda x: torch.unique(x), (LONG,)),
    },
    "singular values, eigenvalues; factors and inverses beyond 16 × 16": {
        "svd": Sample(lambda x: torch.linalg.svdvals(x), (X,)),
        "eigh": Sample(lambda x: torch.linalg.eigvalsh(x @ x.T), (X,)),
        "inverse": Sample(lambda x: torch.linalg.inv(x), (torch.randn(17, 17),)),
        "factors": Sample(lambda x: torch.linalg.cholesky(x @ x.T), (torch.randn(17, 40),)),
    },
    "`airy_ai`, `igamma`, `zeta`, orthogonal polynomials; `nextafter`": {
        "airy_ai": Sample(lambda x: torch.special.airy_ai(x), (X,)),
        "igamma": Sample(lambda x: torch.igamma(x, x), (X.abs(),)),
        "zeta": Sample(lambda x: torch.special.zeta(x + 2, x + 1), (X.abs(),)),
        "polynomial": Sample(
            lambda x: torch.special.chebyshev_polynomial_t(x, torch.tensor(3)), (X,)
        ),
        "nextafter": Sample(lambda x: torch.nextafter(x, x + 1), (X,)),
    },
    "unsigned integers of more than 8 bits": {
        "uint16": Sample(lambda x: x.to(torch.uint16), (X.abs(),)),
        "uint32": Sample(lambda x: x.to(torch.uint32), (X.abs(),)),
        "uint64": Sample(lambda x: x.to(torch.int64), (X.abs().to(torch.uint64),)),
    },
    "`arange` of a size that has no upper bound": {
        "arange": Sample(lambda x: x + torch.arange(x.shape[0]).unsqueeze(1), (X,), FREE),
        "arange of floats": Sample(
            lambda x: x * torch.arange(x.shape[0], dtype=torch.float32).unsqueeze(1), (X,), FREE
        ),
    },
    "`scatter` along a dynamic size": {
        "scatter of a tensor": Sample(
            lambda x, i, v: x.scatter(0, i, v), (X, ROWS, X[:2]), FREE_ROWS
        ),
        "scatter_add": Sample(lambda x, i, v: x.scatter_add(0, i, v), (X, ROWS, X[:2]), FREE_ROWS),
    },
    "`sort` of integers along a dynamic size": {
        "sort": Sample(lambda x: x.sort(0), (LONG,), FREE),
    },
    "checks while it runs (`checks=True`)": {
        "assertion": Sample(checked, (X,), words={"checks": True}),
    },
}


def test_every_row_is_tried() -> None:
    assert list(cells()) == list(SAMPLES)


def outcome(program: ingot.Program, dialect: str, sample: Sample) -> str:
    try:
        program.to_mlir(dialect, **sample.words)
    except ingot.EmitError as error:
        assert error.problems, "a refusal names the operations"
        return "no"
    program.verify(dialect, copy.deepcopy(sample.args), **sample.words)
    return "yes"


@pytest.mark.parametrize(
    ("row", "name"), [(row, name) for row, samples in SAMPLES.items() for name in samples]
)
def test_cells_are_true(row: str, name: str) -> None:
    sample = SAMPLES[row][name]
    program = ingot.export(sample.run, copy.deepcopy(sample.args), **sample.settings)
    seen = tuple(outcome(program, dialect, sample) for dialect in DIALECTS)
    assert seen == cells()[row]


EVERYWHERE: dict[str, Sample] = {
    "masked sum": Sample(lambda x: x[x > 0].sum(), (X,)),
    "sort": Sample(lambda x: x.sort(0), (X,)),
    "topk": Sample(lambda x: x.topk(2), (X,)),
    "sort of integers": Sample(lambda x: x.sort(1), (LONG,)),
    "topk of integers": Sample(lambda x: x.topk(2), (LONG + torch.arange(3),)),
    "rfft": Sample(lambda x: torch.fft.rfft(x).abs(), (X,)),
    "long fft": Sample(lambda x: torch.fft.fft(x, 300).real, (X,)),
    "inverse": Sample(lambda x: torch.linalg.inv(x.mT @ x), (X,)),
    "scatter": Sample(
        lambda x, i, v: x.scatter(1, i, v), (X, torch.tensor([[0, 2], [1, 0]]), X[:, :2] * 3)
    ),
    "index_put": Sample(lambda x, i, v: x.index_put((i,), v, accumulate=True), (X, ROWS[1], X[:3])),
    "atan2": Sample(lambda x: torch.atan2(x, x + 1), (X,)),
    "angle": Sample(lambda x: torch.complex(x, -x).angle(), (X,)),
    "erfinv": Sample(lambda x: torch.erfinv(x.tanh()), (X,)),
}
"""Programs that, by the text beside the table, lower to every dialect."""


@pytest.mark.parametrize("name", EVERYWHERE)
def test_what_stands_beside_the_table_goes_everywhere(name: str) -> None:
    sample = EVERYWHERE[name]
    program = ingot.export(sample.run, copy.deepcopy(sample.args))
    for dialect in DIALECTS:
        program.verify(dialect, copy.deepcopy(sample.args))
