"""Implementations in MLIR text. A function over memrefs (the reference's tensors, then the result,
which it writes) becomes an op that PyTorch can call. The function's type is its signature: it is
checked against the reference's at declaration, and against the arguments of every call. The
function sees dense memory only.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch._library.infer_schema import infer_schema
from torch._subclasses.fake_tensor import FakeTensorMode

from ingot.codegen.jit.mlir_c import Engine
from ingot.codegen.mlir.memref import descriptor
from ingot.dispatch.declaration import Declaration
from ingot.errors import CompileError, DispatchError
from ingot.linkage import imported

LOWERING = (
    "builtin.module(func.func(convert-linalg-to-loops),expand-strided-metadata,lower-affine,"
    "convert-scf-to-cf,convert-math-to-llvm,convert-vector-to-llvm,finalize-memref-to-llvm,"
    "convert-arith-to-llvm,convert-index-to-llvm,convert-cf-to-llvm,convert-func-to-llvm,"
    "reconcile-unrealized-casts)"
)
DTYPES = {
    "f64": torch.float64,
    "f32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "i64": torch.int64,
    "i32": torch.int32,
    "i16": torch.int16,
    "i8": torch.int8,
    "i1": torch.bool,
}


@dataclass(frozen=True)
class MemrefType:
    """The type of a memref argument."""

    sizes: tuple[int | None, ...]
    """None: dynamic."""
    dtype: torch.dtype

    def takes(self, tensor: torch.Tensor) -> bool:
        return (
            tensor.dtype is self.dtype
            and tensor.dim() == len(self.sizes)
            and all(want in (None, n) for want, n in zip(self.sizes, tensor.shape))
        )


def mlir_function(dispatch: Declaration, name: str, text: str, function: str) -> Callable[..., Any]:
    if set(dispatch.tensors) != set(dispatch.signature.parameters):
        raise DispatchError(
            f"{name}: an implementation in MLIR takes tensors only", place=dispatch.place
        )
    try:
        kinds, address, engine = compiled(text, function)
    except (CompileError, ValueError) as error:
        raise DispatchError(f"{name}: {error}", place=dispatch.place) from error
    if len(kinds) != len(dispatch.tensors) + 1:
        raise DispatchError(
            f"the signature of {name} differs from that of {dispatch.name}: it takes {len(kinds)} "
            f"memrefs, not one for each of ({', '.join(dispatch.tensors)}) and the result",
            place=dispatch.place,
        )

    forms: dict[Any, torch.Size] = {}

    def serve(*args: torch.Tensor) -> torch.Tensor:
        key = tuple((arg.shape, arg.stride()) for arg in args)
        if key not in forms:
            forms[key] = _result_shape(dispatch, args)
        result = torch.empty(forms[key], dtype=kinds[-1].dtype)
        run(address, kinds, [*args, result])
        return result

    op = torch.library.custom_op(
        f"ingot_dispatch::{dispatch.target._opname}_{name}",
        serve,
        mutates_args=(),
        schema=infer_schema(dispatch.reference, mutates_args=()),
    )
    op.register_fake(lambda *args: torch.empty(_form(dispatch, args).shape, dtype=kinds[-1].dtype))

    def implementation(*args: Any, **kwargs: Any) -> Any:
        return op(*args, **kwargs)

    implementation.__signature__ = dispatch.signature  # type: ignore[attr-defined]
    implementation.mlir_text = text  # type: ignore[attr-defined]
    implementation.engine = engine  # type: ignore[attr-defined]  # keeps the code alive
    return implementation


def _form(dispatch: Declaration, args: Sequence[torch.Tensor]) -> torch.Tensor:
    return dispatch.reference(*args)


def _result_shape(dispatch: Declaration, args: Sequence[torch.Tensor]) -> torch.Size:
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        return _form(dispatch, [mode.from_tensor(arg) for arg in args]).shape


def compiled(text: str, function: str) -> tuple[list[MemrefType], int, Engine]:
    """The function's memref types, its address in the calling convention of packed pointers, and
    the engine that keeps the code alive."""
    from torch_mlir import ir

    with ir.Context(), ir.Location.unknown():
        try:
            module = ir.Module.parse(text)
        except ir.MLIRError as error:
            raise CompileError(str(error).strip().splitlines()[0]) from error
        found = _function(module, function)
        kinds = [_kind(str(each)) for each in found.type.inputs]
        found.attributes["llvm.emit_c_interface"] = ir.UnitAttr.get()
        # Other symbols are resolved in the process: the text is the user's own.
        engine = Engine(str(module), LOWERING, imported(()))
    return kinds, engine.lookup(f"_mlir_ciface_{function}"), engine


def _function(module: Any, name: str) -> Any:
    for operation in module.body.operations:
        if getattr(operation, "sym_name", None) is not None and operation.sym_name.value == name:
            return operation
    raise ValueError(f"the text has no function @{name}")


def _kind(text: str) -> MemrefType:
    found = re.fullmatch(r"memref<((?:(?:\?|\d+)x)*)(\w+)>", text)
    if found is None or found[2] not in DTYPES:
        raise ValueError(f"{text} is not a memref with the identity layout")
    sizes = [None if n == "?" else int(n) for n in found[1].split("x")[:-1]]
    return MemrefType(tuple(sizes), DTYPES[found[2]])


def run(address: int, kinds: Sequence[MemrefType], tensors: Sequence[torch.Tensor]) -> None:
    dense = [tensor.contiguous() for tensor in tensors]
    for tensor, kind in zip(dense, kinds, strict=True):
        if not kind.takes(tensor):
            raise ValueError(f"it takes {kind}, not {tensor.dtype}{list(tensor.shape)}")
    descriptors = [descriptor(tensor.data_ptr(), tensor.shape) for tensor in dense]
    pointers = [ctypes.c_void_p(ctypes.addressof(each)) for each in descriptors]
    packed = (ctypes.c_void_p * len(pointers))(*(ctypes.addressof(each) for each in pointers))
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)(packed)
