"""The command line: `ingot <command>`. Each command is a thin layer over the Python function of the
same name, and imports what it needs when it runs.
"""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Iterator
from dataclasses import dataclass

import click

from ingot.cli.cache import cache
from ingot.version import __version__

SYMBOLS = ("sgemm_", "cblas_sgemm_pack", "GOMP_parallel", "Sleef_expf16_u10")
"""C symbols of PyTorch's libraries that generated code calls if they are found."""

EXTRAS = {
    "iree-base-compiler": "iree",
    "iree-base-runtime": "iree",
    "transformers": "hf",
    "onnxruntime": "bench",
    "openvino": "bench",
}
"""Optional packages and the extra of ingot that installs each."""

VECTOR_FLAGS = ("sse4_2", "avx", "avx2", "fma", "f16c", "avx512", "avx_vnni", "amx")
"""Prefixes of the CPU flags for vector extensions."""

INPUT = click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="SHAPE[:DTYPE]",
    help="A random argument, such as 8x128 or 8x128:int64; repeat it for each argument.",
)


@dataclass(frozen=True)
class Finding:
    """One line of `ingot doctor`."""

    name: str
    value: str
    trouble: str = ""
    """The problem and its fix; empty if there is none."""
    fatal: bool = False
    """ingot cannot work until it is fixed."""


@click.group()
@click.version_option(__version__, prog_name="ingot")
def main() -> None:
    """A compiler for PyTorch programs."""


main.add_command(cache)


