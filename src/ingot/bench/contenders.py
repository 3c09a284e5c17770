"""The contenders of the measurements: each turns a module in eval mode and its arguments into a
call that returns the module's results. All use PyTorch's number of threads and inference. The
contenders of one network share a folder. A contender that cannot run the network raises; the text
of the exception is the reason.
"""

from __future__ import annotations

import importlib
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

Call = Callable[[], Any]
Prepare = Callable[[nn.Module, tuple[Any, ...], Path], Call]


def eager(model: nn.Module, args: tuple[Any, ...], folder: Path) -> Call:
    return lambda: model(*args)


def through_torch_compile(model: nn.Module, args: tuple[Any, ...], backend: str) -> Call:
    """Dynamo leaves whole frames with an nn.LSTM to eager unless told to trace them."""
    config: Any = importlib.import_module("torch._dynamo.config")
    config.allow_rnn = True
    compiled = torch.compile(model, backend=backend)
    return lambda: compiled(*args)


def inductor(model: nn.Module, args: tuple[Any, ...], folder: Path) -> Call:
    return through_torch_compile(model, args, "inductor")


def inductor_frozen(model: nn.Module, args: tuple[Any, ...], folder: Path) -> Call:
    """Weights are constants, packed once for oneDNN."""
    config: Any = importlib.import_module("torch._inductor.config")
    config.freezing = True
    return inductor(model, args, folder)


def ingot(model: nn.Module, args: tuple[Any, ...], folder: Path) -> Call:
    return through_torch_compile(model, args, "ingot")


def ingot_ahead(model: nn.Module, args: tuple[Any, ...], folder: Path) -> Call:
    package = importlib.import_module("ingot")
    if not hasattr(package, "compile"):
        raise NotImplementedError("this ingot has no ingot.compile")
    compiled = package.compile(model, args)
    return lambda: compiled(*args)


def exported(model: nn.Module, args: tuple[Any, ...], folder: Path) -> str:
    """The module as an ONNX file, written on first use."""
    path = folder / "model.onnx"
    if not path.exists():
        program = torch.onnx.export(model, args, dynamo=True, verbose=False)
        assert program is not None
        program.save(path)
    return str(path)


def onnxruntime(model: nn.Module, args: tuple[Any, ...], folder: Path) -> Call:
    runtime = importlib.import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    options.log_severity_level = 3
    session = runtime.InferenceSession(
        exported(model, args, folder), options, providers=["CPUExecutionProvider"]
    )
    names = [entry.name for entry in session.get_inputs()]
    feed = dict(zip(names, arrays(args), strict=True))
    return lambda: session.run(None, feed)


def openvino(model: nn.Module, args: tuple[Any, ...], folder: Path) -> Call:
    core = importlib.import_module("openvino").Core()
    settings = {
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_NUM_THREADS": torch.get_num_threads(),
        "INFERENCE_PRECISION_HINT": "f32",
    }
    compiled = core.compile_model(exported(model, args, folder), "CPU", settings)
    request = compiled.create_infer_request()
    feed = dict(zip(range(len(compiled.inputs)), arrays(args), strict=True))
    places = range(len(compiled.outputs))

    def call() -> Any:
        results = request.infer(feed, share_inputs=True, share_outputs=True)
        return [results[place] for place in places]

    return call


def arrays(args: tuple[Any, ...]) -> list[Any]:
    return [leaf.numpy() for leaf in tree_leaves(args) if isinstance(leaf, Tensor)]


CONTENDERS: dict[str, Prepare] = {
    "eager": eager,
    "inductor": inductor,
    "inductor frozen": inductor_frozen,
    "onnxruntime": onnxruntime,
    "openvino": openvino,
    "ingot": ingot,
    "ingot ahead": ingot_ahead,
}
COMPILERS = ("inductor", "ingot")
"""Contenders whose first call is measured: all of their compilation happens in it."""
INGOT = ("ingot.backend.dynamo", "ingot.capture.dynamo", "ingot.pipeline")
ONNX = ("onnx", "onnxscript", "torch.onnx._internal.exporter._compat")
IMPORTS = {
    "inductor": ("torch._inductor.compile_fx",),
    "inductor frozen": ("torch._inductor.compile_fx",),
    "onnxruntime": ("onnxruntime", *ONNX),
    "openvino": ("openvino", *ONNX),
    "ingot": INGOT,
    "ingot ahead": (*INGOT, "ingot.ahead"),
}
NEEDS = {
    "inductor": "a C++ compiler",
    "inductor frozen": "a C++ compiler",
    "onnxruntime": "onnxruntime",
    "openvino": "openvino",
}


def import_modules(contender: str) -> None:
    """So that the first call does not include the time of imports. An earlier commit of ingot may
    lack some."""
    for module in IMPORTS.get(contender, ()):
        with suppress(ModuleNotFoundError):
            importlib.import_module(module)


def why_not(contender: str) -> str:
    """Why a contender cannot run on this machine; empty if nothing is known against it."""
    need = NEEDS.get(contender)
    if need == "a C++ compiler":
        found = any(
            shutil.which(name) for name in (os.environ.get("CXX"), "g++", "clang++") if name
        )
        return "" if found else "there is no C++ compiler"
    if need is None:
        return ""
    missing = [name for name in (need, "onnx", "onnxscript") if find_spec(name) is None]
    names = " and ".join(missing)
    return f"{names} not installed: pip install 'ingot[bench]'" if missing else ""
