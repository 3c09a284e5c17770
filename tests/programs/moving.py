"""Programs whose shapes vary or depend on values, taken from real problems: post-processing of
detectors, peaks of heat maps, routing to experts, beam search, pooling of ragged rows, images of
any size, decoding. Each comes with a generator of random inputs, some of which give empty results.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch._higher_order_ops.while_loop import while_loop
from torch.export import Dim

Inputs = tuple[Any, ...]


@dataclass(frozen=True)
class Moving:
    name: str
    function: Callable[..., Any]
    inputs: Callable[[torch.Generator], Inputs]
    dynamic_shapes: Any
    host: frozenset[str]
    """Ops expected to run in PyTorch or as eager control flow."""
    graphs: int = 1
    """Graphs compiled by torch.compile with dynamic=None, which first specialises on sizes."""


def rand(g: torch.Generator, *shape: int) -> Tensor:
    return torch.rand(shape, generator=g)


def randn(g: torch.Generator, *shape: int) -> Tensor:
    return torch.randn(shape, generator=g)


def randint(g: torch.Generator, low: int, high: int) -> int:
    return int(torch.randint(low, high, (), generator=g))


# -- detectors -------------------------------------------------------------------------------------


def overlaps(boxes: Tensor) -> Tensor:
    """Intersection over union of all pairs."""
    area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    low = torch.maximum(boxes[:, None, :2], boxes[None, :, :2])
    high = torch.minimum(boxes[:, None, 2:], boxes[None, :, 2:])
    inside = (high - low).clamp(min=0).prod(-1)
    return inside / (area[:, None] + area[None, :] - inside)


def detect(deltas: Tensor, anchors: Tensor, logits: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Apply box deltas to anchors, select by score and remove duplicates."""
    scores, labels = logits.sigmoid().max(-1)
    keep = scores > 0.9
    deltas, anchors, scores, labels = deltas[keep], anchors[keep], scores[keep], labels[keep]
    size = anchors[:, 2:] - anchors[:, :2]
    centre = anchors[:, :2] + size / 2 + deltas[:, :2] * size
    half = size * deltas[:, 2:].clamp(max=4).exp() / 2
    boxes = torch.cat([centre - half, centre + half], 1)
    order = scores.argsort(descending=True, stable=True)
    boxes, scores, labels = boxes[order], scores[order], labels[order]
    doubled = (overlaps(boxes) > 0.5) & (labels[:, None] == labels[None, :])
    later = torch.arange(boxes.size(0))

    def body(i: Tensor, alive: Tensor) -> tuple[Tensor, Tensor]:
        row = doubled.index_select(0, i.view(1))[0]
        lives = alive.index_select(0, i.view(1))
        return i + 1, alive & ~(row & lives & (later > i))

    alive = torch.ones_like(scores, dtype=torch.bool)
    count = torch.full((), boxes.size(0), dtype=torch.int64)
    _, alive = while_loop(
        lambda i, alive: i < count, body, (torch.zeros((), dtype=torch.int64), alive)
    )
    return boxes[alive], scores[alive], labels[alive]


def detector_inputs(g: torch.Generator) -> Inputs:
    n, classes = 1000, 20
    corner = rand(g, n, 2) * 300
    anchors = torch.cat([corner, corner + 20 + rand(g, n, 2) * 60], 1)
    bias = -4.0 if randint(g, 0, 10) else -40.0
    return randn(g, n, 4) * 0.1, anchors, randn(g, n, classes) * 2 + bias


