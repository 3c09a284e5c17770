"""The functions whose regions and MLIR are kept as text: one for each shape that fusion and code
generation know. Each has its arguments; sizes are small, and none is a multiple of a vector.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor


@dataclass(frozen=True)
class Case:
    function: Callable[..., Any]
    args: tuple[Any, ...]
    dynamic: bool = False


def pointwise(x: Tensor, y: Tensor) -> Tensor:
    return torch.relu(x * 2 + y)


def broadcast(x: Tensor, row: Tensor, column: Tensor) -> Tensor:
    return x * row + column


def two_results(x: Tensor) -> tuple[Tensor, Tensor]:
    y = x + 1
    return y, y > 0


def half(x: Tensor, y: Tensor) -> Tensor:
    return (x + y) * x


def transpose(x: Tensor) -> Tensor:
    return x.t().contiguous() + 1


def row_sum(x: Tensor) -> Tensor:
    return (x * x).sum(-1)


def column_sum(x: Tensor) -> Tensor:
    return x.sum(0)


def whole_maximum(x: Tensor) -> Tensor:
    return x.abs().amax()


def normalize(x: Tensor) -> Tensor:
    return (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-5)


def softmax(x: Tensor) -> Tensor:
    return torch.softmax(x, -1)


def argmax(x: Tensor) -> Tensor:
    return x.argmax(-1)


def lookup(table: Tensor, ids: Tensor) -> Tensor:
    return F.embedding(ids, table) * 2


def concatenate(x: Tensor, y: Tensor) -> Tensor:
    return torch.cat([x, y + 1], 1)


def pad(x: Tensor) -> Tensor:
    return F.pad(x, (1, 2)) * 3


def integer_division(x: Tensor, y: Tensor) -> Tensor:
    return x // y


def around_a_product(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return torch.relu((x + 1) @ w + b).sum(-1)


CASES = {
    "pointwise": Case(pointwise, (torch.ones(5, 7), torch.ones(5, 7))),
    "pointwise_dynamic": Case(pointwise, (torch.ones(5, 7), torch.ones(5, 7)), dynamic=True),
    "broadcast": Case(broadcast, (torch.ones(3, 5, 7), torch.ones(7), torch.ones(5, 1))),
    "two_results": Case(two_results, (torch.ones(19),)),
    "half": Case(
        half, (torch.ones(19, dtype=torch.bfloat16), torch.ones(19, dtype=torch.bfloat16))
    ),
    "transpose": Case(transpose, (torch.ones(19, 23),)),
    "row_sum": Case(row_sum, (torch.ones(5, 19),)),
    "row_sum_dynamic": Case(row_sum, (torch.ones(5, 19),), dynamic=True),
    "column_sum": Case(column_sum, (torch.ones(5, 19),)),
    "whole_maximum": Case(whole_maximum, (torch.ones(5, 19),)),
    "normalize": Case(normalize, (torch.ones(5, 19),)),
    "softmax": Case(softmax, (torch.ones(5, 19),)),
    "argmax": Case(argmax, (torch.ones(5, 19),)),
    "lookup": Case(lookup, (torch.ones(11, 6), torch.ones(3, dtype=torch.int64))),
    "concatenate": Case(concatenate, (torch.ones(3, 4), torch.ones(3, 5))),
    "pad": Case(pad, (torch.ones(3, 4),)),
    "integer_division": Case(
        integer_division, (torch.ones(7, dtype=torch.int32), torch.ones(7, dtype=torch.int32))
    ),
    "around_a_product": Case(around_a_product, (torch.ones(4, 6), torch.ones(6, 5), torch.ones(5))),
}
