"""A C program built of what `save_c` writes gives eager's results, and statuses for what it was not
made for."""

from __future__ import annotations

import copy
import ctypes
import os
import shutil
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim
from torch.utils import _pytree as pytree

from ingot.deploy.c_functions import RUN
from ingot.deploy.interface import Status
from ingot.machine import machine_levels
from tests.artifact.models import CASES
from tests.deploy.building import Model, build, example, load, needs_cc, saved

pytestmark = needs_cc
LEVELS = ["x86-64-v3", "x86-64-v4"]
SIZES = (1, 7, 100, 2)


def _mlp() -> nn.Module:
    layers = nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 10), nn.Softmax(-1)
    return nn.Sequential(*layers).eval()


def _batches() -> Any:
    return ({0: Dim("batch", max=1000)},)


def _close(found: Tensor, wanted: Tensor) -> None:
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("threads", ["openmp", pytest.param("single", marks=pytest.mark.slow)])
def test_the_example(threads: str, tmp_path: Path) -> None:
    model, x = _mlp(), torch.randn(32, 64)
    main = example(saved(model, [x], tmp_path, threads=threads, name="mlp"), threads)
    x.numpy().tofile(tmp_path / "x.bin")
    done = subprocess.run(
        [main, "weights.bin", "x.bin", "y.bin"], cwd=tmp_path, env={}, capture_output=True,
        text=True,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    found = torch.from_numpy(np.fromfile(tmp_path / "y.bin", dtype=np.float32)).view(32, 10)
    _close(found, model(x))
    done = subprocess.run([main, "x.bin", "x.bin", "y.bin"], cwd=tmp_path, capture_output=True)
    assert (done.returncode, done.stderr) == (
        Status.WEIGHTS, b"mlp: the file does not hold this program's weights\n"
    )  # fmt: skip
    assert len((tmp_path / "main.c").read_text().splitlines()) < 50


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cmake") is None, reason="no cmake")
def test_the_example_with_cmake(tmp_path: Path) -> None:
    model, x = _mlp(), torch.randn(5, 64)
    saved(model, [x], tmp_path)
    for command in (["cmake", "-B", "build"], ["cmake", "--build", "build"]):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert "warning" not in done.stdout + done.stderr
    x.numpy().tofile(tmp_path / "x.bin")
    command = ["build/main", "weights.bin", "x.bin", "y.bin"]
    assert subprocess.run(command, cwd=tmp_path).returncode == 0
    found = torch.from_numpy(np.fromfile(tmp_path / "y.bin", dtype=np.float32)).view(5, 10)
    _close(found, model(x))


def _addresses(tensors: list[Tensor]) -> list[int]:
    return [tensor.data_ptr() for tensor in tensors]


def test_dynamic_sizes_and_statuses(tmp_path: Path) -> None:
    net = _mlp()
    model = load(saved(net, [torch.randn(32, 64)], tmp_path, dynamic_shapes=_batches()))
    for n in SIZES:
        x = torch.randn(n, 64)
        _close(model([x], [n])[0], net(x))
    for n in (0, -1, 1001, 1 << 40, -(1 << 63), (1 << 63) - 1):
        assert model.workspace_size([n])[0] == Status.SIZE
        assert model.call([n], [16, 16], 64, 1 << 62) == Status.SIZE
    x, y = torch.randn(4, 64), torch.zeros(4, 10)
    _, needed = model.workspace_size([4])
    memory = torch.empty(needed + 128, dtype=torch.uint8)
    place = -(-memory.data_ptr() // 64) * 64
    good = _addresses([x, y])
    for pointers, at, room, status in (
        ([0, good[1]], place, needed, Status.ARGUMENT),
        ([good[0], 0], place, needed, Status.ARGUMENT),
        (good, 0, needed, Status.ARGUMENT),
        (good, place + 8, needed, Status.ARGUMENT),
        (good, place, needed - 1, Status.WORKSPACE),
        (good, place, 0, Status.WORKSPACE),
    ):
        assert model.call([4], pointers, at, room) == status
    assert not y.any()
    assert model.call([4], good, place, needed) == Status.OK
    _close(y, net(x))
    model.handle = None
    assert model.workspace_size([4])[0] == Status.ARGUMENT
    assert model.call([4], good, place, needed) == Status.ARGUMENT


def test_weights_of_another_program(tmp_path: Path) -> None:
    result = saved(_mlp(), [torch.randn(3, 64)], tmp_path)
    model = load(result)
    data = (tmp_path / "weights.bin").read_bytes()
    assert len(data) == result.weight_bytes
    at = tmp_path / "damaged.bin"
    for damaged in (b"", data[:-1], data + b"\0", data[:16], b"\0" * len(data)):
        at.write_bytes(damaged)
        status, handle = model.open(at)
        assert (status, handle.value) == (Status.WEIGHTS, None)
    for number in range(32):  # the header
        at.write_bytes(data[:number] + bytes([data[number] ^ 1]) + data[number + 1 :])
        assert model.open(at)[0] == Status.WEIGHTS
    assert model.open(tmp_path / "missing.bin")[0] == Status.FILE
    assert model.open(tmp_path)[0] in (Status.FILE, Status.WEIGHTS)
    assert model.function("open")(None, None) == Status.ARGUMENT


@pytest.mark.slow
def test_weights_are_replaced_by_those_of_another_training(tmp_path: Path) -> None:
    layers = [(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 64)) for _ in range(2)]
    nets, x = [nn.Sequential(*each).eval() for each in layers], torch.randn(3, 64)
    for number in (0, 2):  # at first, equal tensors
        nn.init.zeros_(layers[0][number].bias)
    results = [saved(net, [x], tmp_path / str(k)) for k, net in enumerate(nets)]
    model = load(results[0])
    status, model.handle = model.open(tmp_path / "1" / "weights.bin")
    assert status == Status.OK
    _close(model([x])[0], nets[1](x))


@pytest.mark.skipif(LEVELS[1] not in machine_levels(), reason="no AVX-512 here")
def test_levels_are_chosen_at_run_time(tmp_path: Path) -> None:
    net, x = _mlp(), torch.randn(6, 64)
    result = saved(net, [x], tmp_path, targets=LEVELS)
    model = load(result)
    assert model.function("level")(model.handle) == 4
    results, functions = [model([x])[0]], [_run_function(model)]
    status, model.handle = model.open(tmp_path / "weights.bin", 3)
    assert (status, model.function("level")(model.handle)) == (Status.OK, 3)
    results.append(model([x])[0])
    functions.append(_run_function(model))
    assert functions[0] != functions[1]
    for found in results:
        _close(found, net(x))
    assert model.open(tmp_path / "weights.bin", 2)[0] == Status.CPU


def _run_function(model: Model) -> int:
    """The address of the code that a model runs."""
    return ctypes.c_int64.from_address(model.handle.value + 8 * RUN).value


@pytest.mark.parametrize("threads", ["openmp", pytest.param("single", marks=pytest.mark.slow)])
def test_several_threads_at_once(threads: str, tmp_path: Path) -> None:
    net = _mlp()
    result = saved(net, [torch.randn(32, 64)], tmp_path, dynamic_shapes=_batches(), threads=threads)
    model = load(result, threads)
    failures: list[Exception] = []

    def run(n: int) -> None:
        try:
            for k in range(100):
                x = torch.randn(n, 64)
                with torch.no_grad():
                    _close(model([x], [n], threads=k % 3)[0], net(x))
        except Exception as error:
            failures.append(error)

    team = [threading.Thread(target=run, args=(n,)) for n in (64, 1, 200)]
    for thread in team:
        thread.start()
    for thread in team:
        thread.join()
    assert not failures, failures


_TEAM = """
#include "model.h"
#include <stdio.h>
#include <stdlib.h>
enum { CALLS = 8, MOST = 300, IN = MOST * 64, OUT = MOST * 10 };
static float in[CALLS * IN], out[CALLS * OUT], alone[CALLS * OUT];
int main(void) {
    model_model *model;
    size_t bytes;
    int wrong = model_open("weights.bin", &model) || model_workspace_size(model, MOST, &bytes);
    bytes = (bytes + 63) / 64 * 64;
    for (int i = 0; i < CALLS * IN; i++) in[i] = (float)(i % 97) / 97 - 0.5f;
    for (int i = 0; i < CALLS; i++) {
        void *workspace = aligned_alloc(64, bytes);
        wrong |= model_run(model, 1 + 37 * i, in + i * IN, alone + i * OUT, workspace, bytes, 1);
    }
#pragma omp parallel for num_threads(4) schedule(static, 1) reduction(|:wrong)
    for (int i = 0; i < CALLS; i++) {
        void *workspace = aligned_alloc(64, bytes);
        wrong |= model_run(model, 1 + 37 * i, in + i * IN, out + i * OUT, workspace, bytes, i % 3);
    }
    for (int i = 0; i < CALLS * OUT; i++) wrong |= out[i] != alone[i];
    printf("%g\\n", out[OUT + 11]);
    return wrong;
}
"""


def test_threads_of_openmp(tmp_path: Path) -> None:
    """Called by a team of its program's, a model does not take that team for its own."""
    result = saved(_mlp(), [torch.randn(32, 64)], tmp_path, dynamic_shapes=_batches())
    (result.folder / "team.c").write_text(_TEAM)
    path = build(result.folder, "team", "team.c", "libmodel.a", "-fopenmp", "-lm")
    done = subprocess.run([path], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and float(done.stdout) != 0


@pytest.mark.parametrize(
    "name",
    [
        "attention",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("mlp", "convolutions", "control_flow", "dataclass", "namedtuple", "views")
        ),
    ],
)  # fmt: skip
def test_programs(name: str, tmp_path: Path) -> None:
    case = CASES[name]()
    result = saved(case.model, case.calls[0], tmp_path, dynamic_shapes=case.dynamic_shapes)
    _compare(load(result), case.model, case.calls)


def _compare(model: Model, eager: Callable[..., Any], calls: Any) -> None:
    """Results, and writes to arguments."""
    for call in calls:
        ours, theirs = copy.deepcopy(call), copy.deepcopy(call)
        with torch.no_grad():
            wanted = [t for t in pytree.tree_leaves(eager(*theirs)) if isinstance(t, Tensor)]
        inputs = [t for t in pytree.tree_leaves(ours) if isinstance(t, Tensor)]
        values = {
            str(size): number
            for tensor, given in zip(inputs, model.interface.inputs, strict=True)
            for number, size in zip(tensor.shape, given.shape, strict=True)
        }
        found = model(inputs, [values[size.symbol] for size in model.interface.sizes])
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            assert one.shape == other.shape
            _close(one, other)
        for one, other in zip(pytree.tree_leaves(ours), pytree.tree_leaves(theirs), strict=True):
            _close(one, other)


class _Cache(nn.Module):
    def forward(self, cache: Tensor, new: Tensor, place: Tensor) -> Tensor:
        cache.index_copy_(1, place, new)
        return cache.sum(-1)


def test_an_input_that_is_written(tmp_path: Path) -> None:
    def call(place: int) -> tuple[Tensor, ...]:
        return torch.randn(2, 8, 4), torch.randn(2, 1, 4), torch.tensor([place])

    model = load(saved(_Cache(), call(0), tmp_path))
    assert [each.written for each in model.interface.inputs] == [True, False, False]
    _compare(model, _Cache(), [call(3), call(7)])
    cache, new, place = call(8)
    before = cache.clone()
    assert model.run([cache, new, place])[0] == Status.INDEX
    assert torch.equal(cache, before)


class _Outputs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x: Tensor, c: Tensor) -> tuple[Tensor, ...]:
        y = self.linear(x)
        z = torch.relu(c.clone())
        c.copy_(c.flip(0) * 2)
        return y.transpose(0, 1), y[1:], x, z, self.linear.weight


