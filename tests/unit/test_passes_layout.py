"""Channels-last regions: their extent, the positions of the copies, and the strides of every
value.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.fx import Interpreter, Node

from ingot.passes.base import run_passes
from ingot.passes.layout import Layout
from ingot.passes.native import core_passes
from ingot.program.program import Program
from ingot.program.verify import verify
from tests.unit.tracing import trace

W1, W2 = torch.randn(8, 3, 3, 3), torch.randn(8, 8, 1, 1)


class _Checked(Interpreter):
    """Runs a program and compares the strides of every value with its metadata."""

    def run_node(self, n: Node) -> object:
        value = super().run_node(n)
        known = n.meta.get("val")
        if isinstance(value, Tensor) and isinstance(known, Tensor):
            strides = [s for s, size in zip(value.stride(), value.shape) if size > 1]
            wanted = [s for s, size in zip(known.stride(), known.shape) if size > 1]
            assert strides == wanted, f"{n.name}: {value.stride()}, not {known.stride()}"
        return value


def _laid_out(function: Callable[..., object], *args: Tensor) -> Program:
    core = run_passes(trace(function, *args).program(), core_passes())
    laid = run_passes(core, [Layout()])
    verify(laid)
    wanted = core.graph_module(*args)
    for got, expected in zip(_Checked(laid.graph_module).run(*args), wanted, strict=True):
        torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-4)
        assert got.stride() == expected.stride()
    return laid


def _copies(program: Program) -> int:
    clone = torch.ops.aten.clone.default
    return sum(
        node.target is clone and "memory_format" in node.kwargs for node in program.graph.nodes
    )


def _chain(x: Tensor, w1: Tensor, w2: Tensor) -> Tensor:
    y = F.relu(F.batch_norm(F.conv2d(x, w1, padding=1), w1[:, 0, 0, 0], w1[:, 0, 0, 0].abs() + 1))
    y = F.max_pool2d(y, 2)
    return y + F.conv2d(y, w2)


def test_a_chain_has_one_copy_in_and_one_out() -> None:
    assert _copies(_laid_out(_chain, torch.randn(2, 3, 8, 8), W1, W2)) == 2


def test_a_reduction_at_the_end_needs_no_copy_out() -> None:
    laid = _laid_out(lambda *a: _chain(*a).mean((2, 3)), torch.randn(2, 3, 8, 8), W1, W2)
    assert _copies(laid) == 1


def test_a_view_of_an_image_is_a_way_out() -> None:
    laid = _laid_out(lambda *a: _chain(*a).flatten(1) + 1, torch.randn(2, 3, 8, 8), W1, W2)
    assert _copies(laid) == 2


def test_joined_and_padded_images_stay() -> None:
    def function(x: Tensor, w1: Tensor, w2: Tensor) -> Tensor:
        y = F.conv2d(x, w1)
        z = torch.cat([y, F.conv2d(y, w2)], 1)
        return F.pad(z, (1, 1)).sum((0, 2, 3))

    assert _copies(_laid_out(function, torch.randn(2, 3, 8, 8), W1, W2)) == 1


@pytest.mark.parametrize("format", [torch.contiguous_format, torch.channels_last])
def test_one_convolution_or_a_user_who_did_it_is_left_alone(format: torch.memory_format) -> None:
    x = torch.randn(2, 3, 8, 8).to(memory_format=format)
    if format == torch.channels_last:
        laid = _laid_out(_chain, x, W1, W2)
    else:
        laid = _laid_out(lambda x, w: F.relu(F.conv2d(x, w)), x, W1)
    assert _copies(laid) == 0


def _sequence(x: Tensor, w: Tensor, places: Tensor) -> Tensor:
    y = F.gelu(F.conv2d(x, w)).flatten(2).transpose(1, 2) + places
    z = F.layer_norm(y, (y.shape[-1],))
    return y + z @ z.mT @ z


@pytest.mark.parametrize("batch", [1, 2])
def test_the_rows_of_a_sequence_are_whole(batch: int) -> None:
    """One copy at the input, and one at the output to eager's layout."""

    def function(x: Tensor, w: Tensor, places: Tensor) -> Tensor:
        return _sequence(F.conv2d(x, w[:3, :, :1, :1]), w, places)

    args = torch.randn(batch, 3, 8, 8), torch.randn(6, 3, 3, 3), torch.randn(36, 6)
    laid = _laid_out(function, *args)
    assert "copies: 2" in laid.journal.entries[-1].notes
    sums = [n for n in laid.graph.nodes if n.target is torch.ops.aten.sum.dim_IntList]
    assert sums and all(n.args[0].meta["val"].is_contiguous() for n in sums)


def test_views_that_a_caller_sees_share_memory_as_before() -> None:
    def function(x: Tensor, w: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        y = F.conv2d(F.conv2d(x, w[:3, :, :1, :1]), w)
        turned = y.permute(0, 2, 3, 1)
        return y, turned, turned + 1

    args = torch.randn(2, 3, 8, 8), torch.randn(6, 3, 3, 3)
    y, turned, more = _laid_out(function, *args).graph_module(*args)
    assert y.data_ptr() == turned.data_ptr() != more.data_ptr()


@pytest.mark.parametrize(
    "way",
    [
        lambda y: y.permute(0, 2, 3, 1).flatten(1, 2).softmax(-1),
        lambda y: y.flatten(2).transpose(1, 2) * 2,
        lambda y: torch.cat([y.flatten(2).transpose(1, 2), y.new_ones(2, 1, 6)], 1) + 1,
        lambda y: y.permute(0, 2, 3, 1).permute(0, 3, 1, 2).relu(),
        lambda y: y.unsqueeze(1).squeeze(1).cumsum(2),
        lambda y: (y.permute(2, 3, 0, 1) + y.mean((0, 1))[:, :, None, None]).amax(-1),
        lambda y: y.permute(0, 2, 3, 1).reshape(-1, 6) @ torch.ones(6, 2),
        lambda y: y.permute(1, 0, 2, 3).sigmoid().expand(6, 2, 6, 6)[::2].exp(),
        lambda y: (y.permute(0, 2, 3, 1) * 2).permute(0, 3, 1, 2) + y,
        lambda y: y[:1].permute(0, 2, 3, 1) + 1,
    ],
)
def test_ways_out_by_views(way: Callable[[Tensor], Tensor]) -> None:
    w = torch.randn(6, 3, 3, 3)
    _laid_out(
        lambda x, w: way(F.conv2d(F.conv2d(x, w[:3, :, :1, :1]), w)), torch.randn(2, 3, 8, 8), w
    )
