"""The options `dump` and `dump_assembly`: a file for every stage and every kernel of the plan."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import ingot
from ingot.codegen.jit import listing
from ingot.codegen.jit.listing import listing_of
from ingot.plan.ir import EagerControlFlow, Plan, walk
from ingot.plan.text import parse
from ingot.stages import Compiled
from tests.plans import plan_of

Case = Callable[[], tuple[Callable[..., Any], tuple[Tensor, ...]]]
needs_disassembler = pytest.mark.skipif(
    listing.disassembler() is None, reason="neither objdump nor llvm-objdump is installed"
)


def feed_forward() -> tuple[Callable[..., Any], tuple[Tensor, ...]]:
    layers = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.LayerNorm(256))
    return layers.eval(), (torch.randn(32, 64),)


def images() -> tuple[Callable[..., Any], tuple[Tensor, ...]]:
    layers = nn.Sequential(nn.Conv2d(16, 32, 3), nn.ReLU(), nn.Conv2d(32, 32, 1))
    return layers.eval(), (torch.randn(1, 16, 12, 12),)


def attention() -> tuple[Callable[..., Any], tuple[Tensor, ...]]:
    return F.scaled_dot_product_attention, tuple(torch.randn(1, 2, 8, 64) for _ in range(3))


def cache() -> tuple[Callable[..., Any], tuple[Tensor, ...]]:
    def update(keys: Tensor, place: Tensor, new: Tensor) -> Tensor:
        return keys.index_copy(0, place, new) @ new.t()

    return update, (torch.randn(8, 4), torch.tensor([2]), torch.randn(1, 4))


def branching() -> tuple[Callable[..., Any], tuple[Tensor, ...]]:
    """The plan of a body has kernels of its own."""

    def function(x: Tensor) -> Tensor:
        def in_order(x: Tensor) -> Tensor:
            return (x.sin() * 3).sort().values.exp()

        return torch.cond(x.sum() > 0, in_order, torch.cos, (x,))

    return function, (torch.randn(16),)


CASES = [feed_forward, images, attention, cache, branching]


def dumped(make: Case, folder: Path, **options: Any) -> tuple[Compiled, dict[str, str]]:
    """The compiled program, and the texts of its files by their names without the number."""
    f, args = make()
    options = {"dump": str(folder), "strict": True, "tune": 0.0, **options}
    with torch.no_grad():
        exe = ingot.compile(f, args, options=options)
    return exe.compiled, {path.name[4:]: path.read_text() for path in folder.iterdir()}


def kernels_of(plan: Plan) -> set[str]:
    """Their names, those of nested plans included."""
    nested = [
        body for op in walk(plan.ops) if isinstance(op, EagerControlFlow) for body in op.bodies
    ]
    own = {kernel.name for kernel in plan.kernels}
    return own.union(*map(kernels_of, nested))


def function_of(compiled: Compiled, kernel: str) -> str:
    from ingot.codegen.jit.native import compiled_function

    assert compiled.resources is not None
    found = compiled_function(compiled.resources.kernels[kernel].address)
    assert found is not None
    return found[1]


@pytest.mark.parametrize("make", CASES)
def test_every_kernel_of_the_plan_has_its_mlir(make: Case, tmp_path: Path) -> None:
    from torch_mlir import ir

    compiled, files = dumped(make, tmp_path)
    kernels = kernels_of(plan_of(compiled))
    assert kernels and {f"{kernel}.mlir" for kernel in kernels} <= files.keys()
    for kernel in kernels:
        assert f"@{function_of(compiled, kernel)}(" in files[f"{kernel}.mlir"]
    with ir.Context() as context:
        context.enable_multithreading(False)
        for name, text in files.items():
            if name.endswith(".mlir"):
                assert ir.Module.parse(text).operation.verify()
    assert not any(name.endswith(".s") for name in files)


@pytest.mark.parametrize("make", CASES)
def test_the_plan_parses_back(make: Case, tmp_path: Path) -> None:
    compiled, files = dumped(make, tmp_path)
    assert parse(files["plan.txt"]) == compiled.plan
    assert files["plan_journal.txt"].startswith("fuse_epilogues: ")


def test_functions_of_other_modules_have_files(tmp_path: Path) -> None:
    _, files = dumped(feed_forward, tmp_path)
    called = {name for text in files.values() for name in re.findall(r"@(ingot_\w{32}_\w+)", text)}
    assert called and {f"{name}.mlir" for name in called} <= files.keys()


def test_tiles_of_convolutions_have_files(tmp_path: Path) -> None:
    _, files = dumped(images, tmp_path)
    tiles = [text for name, text in files.items() if re.match(r"ingot_\w{32}_\w+\.mlir", name)]
    assert tiles and any("vector<" in text for text in tiles)


def test_a_listing_leaves_out_the_other_kernels_of_its_module(tmp_path: Path) -> None:
    def two(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return x.exp(), y.tanh()

    compiled, files = dumped(lambda: (two, (torch.randn(40), torch.randn(7, 9))), tmp_path)
    first, second = (function_of(compiled, kernel.name) for kernel in plan_of(compiled).kernels)
    owners = [[f"@{name}(" in text for text in files.values()] for name in (first, second)]
    assert [sum(each) for each in owners] == [1, 1]


@needs_disassembler
@pytest.mark.parametrize("make", CASES)
def test_assembly(make: Case, tmp_path: Path) -> None:
    compiled, files = dumped(make, tmp_path, dump_assembly=True)
    mlir = {name.removesuffix(".mlir") for name in files if name.endswith(".mlir")}
    assert {name.removesuffix(".s") for name in files if name.endswith(".s")} == mlir
    for kernel in kernels_of(plan_of(compiled)):
        assert f"{function_of(compiled, kernel)}:\n" in files[f"{kernel}.s"]
        assert re.search(r"\bret", files[f"{kernel}.s"])


@needs_disassembler
def test_assembly_has_vector_instructions(tmp_path: Path) -> None:
    compiled, files = dumped(feed_forward, tmp_path, dump_assembly=True)
    loops = [name for name in kernels_of(plan_of(compiled)) if name.startswith("loops.")]
    tiles = [name.removesuffix(".s") for name in files if name.endswith("tile6.s")]
    assert loops and tiles
    for name in (*loops, *tiles):
        assert re.search(r"%[xyz]mm\d+", files[f"{name}.s"])


def test_without_a_disassembler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    f, args = feed_forward()
    options = {"dump": str(tmp_path), "dump_assembly": True}
    told = "objdump and llvm-objdump are not on PATH; the kernels' objects are written instead"
    with pytest.warns(UserWarning, match=told), torch.no_grad():
        exe = ingot.compile(f, args, options=options)
    for kernel in plan_of(exe.compiled).kernels:
        assert (tmp_path / f"000.{kernel.name}.o").read_bytes().startswith(b"\x7fELF")
    assert not list(tmp_path.glob("*.s"))


def test_code_that_ingot_did_not_compile_has_no_listing() -> None:
    assert listing_of(1) is None
