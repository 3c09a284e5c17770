"""An operation with three real implementations, none of them best for all sizes: sorting the
columns of a matrix. Counting the elements that precede each one is a single fused native kernel,
and quadratic; torch.sort is a call; NumPy's sort is a custom op, expensive to call and fast for
long columns.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

import ingot

COLUMNS = 16
SPAN = (2, 4096)


@torch.library.custom_op("ingot_bench::numpy_sort", mutates_args=())
def numpy_sort(x: Tensor) -> Tensor:
    return torch.from_numpy(np.sort(x.numpy(), axis=0))


@numpy_sort.register_fake
def _(x: Tensor) -> Tensor:
    return torch.empty_like(x)


def by_sort(x: Tensor) -> Tensor:
    return x.sort(dim=0).values


def by_rank(x: Tensor) -> Tensor:
    place = torch.arange(x.shape[0])
    others, own = x[None], x[:, None]
    earlier = (others == own) & (place[None, :, None] < place[:, None, None])
    rank = ((others < own) | earlier).to(torch.float32).sum(1)
    return torch.where(rank[None] == place[:, None, None], others, 0.0).sum(1)


def by_numpy(x: Tensor) -> Tensor:
    return numpy_sort(x)


@ingot.dispatch(on=("x", 0), ranges="auto", span=SPAN, budget=30)
def ordered(x: Tensor) -> Tensor:
    """The columns of x, each in ascending order."""
    return x.sort(dim=0).values


ordered.implementation(when="x.shape[0] <= 512")(by_rank)
ordered.implementation()(by_numpy)

IMPLEMENTATIONS = {"by_sort": by_sort, "by_rank": by_rank, "by_numpy": by_numpy}


@torch.library.custom_op("ingot_bench::ordered", mutates_args=())
def inductor_ordered(x: Tensor) -> Tensor:
    return x.sort(dim=0).values


@inductor_ordered.register_fake
def _(x: Tensor) -> Tensor:
    return torch.empty_like(x)


def register_with_inductor(split_points: list[int]) -> None:
    """Registers the same implementations, for Inductor to choose from in the given ranges."""
    from torch._inductor.kernel.custom_op import CustomOpConfig, register_custom_op_autotuning

    register_custom_op_autotuning(
        inductor_ordered,
        configs=[CustomOpConfig(function) for function in IMPLEMENTATIONS.values()],
        dispatch_on={"tensor_name": "x", "dim": 0, "range_upper_bound": 1024},
        split_points=split_points,
        input_gen_fns={"x": lambda fake: torch.randn_like(fake, device="cpu")},
    )


def matrix(rows: int) -> Tensor:
    return torch.randn(rows, COLUMNS, generator=torch.Generator().manual_seed(rows))
