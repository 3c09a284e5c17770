"""Kernels that stay below a copy's speed, compared with the same kernels written by hand in C.

The rows are the memory-bound ones of `kernel_cases`. `by_hand.c` is compiled with the system's C
compiler; only this measurement needs one. Both are called without torch.compile's guards; the C
code writes to memory that it is given and runs on PyTorch's own threads. Every result is compared
with eager's before anything is timed.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import tempfile
from collections.abc import Callable
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
from ingot.bench.table import aligned
from ingot.bench.workers import THREADS
from ingot.linkage import openmp_library
from kernel_cases import Case
from kernels import bytes_moved, inputs_of, medians_us
from provenance import provenance

SOURCE = Path(__file__).parent / "by_hand.c"
FLAGS = ("-O3", "-march=native", "-mprefer-vector-width=512", "-fopenmp", "-fPIC")
Call = Callable[[ctypes.CDLL, tuple[Tensor, ...], list[Tensor]], None]

BY_HAND: dict[str, Call] = {
    "mul_add": lambda c, x, o: c.mul_add(*at(x), *at(o), n(x[0].numel())),
    "layer_norm": lambda c, x, o: c.layer_norm(*at(x), *at(o), *sizes(x[0])),
    "group_norm": lambda c, x, o: c.group_norm(
        *at(x), *at(o), n(x[0].size(0)), n(32), n(x[0].size(1) // 32), n(x[0][0, 0].numel())
    ),
    "batch_norm_training": lambda c, x, o: c.batch_norm(
        *at(x), *at(o), *sizes(x[0][:, :, 0, 0]), n(x[0][0, 0].numel())
    ),
    "mean_var": lambda c, x, o: c.var_mean(*at(x), *at(o), *sizes(x[0])),
    "argmax": lambda c, x, o: c.argmax(*at(x), *at(o), *sizes(x[0])),
    "cumsum": lambda c, x, o: c.cumsum(*at(x), *at(o), *sizes(x[0])),
    "transpose": lambda c, x, o: c.transpose(*at(x), *at(o), n(x[0].size(0))),
    "heads_permute": lambda c, x, o: c.heads(*at(x), *at(o), *sizes(x[0])),
    "gather": lambda c, x, o: c.gather(*at(x), *at(o), *sizes(x[0])),
    "index_select": lambda c, x, o: c.index_select(*at(x), *at(o), n(x[1].numel()), *sizes(x[0])),
    "pointwise_chain bfloat16": lambda c, x, o: c.pointwise_chain_bf16(
        *at(x), *at(o), n(x[0].numel())
    ),
    "layer_norm bfloat16": lambda c, x, o: c.layer_norm_bf16(*at(x), *at(o), *sizes(x[0])),
    "rotary bfloat16": lambda c, x, o: c.rotary_bf16(
        *at(x), *at(o), n(x[0].numel() // 64), n(x[0].size(2))
    ),
}
n = ctypes.c_int64


def at(tensors: Any) -> list[ctypes.c_void_p]:
    return [ctypes.c_void_p(tensor.data_ptr()) for tensor in tensors]


def sizes(tensor: Tensor) -> list[ctypes.c_int64]:
    return [n(size) for size in tensor.shape]


def is_half(case: Case) -> bool:
    return case.dtype is torch.bfloat16


def name_of(case: Case) -> str:
    return f"{case.name} bfloat16" if is_half(case) else case.name


def library(folder: Path) -> ctypes.CDLL:
    """The C code, on PyTorch's own threads."""
    threads = openmp_library()
    assert threads is not None, "PyTorch has no OpenMP here"
    ctypes.CDLL(threads._name, ctypes.RTLD_GLOBAL)
    parts = folder / "by_hand.o", folder / "by_hand.so"
    subprocess.run(["cc", *FLAGS, "-c", SOURCE, "-o", parts[0]], check=True)
    subprocess.run(["cc", "-shared", parts[0], "-o", parts[1], "-lm"], check=True)
    return ctypes.CDLL(str(parts[1]))


def measure(case: Case, code: ctypes.CDLL, rounds: int) -> list[str]:
    inputs = inputs_of(case)
    expected = [t.contiguous() for t in tree_leaves(case.function(*inputs))]
    outputs = [torch.zeros_like(t) for t in expected]
    by_hand = BY_HAND[name_of(case)]
    by_hand(code, inputs, outputs)
    compiled = ingot.compile(case.function, inputs)
    for results in (outputs, tree_leaves(compiled(*inputs))):
        for result, want in zip(results, expected, strict=True):
            close: dict[str, Any] = (
                {"rtol": 1e-4, "atol": 1e-4} if case.dtype is torch.float32 else {}
            )
            torch.testing.assert_close(result, want, **close)
    half = bytes_moved(inputs, case) // 2
    source, target = torch.zeros(half, dtype=torch.uint8), torch.zeros(half, dtype=torch.uint8)
    us = medians_us(
        {
            "copy": lambda: target.copy_(source),
            "by hand": lambda: by_hand(code, inputs, outputs),
            "ingot": lambda: compiled(*inputs),
        },
        rounds,
    )
    share = [f"{100 * us['copy'] / us[name]:.0f}" for name in ("by hand", "ingot")]
    times = [f"{us[name]:.1f}" for name in ("copy", "by hand", "ingot")]
    return [case.label, *times, *share, f"{us['by hand'] / us['ingot']:.2f}"]


@click.command()
@click.option("--rounds", default=21)
@click.option("--out", type=click.Path(path_type=Path), help="Write the table to PATH.")
@torch.no_grad()
def main(rounds: int, out: Path | None) -> None:
    """Compare memory-bound kernels with the same kernels written by hand."""
    forget_tuning()
    torch.set_num_threads(THREADS)
    head = ["kernel, dtype, size", "copy µs", "by hand µs", "ingot µs"]
    head += ["by hand, % of copy", "ingot, % of copy", "by hand / ingot"]
    with tempfile.TemporaryDirectory() as folder:
        code = library(Path(folder))
        cases = [*kernel_cases.cases(quick=True), *filter(is_half, kernel_cases.cases())]
        cases = [case for case in cases if name_of(case) in BY_HAND]
        rows = [measure(case, code, rounds) for case in cases]
    text = "\n".join([provenance(), *aligned([head, *rows]), ""])
    click.echo(text)
    if out:
        out.write_text(text)


if __name__ == "__main__":
    main()
