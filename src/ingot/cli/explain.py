"""`ingot explain`: the report of a model."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import click

from ingot.cli.words import JSON, OPTION, compiler_options, model_words, requested

if TYPE_CHECKING:
    from ingot.cli.models import Workload


@click.command()
@model_words
@click.option("--grad", is_flag=True, help="Also capture the values that a backward needs.")
@click.option("--width", default=100, show_default=True, help="Width of the text in columns.")
@click.option(
    "--html", type=click.Path(dir_okay=False), help="Write the visual report to this file."
)
@OPTION
@JSON
def explain(
    grad: bool,
    width: int,
    html: str | None,
    options: tuple[str, ...],
    as_json: bool,
    **words: Any,
) -> None:
    """Show what is fused, called and left to PyTorch, and why.

    The model is compiled and called a few times. A saved model shows its inputs, its code and its
    calls of PyTorch.

    \b
      ingot explain model.py:make_model
      ingot explain model.py:make_model --html report.html
      ingot explain package.net:forward -i 4x16 -i 16:float64
    """
    import torch

    from ingot.cli.errors import Failure, running
    from ingot.cli.models import build
    from ingot.cli.progress import progress
    from ingot.explain.listen import explain as explained

    request = requested(words)
    chosen = compiler_options(options)
    with torch.set_grad_enabled(grad), progress(f"loading {request.model}") as step:
        workload = build(request)
        if workload.eager is not None:
            if html is not None:
                raise Failure("a saved model has no visual report: --html needs the model itself")
            data = saved_data(workload)
            click.echo(json.dumps(data) if as_json else saved_text(data))
            return
        step("compiling and running")
        with running(workload):
            report = explained(workload.model, workload.args, workload.kwargs, options=chosen)
    if html is not None:
        try:
            report.save_html(html)
        except OSError as error:
            raise Failure(str(error)) from None
    if as_json:
        told = asdict(replace(report, description=None))
        del told["description"]  # it is the visual report's
        click.echo(json.dumps(told, default=str))
    else:
        click.echo(report.as_text(width) if html is None else f"wrote {html}")


def saved_data(workload: Workload) -> dict[str, Any]:
    from collections import Counter

    from ingot.cli.inputs import described
    from ingot.plan.ir import Eager, walk

    exe: Any = workload.model
    plan = exe.compiled.plan
    eager = Counter(str(op.call.target) for op in walk(plan.ops) if isinstance(op, Eager))
    weights = {id(tensor): tensor.nbytes for tensor in exe.weights.values()}
    return {
        "file": workload.name,
        "inputs": {name: described(value) for name, value in workload.inputs().items()},
        "weights_bytes": sum(weights.values()),
        "kernels": dict(Counter(kernel.family for kernel in plan.kernels)),
        "eager_steps": dict(eager),
    }


def saved_text(data: dict[str, Any]) -> str:
    inputs = ", ".join(f"{name}: {value}" for name, value in data["inputs"].items())
    kernels = ", ".join(f"{count} {family}" for family, count in data["kernels"].items())
    eager = ", ".join(f"{count} × {target}" for target, count in data["eager_steps"].items())
    return "\n".join([
        f"{data['file']}",
        f"  inputs            {inputs}",
        f"  weights           {data['weights_bytes'] / 1e6:.1f} MB",
        f"  kernels           {kernels or 'none'}",
        f"  calls of PyTorch  {eager or 'none'}",
    ])  # fmt: skip
