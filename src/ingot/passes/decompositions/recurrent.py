"""Recurrent networks. In inference each layer is one call of oneDNN's op, which the pass `recur`
replaces by our own. In training PyTorch decomposes a layer, step by step, only if its input has a
gradient, although oneDNN's op does not save anything for the gradients of the weights either: here
a layer is decomposed if any operand has a gradient.

PyTorch's decomposition of a stack of layers has no dropout between them (it compares the wrong
numbers); wherever ingot traces, dropout is eager's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from itertools import chain
from typing import Any

import torch
from torch import Tensor
from torch._decomp import decompositions

from ingot.exclusive import replaced

Layer = Callable[..., Any]


def _instead(name: str, choice: Callable[[Layer], Layer]) -> AbstractContextManager[None]:
    """Within the context, PyTorch's decompositions call `choice` of their function `name` if they
    run in this thread."""
    return replaced(decompositions, name, choice(getattr(decompositions, name)))


def dropout_between_layers() -> AbstractContextManager[None]:
    return _instead("_rnn_helper", _with_dropout)


def whole_layers() -> AbstractContextManager[None]:
    """Keep layers whole, whatever has gradients and whether or not oneDNN is enabled."""
    return _instead("select_one_layer_lstm_function", _whole)


def trained_layers() -> AbstractContextManager[None]:
    """Decompose layers also if a weight or a state has a gradient."""
    return _instead("select_one_layer_lstm_function", _apart_for_gradients)


def _with_dropout(stack: Layer) -> Layer:
    def layers(
        x: Tensor, hidden: Sequence[Any], weights: Sequence[Any], biased: bool, count: int,
        p: float, train: bool, both_ways: bool, batch_first: bool, layer: Layer,
    ) -> tuple[Tensor, list[Any]]:  # fmt: skip
        x = x.transpose(0, 1) if batch_first else x
        ways, last = 2 if both_ways else 1, []
        for i in range(count):
            own = slice(ways * i, ways * (i + 1))
            x, states = stack(
                x, hidden[own], weights[own], biased, 1, 0.0, train, both_ways, False, layer
            )
            last += states
            if train and p and i + 1 < count:
                x = torch.dropout(x, p, True)
        return x.transpose(0, 1) if batch_first else x, last

    return layers


def _apart_for_gradients(usual: Layer) -> Layer:
    def select(input: Tensor, hx: Sequence[Tensor], params: Sequence[Sequence[Tensor]]) -> Layer:
        tensors = [*hx, *chain.from_iterable(params)]
        if torch.is_grad_enabled() and any(t.requires_grad for t in tensors):
            steps: Layer = decompositions.one_layer_lstm
            return steps
        return usual(input, hx, params)

    return select


def _whole(usual: Layer) -> Layer:
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
