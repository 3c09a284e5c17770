"""An index out of range raises wherever eager raises: also for dimensions of size one, constants
and expanded tensors, which need no index, and in kernels over a dynamic number of rows.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

BASES: dict[str, Callable[[Tensor], Tensor]] = {
    "vector": lambda x: x.view(-1),
    "one": lambda x: x.view(-1)[:1],
    "one row": lambda x: x.view(1, -1),
    "rows": lambda x: x.view(2, 3),
    "expanded": lambda x: x.view(-1)[:1].expand(3),
    "constant": lambda x: torch.full((3, 2), 2.0),
    "half": lambda x: x.view(1, -1).bfloat16(),
    "mask": lambda x: x.view(1, -1) > 2,
}
LOOKUPS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "index": lambda base, at: base[at],
    "index_select": lambda base, at: base.index_select(0, at),
    "gather": lambda base, at: base.reshape(base.shape[0], -1)[:, 0].gather(0, at),
    "embedding": lambda base, at: F.embedding(at, base.reshape(base.shape[0], -1)),
    "reduced": lambda base, at: base[at].sum(),
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(
    "lookup",
    [pytest.param(n, marks=[] if n == "index" else [pytest.mark.slow]) for n in LOOKUPS],
)
@pytest.mark.parametrize("base", BASES)
def test_index_out_of_range_raises(base: str, lookup: str, dynamic: bool) -> None:
    def program(x: Tensor, at: Tensor) -> Tensor:
        return LOOKUPS[lookup](BASES[base](x), at)

    x = torch.arange(6.0)
    size = BASES[base](x).shape[0]
    compiled = torch.compile(program, backend="ingot", dynamic=dynamic)
    good = torch.tensor([0, size - 1])
    torch.testing.assert_close(compiled(x, good), program(x, good))
    for bad in (size, size + 2):
        with pytest.raises((IndexError, RuntimeError), match=r"out of (range|bounds)"):
            compiled(x, torch.tensor([0, bad]))
    torch.testing.assert_close(compiled(x, good), program(x, good))
