"""Export time: ingot, isolation included, against torch-mlir's own `fx.export_and_import`.

Both start from the module and end with the dialect's module; each round times both in turn, and the
best of each counts. ingot's helper process is warm, as it is after the first export of a session;
its first start is shown by itself. torch-mlir writes the weights into its module; ingot leaves them
outside.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import click
import torch

import ingot
import nets

BAR = 1.3
DIALECTS = {
    "torch": "torch",
    "linalg": "linalg-on-tensors",
    "tosa": "tosa",
    "stablehlo": "stablehlo",
}
"""Our name of each dialect and torch-mlir's."""


def networks() -> dict[str, tuple[Any, tuple[Any, ...]]]:
    mlp = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.GELU(), torch.nn.Linear(256, 64))
    return {
        "mlp": (mlp.eval(), (torch.randn(32, 64),)),
        "resnet, narrow": nets.resnet(width=16, pixels=64),
        "bert, 4 layers": nets.bert(layers=4, width=256, tokens=64),
    }


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
def main(rounds: int) -> None:
    print(f"torch {torch.__version__}; bar: {BAR} of torch-mlir's own time")
    workloads = networks()
    first = seconds(lambda: ours(*workloads["mlp"], "linalg"))
    print(f"the first export of the process, helper started: {first:.2f} s")
    with torch.no_grad():
        for name, (model, args) in workloads.items():
            for dialect in DIALECTS:
                pairs = [
                    (
                        seconds(lambda: ours(model, args, dialect)),  # noqa: B023
                        seconds(lambda: theirs(model, args, dialect)),  # noqa: B023
                    )
                    for _ in range(rounds)
                ]
                mine, other = (min(column) for column in zip(*pairs))
                verdict = "ok" if mine <= BAR * other else "MISSED"
                print(
                    f"{name:16} {dialect:10} ingot {mine:6.2f} s  torch-mlir {other:6.2f} s  "
                    f"ratio {mine / other:.2f}  {verdict}"
                )


if __name__ == "__main__":
    main()
