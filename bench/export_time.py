"""Export time: ingot, including isolation, against torch-mlir's own `fx.export_and_import`.

Both start from the module and end with the dialect's module; each round times both in turn, and the
best of each counts. ingot's helper process is warm, as it is after the first export of a session;
its first start is shown separately. torch-mlir writes the weights into its module; ingot leaves
them outside.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import click
import torch

import ingot
import nets
import plain_nets

BAR = 1.3
DIALECTS = {
    "torch": "torch",
    "linalg": "linalg-on-tensors",
    "tosa": "tosa",
    "stablehlo": "stablehlo",
}
"""The name of each dialect in ingot and in torch-mlir."""


DECODER = {"vocab_size": 5000, "tokens": 64}


def mlp() -> nets.Workload:
    layers = torch.nn.Linear(64, 256), torch.nn.GELU(), torch.nn.Linear(256, 64)
    return torch.nn.Sequential(*layers).eval(), (torch.randn(32, 64),)


NETWORKS: dict[str, Callable[[], nets.Workload]] = {
    "mlp": mlp,
    "resnet-50, narrow": partial(nets.resnet, width=16, pixels=64),
    "mobilenet-v2": partial(plain_nets.mobilenet, pixels=64),
    "unet": partial(plain_nets.unet, pixels=64),
    "lstm": partial(plain_nets.lstm, tokens=16),
    "bert, 4 layers": partial(nets.bert, layers=4, width=256, tokens=64),
    "opt, 2 layers": partial(nets.language_model, "OPT", num_hidden_layers=2, **DECODER),
    "gpt2, 2 layers": partial(nets.language_model, "GPT2", n_layer=2, **DECODER),
    "llama, 2 layers": partial(
        nets.language_model, "Llama", **{**nets.LLAMA, "num_hidden_layers": 2}, **DECODER
    ),
    "t5, 2 layers": partial(nets.t5, num_layers=2, **DECODER),
    "vit, 2 layers": partial(nets.image_classifier, "ViT", num_hidden_layers=2, pixels=64),
    "convnext, narrow": partial(
        nets.image_classifier, "ConvNext", pixels=64, depths=[1, 1, 3, 1],
        hidden_sizes=[32, 64, 128, 256],
    ),
    "whisper, 2 layers": partial(nets.whisper_encoder, layers=2, seconds=2),
}  # fmt: skip
"""Few layers: the cost of an export is the same for each of them."""


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def theirs(model: Any, args: tuple[Any, ...], dialect: str) -> object:
    from torch_mlir import fx

    return fx.export_and_import(model, *args, output_type=DIALECTS[dialect])


def ours(model: Any, args: tuple[Any, ...], dialect: str) -> object:
    return ingot.export(model, args).to_mlir(dialect)


@click.command()
@click.option("--rounds", default=3, show_default=True)
@click.option("--only", default="", help="Networks whose name contains this.")
@click.option("--to", "dialects", default=tuple(DIALECTS), multiple=True, help="Dialects.")
def main(rounds: int, only: str, dialects: tuple[str, ...]) -> None:
    print(f"torch {torch.__version__}; bar: {BAR} of torch-mlir's own time")
    with torch.no_grad():
        first = seconds(lambda: ours(*mlp(), "linalg"))
        print(f"the first export of the process, helper started: {first:.2f} s")
        for name, build in NETWORKS.items():
            if only not in name:
                continue
            model, args = build()
            for dialect in dialects:
                result = compared(model, args, dialect, rounds)
                print(f"{name:18} {dialect:10} {result}", flush=True)


def compared(model: Any, args: tuple[Any, ...], dialect: str, rounds: int) -> str:
    """Times side by side. The first round of each includes lazy loading and is not counted."""
    seconds(lambda: ours(model, args, dialect))
    try:
        seconds(lambda: theirs(model, args, dialect))
    except Exception as error:
        mine = min(seconds(lambda: ours(model, args, dialect)) for _ in range(rounds))
        why = str(error).strip().splitlines()[0][:60]
        return f"ingot {mine:6.2f} s  torch-mlir fails: {why}"
    pairs = [
        (seconds(lambda: ours(model, args, dialect)), seconds(lambda: theirs(model, args, dialect)))
        for _ in range(rounds)
    ]
    mine, other = (min(column) for column in zip(*pairs))
    verdict = "ok" if mine <= BAR * other else "MISSED"
    ratio = f"ratio {mine / other:.2f}  {verdict}"
    return f"ingot {mine:6.2f} s  torch-mlir {other:6.2f} s  {ratio}"


if __name__ == "__main__":
    main()
