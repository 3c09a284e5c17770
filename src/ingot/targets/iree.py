"""IREE as a target: the compiler and runtime of the extra `iree`. A region is lowered through the
linalg dialect to an IREE module, which runs on IREE's task system. Inputs and results share memory
with PyTorch's tensors. `write` makes files: a `.vmfb`, and a parameter archive with the weights.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch._ops import OpOverload
from torch.fx import Node

from ingot.emit.emit import to_mlir
from ingot.emit.files import write_all
from ingot.emit.importer import FUNCTION
from ingot.errors import EmitError, IngotError
from ingot.program.program import Program
from ingot.targets.target import Moved, Runner

SCOPE = "model"
_DTYPES = (torch.float32, torch.float64, torch.int64, torch.int32, torch.int8, torch.bool)
_ARGUMENTS = re.compile(r" \{ingot\.[^}]*\}")


class Iree:
    name = "iree"

    def claim(self, node: Node) -> str:
        if not isinstance(node.target, OpOverload) or node.target.namespace not in (
            "aten",
            "prims",
        ):
            return "not an ATen operation"
        if torch.Tag.nondeterministic_seeded in node.target.tags:
            return "it draws from PyTorch's random number generator"
        vals = [node.meta["val"], *(source.meta.get("val") for source in node.all_input_nodes)]
        for val in vals:
            for tensor in val if isinstance(val, tuple | list) else (val,):
                if isinstance(tensor, torch.Tensor) and tensor.dtype not in _DTYPES:
                    return f"{tensor.dtype} is not handed to IREE"
                if isinstance(tensor, torch.Tensor) and not _is_static(tensor):
                    return "its size is dynamic"
        return ""

    def lower(self, program: Program) -> Runner:
        module = to_mlir(program, "linalg")
        function = _loaded(_compiled(_ARGUMENTS.sub("", module.text)))

        def run(values: Sequence[Any]) -> list[Any]:
            results = function(*values)
            results = results if isinstance(results, tuple) else (results,)
            lent = {_address(value) for value in values if not isinstance(value, int)}
            return [_copied(r) if _address(r) in lent else r for r in results]

        return run

    def upload(self, tensor: torch.Tensor) -> Moved:
        """IREE reads the tensor's own memory, if the tensor is contiguous."""
        plain = tensor.detach().contiguous()
        return Moved(_lent(plain), copied=plain.data_ptr() != tensor.data_ptr())

    def download(self, value: Any) -> Moved:
        return Moved(torch.from_numpy(value.to_host()), copied=not value.is_host_accessible)


def _lent(tensor: torch.Tensor) -> Any:
    """An IREE array that shares the tensor's memory."""
    import iree.runtime as runtime
    from iree.runtime.array_interop import map_dtype_to_element_type

    array = tensor.numpy()
    if not array.size:  # no memory to share
        return runtime.asdevicearray(_device(), array)
    buffer = _device().allocator.import_host_allocation(
        array,
        memory_type=int(runtime.MemoryType.HOST_LOCAL | runtime.MemoryType.DEVICE_VISIBLE),
        allowed_usage=int(runtime.BufferUsage.DEFAULT | runtime.BufferUsage.MAPPING_SCOPED),
    )
    kind = map_dtype_to_element_type(array.dtype)
    lent = runtime.DeviceArray(_device(), runtime.HalBufferView(buffer, array.shape, kind))
    lent.owner = array  # keeps the memory alive
    return lent


def _address(value: Any) -> int:
    return int(value.to_host().ctypes.data)


def _copied(value: Any) -> Any:
    """Copies a result that is one of the arguments: it would share the user's memory."""
    import iree.runtime

    return iree.runtime.asdevicearray(_device(), value.to_host())


def _is_static(tensor: torch.Tensor) -> bool:
    return all(isinstance(size, int) for size in tensor.shape)


def write(program: Program, path: str) -> tuple[Path, ...]:
    """Write a `.vmfb` of the whole program and, beside it, an `.irpa` with its weights."""
    import iree.runtime

    module = to_mlir(program, "linalg")
    weights = module.weights()
    code = _compiled(_with_parameters(module.text, list(weights)))
    target = Path(path)
    files = [(target, lambda name: Path(name).write_bytes(code))]
    if weights:
        index = iree.runtime.ParameterIndex()
        for name, tensor in weights.items():
            data = tensor.detach().contiguous().reshape(-1).view(torch.uint8)
            index.add_buffer(name, data.numpy().tobytes())
        files.append((target.with_suffix(".irpa"), lambda name: index.create_archive_file(name)))
    return write_all(files)


def _with_parameters(text: str, names: Sequence[str]) -> str:
    """Turn the weights, the first arguments of `main`, into IREE globals."""
    head = re.search(rf"func\.func @{FUNCTION}\((.*)\) ->", text)
    if head is None:
        raise EmitError("the function has no results for IREE to return")
    arguments = re.findall(
        r"(%\w+): (tensor<[^>]*(?:<[^>]*>)?[^>]*>|i64)(?: \{([^}]*)\})?", head[1]
    )
    kept, lines, loads = [], [], []
    for value, kind, attributes in arguments:
        found = re.search(r'ingot\.name = "([^"]*)"', attributes)
        name = found[1] if found else ""
        if name in names:
            parameter = f'#flow.parameter.named<"{SCOPE}"::"{name}">'
            lines.append(f'util.global private @"{name}" = {parameter} : {kind}')
            loads.append(f'{value} = util.global.load @"{name}" : {kind}')
        else:
            kept.append(f"{value}: {kind}")
    body = text[: head.start(1)] + ", ".join(kept) + text[head.end(1) :]
    start = body.index("{\n", head.start(1)) + 2
    body = body[:start] + "\n".join(loads) + "\n" + body[start:]
    opening = body.index("module {\n") + len("module {\n")
    return body[:opening] + "\n".join(lines) + "\n" + body[opening:]


def _compiled(text: str) -> bytes:
    try:
        import iree.compiler
    except ImportError as error:
        raise IngotError("IREE is not installed", hints=['pip install "ingot[iree]"']) from error
    try:
        return bytes(
            iree.compiler.compile_str(
                text,
                target_backends=["llvm-cpu"],
                extra_args=["--iree-llvmcpu-target-cpu=host"],
            )
        )
    except iree.compiler.CompilerToolError as error:
        lines = [line for line in str(error).splitlines() if "error:" in line]
        raise EmitError(f"IREE: {lines[0] if lines else error}") from error


@cache
def _device() -> Any:
    import iree.runtime

    return iree.runtime.get_device("local-task")


def _loaded(code: bytes) -> Any:
    import iree.runtime

    context = iree.runtime.SystemContext(config=iree.runtime.Config(device=_device()))
    context.add_vm_module(iree.runtime.VmModule.copy_buffer(context.instance, code))
    return context.modules.module[FUNCTION]
