"""Kernels: eager, Inductor and ingot, measured in turns in one run, checked against eager first.

Prints one table of `kernel_cases.cases()`; `--out PATH` writes it to PATH.md and PATH.json as well.
Inductor's and ingot's code is called through torch.compile, so both pay for the same guards. The
guards alone are measured with a backend that does nothing, each time after the kernel, and the
kernels alone with `ingot.compile`. Everything runs under no_grad. Every value is a median of
interleaved rounds; the roofline is a copy of as many bytes, measured in the same rounds.
"""

from __future__ import annotations

import fnmatch
import os
import statistics
import sys
import time
import types
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")  # read when torch loads

import click
import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

import ingot
import kernel_cases
from ingot.bench.caches import forget_tuning
from ingot.bench.timing import calls_per_sample, timed_ms
from ingot.bench.workers import Prepared, Ready
from kernel_cases import Case
from kernel_report import AHEAD, GUARDS, Result, as_json, as_markdown, summary
from provenance import provenance

BACKENDS = ("inductor", "ingot")
SHORTEST_SAMPLE_S = 5e-4  # well below a scheduler's time slice, so that most samples run alone
LONGEST_CASE_S = 6.0
TOLERANCE = {torch.bfloat16: 2e-2, torch.float32: 2e-5}


def nothing(gm: torch.fx.GraphModule, example_inputs: list[Any]) -> Callable[..., Any]:
    """A backend whose code only returns preallocated results."""
    results = [torch.empty(())] * len(tree_leaves(gm.graph.output_node().args))
    return lambda *inputs: results


def compiled(case: Case, backend: str | Callable[..., Any]) -> Callable[..., Any]:
    """The case's function with its own code object, and so its own Dynamo cache."""
    function = case.function
    if not isinstance(function, types.FunctionType):
        builtin = function

        def function(*tensors: Tensor) -> Any:
            return builtin(*tensors)

    name = f"{case.name}_{backend if isinstance(backend, str) else backend.__name__}"
    fresh = types.FunctionType(
        function.__code__.replace(co_name=name),
        function.__globals__,
        name,
        function.__defaults__,
        function.__closure__,
    )
    fresh.__kwdefaults__ = function.__kwdefaults__
    return torch.compile(fresh, backend=backend)  # as users do; `dynamic=` costs 4 µs per call


def ahead(case: Case) -> Callable[..., Any]:
    return ingot.compile(case.function, inputs_of(case))


def prepare_ahead(label: str, folder: Path) -> Prepared:
    """The job of a worker that times one kernel."""
    case = kernel_cases.case_named(label)
    inputs = inputs_of(case)
    function = ahead(case)
    if problem := difference(function, results_of(case.function, inputs), case):
        raise ArithmeticError(problem)
    return lambda: function(*inputs), Ready()


def results_of(function: Callable[..., Any], inputs: tuple[Tensor, ...]) -> list[Tensor]:
    """The results, and the inputs after the call."""
    own = [tensor.clone() for tensor in inputs]
    returned = function(*own)
    return [t for t in tree_leaves(returned) if isinstance(t, Tensor)] + own


def difference(function: Callable[..., Any], expected: list[Tensor], case: Case) -> str:
    """The error of the compiled function, or an empty string."""
    inputs = inputs_of(case)
    try:
        got = results_of(function, inputs)
        again = results_of(function, inputs)
    except Exception as error:
        return f"{type(error).__name__}: {str(error).strip().splitlines()[0][:160]}"
    for results in (got, again):
        for actual, want in zip(results, expected, strict=True):
            if actual.dtype != want.dtype or actual.shape != want.shape:
                return f"{actual.dtype} {tuple(actual.shape)}, eager {want.dtype}"
            if not want.is_floating_point():
                if not torch.equal(actual, want):
                    return "integers differ from eager's"
                continue
            distance = (actual.double() - want.double()).abs().max().item()
            scale = max(want.double().abs().max().item(), 1e-3)
            if not distance <= TOLERANCE[want.dtype] * scale:
                return f"differs from eager by {distance:.2g} at scale {scale:.2g}"
    return ""


def inputs_of(case: Case) -> tuple[Tensor, ...]:
    torch.manual_seed(0)
    return case.inputs(case.shape, case.dtype)