def peaks(maps: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Maxima of heat maps, and for each one of the first map the nearest in the second."""
    highest = F.max_pool2d(maps[None], 3, 1, 1)[0]
    found = torch.nonzero((maps == highest) & (maps > 0.98))
    strength = maps[found[:, 0], found[:, 1], found[:, 2]]
    first = found[found[:, 0] == 0][:, 1:].float()
    second = found[found[:, 0] == 1][:, 1:].float()
    second = torch.cat([second, torch.full((1, 2), 1e6)])
    away = (first[:, None] - second[None]).square().sum(-1)
    return found, strength, away.argmin(1)


def peaks_inputs(g: torch.Generator) -> Inputs:
    return (rand(g, 17, 64, 48) * (1.0 if randint(g, 0, 10) else 0.5),)


# -- routing and sampling --------------------------------------------------------------------------


class Experts(nn.Module):
    def __init__(self, width: int = 64, experts: int = 8):
        super().__init__()
        self.gate = nn.Linear(width, experts)
        self.up = nn.ModuleList(nn.Linear(width, 2 * width) for _ in range(experts))
        self.down = nn.ModuleList(nn.Linear(2 * width, width) for _ in range(experts))

    def forward(self, x: Tensor) -> Tensor:
        weights, chosen = self.gate(x).softmax(-1).topk(2, -1)
        weights = weights / weights.sum(-1, keepdim=True)
        result = torch.zeros_like(x)
        for k, (up, down) in enumerate(zip(self.up, self.down, strict=True)):
            token, place = torch.where(chosen == k)
            made = down(F.gelu(up(x[token]))) * weights[token, place][:, None]
            result = result.index_add(0, token, made)
        return result


def beam_step(logits: Tensor, scores: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    batch, beams, words = logits.shape
    total = (scores[..., None] + logits.log_softmax(-1)).view(batch, beams * words)
    best, index = total.topk(beams, -1)
    origin, word = index // words, index % words
    kept = tokens.gather(1, origin[..., None].expand(-1, -1, tokens.size(2)))
    return best, torch.cat([kept, word[..., None]], -1), word == 2


def beam_inputs(g: torch.Generator) -> Inputs:
    length = randint(g, 2, 40)
    tokens = torch.randint(0, 1000, (4, 5, length), generator=g)
    return randn(g, 4, 5, 1000), randn(g, 4, 5), tokens


def ragged_pool(values: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and maximum over rows of varying lengths."""
    rows = torch.repeat_interleave(torch.arange(lengths.size(0)), lengths)
    values = values[: rows.size(0)]
    total = values.new_zeros(lengths.size(0), values.size(1)).index_add(0, rows, values)
    index = rows[:, None].expand(-1, values.size(1))
    low = values.new_full((lengths.size(0), values.size(1)), -1e9)
    highest = low.scatter_reduce(0, index, values, "amax")
    return total / lengths.clamp(min=1)[:, None], highest


def ragged_inputs(g: torch.Generator) -> Inputs:
    lengths = torch.randint(0, 30, (16,), generator=g)
    if not randint(g, 0, 10):
        lengths.zero_()
    return randn(g, 512, 64), lengths


# -- networks and loops ----------------------------------------------------------------------------


class Pyramid(nn.Module):
    """A small network for images of any size."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, 2, 1)
        self.wide = nn.Conv2d(16, 32, 3, 1, 1)
        self.deep = nn.Conv2d(32, 32, 3, 2, 1)
        self.head = nn.Linear(32, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.wide(F.relu(self.stem(x))))
        small = F.relu(self.deep(x))
        grown = F.interpolate(small, size=x.shape[2:], mode="nearest")
        return self.head((x + grown).mean((2, 3)))


def image_inputs(g: torch.Generator) -> Inputs:
    return (randn(g, 2, 3, randint(g, 8, 48) * 2, randint(g, 8, 48) * 2),)


class Decoder(nn.Module):
    """Greedy decoding with a recurrent state and a buffer for all tokens."""

    def __init__(self, words: int = 100, width: int = 64):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.mix = nn.Linear(2 * width, width)
        self.out = nn.Linear(width, words)

    def forward(self, start: Tensor, state: Tensor, room: Tensor) -> tuple[Tensor, Tensor]:
        def body(
            i: Tensor, last: Tensor, state: Tensor, tokens: Tensor
        ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
            state = torch.tanh(self.mix(torch.cat([self.embed(last), state], -1)))
            word = self.out(state).argmax(-1)
            at = torch.arange(tokens.size(1)) == i
            return i + 1, word, state, torch.where(at, word[:, None], tokens)

        first = torch.zeros((), dtype=torch.int64)
        _, last, _, tokens = while_loop(
            lambda i, last, state, tokens: i < tokens.size(1),
            body,
            (first, start, state, torch.zeros_like(room)),
        )
        return last, tokens


def decoder_inputs(g: torch.Generator) -> Inputs:
    room = torch.zeros(4, randint(g, 2, 40), dtype=torch.int64)
    return torch.randint(0, 100, (4,), generator=g), randn(g, 4, 64), room


class UntilStop(nn.Module):
    """Decodes until a stop token; the used part of the buffer grows with each token."""

    def __init__(self, words: int = 20, width: int = 32):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.out = nn.Linear(width, words)

    def forward(self, start: Tensor, room: Tensor) -> Tensor:
        place = torch.arange(room.size(0))

        def going(count: Tensor, last: Tensor, tokens: Tensor) -> Tensor:
            return (last != 0) & (count < room.size(0))

        def body(count: Tensor, last: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            there = (place < count)[:, None]
            state = torch.where(there, self.embed(tokens), 0.0).sum(0) / (count + 1)
            word = self.out(state + self.embed(last)).argmax(-1)
            return count + 1, word, torch.where(place == count, word, tokens)

        first = torch.zeros((), dtype=torch.int64)
        count, _, tokens = while_loop(going, body, (first, start, torch.zeros_like(room)))
        return tokens[: count.item()]


def stop_inputs(g: torch.Generator) -> Inputs:
    room = torch.zeros(randint(g, 2, 40), dtype=torch.int64)
    return torch.randint(0, 20, (), generator=g), room


A = Dim.AUTO
_SIZES = frozenset({"nonzero", "index"})
"""Ops with data-dependent result sizes, which PyTorch allocates."""


def programs() -> list[Moving]:
    torch.manual_seed(7)
    return [
        Moving("detector", detect, detector_inputs, None, _SIZES | {"sort"}),
        Moving("peaks", peaks, peaks_inputs, None, _SIZES | {"max_pool2d_with_indices"}),
        Moving(
            "experts", Experts().eval(), lambda g: (randn(g, randint(g, 2, 200), 64),), ({0: A},),
            _SIZES | {"topk", "index_add"}, 2,
        ),
        Moving(
            "beam step", beam_step, beam_inputs, (None, None, {2: A}), frozenset({"topk"}), 2,
        ),
        Moving(
            "ragged pool", ragged_pool, ragged_inputs, None,
            frozenset({"repeat_interleave", "index_add", "scatter_reduce"}),
        ),
        Moving(
            "images", Pyramid().eval(), image_inputs, ({2: A, 3: A},), frozenset(), 2,
        ),
        Moving("decoder", Decoder().eval(), decoder_inputs, (None, None, {1: A}), frozenset(), 2),
        Moving("until stop", UntilStop().eval(), stop_inputs, (None, {0: A}), frozenset(), 2),
    ]  # fmt: skip
