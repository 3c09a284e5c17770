"""`ingot doctor`: what ingot found on this machine."""

from __future__ import annotations

import importlib.metadata
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

import click

from ingot.cli.words import JSON

SYMBOLS = ("sgemm_", "cblas_sgemm_pack", "GOMP_parallel", "Sleef_expf16_u10")
"""C symbols of PyTorch's libraries that generated code calls if they are found."""

EXTRAS = {
    "iree-base-compiler": "iree",
    "iree-base-runtime": "iree",
    "transformers": "hf",
    "onnxruntime": "bench",
    "openvino": "bench",
    "pillow": "plots",
}
"""Optional packages and the extra of ingot that installs each."""

VECTOR_FLAGS = ("sse4_2", "avx", "avx2", "fma", "f16c", "avx512", "avx_vnni", "amx")
"""Prefixes of the CPU flags for vector extensions."""


@dataclass(frozen=True)
class Finding:
    """One line of `ingot doctor`."""

    name: str
    value: str
    trouble: str = ""
    """The problem and its fix; empty if there is none."""
    fatal: bool = False
    """ingot cannot work until it is fixed."""


@click.command()
@JSON
def doctor(as_json: bool) -> None:
    """Show what ingot found on this machine and what is missing.

    The exit code is 1 if ingot cannot work.
    """
    findings = [*_packages(), *_backend(), *_machine(), _cache(), *_extras()]
    if as_json:
        click.echo(json.dumps([asdict(finding) for finding in findings]))
    else:
        _print(findings)
    if any(finding.fatal for finding in findings):
        raise SystemExit(1)


def _print(findings: Sequence[Finding]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(show_header=False, box=None)
    for finding in findings:
        colour = "red" if finding.fatal else "yellow" if finding.trouble else "green"
        mark = "✗" if finding.fatal else "!" if finding.trouble else "✓"
        text = " — ".join(part for part in (finding.value, finding.trouble) if part)
        table.add_row(f"[{colour}]{mark}[/]", finding.name, escape(text))
    Console().print(table)


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
    yield Finding("CPU", cpu_model())
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


def cpu_model() -> str:
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