def bytes_moved(inputs: tuple[Tensor, ...], case: Case) -> int:
    """Each input read once, each result written once; tensors changed in place, both."""
    before = [tensor._version for tensor in inputs]
    returned = case.function(*inputs)
    outputs = [t for t in tree_leaves(returned) if isinstance(t, Tensor)]
    changed = [t for t, version in zip(inputs, before, strict=True) if t._version != version]
    read = list(inputs)
    if case.name in ("embedding", "index_select", "gather"):
        read = [inputs[1], outputs[0]]  # only the gathered elements are read
    return sum(t.nbytes for t in [*read, *outputs, *changed])


def medians_us(contenders: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Microseconds per call. In each round every contender is called for a few milliseconds, after
    as many that do not count, so that none starts in the caches that another left, or with a second
    thread that fell asleep meanwhile. The order changes from round to round."""
    counts = {}
    for name, call in contenders.items():
        call()
        call()
        counts[name] = calls_per_sample(call, SHORTEST_SAMPLE_S)
    samples: dict[str, list[float]] = {name: [] for name in contenders}
    start = time.perf_counter()
    names = list(contenders)
    for done in range(rounds):
        first = done % len(names)
        for name in names[first:] + names[:first]:
            timed_ms(contenders[name], max(2, counts[name]))
            samples[name].append(timed_ms(contenders[name], counts[name]) * 1e3)
        if done >= 8 and time.perf_counter() - start > LONGEST_CASE_S:
            break
    return {name: statistics.median(values) for name, values in samples.items()}


def measure(case: Case, backends: tuple[str, ...], rounds: int) -> Result:
    torch._dynamo.reset()
    inputs = inputs_of(case)
    expected = results_of(case.function, inputs)
    contenders: dict[str, Callable[[], object]] = {"eager": partial(case.function, *inputs)}
    wrong: dict[str, str] = {}
    for backend in (*backends, AHEAD):
        function = ahead(case) if backend == AHEAD else compiled(case, backend)
        if problem := difference(function, expected, case):
            wrong[backend] = problem
        else:
            contenders[backend] = partial(function, *inputs)
    moved = bytes_moved(inputs, case)
    half = max(moved // 2, 1)
    source, target = torch.zeros(half, dtype=torch.uint8), torch.zeros(half, dtype=torch.uint8)
    contenders["copy"] = lambda: target.copy_(source)
    us = medians_us(contenders, rounds)
    us[GUARDS] = guards_us(case, inputs, contenders.get(AHEAD, contenders["eager"]), rounds)
    return Result(case.label, case.bound, moved, us, wrong)


def guards_us(
    case: Case, inputs: tuple[Tensor, ...], kernel: Callable[[], object], rounds: int
) -> float:
    """The cost of torch.compile's guards alone, in the caches that the kernel leaves."""
    guarded = compiled(case, nothing)
    guarded(*inputs)
    samples = []
    for _ in range(3 * rounds):
        kernel()
        samples.append(timed_ms(lambda: guarded(*inputs)) * 1e3)
    return statistics.median(samples)


@click.command()
@click.option("--only", default="*", help="Shell pattern on the row's label.")
@click.option("--quick", is_flag=True, help="One size for each kernel, few rounds.")
@click.option("--rounds", default=0, help="Rounds for each row; 0 = 41, or 9 when quick.")
@click.option("--out", type=click.Path(path_type=Path), help="Write PATH.md and PATH.json.")
@click.option("--backends", default=",".join(BACKENDS), show_default=True)
@torch.no_grad()
def main(only: str, quick: bool, rounds: int, out: Path | None, backends: str) -> None:
    """Measure kernels against eager and Inductor."""
    forget_tuning()
    torch.set_num_threads(2)
    pattern = only if any(c in only for c in "*?[") else f"*{only}*"
    results = []
    for case in kernel_cases.cases(quick=quick):
        if not fnmatch.fnmatch(case.label, pattern):
            continue
        result = measure(case, tuple(backends.split(",")), rounds or (9 if quick else 41))
        results.append(result)
        click.echo(f"{len(results):3} {result.line()}", err=True)
    text = f"{provenance()}\n{as_markdown(results)}"
    click.echo(text)
    if out:
        out.with_suffix(".md").write_text(text)
        out.with_suffix(".json").write_text(as_json(results))
    if summary(results).wrong:
        sys.exit(1)


if __name__ == "__main__":
    main()
