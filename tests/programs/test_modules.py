"""Every module of PyTorch's own table, in training and eval mode, against eager: results, strides,
gradients, buffers, random numbers."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.testing._internal.common_modules import ModuleInfo, module_db
from torch.utils import _pytree as pytree

from tests.programs.check import check

IN_CI = ("BatchNorm2d", "ConvTranspose2d", "EmbeddingBag", "GRU", "MultiheadAttention", "RReLU")
WIDE = ("FractionalMaxPool2d", "FractionalMaxPool3d")
"""The table's samples for these modules are f64."""
SAMPLES = 6
CASES = [
    pytest.param(
        info, train, id=f"{info.name.removeprefix('nn.')}-{'train' if train else 'eval'}",
        marks=[] if info.module_cls.__name__ in IN_CI else [pytest.mark.slow],
    )
    for info in module_db
    for train in ((True, False) if info.train_and_eval_differ else (True,))
]  # fmt: skip


class WithKeywords(nn.Module):
    def __init__(self, module: nn.Module, keywords: dict[str, Any]):
        super().__init__()
        self.module, self.keywords = module, keywords

    def forward(self, *args: Any) -> Any:
        return self.module(*args, **self.keywords)


@pytest.mark.parametrize(("info", "train"), CASES)
@torch._dynamo.config.patch(allow_rnn=True)
def test_module(info: ModuleInfo, train: bool) -> None:
    dtype = torch.float64 if info.module_cls.__name__ in WIDE else torch.float32
    settings = {"device": "cpu", "dtype": dtype, "requires_grad": True, "training": train}
    torch.manual_seed(0)
    samples = [s for s in info.module_inputs_func(info, **settings) if s.forward_input is not None]
    assert samples
    for sample in samples[:SAMPLES]:
        torch._dynamo.reset()
        made, given = sample.constructor_input, sample.forward_input
        module = info.module_cls(*made.args, **made.kwargs).to(dtype).train(train)
        module(*given.args, **given.kwargs)  # materialises lazy parameters
        leaves = [*pytree.tree_leaves(given.args), *module.parameters()]
        grad = any(isinstance(leaf, torch.Tensor) and leaf.requires_grad for leaf in leaves)
        check(WithKeywords(module, given.kwargs).train(train), *given.args, grad=grad,
              fullgraph=False, loosen=10)  # fmt: skip
