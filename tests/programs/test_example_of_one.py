"""Dynamic sizes that are 1 in the example: the semantics of an op may depend on them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.export import Dim

import ingot

PROGRAMS: dict[str, Callable[[Tensor], Tensor]] = {
    "squeeze": lambda x: x.squeeze() * 2,
    "squeeze of a dimension": lambda x: x.squeeze(0) + 1,
    "squeeze inside": lambda x: (x.squeeze(0).sum(0, keepdim=True) + x).exp(),
    "squeeze of several": lambda x: torch.squeeze(x * 2, (0, 1)),
    "atleast_2d of squeezed": lambda x: torch.atleast_2d(x.squeeze()),
    "matmul": lambda x: x @ x.t() + x[:, :1],
    "sum_to_size": lambda x: (x + torch.ones(3, 4)).sum_to_size(1, 4),
    "expand": lambda x: x.expand(3, 4) * 2,
    "no question": lambda x: x * 2 + 1,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_example_itself_is_right(name: str) -> None:
    program, x = PROGRAMS[name], torch.randn(1, 4)
    with torch.no_grad():
        compiled = ingot.compile(program, (x,), dynamic_shapes=({0: Dim.AUTO, 1: Dim.AUTO},))
        torch.testing.assert_close(compiled(x), program(x))


def test_a_size_of_one_stays_dynamic_where_it_may() -> None:
    x = torch.randn(1, 4)
    with torch.no_grad():
        compiled = ingot.compile(lambda x: x.softmax(-1), (x,), dynamic_shapes=({0: Dim.AUTO},))
        for rows in (1, 2, 7):
            x = torch.randn(rows, 4)
            torch.testing.assert_close(compiled(x), x.softmax(-1))


@pytest.mark.parametrize("shape", [(0, 3), (2, 0)])
def test_an_example_of_zero(shape: tuple[int, int]) -> None:
    """PyTorch divides by a stride, which is 0 for this example unless its sizes are special."""

    def program(x: Tensor) -> Tensor:
        torch._foreach_tan_([x, x])
        return torch.dstack([x[None].expand(2, *shape)]).permute(2, 0, 1)

    x = torch.randn(shape)
    with torch.no_grad():
        compiled = ingot.compile(
            program, (x,), dynamic_shapes=({0: Dim.AUTO, 1: Dim.AUTO},), options={"strict": True}
        )
        assert compiled(x).shape == program(x).shape


def test_a_write_to_an_empty_slice_of_one() -> None:
    """A region whose domain is empty, over sizes that are one in the example."""

    def program(x: Tensor) -> Tensor:
        x[:, -2:-1] = 1
        return x * 2

    x = torch.randn(1, 2)[..., ::2]
    auto = torch.export.Dim.AUTO
    with torch.no_grad():
        exe = ingot.compile(
            program, (x,), dynamic_shapes=({0: auto, 1: auto},), options={"strict": True}
        )
        torch.testing.assert_close(exe(x.clone()), program(x.clone()))
