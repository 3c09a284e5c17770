"""`checks="bounds"`: programs of every kernel family give the same results, and an access that is
off by one raises without touching memory. Faults are injected in subprocesses, because the programs
of a process share kernels."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.export import Dim

import ingot
from ingot.codegen.jit.native import recording
from ingot.codegen.loops.kernels import draft_kernel
from ingot.codegen.mlir.range_checks import bytes_of_type
from ingot.codegen.support import executor, launcher, weight_guard
from ingot.errors import OptionError
from ingot.fuse.group import fuse
from ingot.machine import targeting, this_machine
from ingot.options import Options

ROOT = Path(__file__).parents[2]
BOUNDS = {"checks": "bounds"}


class Images(nn.Module):
    """Convolutions: 3×3 (Winograd), 1×1, depthwise, strided, transposed; with a pool between."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1),
            nn.Conv2d(16, 24, 1), nn.Conv2d(24, 24, 3, padding=1, groups=24), nn.MaxPool2d(2),
            nn.Conv2d(24, 12, 3, stride=2), nn.ConvTranspose2d(12, 5, 2, 2),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        return F.interpolate(self.layers(x), scale_factor=2.0, mode="bilinear")


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(32)
        self.attend = nn.MultiheadAttention(32, 2, batch_first=True)
        self.up, self.down = nn.Linear(32, 70), nn.Linear(70, 32)

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm(x)
        x = x + self.attend(y, y, y, need_weights=False)[0]
        return x + self.down(F.gelu(self.up(self.norm(x))))


