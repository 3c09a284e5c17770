"""The effect of weight formats on matmuls. Prints a table each for one token of GPT-2 with weights
as they are and as 8-bit integers, for BERT in bf16, and for matmuls of one input, which ingot runs
as one step, against one layer with all of their weights. All variants of a table are timed in
turns, in one process.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")  # read when torch loads

import click
import torch
from torch import Tensor, nn

import ingot
from ingot.bench.caches import forget_tuning
from ingot.bench.table import aligned
from ingot.bench.timing import time_in_turns
from ingot.bench.workers import THREADS
from nets import bert, gpt2_decode
from provenance import provenance

Calls = Mapping[str, Callable[[], Any]]


def decoding() -> Calls:
    model, args = gpt2_decode()
    ways = {name: partial(ingot.compile(model, args, options={"weights": held}), *args)
            for name, held in (("ingot", ""), ("ingot, int8", "int8"))}  # fmt: skip
    return {"eager": partial(model, *args), **ways}


def halves(layers: int) -> Calls:
    model, args = bert(layers=layers)
    wide = partial(ingot.compile(model, args), *args)
    model, args = bert(layers=layers)
    half = model.bfloat16()
    return {
        "eager": partial(half, *args),
        "inductor": partial(torch.compile(half), *args),
        "ingot": partial(ingot.compile(half, args), *args),
        "ingot, f32": wide,
    }


class Layers(nn.Module):
    """Layers, each with several matmuls of its input, or with one whose weights are joined by
    hand."""

    def __init__(self, width: int, columns: int, parts: int, joined: bool, layers: int = 8):
        super().__init__()
        self.columns = columns
        sizes = [parts * columns] if joined else [columns] * parts
        self.into = nn.ModuleList(
            nn.ModuleList(nn.Linear(width, size) for size in sizes) for _ in range(layers)
        )
        self.out = nn.ModuleList(nn.Linear(columns, width) for _ in range(layers))

    def forward(self, x: Tensor) -> Tensor:
        for into, out in zip(self.into, self.out, strict=True):
            layers: Iterable[nn.Module] = into  # type: ignore[assignment]  # a ModuleList's
            first, *others = (p for layer in layers for p in layer(x).split(self.columns, -1))
            x = torch.tanh(x + out(torch.sigmoid(first) * sum(others)))
        return x


def joining(rows: int, columns: int, parts: int) -> Calls:
    x = torch.randn(rows, 768)
    return {
        name: partial(ingot.compile(Layers(768, columns, parts, joined), (x,)), x)
        for name, joined in (("layers of their own", False), ("joined by hand", True))
    }


def tables(layers: int) -> dict[str, Callable[[], Calls]]:
    return {
        "GPT-2, one token after 512": decoding,
        f"BERT, {layers} layers, bf16": partial(halves, layers),
        "three products of 768 columns, 1 row": partial(joining, 1, 768, 3),
        "two products of 2048 columns, 1 row": partial(joining, 1, 2048, 2),
        "three products of 768 columns, 128 rows": partial(joining, 128, 768, 3),
        "two products of 2048 columns, 128 rows": partial(joining, 128, 2048, 2),
    }


def table_of(title: str, calls: Calls, rounds: int) -> list[str]:
    times = time_in_turns(calls, rounds=rounds)
    first = next(iter(times.values())).median_ms
    rows = [[title, "ms", "spread", "times as fast"]]
    for name, each in times.items():
        ms = each.median_ms
        rows.append([name, f"{ms:.2f}", f"{each.spread:.0%}", f"{first / ms:.2f}"])
    return [*aligned(rows), ""]


@click.command()
@click.option("--quick", is_flag=True, help="Few rounds, a quarter of BERT.")
@click.option("--only", help="Tables whose title contains this text.")
@click.option("--out", type=click.Path(path_type=Path), help="Write the tables to PATH.")
def main(quick: bool, only: str | None, out: Path | None) -> None:
    """Measure matmuls."""
    forget_tuning()
    torch.set_num_threads(THREADS)
    rounds = 9 if quick else 31
    lines = [provenance()]
    with torch.no_grad():
        for title, build in tables(3 if quick else 12).items():
            if only is None or only in title:
                lines += table_of(title, build(), rounds)
    text = "\n".join(lines)
    click.echo(text)
    if out:
        out.with_suffix(".md").write_text(text)


if __name__ == "__main__":
    main()
