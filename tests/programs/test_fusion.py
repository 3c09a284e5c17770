"""Graphs that are hard to fuse: values that leave a region and return, parts of calls, long chains,
wide fan-outs, chained reductions.
"""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from ingot.fuse.fused import KernelStep

from .check import check

pytestmark = pytest.mark.timeout(120)


def test_no_circle_through_a_part() -> None:
    """A call reads `a`, and one of its results is combined with `a`: fusion must not form a
    cycle."""

    def function(x: Tensor) -> Tensor:
        a = x.exp()
        return a + torch.sort(a)[0]

    check(function, torch.randn(4))


def test_no_circle_through_a_view_of_a_call() -> None:
    def function(x: Tensor, w: Tensor) -> Tensor:
        a = x.exp()
        return a + (a @ w).t().reshape(4, 4)

    check(function, torch.randn(4, 4), torch.randn(4, 4))


def test_no_circle_through_two_regions() -> None:
    def function(x: Tensor) -> Tensor:
        a = x.exp()
        s = a.sum(0)
        t = (s * 2).flip(0)
        b = a + s[0]
        return b * t.cumsum(0) + a.sum(1, keepdim=True)

    check(function, torch.randn(5, 5))


def test_no_merge_with_what_is_read_elsewhere() -> None:
    """One value is read at the same index, its neighbour in the same region at another index."""

    def function(x: Tensor, y: Tensor, z: Tensor) -> tuple[Tensor, ...]:
        a = (x * y).tanh()
        b = (a * z).tanh()
        c = (a + 1).erf()
        return b + c.flip(0), b * z, c

    check(function, torch.randn(6, 5), torch.randn(6, 1), torch.randn(6, 5))


def test_residual_backward() -> None:
    """The gradient of a residual is read by a convolution's backward and added to its result."""
    conv = torch.nn.Conv2d(3, 3, 3, padding=1)
    norm = torch.nn.BatchNorm2d(3)

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.norm = conv, norm

        def forward(self, x: Tensor) -> Tensor:
            y = F.relu(self.norm(self.conv(x)))
            return F.relu(self.norm(self.conv(y)) + y)

    check(Net(), torch.randn(2, 3, 6, 6, requires_grad=True), grad=True, loosen=8)


def test_reductions_after_reductions() -> None:
    def function(x: Tensor) -> tuple[Tensor, ...]:
        rows = x.softmax(-1).sum(0)
        normal = (x - x.mean(0)) / x.std(0)
        return rows / rows.sum(), normal.amax(1).softmax(0), normal.sum() * rows, x.mean().exp()

    check(function, torch.randn(7, 9))


def test_reductions_over_different_dimensions() -> None:
    def function(x: Tensor) -> tuple[Tensor, ...]:
        y = x * 2
        return y.sum(0), y.sum(1), y.sum(2), y.sum((0, 2)), y.sum(), y.amax((1, 2)), y

    check(function, torch.randn(3, 4, 5))


def test_long_chain() -> None:
    def function(x: Tensor) -> Tensor:
        for i in range(100):
            x = torch.sin(x) + 0.01 * i
        return x

    check(function, torch.randn(33))


def test_wide_fan() -> None:
    def function(x: Tensor) -> list[Tensor]:
        return [(x * i).tanh() + i for i in range(60)]

    check(function, torch.randn(17))


def test_deep_tree_of_broadcasts() -> None:
    def function(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
        x = a[:, None, None] * b[None, :, None] + c
        return (x / x.sum(-1, keepdim=True)).amax((0, 1)) + x.mean()

    check(function, torch.rand(3), torch.rand(4), torch.rand(5))


def test_same_value_in_many_layouts() -> None:
    def function(x: Tensor) -> tuple[Tensor, ...]:
        y = x.exp()
        return y.t() + 1, y.reshape(-1) * 2, y[::2] + y[::2], y.view(2, 2, 6).sum(1), y.flip(1) - y

    check(function, torch.randn(4, 6))


def test_shifted_reads() -> None:
    """Each element is computed from its neighbours."""

    def function(x: Tensor) -> Tensor:
        y = F.pad(x * 2, (1, 1, 1, 1))
        return y[:-2, 1:-1] + y[2:, 1:-1] + y[1:-1, :-2] + y[1:-1, 2:] - 4 * y[1:-1, 1:-1]

    check(function, torch.randn(6, 7))


def test_lookup_of_what_was_just_computed() -> None:
    def function(x: Tensor, i: Tensor) -> Tensor:
        y = x.exp()
        z = y[i] + y[i.flip(0)]
        return z.cumsum(0) + y.sum()

    check(function, torch.randn(9), torch.tensor([3, 1, 8, 0]))


def test_lookup_computes_what_it_reads() -> None:
    """A loss reads one element of each row of log_softmax; the others are never stored."""

    def function(x: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(x, target)

    target = torch.randint(0, 4000, (64,))
    target[3] = -100
    (compiled,) = check(function, torch.randn(64, 4000), target)
    stored = [n for s in compiled.fused.steps if isinstance(s, KernelStep) for n in s.region.stored]
    assert max(n.meta["val"].numel() for n in stored) == 64


def test_two_lookups_in_one_tensor() -> None:
    """The same indices are gathered twice, once with negative ones counting from the end."""

    def function(x: Tensor, i: Tensor) -> Tensor:
        y = x.exp()
        return y[i] + y.gather(0, i.abs()) + (x * 2)[i] * x.tanh()[i]

    check(function, torch.randn(9), torch.tensor([3, -1, 8, 0]))


def test_concatenations_of_slices() -> None:
    def function(x: Tensor) -> Tensor:
        a, b = x.chunk(2, -1)
        rotated = torch.cat([-b, a], -1)
        return x * 0.5 + rotated * 2 + torch.stack([a, b], -1).flatten(-2)

    check(function, torch.randn(2, 3, 8))


@pytest.mark.parametrize("rows", [5, 1000])
@pytest.mark.parametrize("dynamic", [False, True])
def test_what_is_larger_than_a_whole_sum_it_stands_beside(rows: int, dynamic: bool) -> None:
    def f(x: Tensor) -> tuple[Tensor, ...]:
        y = x + 1
        return (y * y).sum(), torch.cat([y, y]), F.pad(y, (1, 2))

    check(f, torch.randn(rows, 999), loosen=100, dynamic=dynamic)


def test_argmax_feeds_a_lookup() -> None:
    def function(x: Tensor) -> tuple[Tensor, Tensor]:
        best = x.argmax(-1)
        return x.gather(1, best[:, None]) * 2, F.one_hot(best, 6).float() @ x.t()

    check(function, torch.randn(5, 6))


def test_kernels_of_a_softmax_block() -> None:
    """A softmax with its scale and mask is one kernel."""

    def function(x: Tensor, mask: Tensor) -> Tensor:
        return (x * 0.125).masked_fill(mask, float("-inf")).softmax(-1)

    (compiled,) = check(function, torch.randn(4, 8, 8), torch.ones(8, 8).triu(1).bool())
    assert compiled.kernels == len(compiled.fused.steps) == 1


def test_kernels_of_a_layer_norm_block() -> None:
    def function(x: Tensor, y: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return F.gelu(F.layer_norm(x + y, (16,), w, b))

    x, y, w, b = torch.randn(4, 16), torch.randn(4, 16), torch.randn(16), torch.randn(16)
    (compiled,) = check(function, x, y, w, b)
    assert compiled.kernels == len(compiled.fused.steps) == 1
