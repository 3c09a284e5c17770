"""A view keeps its offset if a rewrite replaces its base: a copy of a slice becomes the slice, and
views of the copy start at the slice's offset.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import ingot

W = torch.randn(2, 3)
SOURCES: dict[str, Callable[[Tensor], Tensor]] = {
    "select": lambda x: x[1],
    "last": lambda x: x[-1],
    "slice": lambda x: x.view(-1)[5:9],
    "of slice": lambda x: x[1:][1],
}
VIEWS: dict[str, Callable[[Tensor], Tensor]] = {
    "view": lambda c: c.view(2, 2),
    "transposed": lambda c: c.view(2, 2).t(),
    "part": lambda c: c.view(2, 2)[1:],
    "row": lambda c: c.view(2, 2)[1].unsqueeze(0),
    "expanded": lambda c: c[2:].unsqueeze(0).expand(3, 2),
}


@pytest.mark.parametrize("entry", ["ingot.compile", "torch.compile"])
def test_views_of_a_copied_slice(entry: str) -> None:
    pairs = list(itertools.product(SOURCES.values(), VIEWS.values()))

    def function(x: Tensor) -> list[Tensor]:
        results = []
        for source, view in pairs:
            copy = torch.zeros(4)
            copy.copy_(source(x))
            results.append(view(copy) @ W)
        return results

    x = torch.randn(3, 4)
    if entry == "ingot.compile":
        compiled = ingot.compile(function, (x,))
    else:
        compiled = torch.compile(function, backend="ingot")
    for got, want in zip(compiled(x), function(x), strict=True):
        torch.testing.assert_close(got, want)