@main.command()
def doctor() -> None:
    """Show what ingot found on this machine and what is missing."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console()
    table = Table(show_header=False, box=None)
    findings = [*_packages(), *_backend(), *_machine(), _cache(), *_extras()]
    for finding in findings:
        colour = "red" if finding.fatal else "yellow" if finding.trouble else "green"
        mark = "✗" if finding.fatal else "!" if finding.trouble else "✓"
        text = " — ".join(part for part in (finding.value, finding.trouble) if part)
        table.add_row(f"[{colour}]{mark}[/]", finding.name, escape(text))
    console.print(table)
    if any(finding.fatal for finding in findings):
        raise SystemExit(1)


@main.command()
@click.argument("target", metavar="MODULE:CALLABLE")
@INPUT
@click.option("--grad", is_flag=True, help="Also capture the values that a backward needs.")
@click.option("--width", default=100, show_default=True, help="Width of the text in columns.")
def explain(target: str, inputs: tuple[str, ...], grad: bool, width: int) -> None:
    """Show what is fused, called and left to PyTorch, and why.

    CALLABLE is a function or module to be called with the --input tensors, or without --input a
    function that returns what to explain: (model, args) or (model, args, kwargs).
    """
    import torch

    from ingot.explain.listen import explain as explained
    from ingot.explain.target import find_target, workload_of

    model, args, kwargs = workload_of(find_target(target), target, inputs)
    with torch.set_grad_enabled(grad):
        click.echo(explained(model, args, kwargs).as_text(width))


@main.command()
@click.argument("target", metavar="MODULE:CALLABLE")
@click.option("--to", "dialect", required=True, help="torch, linalg, tosa, stablehlo or iree.")
@click.option("-o", "--output", help="Output file; without it the text is printed.")
@INPUT
@click.option("--train", is_flag=True, help="Export the training step; the model returns a loss.")
@click.option("--partial", is_flag=True, help="Keep ops that the dialect cannot take as calls.")
@click.option("--verify", is_flag=True, help="Run the result and compare it with eager.")
def export(
    target: str,
    dialect: str,
    output: str | None,
    inputs: tuple[str, ...],
    train: bool,
    partial: bool,
    verify: bool,
) -> None:
    """Write a model as MLIR, its weights beside it.

    MODULE may be a file such as model.py. CALLABLE is a function or module to be called with the
    --input tensors, or without --input a function that returns what to export: (model, args) or
    (model, args, kwargs).
    """
    from ingot.cli.export import ExportWords, export_command
    from ingot.explain.target import find_target, workload_of

    workload = workload_of(find_target(target), target, inputs)
    words = ExportWords(dialect, output, train, partial, verify)
    if not export_command(*workload, words):
        raise SystemExit(1)


@main.command()
@click.argument("target", metavar="MODULE:OP")
@INPUT
@click.option("--budget", type=float, help="Seconds that measuring may take.")
@click.option("--again", is_flag=True, help="Measure again, ignoring results in the tuning file.")
@click.option("--report", is_flag=True, help="Show all measurements.")
@click.option("--plot", type=click.Path(), help="Write an SVG of time against size.")
def tune(
    target: str,
    inputs: tuple[str, ...],
    budget: float | None,
    again: bool,
    report: bool,
    plot: str | None,
) -> None:
    """Measure the implementations of a dispatched operation.

    Without --input the operation's own generator makes the arguments.
    """
    from ingot.cli.dispatch import tune_command

    click.echo(tune_command(target, inputs, budget, again, report, plot))


def _packages() -> Iterator[Finding]:
    """The packages that ingot requires, and whether their versions match."""
    wanted = _requirements()
    for name in ("ingot", "torch", "torch-mlir"):
        found = _version(name)
        want = wanted.get(name, "")
        if not found:
            yield Finding(name, "missing", f'install it: pip install "{name}{want}"', fatal=True)
        elif want and found.split("+")[0] != want.removeprefix("=="):
            yield Finding(name, found, f"ingot needs {want}", fatal=True)
        else:
            yield Finding(name, found)


def _requirements() -> dict[str, str]:
    """Exactly pinned dependencies of ingot: name to `==version`."""
    try:
        lines = importlib.metadata.requires("ingot") or []
    except importlib.metadata.PackageNotFoundError:
        return {}
    plain = [line.replace(" ", "") for line in lines if ";" not in line]
    pinned = [line.partition("==") for line in plain if "==" in line]
    return {name: f"=={version}" for name, _, version in pinned}


def _backend() -> Iterator[Finding]:
    """Whether torch.compile finds ingot by its name."""
    group = importlib.metadata.entry_points(group="torch_dynamo_backends")
    for entry in group.select(name="ingot"):
        try:
            entry.load()
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            yield Finding("torch.compile backend", entry.value, why, fatal=True)
        else:
            yield Finding("torch.compile backend", entry.value)
        return
    yield Finding("torch.compile backend", "not registered", "reinstall ingot", fatal=True)


def _machine() -> Iterator[Finding]:
    """The CPU, its vector extensions, the threads, and the C symbols of PyTorch's libraries."""
    import torch

    from ingot.linkage import has_symbol
    from ingot.machine import this_machine

    machine = this_machine()
    flags = sorted(flag for flag in machine.features if flag.startswith(VECTOR_FLAGS))
    yield Finding("CPU", _cpu_model())
    yield Finding("vectors", f"{machine.vector_bits} bits ({' '.join(flags) or 'no flags found'})")
    yield Finding("threads", f"{torch.get_num_threads()} of {os.cpu_count()} cores")
    limit = os.environ.get("ONEDNN_MAX_CPU_ISA", "")
    if any(flag.startswith("amx") for flag in flags) and not limit:
        yield Finding(
            "AMX",
            "advertised",
            "if bfloat16 matmuls end with SIGILL, set ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16",
        )
    elif limit:
        yield Finding("ONEDNN_MAX_CPU_ISA", limit)
    yield _weight_guard()
    for symbol in SYMBOLS:
        if has_symbol(symbol):
            yield Finding(symbol, "found")
        else:
            yield Finding(symbol, "missing", "ops that need it run in PyTorch's own kernels")


def _weight_guard() -> Finding:
    from ingot.codegen.support.write_tracking import open_tracker

    tracker = open_tracker()
    if tracker is None:
        return Finding(
            "weight guard",
            "by all bytes",
            "no write tracking by the kernel (Linux 6.7, userfaultfd): every call reads all "
            'weights that are packed; options={"weight_guard": "sampled"} reads 128 bytes of each',
        )
    tracker.close()
    return Finding("weight guard", "by the kernel's write tracking")


def _cache() -> Finding:
    from ingot.cache import transfer

    found = transfer.stats()
    if not found.folder:
        return Finding("cache", "none on disk", f"every process compiles anew: {found.trouble}")
    return Finding("cache", f"{found.folder}, {found.bytes >> 20} of {found.limit >> 20} MB")


def _extras() -> Iterator[Finding]:
    for name, extra in EXTRAS.items():
        found = _version(name)
        hint = "" if found else f'optional: pip install "ingot[{extra}]"'
        yield Finding(name, found or "not installed", hint)


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _cpu_model() -> str:
    """The model's name as the operating system gives it."""
    import platform

    try:
        with open("/proc/cpuinfo") as file:
            names = (
                line.split(":", 1)[1].strip() for line in file if line.startswith("model name")
            )
            return next(names, "") or platform.machine()
    except OSError:
        return platform.processor() or platform.machine()


if __name__ == "__main__":
    main()
