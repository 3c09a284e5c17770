"""Recurrent networks. In programs that are only run each layer is one call of oneDNN's op, which
passes/recur.py replaces by our own. In programs that are trained PyTorch takes a layer apart, step
by step, only where its input has a gradient, though oneDNN's op keeps nothing for the gradients of
the weights either: here it does so wherever something has one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import chain
from typing import Any

import torch
from torch import Tensor
from torch._decomp import decompositions

Layer = Callable[..., Any]


@contextmanager
def _selected_by(choice: Callable[[Callable[..., Layer]], Callable[..., Layer]]) -> Iterator[None]:
    """Within, PyTorch's decomposition of `lstm` asks what `choice` makes of the usual selection."""
    usual = decompositions.select_one_layer_lstm_function
    decompositions.select_one_layer_lstm_function = choice(usual)
    try:
        yield
    finally:
        decompositions.select_one_layer_lstm_function = usual


def whole_layers() -> AbstractContextManager[None]:
    """Layers stay whole, whatever has gradients and whether or not oneDNN is on."""
    return _selected_by(_whole)


def trained_layers() -> AbstractContextManager[None]:
    """Layers are taken apart where a weight or a state has a gradient too."""
    return _selected_by(_apart_for_gradients)


def _apart_for_gradients(usual: Callable[..., Layer]) -> Callable[..., Layer]:
    def select(input: Tensor, hx: Sequence[Tensor], params: Sequence[Sequence[Tensor]]) -> Layer:
        tensors = [*hx, *chain.from_iterable(params)]
        if torch.is_grad_enabled() and any(t.requires_grad for t in tensors):
            steps: Layer = decompositions.one_layer_lstm
            return steps
        return usual(input, hx, params)

    return select


def _whole(usual: Callable[..., Layer]) -> Callable[..., Layer]:
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
