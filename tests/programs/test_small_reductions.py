"""Reductions of zero or one elements, of equal elements and of NaN: eager's values and indices."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

import ingot

INPUTS = {
    "nothing": torch.empty(3, 0),
    "one element": torch.tensor([[2.0], [nan], [-inf]]),
    "equals": torch.tensor([[1.0, 3, 3, nan, nan], [3, 3, 1, 0, 0], [-inf] * 5, [inf] * 5,
                            [0.0, -0.0, 0.0, -0.0, 0.0]]),
    "equals in vectors": torch.tensor([[5.0] * 70, [nan] * 70, [-1.0] * 69 + [nan]]),
    "a number": torch.tensor(3.0),
}  # fmt: skip
REDUCTIONS: dict[str, Callable[[Tensor], Any]] = {
    "mean": lambda x: x.mean(-1),
    "mean of all": lambda x: x.mean(),
    "sum": lambda x: x.sum(-1),
    "prod": lambda x: x.prod(-1),
    "var": lambda x: x.var(-1),
    "var of all": lambda x: x.var(),
    "var less 5": lambda x: x.var(-1, correction=5),
    "var less 7": lambda x: x.var(-1, correction=7),
    "std": lambda x: x.std(-1),
    "var_mean": lambda x: torch.var_mean(x, -1),
    "std_mean": lambda x: torch.std_mean(x, -1),
    "argmax": lambda x: x.argmax(-1),
    "argmin": lambda x: x.argmin(-1),
    "argmax of all": lambda x: x.argmax(),
    "max": lambda x: x.max(-1),
    "min": lambda x: x.min(-1),
    "amax": lambda x: x.amax(-1),
    "any": lambda x: x.any(-1),
    "all": lambda x: x.all(-1),
    "logsumexp": lambda x: x.logsumexp(-1),
    "softmax": lambda x: x.softmax(-1),
    "cumsum": lambda x: x.cumsum(-1),
    "vector_norm": lambda x: torch.linalg.vector_norm(x, dim=-1),
    "layer_norm": lambda x: torch.nn.functional.layer_norm(x, x.shape[-1:]),
}


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", INPUTS)
def test_as_in_eager(name: str, dtype: torch.dtype) -> None:
    x = INPUTS[name].to(dtype)
    known: dict[str, Any] = {}
    for kind, reduce in REDUCTIONS.items():
        try:
            known[kind] = reduce(x)
        except (RuntimeError, IndexError):
            continue  # eager refuses
    results = ingot.compile(lambda x: [REDUCTIONS[kind](x) for kind in known], (x,))(x)
    for kind, result in zip(known, results, strict=True):
        for actual, eager in zip(tree_leaves(result), tree_leaves(known[kind]), strict=True):
            if kind == "var_mean" or kind == "std_mean":
                # For a row with an infinity, eager's mean is NaN.
                actual = actual.where(~eager.isnan(), nan)
            torch.testing.assert_close(actual, eager, equal_nan=True, msg=kind)
