"""A tensor that a model holds under two names, one of which is not a buffer, as in a static
cache."""

from __future__ import annotations

import torch
from torch import Tensor, nn

import ingot


class Store:
    """Holds a tensor without being a module."""

    def __init__(self, size: int):
        self.values = torch.zeros(size, 4)


class Cached(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.store = Store(6)
        self.register_buffer("values", self.store.values)

    def forward(self, x: Tensor, at: Tensor) -> Tensor:
        self.store.values.index_copy_(0, at, self.linear(x))
        return self.store.values.sum(0) + x


def test_what_is_written_is_the_models() -> None:
    module, plain = Cached().eval(), Cached().eval()
    plain.load_state_dict(module.state_dict())
    x, at = torch.randn(1, 4), torch.tensor([2])
    with torch.no_grad():
        compiled = ingot.compile(module, (x, at))
        for place in (2, 0, 5, 2):
            x, at = torch.randn(1, 4), torch.tensor([place])
            torch.testing.assert_close(compiled(x, at), plain(x, at))
            torch.testing.assert_close(module.store.values, plain.store.values)
    assert module.store.values is module.values
