"""Structures of arguments and results: tuples, dicts, caches, dataclasses, None, numbers, empty."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

import ingot

from .check import check

Pair = namedtuple("Pair", ["left", "right"])


def test_tuples_and_lists() -> None:
    x, y = torch.randn(3), torch.randn(3)
    check(lambda p: (p[0] + p[1], [p[0] * 2, (p[1],)]), (x, y))
    check(lambda p: p[::-1], [x, y])


def test_dicts() -> None:
    def function(d: dict[str, Any]) -> dict[str, Any]:
        return {"sum": d["a"] + d["b"]["c"], "same": d["a"], "n": 3, "none": None}

    check(function, {"a": torch.randn(3), "b": {"c": torch.randn(3)}})
    check(lambda d: OrderedDict((k, v * 2) for k, v in d.items()), OrderedDict(a=torch.randn(2)))


def test_named_tuple() -> None:
    check(lambda p: Pair(p.left + 1, p.right * 2), Pair(torch.randn(3), torch.randn(3)))


def test_named_results_of_torch() -> None:
    check(lambda x: torch.max(x * 2, dim=1), torch.randn(3, 4))
    check(lambda x: torch.sort(x + 1, dim=0), torch.randn(5, 2))
    check(lambda x: torch.topk(x.exp(), 2), torch.randn(4, 6))


def test_numbers_strings_and_none_pass_through() -> None:
    check(lambda x, n, s, z: (x * n, s + "!", z, n), torch.randn(3), 2, "text", None)


def test_default_and_keyword_arguments() -> None:
    class Net(nn.Module):
        def forward(self, x: Tensor, *, scale: float = 2.0, shift: Tensor | None = None) -> Tensor:
            y = x * scale
            return y if shift is None else y + shift

    net = Net()
    compiled = torch.compile(net, backend="ingot", options={"strict": True})
    x = torch.randn(3)
    for kwargs in ({}, {"scale": 3.0}, {"shift": torch.ones(3)}):
        torch.testing.assert_close(compiled(x, **kwargs), net(x, **kwargs))


def test_no_tensor_inputs() -> None:
    check(lambda: torch.ones(3).cumsum(0))
    check(lambda: (torch.arange(4), 3))


def test_nothing_is_returned() -> None:
    def function(x: Tensor) -> None:
        x.mul_(2)

    check(function, torch.randn(3))


def test_input_is_returned() -> None:
    check(lambda x, y: (x, y + 1, x), torch.randn(3), torch.randn(3))


def test_result_is_returned_twice() -> None:
    def function(x: Tensor) -> tuple[Tensor, Tensor]:
        y = x.exp()
        return y, y

    first, second = torch.compile(function, backend="ingot")(torch.randn(3))
    assert first.data_ptr() == second.data_ptr()
    check(function, torch.randn(3))


def test_data_class() -> None:
    @dataclass
    class Output:
        loss: Tensor
        logits: Tensor

    compiled = torch.compile(
        lambda x: Output(x.sum(), x * 2), backend="ingot", options={"strict": True}, fullgraph=True
    )
    x = torch.randn(4)
    output = compiled(x)
    torch.testing.assert_close(output.loss, x.sum())
    torch.testing.assert_close(output.logits, x * 2)


def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return torch.softmax(q @ k.transpose(-1, -2) / q.size(-1) ** 0.5, -1) @ v


def test_cache_of_tuples_grows() -> None:
    """A decoder step: takes the caches of all layers and returns longer ones."""

    def step(x: Tensor, cache: tuple[tuple[Tensor, Tensor], ...]) -> Any:
        grown = []
        for k, v in cache:
            k, v = torch.cat([k, x], 1), torch.cat([v, x * 2], 1)
            x = x + attend(x, k, v)
            grown.append((k, v))
        return x, tuple(grown)

    x = torch.randn(2, 1, 4)
    cache = tuple((torch.randn(2, 3, 4), torch.randn(2, 3, 4)) for _ in range(3))
    check(step, x, cache)
    check(step, x, cache, dynamic=True)


def test_cache_grows_without_recompiling() -> None:
    from torch._dynamo.utils import counters

    def step(x: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        k = torch.cat([k, x], 1)
        return attend(x, k, k), k

    compiled = torch.compile(step, backend="ingot", dynamic=True, options={"strict": True})
    counters.clear()
    x, got = torch.randn(2, 1, 4), torch.randn(2, 3, 4)
    want = got.clone()
    for _ in range(5):
        y, got = compiled(x, got)
        z, want = step(x, want)
        torch.testing.assert_close((y, got), (z, want))
    assert counters["stats"]["unique_graphs"] == 1


def test_static_cache_is_written_in_place() -> None:
    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("k", torch.zeros(2, 8, 4))
            self.register_buffer("seen", torch.zeros((), dtype=torch.int64))

        def forward(self, x: Tensor) -> Tensor:
            self.k.index_copy_(1, self.seen[None], x)
            self.seen += 1
            mask = torch.arange(8) < self.seen
            scores = (x @ self.k.transpose(1, 2)).masked_fill(~mask, float("-inf"))
            return scores.softmax(-1) @ self.k

    check(Attention(), torch.randn(2, 1, 4), calls=3)


def test_hugging_face_cache() -> None:
    from transformers import DynamicCache

    def step(x: Tensor, cache: DynamicCache) -> Tensor:
        k, v = cache.update(x, x * 2, 0)
        return attend(x, k, v)

    want, got = DynamicCache(), DynamicCache()
    compiled = torch.compile(step, backend="ingot", options={"strict": True})
    for _ in range(3):
        x = torch.randn(1, 2, 1, 4)
        torch.testing.assert_close(compiled(x, got), step(x, want))
    assert got.get_seq_length() == want.get_seq_length() == 3


def test_hugging_face_cache_of_states() -> None:
    """Layers of linear attention keep their tensors in dicts."""
    from transformers.cache_utils import DynamicCache, LinearAttentionLayer

    def start(x: Tensor) -> tuple[Tensor, DynamicCache]:
        cache, layer = DynamicCache(), LinearAttentionLayer()
        layer.conv_states[0] = x * 2
        cache.layers = [layer]
        return x.sin(), cache

    def step(x: Tensor, cache: DynamicCache) -> Tensor:
        return x + cache.layers[0].conv_states[0]

    x, other = torch.randn(2, 3), torch.randn(2, 3)
    started = ingot.compile(start, (x,), options={"strict": True})
    stepped = ingot.compile(step, (x, start(x)[1]), options={"strict": True})
    for each in (x, other):
        want, got = start(each)[1], started(each)[1]
        torch.testing.assert_close(got.layers[0].conv_states, want.layers[0].conv_states)
        torch.testing.assert_close(stepped(each, got), step(each, want))


def test_model_output_of_transformers() -> None:
    from transformers.modeling_outputs import BaseModelOutput

    def function(x: Tensor) -> BaseModelOutput:
        return BaseModelOutput(last_hidden_state=x * 2, hidden_states=(x, x + 1))

    x = torch.randn(3)
    output = torch.compile(function, backend="ingot", options={"strict": True})(x)
    torch.testing.assert_close(output.last_hidden_state, x * 2)
    assert len(output.hidden_states) == 2


def test_many_inputs_and_outputs() -> None:
    tensors = [torch.randn(4) for _ in range(70)]
    check(lambda *xs: [a * b for a, b in pairwise(xs)], *tensors)
    check(lambda *xs: torch.stack(xs).sum(0) + sum(xs), *tensors)