@pytest.mark.slow
def test_views_inputs_and_weights_as_outputs(tmp_path: Path) -> None:
    call, net = (torch.randn(4, 8), torch.randn(5)), _Outputs().eval()
    model = load(saved(net, call, tmp_path))
    _compare(model, net, [call])
    assert [each.memory_of for each in model.interface.outputs] == [
        None, "output0", "x", None, None
    ]  # fmt: skip


def _dynamic_views(x: Tensor) -> tuple[Tensor, ...]:
    rows = (x * 2).flatten(0, 1)
    parts = x.sin(), x.cos(), x.exp(), x.abs()
    return (
        rows.view(x.shape), rows[1:], parts[0][:, -1], parts[1][-2:].transpose(0, 2),
        parts[2].select(1, 2)[:, 3:], parts[3].permute(2, 0, 1).unsqueeze(1),
    )  # fmt: skip


def test_views_of_dynamic_size(tmp_path: Path) -> None:
    calls = [(torch.randn(n, m, 7),) for n, m in ((3, 5), (2, 9), (8, 4))]
    shapes = ({0: Dim("n", min=2, max=99), 1: Dim("m", min=4, max=99)},)
    _compare(
        load(saved(_dynamic_views, calls[0], tmp_path, dynamic_shapes=shapes)),
        _dynamic_views,
        calls,
    )


