"""A small decoder like GPT-2 that generates greedily in one program: a loop that carries a static
cache.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(
        self, x: Tensor, at: Tensor, keys: Tensor, values: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        q, k, v = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for part in self.qkv(self.before(x)).chunk(3, -1)
        )
        keys, values = keys.index_copy(2, at, k), values.index_copy(2, at, v)
        mask = torch.arange(keys.shape[2]) <= at
        y = F.scaled_dot_product_attention(q, keys, values, mask[None, None, None])
        x = x + self.out(y.transpose(1, 2).flatten(2))
        y = self.down(F.gelu(self.up(self.after(x)), approximate="tanh"))
        return x + y, keys, values


class Decoder(nn.Module):
    def __init__(
        self, words: int = 50, width: int = 32, heads: int = 4, layers: int = 2, longest: int = 24
    ) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(longest, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.last = nn.LayerNorm(width)
        self.cache = layers, 1, heads, longest, width // heads

    def step(
        self, token: Tensor, at: Tensor, keys: Tensor, values: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        x = self.words(token) + self.places(at)
        made = []
        for number, block in enumerate(self.blocks):
            x, *new = block(x, at, keys[number], values[number])
            made.append(new)
        keys, values = (torch.stack(each) for each in zip(*made, strict=True))
        return self.last(x) @ self.words.weight.t(), keys, values

    def forward(self, prompt: Tensor, count: Tensor, end: Tensor) -> tuple[Tensor, Tensor]:
        """Continue the prompt, of shape (1, n), up to `count` tokens or the token `end`; returns
        all tokens and how many there are."""
        n = prompt.shape[1]

        def goes_on(at: Tensor, tokens: Tensor, keys: Tensor, values: Tensor) -> Tensor:
            last = tokens[0].index_select(0, at)
            return ((at < count - 1) & ((at < n) | (last != end))).squeeze()

        def body(at: Tensor, tokens: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, ...]:
            logits, keys, values = self.step(tokens.index_select(1, at), at, keys, values)
            given = tokens.index_select(1, at + 1)
            following = torch.where(at + 1 < n, given, logits.argmax(-1))
            return at + 1, tokens.index_copy(1, at + 1, following), keys, values

        tokens = F.pad(prompt, (0, self.cache[3] - n))
        start = torch.zeros(1, dtype=torch.int64)
        carried = start, tokens, torch.zeros(self.cache), torch.zeros(self.cache)
        at, tokens, _, _ = torch.while_loop(goes_on, body, carried)
        return tokens, at + 1
