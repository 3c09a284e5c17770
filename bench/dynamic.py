"""Dynamic sizes: one net for every size against one compiled for a single size, and a loop of a
thousand small steps.

Reports for nets like BERT, GPT-2 and ResNet the number of random (batch, length) pairs that ran
through one program and agreed with eager, and the median, over some of them, of its time relative
to a program compiled for that pair; and the milliseconds of the loop in eager Python, in Inductor
and in ingot.
"""

from __future__ import annotations

import os
from pathlib import Path

os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")  # read when torch loads

import random
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click
import torch
from torch import Tensor
from torch._higher_order_ops.while_loop import while_loop
from torch.export import Dim

import ingot
import nets
import plain_nets
from ingot import observe
from ingot.bench.caches import forget_tuning
from ingot.bench.table import aligned, met, number
from ingot.bench.timing import calls_per_sample, time_in_turns
from nets import Workload
from provenance import provenance

RATIO_BAR = 1.10
LOOP_BAR = 20.0
STEPS = 1000
SAMPLE_S = 0.01
Pair = tuple[int, int]


@dataclass(frozen=True)
class Net:
    build: Callable[[], Workload]
    inputs: Callable[[int, int], Tensor]
    dynamic: Any
    lengths: tuple[int, int]


def bert() -> Workload:
    return nets.bert(layers=2, width=256)


def gpt2() -> Workload:
    return nets.language_model("GPT2", n_layer=2, n_embd=256, n_head=4, vocab_size=5000)


def resnet() -> Workload:
    return plain_nets.resnet(blocks=(1, 1, 1, 1), width=16, pixels=64)


def words(batch: int, length: int) -> Tensor:
    return torch.randint(0, 5000, (batch, length))


def images(batch: int, length: int) -> Tensor:
    return torch.randn(batch, 3, 32 + length, 32 + length)


A = Dim.AUTO
NETS = {
    "bert": Net(bert, words, ({0: A, 1: A},), (4, 128)),
    "gpt2": Net(gpt2, words, (({0: A, 1: A},),), (4, 128)),
    "resnet": Net(resnet, images, ({0: A, 2: A, 3: A},), (4, 128)),
}


@dataclass(frozen=True)
class Result:
    pairs: int
    programs: int
    worst: float
    """The largest difference from eager, relative to eager's largest value."""
    ratios: tuple[float, ...]
    """Time relative to a net compiled for that pair."""


def furthest(got: Any, want: Any) -> float:
    pairs = zip(torch.utils._pytree.tree_leaves(got), torch.utils._pytree.tree_leaves(want))
    return max(float((a - b).abs().max() / b.abs().max().clamp(min=1e-9)) for a, b in pairs)


def measure(net: Net, pairs: list[Pair], timed: int, rounds: int) -> Result:
    model, _ = net.build()
    programs: list[Any] = []
    # Two different sizes: the tracer assumes that sizes equal in the example are always equal.
    first = net.inputs(3, 17)
    with observe.listening(programs.append):
        compiled = ingot.compile(model, (first,), dynamic_shapes=net.dynamic)
        worst = 0.0
        for pair in pairs:
            given = net.inputs(*pair)
            worst = max(worst, furthest(compiled(given), model(given)))
    count = len(programs)
    ratios = [against_static(net, model, compiled, pair, rounds) for pair in pairs[:timed]]
    return Result(len(pairs), count, worst, tuple(ratios))


def against_static(net: Net, model: Any, compiled: Any, pair: Pair, rounds: int) -> float:
    given = net.inputs(*pair)
    fixed = ingot.compile(model, (given,))
    count = calls_per_sample(lambda: fixed(given), SAMPLE_S)

    def several(call: Callable[..., Any]) -> Callable[[], None]:
        def run() -> None:
            for _ in range(count):
                call(given)

        return run

    times = time_in_turns({"one": several(compiled), "own": several(fixed)}, rounds=rounds)
    return min(times["one"].samples) / min(times["own"].samples)


def step(i: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    return i + 1, x * 0.99 + i.sin()


def looped(x: Tensor) -> Tensor:
    first = torch.zeros((), dtype=torch.int64)
    return while_loop(lambda i, x: i < STEPS, step, (first, x))[1]


def plain(x: Tensor) -> Tensor:
    i = torch.zeros((), dtype=torch.int64)
    while i < STEPS:
        i, x = step(i, x)
    return x


def loop_times(rounds: int) -> dict[str, float]:
    x = torch.randn(16)
    calls: dict[str, Callable[[], Any]] = {"eager": lambda: plain(x)}
    ours = torch.compile(looped, backend="ingot", fullgraph=True)
    torch.testing.assert_close(ours(x), plain(x))
    calls["ingot"] = lambda: ours(x)
    try:
        theirs = torch.compile(looped, backend="inductor", fullgraph=True)
        torch.testing.assert_close(theirs(x), plain(x))
        calls["inductor"] = lambda: theirs(x)
    except Exception as error:  # no C++ compiler, or an unsupported program
        print(f"Inductor does not run the loop: {str(error).splitlines()[0]}")
    times = time_in_turns(calls, rounds=rounds)
    return {name: timing.median_ms for name, timing in times.items()}


def net_lines(results: dict[str, Result]) -> list[str]:
    rows = [["net", "pairs", "programs", "worst error", "timed", "median of ratios", "bar"]]
    for name, result in results.items():
        median = statistics.median(result.ratios) if result.ratios else None
        holds = median is not None and median <= RATIO_BAR
        rows.append([
            name, str(result.pairs), str(result.programs), f"{result.worst:.1e}",
            str(len(result.ratios)), number(median, ".3f"), f"{RATIO_BAR} {met(holds)}",
        ])  # fmt: skip
    return aligned(rows)


def loop_lines(times: dict[str, float]) -> list[str]:
    rows = [["ms for 1,000 steps", *times]]
    rows.append(["while_loop", *(f"{ms:.3f}" for ms in times.values())])
    gain = times["eager"] / times["ingot"]
    lines = [*aligned(rows), f"- Against Python: {gain:.0f}× ({LOOP_BAR:.0f}, {met(gain >= 20)})"]
    if "inductor" in times:
        share = times["inductor"] / times["ingot"]
        lines.append(f"- Against Inductor: {share:.1f}× (1, {met(share >= 1)})")
    return lines


@click.command()
@click.option("--only", type=click.Choice([*NETS, "loop"]), help="One part only.")
@click.option("--pairs", default=200, help="Random sizes to compare with eager.")
@click.option("--timed", default=15, help="How many of them to time against a net for that size.")
@click.option("--rounds", default=10)
@click.option("--out", type=click.Path(path_type=Path), help="A file for the tables.")
def main(only: str | None, pairs: int, timed: int, rounds: int, out: Path | None) -> None:
    forget_tuning()
    torch.set_grad_enabled(False)
    lines = [provenance(), ""]
    results = {}
    for name, net in NETS.items():
        if only in (None, name):
            random.seed(1)
            # At least two: transformers' own code branches on a batch of one.
            sizes = [(random.randint(2, 8), random.randint(*net.lengths)) for _ in range(pairs)]
            results[name] = measure(net, sizes, timed, rounds)
    if results:
        lines += [*net_lines(results), ""]
    if only in (None, "loop"):
        lines += loop_lines(loop_times(rounds))
    text = "\n".join(lines)
    print(text)
    if out is not None:
        out.write_text(text + "\n")


if __name__ == "__main__":
    main()