def _types(a: Tensor, b: Tensor, i: Tensor, m: Tensor) -> tuple[Tensor, ...]:
    return (a.double().sin() * b, (a + b).bfloat16(), a.half() * 2, torch.where(m, i // 3, i), ~m)


@pytest.mark.slow
def test_element_types(tmp_path: Path) -> None:
    def call() -> tuple[Tensor, ...]:
        integers = torch.randint(-9, 9, (3, 33), dtype=torch.int32)
        return torch.randn(3, 33) * 1e5, torch.randn(33), integers, torch.rand(3, 33) > 0.5

    model = load(saved(_types, call(), tmp_path))
    _compare(model, _types, [call(), call()])


def _divided(x: Tensor, y: Tensor) -> Tensor:
    return x // y


@pytest.mark.slow
def test_integer_division_by_zero(tmp_path: Path) -> None:
    x, y = torch.arange(10), torch.arange(1, 11)
    model = load(saved(_divided, (x, y), tmp_path))
    _compare(model, _divided, [(x, y)])
    assert model.run([x, y - 4])[0] == Status.DIVISION


class _Lookup(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(10, 16)

    def forward(self, words: Tensor) -> Tensor:
        return self.table(words).sum(1)


def test_an_index_out_of_range(tmp_path: Path) -> None:
    net, words = _Lookup().eval(), torch.randint(10, (2, 7))
    model = load(saved(net, [words], tmp_path, dynamic_shapes=({1: Dim("words")},)))
    _compare(model, net, [[words], [torch.randint(10, (2, 30))]])
    for wrong in (10, -1, 1 << 60):
        words[1, 3] = wrong
        assert model.run([words], [7])[0] == Status.INDEX


def _by_size(x: Tensor) -> Tensor:
    return x.sin() if x.shape[0] > 8 else x.cumsum(0)


@pytest.mark.slow
def test_versions_by_size(tmp_path: Path) -> None:
    call = (torch.randn(20, 3),)
    model = load(saved(_by_size, call, tmp_path, dynamic_shapes=({0: Dim("n", min=9)},)))
    _compare(model, _by_size, [call, (torch.randn(9, 3),)])
    assert model.workspace_size([8])[0] == Status.SIZE


def test_nothing_but_libraries_of_c_is_needed(tmp_path: Path) -> None:
    result = saved(_mlp(), [torch.randn(3, 64)], tmp_path, targets=LEVELS, threads="single")
    archive = ["-Wl,--whole-archive", "libmodel.a", "-Wl,--no-whole-archive"]
    path = build(result.folder, "lib.so", "-shared", "-fPIC", *archive, "-lm")
    for tool, arguments in (("readelf", ["-dlW"]), ("nm", ["-D", "--undefined-only"])):
        if shutil.which(tool) is None:
            pytest.skip(f"no {tool}")
        text = subprocess.run(
            [tool, *arguments, str(path)], capture_output=True, text=True, check=True,
            env={**os.environ, "LC_ALL": "C"},
        ).stdout  # fmt: skip
        if tool == "readelf":
            assert "TEXTREL" not in text
            assert "GNU_STACK" in text and "RWE" not in text
        else:
            names = {line.split()[-1].partition("@")[0] for line in text.splitlines()}
            usual = {"__cxa_finalize", "__gmon_start__"}
            assert {n for n in names if not n.startswith("_ITM")} - usual <= {
                "open", "close", "lseek", "mmap", "munmap", "malloc", "free", "memset", "memcpy",
            }  # fmt: skip


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("objdump") is None, reason="no objdump to disassemble with")
def test_code_of_a_level_keeps_to_it(tmp_path: Path) -> None:
    result = saved(_mlp(), [torch.randn(3, 64)], tmp_path, targets=LEVELS)
    subprocess.run(["ar", "x", f"lib{result.interface.name}.a"], cwd=tmp_path, check=True)

    def registers(name: str) -> set[str]:
        text = subprocess.run(
            ["objdump", "-d", name], cwd=tmp_path, capture_output=True, text=True, check=True
        ).stdout
        assert "(bad)" not in text
        return {register for register in ("%xmm", "%ymm", "%zmm", "%k1") if register in text}

    assert registers("v3.o") == {"%xmm", "%ymm"}
    assert "%zmm" in registers("v4.o")
    assert registers("interface.o") <= {"%xmm"}


def _scaled(x: Tensor, n: int) -> Tensor:
    return x * n + torch.arange(5)


def test_numbers_as_arguments(tmp_path: Path) -> None:
    x, shapes = torch.randn(3, 5), ({0: Dim("rows")}, Dim.DYNAMIC)
    model = load(saved(_scaled, [x, 7], tmp_path, dynamic_shapes=shapes))
    assert [size.name for size in model.interface.sizes] == ["x_size0", "n"]
    x = torch.randn(4, 5)
    _close(model([x], [4, 11])[0], _scaled(x, 11))


_BOTH = """
#include "one/one.h"
#include "two/two.h"
int main(void) {
    static float in[3 * 64], out[2][3 * 10];
    one_model *one;
    two_model *two;
    char memory[1 << 16] __attribute__((aligned(64)));
    for (int i = 0; i < 3 * 64; i++) in[i] = (float)i;
    int wrong = one_open("one/weights.bin", &one) || two_open("two/weights.bin", &two);
    wrong |= one_run(one, in, out[0], memory, sizeof memory, 0);
    wrong |= two_run(two, in, out[1], memory, sizeof memory, 0);
    wrong |= two_open("one/weights.bin", &two) != TWO_ERROR_WEIGHTS;
    one_close(one);
    two_close(0);
    return wrong || out[0][0] == out[1][0];
}
"""


@pytest.mark.slow
def test_two_models_in_one_program(tmp_path: Path) -> None:
    threads = {"one": "openmp", "two": "single"}
    for name, how in threads.items():
        saved(_mlp(), [torch.randn(3, 64)], tmp_path / name, threads=how, name=name)
    (tmp_path / "main.c").write_text(_BOTH)
    archives = [f"{name}/lib{name}.a" for name in threads]
    path = build(tmp_path, "main", "-std=c11", "main.c", *archives, "-fopenmp", "-lm")
    assert subprocess.run([path], cwd=tmp_path).returncode == 0


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")
def test_the_header_in_cpp(tmp_path: Path) -> None:
    saved(_mlp(), [torch.randn(3, 64)], tmp_path)
    (tmp_path / "main.cpp").write_text(
        '#include "model.h"\n#include "model.h"\n'
        "int main() { return model_run(nullptr, nullptr, nullptr, nullptr, 0, 0) != 1; }\n"
    )
    command = ["c++", "-Wall", "-Wextra", "-pedantic", "-Werror", "main.cpp", "libmodel.a"]
    subprocess.run([*command, "-fopenmp", "-o", "main"], cwd=tmp_path, check=True)
    assert subprocess.run(["./main"], cwd=tmp_path).returncode == 0
