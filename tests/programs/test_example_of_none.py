"""Dynamic sizes that are 0 in the example: PyTorch's meta functions divide by strides of 0."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.export import Dim

import ingot

PROGRAMS: dict[str, Callable[[Tensor], Any]] = {
    "zero_": lambda x: torch.zero_(x),
    "fill_": lambda x: x.fill_(2.0),
    "write through a slice": lambda x: (x.__setitem__(slice(None, -1), 1.0), x + 1)[1],
    "fill_ of a value": lambda x: (x * 2).fill_(torch.tensor(1.0)),
}


@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 3)])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_empty_example_is_right(name: str, shape: tuple[int, ...]) -> None:
    program, x = PROGRAMS[name], torch.empty(shape)
    shapes = (dict.fromkeys(range(x.dim()), Dim.AUTO),)
    with torch.no_grad():
        compiled = ingot.compile(program, (x,), dynamic_shapes=shapes, options={"strict": True})
        torch.testing.assert_close(compiled(x), program(x))