def looked_up(table: Tensor, ids: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    found = F.embedding(ids, table) + x.cumsum(1)
    return found.index_copy(0, torch.tensor([1, 0]), found[:2] * 2), found.argmax(-1)


def halves(x: Tensor, y: Tensor) -> Tensor:
    return torch.cat([x.softmax(-1), F.pad(y.t(), (1, 2))], 0).sum(0)


def programs() -> dict[str, tuple[Callable[..., Any], tuple[Tensor, ...]]]:
    torch.manual_seed(0)
    return {
        "images": (Images().eval(), (torch.randn(2, 3, 18, 22),)),
        "block": (Block().eval(), (torch.randn(3, 19, 32),)),
        "recurrent": (nn.LSTM(8, 12, batch_first=True).eval(), (torch.randn(2, 5, 8),)),
        "looked up": (looked_up, (torch.randn(9, 21), torch.tensor([3, 8, 0]), torch.randn(3, 21))),
        "halves": (halves, (torch.randn(7, 33).bfloat16(), torch.randn(30, 3).bfloat16())),
        "matrices": (lambda a, b: a @ b + 1, (torch.randn(3, 7, 9), torch.randn(3, 9, 5))),
    }


@pytest.mark.parametrize("name", ["block", "looked up", "halves", "matrices"])
def test_equals_eager(name: str) -> None:
    function, args = programs()[name]
    compiled = ingot.compile(function, args, options=BOUNDS)
    with torch.no_grad():
        torch.testing.assert_close(compiled(*args), function(*args), rtol=1e-2, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["images", "block", "recurrent", "matrices"])
def test_equals_eager_at_other_sizes(name: str) -> None:
    function, args = programs()[name]
    compiled = torch.compile(function, backend="ingot", options=BOUNDS, dynamic=True)
    with torch.no_grad():
        for count in (args[0].size(0), 4, 2):
            given = [torch.cat([x] * count)[:count] for x in args]
            torch.testing.assert_close(compiled(*given), function(*given), rtol=1e-2, atol=1e-4)


FAULTS = {
    "a guard": """
from ingot.codegen.loops import nest
nest.NestWriter._under = lambda self, condition, expr: self.value(expr)
function = lambda x, y: torch.cat([x[:, :1], y.permute(0, 2, 3, 1).reshape(1, -1, 32)], 1)
image = torch.randn(1, 32, 4, 4).contiguous(memory_format=torch.channels_last)
args = torch.randn(1, 17, 32), image
""",
    "an index": """
from ingot.fuse import index as ix, loops
linear = ix.linear
loops.ix = type("ix", (), {**vars(ix), "linear": lambda i, s, o=0: linear(i, s, o) + 1})
function, args = lambda x: x * 2, (torch.randn(5, 7),)
""",
    "a gather": """
from ingot.codegen.loops import nest
nest.NestWriter._checked = lambda self, e: self.b.cast(self.value(e.value), torch.int64)
function, args = lambda x, i: x[i] + 1, (torch.randn(40), torch.tensor([1, 39, 40] * 20))
""",
    "rows of a product": """
from ingot.kernels.matmul import claim as matmuls
made = matmuls.Matmul.__init__
def wrong(self, node, left, addend, sizes, rows, weight):
    made(self, node, left, addend, (sizes[0] + 1, *sizes[1:]), rows, weight)
matmuls.Matmul.__init__ = wrong
function, args = torch.nn.Linear(9, 33), (torch.randn(7, 9),)
""",
    "keys of an attention": """
from ingot.kernels.attention import claim as attentions
sizes = attentions.AttentionClaim.sizes
def wrong(self, few, work):
    found = sizes(self, few, work)
    return [*found[:3], found[3] + 1, *found[4:]]
attentions.AttentionClaim.sizes = wrong
function = torch.nn.functional.scaled_dot_product_attention
args = tuple(torch.randn(1, 2, 5, 16) for _ in range(3))
""",
    "pixels of a convolution": """
from dataclasses import replace
from ingot.kernels.convolution import geometry
parts = geometry.Geometry.parts
def wrong(self):
    batch, high, *rest = self.counts
    return parts(replace(self, counts=(batch, high + 1, *rest)))
geometry.Geometry.parts = wrong
function, args = torch.nn.Conv2d(3, 8, 3, stride=2).eval(), (torch.randn(1, 3, 9, 9),)
""",
}
FAULTY = """
import torch, ingot
{fault}
try:
    with torch.no_grad():
        ingot.compile(function, args, options={{"checks": "bounds"}})(*args)
except ingot.IngotError as error:
    print(type(error).__name__, error)
"""


@pytest.mark.parametrize(
    "name",
    [
        n if n in ("a guard", "a gather") else pytest.param(n, marks=pytest.mark.slow)
        for n in FAULTS
    ],
)
def test_an_injected_fault_is_named(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FAULTY.format(fault=FAULTS[name])],
        cwd=ROOT, env=os.environ, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.startswith("BoundsError generated code left its memory: kernel `"), (
        done.stdout + done.stderr[-3000:]
    )


def test_the_option_has_two_values() -> None:
    with pytest.raises(OptionError):
        ingot.compile(torch.neg, (torch.ones(1),), options={"checks": "everything"})


VALUE = r"(%[\w#]+)"
SAFE = re.compile(
    rf"{VALUE} = (?:llvm\.call @bounds_|llvm\.alloca |llvm\.getelementptr %frame\[\d+\])"
)
"""Results of checks, stack memory, and constant offsets in the call frame."""
SAFE_LANES = re.compile(rf"{VALUE} = llvm\.insertelement {VALUE}, %[\w#]+\[")
SAFE_LENGTH = re.compile(rf"{VALUE} = arith\.select %[\w#]+, %[\w#]+, %c\d+ : i1, i64")
TOUCHES = re.compile(r"llvm\.(?:load|store|intr\.m|atomicrmw|cmpx)|[sd]gemm_\(")
ACCESS = re.compile(
    rf"llvm\.(?:load (?:volatile )?|intr\.masked\.(?:load|gather) |atomicrmw \w+ "
    rf"|(?:store|intr\.masked\.\w+) %[\w#]+, ){VALUE}"
)
LENGTH = re.compile(rf'"llvm\.intr\.mem\w+"\(%[\w#]+, %[\w#]+, {VALUE}\)')


def unchecked(text: str) -> list[str]:
    """The ops of a function that access memory at an address that no check gave."""
    safe, found, before = {"%frame"}, [], ""
    for line in text.splitlines():
        if "llvm.func" in line:
            safe = {"%frame"}
        if (made := SAFE.search(line) or SAFE_LENGTH.search(line)) is not None:
            safe.add(made[1])
        elif (lanes := SAFE_LANES.search(line)) is not None and lanes[2] in safe:
            safe.add(lanes[1])
        elif TOUCHES.search(line):
            at = LENGTH.search(line) or ACCESS.search(line)
            if at is None and "gemm_(" in line and "scf.if" in before:
                continue
            if at is None or at[1] not in safe:
                found.append(line.strip())
        before = line
    return found


@pytest.mark.parametrize(
    "op",
    [
        "%1 = llvm.load volatile %0 {alignment = 4 : i64} : !llvm.ptr -> f32",
        "llvm.store %1, %0 : f32, !llvm.ptr",
        "llvm.intr.masked.scatter %1, %0, %2 {alignment = 4 : i32} : vector<4xf32>",
        '"llvm.intr.memset"(%0, %1, %2) <{isVolatile = false}> : (!llvm.ptr, i8, i64) -> ()',
        '"llvm.intr.memmove"(%0, %1, %2) : ()',
        "%1 = llvm.atomicrmw add %0, %2 acq_rel : !llvm.ptr, i64",
        "llvm.call @sgemm_(%0, %1) : (!llvm.ptr, !llvm.ptr) -> ()",
    ],
)
def test_the_audit_finds_an_access_without_a_check(op: str) -> None:
    assert unchecked(f"  llvm.func internal @f(%0: !llvm.ptr) {{\n    {op}") == [op]


@pytest.mark.parametrize(
    "name",
    [n if n == "looked up" else pytest.param(n, marks=pytest.mark.slow) for n in programs()],
)
def test_every_access_of_a_kernel_is_checked(name: str) -> None:
    function, args = programs()[name]
    with recording() as modules, torch.no_grad():
        ingot.compile(function, args, options=BOUNDS)(*args)
    own = [executor.native_code(), launcher.native_code(), weight_guard.native_code()]
    runtime = {native.key for native in own if native is not None}
    kernels = [n for n in modules.values() if n.key not in runtime and "enter" not in n.addresses]
    texts = {f: t for native in kernels for f, t in native.source.functions.items()}
    checked = [text for function, text in texts.items() if not function.startswith("bounds_")]
    assert sum(len(re.findall("@bounds_[cw]", text)) for text in checked) > 3
    assert [line for text in checked for line in unchecked(text)] == []


def test_only_the_writer_of_memory_has_the_text_of_accesses() -> None:
    source = Path(ingot.__file__).parent
    rooms = (source / room for room in ("codegen", "kernels", "ops", "runtime"))
    files = [file for room in rooms for file in room.rglob("*.py")]
    named = re.compile(r'"[^"]*llvm\.(?:load|store|intr\.m|atomicrmw)[^"]*\{|"llvm\.intr\.mem')
    found = {file.name for file in files if named.search(file.read_text())}
    assert found <= {"memory.py", "range_checks.py"}, found


def test_the_text_of_a_kernel_does_not_depend_on_earlier_ones() -> None:
    """Checked kernels are found by their text in the cache of an earlier process."""
    options = Options()

    def text(function: Callable[[Tensor], Tensor]) -> str:
        program = ingot.export(function, (torch.randn(33, 5),), level="core")
        (region,) = fuse(program, options).regions()
        return draft_kernel(region, options).text

    with targeting(replace(this_machine(), range_checks=True)):
        texts = [text(f) for f in (torch.exp, lambda x: x.t() + 1, torch.exp)]
    assert texts[0] == texts[2] != texts[1]
    assert all("@bounds_check" in each for each in texts)


@pytest.mark.parametrize(
    ("kind", "size"), [("f32", 4), ("i1", 1), ("vector<32xi1>", 4), ("vector<8xf64>", 64)]
)
def test_bytes_of_types(kind: str, size: int) -> None:
    assert bytes_of_type(kind) == size


def test_dynamic_sizes_share_one_program() -> None:
    def function(x: Tensor, y: Tensor) -> Tensor:
        return torch.cat([x, y * 2], 0).softmax(0)

    args = torch.randn(3, 5), torch.randn(2, 5)
    shapes = ({0: Dim.AUTO}, {0: Dim.AUTO})
    compiled = ingot.compile(function, args, dynamic_shapes=shapes, options=BOUNDS)
    for m, n in ((3, 2), (1, 9), (40, 1)):
        given = torch.randn(m, 5), torch.randn(n, 5)
        torch.testing.assert_close(compiled(*given), function(*given))
