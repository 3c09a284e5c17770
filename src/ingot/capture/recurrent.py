"""Recurrent networks in programs that are only run: each layer is one call of oneDNN's op, which
passes/recur.py replaces by our own. By itself PyTorch takes them apart, step by step, wherever
something has a gradient or oneDNN is off."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

import torch
from torch import Tensor
from torch._decomp import decompositions

Layer = Callable[..., Any]


@contextmanager
def whole_layers() -> Iterator[None]:
    """Within, PyTorch's decomposition of `lstm` does not look at gradients or at oneDNN."""
    usual = decompositions.select_one_layer_lstm_function
    decompositions.select_one_layer_lstm_function = _chosen(usual)
    try:
        yield
    finally:
        decompositions.select_one_layer_lstm_function = usual


def _chosen(usual: Callable[..., Layer]) -> Callable[..., Layer]:
    def select(input: Tensor, hx: Sequence[Tensor], params: Sequence[Sequence[Tensor]]) -> Layer:
        tensors = [input, *hx, *chain.from_iterable(params)]
        kinds = {t.dtype for t in tensors}
        plain = kinds in ({torch.float32}, {torch.float64}) and input.device.type == "cpu"
        projected = hx[0].size(2) != hx[1].size(2)
        if plain and not projected:
            whole: Layer = decompositions.mkldnn_one_layer_lstm
            return whole
        return usual(input, hx, params)

    return select
