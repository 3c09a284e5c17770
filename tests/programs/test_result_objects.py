"""Which object a result is: an argument itself, another view of it, an earlier result, or a tensor
of its own. Compared with eager by identity and by memory."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.export import Dim
from torch.utils._pytree import tree_leaves

import ingot

aten = torch.ops.aten


def two_of_one(x: Tensor) -> tuple[Tensor, Tensor]:
    head, *_ = torch.hsplit(x, [2])
    return head, torch.celu_(head)


def floor_then_view(x: Tensor) -> Tensor:
    x.floor_()
    return x.view([x.shape[1], x.shape[0]])


def written_through_a_grid(x: Tensor) -> Tensor:
    (grid,) = torch.meshgrid([x.view(-1)], indexing="ij")
    grid[None] = 1
    return grid


PROGRAMS: dict[str, Callable[[Tensor], Any]] = {
    "itself": lambda x: x,
    "contiguous": lambda x: x.contiguous(),
    "to the same dtype": lambda x: x.to(x.dtype),
    "positive": lambda x: +x,
    "real": lambda x: torch.real(x),
    "alias": lambda x: aten.alias.default(x),
    "detach": lambda x: x.detach(),
    "whole slice": lambda x: x[...],
    "ravel": lambda x: x.ravel(),
    "unflatten": lambda x: x.unflatten(1, [x.shape[1]]),
    "expand_as": lambda x: x.expand_as(x),
    "swapaxes of one axis": lambda x: x.swapaxes(0, 0),
    "movedim nowhere": lambda x: x.movedim([0], [0]),
    "narrow to all": lambda x: x.narrow(0, 0, x.shape[0]),
    "two views": lambda x: (x.view(-1), x.view(-1)),
    "transposed twice": lambda x: x.t().t(),
    "in place": lambda x: x.add_(1),
    "in place, then itself": lambda x: (x.add_(1), x),
    "in place, then another view": lambda x: x.add_(1).detach(),
    "out": lambda x: torch.atan(x, out=x),
    "out of an overload": lambda x: aten.leaky_relu.out(x, 0.1, out=x),
    "out into a view": lambda x: torch.neg(x[1:].clone(), out=x[:-1]),
    "out, then itself": lambda x: (aten.tanh_backward.grad_input(x, x, grad_input=x), x)[1],
    "out into a new tensor": lambda x: torch.neg(x, out=torch.empty_like(x)),
    "out, then a view": lambda x: torch.exp2(x, out=x).narrow(0, 1, x.shape[0] - 1),
    "out into an empty tensor": lambda x: torch.add(x, 1, out=torch.empty(0)),
    "a composite of a resized tensor": lambda x: torch.atleast_3d(
        torch.all(x > 0, 1, out=torch.empty(0, dtype=torch.bool))
    ),
    "shuffled into an empty tensor": lambda x: aten.channel_shuffle.out(
        x[None], 1, out=torch.zeros(0)
    ),
    "two results of one": two_of_one,
    "a new tensor twice": lambda x: (lambda y: (y, y, y.view_as(y)))(x * 2),
    "equal tensors": lambda x: (x * 2, x * 2),
    "written, then broadcast": lambda x: torch.broadcast_tensors(x.exp_(), x[:1])[0],
    "written, then into a loss": lambda x: (x.neg_(), torch.nn.functional.huber_loss(x, x)),
    "two of a view": lambda x: (lambda v: (v, v.add_(1)))(x.squeeze()),
    "in place of a view": lambda x: x.swapaxes(0, 1).renorm_(1, 0, 3),
    "written, then squeezed in place": lambda x: x.add_(1)[:1].squeeze_(0),
    "written, then transposed in place": lambda x: x.neg_()[:, 1:].t_(),
    "written, then viewed in place, and again": lambda x: x.exp_().view(-1).unsqueeze_(0)[:, 2:],
    "written, then restrided in place": lambda x: x.add_(1).t().as_strided_([2], [3]),
    "written as a view squeezed in place": lambda x: (lambda v: (v.squeeze_(0), v.neg_()))(x[:1]),
    "written, then viewed": floor_then_view,
    "written through a grid": written_through_a_grid,
}


OF_TWO: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "the first in place": lambda x, y: x.ge_(0.5),
    "the second in place": lambda x, y: (x * 2, y.neg_()),
    "both": lambda x, y: (y.neg_(), x.exp_(), x),
    "out": lambda x, y: (torch.add(y, 1, out=y), x + 1),
}


def relations(given: Tensor, result: Any) -> list[str]:
    found = []
    tensors = [given, *(t for t in tree_leaves(result) if isinstance(t, Tensor))]
    for (i, a), (k, b) in combinations(enumerate(tensors), 2):
        if a is b:
            found.append(f"{k} is {i}")
        elif a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr():
            found.append(f"{k} shares {i} at {b.storage_offset() - a.storage_offset()}")
    return found


def example(rows: int = 3) -> Tensor:
    torch.manual_seed(rows)
    return torch.randn(rows, 4)


def check(program: Callable[[Tensor], Any], compiled: Callable[[Tensor], Any]) -> None:
    for rows in (3, 3, 3):
        expected, actual = example(rows), example(rows)
        wanted, found = program(expected), compiled(actual)
        assert relations(actual, found) == relations(expected, wanted)
        torch.testing.assert_close(found, wanted)
        torch.testing.assert_close(actual, expected)


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_eagers_objects(name: str, dynamic: bool) -> None:
    program = PROGRAMS[name]
    shapes = ({0: Dim.AUTO, 1: Dim.AUTO},) if dynamic else None
    with torch.no_grad():
        options = {"strict": True}
        check(program, ingot.compile(program, (example(),), dynamic_shapes=shapes, options=options))


WRITING = [name for name in PROGRAMS if name.startswith(("in ", "out", "two", "written"))]


@pytest.mark.parametrize("name", WRITING)
def test_results_of_torch_compile(name: str) -> None:
    torch._dynamo.reset()
    with torch.no_grad():
        options = {"strict": True}
        check(PROGRAMS[name], torch.compile(PROGRAMS[name], backend="ingot", options=options))


@pytest.mark.parametrize("name", OF_TWO)
def test_results_of_inputs_in_one_memory(name: str) -> None:
    """AOTAutograd makes views of the common base of its inputs."""
    torch._dynamo.reset()
    program = OF_TWO[name]
    compiled = torch.compile(program, backend="ingot", options={"strict": True})
    with torch.no_grad():
        expected, actual = example(), example()
        wanted = program(expected, expected[:-1])
        found = compiled(actual, actual[:-1])
        assert relations(actual, found) == relations(expected, wanted)
        torch.testing.assert_close((found, actual), (wanted, expected))


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_of_a_saved_program(name: str, tmp_path: Path) -> None:
    program = PROGRAMS[name]
    path = tmp_path / "program.ingot"
    with torch.no_grad():
        ingot.export(program, (example(),)).save(path)
        check(program, ingot.Program.load(path))


def test_a_buffer_is_returned_itself() -> None:
    class Counting(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.zeros(3))

        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            return self.count.add_(x), self.count[:]

    model = Counting()
    with torch.no_grad():
        compiled = ingot.compile(model, (torch.ones(3),), options={"strict": True})
        for step in (1.0, 2.0):
            count, view = compiled(torch.ones(3))
            assert count is model.count and view is not count
            assert view.data_ptr() == count.data_ptr() and count[0] == step
