"""Builds what `save_c` writes, and calls it."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import ingot
from ingot.deploy.interface import Interface, Status, TensorArgument
from ingot.deploy.save_c import Saved, save_c

CC = shutil.which("cc")
needs_cc = pytest.mark.skipif(CC is None, reason="no cc: a C program cannot be built here")
LIBRARIES = {"openmp": ["-fopenmp", "-lm"], "single": ["-lm"]}


def saved(
    model: Callable[..., Any], args: Sequence[Any], folder: Path, *, dynamic_shapes: Any = None,
    **given: Any,
) -> Saved:  # fmt: skip
    with torch.no_grad():
        exe = ingot.compile(model, tuple(args), dynamic_shapes=dynamic_shapes)
        return save_c(exe, folder, **{"targets": ["x86-64-v3"], **given})


def build(folder: Path, output: str, *arguments: str) -> Path:
    """Without warnings."""
    command = [str(CC), "-O2", "-Wall", "-Wextra", "-Werror", "-o", output, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return folder / output


def example(result: Saved, threads: str = "openmp") -> Path:
    name = result.interface.name
    return build(result.folder, "main", "main.c", f"lib{name}.a", *LIBRARIES[threads])


def _aligned(size: int) -> Tensor:
    memory = torch.empty(size + 64, dtype=torch.uint8)
    return memory[-memory.data_ptr() % 64 :][:size]


@dataclass
class Model:
    """The library of a saved program, loaded into this process."""

    interface: Interface
    library: Any
    handle: Any
    allocate: Callable[[int], Tensor] = _aligned
    """Memory for the workspace and the outputs."""

    def __call__(
        self, inputs: Sequence[Tensor], sizes: Sequence[int] = (), threads: int = 0
    ) -> list[Tensor]:
        status, results = self.run(inputs, sizes, threads)
        assert status == Status.OK, Status(status)
        return results

    def run(
        self, inputs: Sequence[Tensor], sizes: Sequence[int] = (), threads: int = 0
    ) -> tuple[int, list[Tensor]]:
        """(status, outputs)"""
        status, needed = self.workspace_size(sizes)
        if status:
            return status, []
        workspace = self.allocate(needed)
        values = dict(zip((size.symbol for size in self.interface.sizes), sizes, strict=True))
        known = dict(zip((each.name for each in self.interface.inputs), inputs, strict=True))
        outputs = []
        for tensor in self.interface.outputs:
            if tensor.memory_of is None:
                known[tensor.name] = self.allocate(_number(tensor.nbytes, values)).fill_(0xA5)
            outputs.append(_output(tensor, known, values))
        pointers = [known[each.name].data_ptr() for each in self.interface.pointers()]
        return self.call(sizes, pointers, workspace.data_ptr(), needed, threads), outputs

    def call(
        self, sizes: Sequence[int], pointers: Sequence[int], workspace: int, room: int,
        threads: int = 0,
    ) -> int:  # fmt: skip
        given = [self.handle, *map(ctypes.c_int64, sizes), *map(ctypes.c_void_p, pointers)]
        more = ctypes.c_void_p(workspace), ctypes.c_size_t(room), ctypes.c_int(threads)
        return int(self.function("run")(*given, *more))

    def workspace_size(self, sizes: Sequence[int] = ()) -> tuple[int, int]:
        needed = ctypes.c_size_t()
        given = [self.handle, *map(ctypes.c_int64, sizes), ctypes.byref(needed)]
        return int(self.function("workspace_size")(*given)), needed.value

    def function(self, name: str) -> Any:
        return getattr(self.library, f"{self.interface.name}_{name}")

    def open(self, path: Path, level: int = 0) -> tuple[int, Any]:
        """(status, model)"""
        handle = ctypes.c_void_p()
        opened = self.function("open_level")(str(path).encode(), level, ctypes.byref(handle))
        return opened, handle


def _output(
    tensor: TensorArgument, known: Mapping[str, Tensor], values: Mapping[str, int]
) -> Tensor:
    memory = known[tensor.memory_of or tensor.name]
    flat = memory if memory.dim() == 1 else memory.flatten()
    shape, strides = ([_number(n, values) for n in each] for each in (tensor.shape, tensor.strides))
    return flat.view(tensor.dtype).as_strided(shape, strides, _number(tensor.offset, values))


def _number(size: Any, values: Mapping[str, int]) -> int:
    if isinstance(size, int):
        return size
    return int(size.subs({symbol: values[symbol.name] for symbol in size.free_symbols}))


def load(result: Saved, threads: str = "openmp", level: int = 0) -> Model:
    name = result.interface.name
    archive = ["-Wl,--whole-archive", f"lib{name}.a", "-Wl,--no-whole-archive"]
    path = build(result.folder, f"lib{name}.so", "-shared", "-fPIC", *archive, *LIBRARIES[threads])
    model = Model(result.interface, ctypes.CDLL(str(path)), None)
    status, model.handle = model.open(result.folder / "weights.bin", level)
    assert status == Status.OK, Status(status)
    return model
