"""Compiles a module to machine code and calls it, in the helper process. The request holds the
module, the steps to LLVM and a file with the bytes of the arguments. The reply holds the results:
scalars, and the sizes and bytes of tensors.
"""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

from torch_mlir import ir

from ingot.codegen.mlir.memref import descriptor, descriptor_type
from ingot.emit.pipelines import Reply, Request, fix_sizes, parse, run_steps


def run(request: Request) -> Reply:
    """Compile the module to machine code and call its function on the arrays in a shared file."""
    with ir.Context() as context:
        module = parse(context, request["module"])
        if request["refine"]:
            fix_sizes(ir.SymbolTable(module.operation)[request["function"]], request["arguments"])
        failed = run_steps(module, request["steps"])
        if failed:
            return failed
        function = ir.SymbolTable(module.operation)[request["function"]]
        kinds = function.type.results
        shapes = [_result_shape(kind) for kind in kinds]
        function.attributes["llvm.emit_c_interface"] = ir.UnitAttr.get()
        failed = run_steps(module, request["to_llvm"])
        if failed:
            return failed
        from torch_mlir.execution_engine import ExecutionEngine

        engine = ExecutionEngine(module, opt_level=0, shared_libs=[])  # compiles ten times as fast
        return {"results": _call(engine, request, shapes)}


def _result_shape(kind: Any) -> tuple[int, int]:
    """The rank and the bytes of an element; rank -1 stands for a scalar."""
    if isinstance(kind, ir.RankedTensorType):
        return kind.rank, _element_bytes(kind.element_type)
    return -1, _element_bytes(kind)


def _element_bytes(kind: Any) -> int:
    if isinstance(kind, ir.ComplexType):
        return 2 * _element_bytes(kind.element_type)
    if isinstance(kind, ir.IndexType):
        return 8
    return max(1, kind.width // 8)


def _call(engine: Any, request: Request, shapes: list[tuple[int, int]]) -> list[Any]:
    fields = [
        (f"r{i}", descriptor_type(rank) if rank >= 0 else _NUMBERS[size])
        for i, (rank, size) in enumerate(shapes)
    ]
    struct = type("Results", (ctypes.Structure,), {"_fields_": fields})
    results = struct()
    with open(request["file"], "r+b") as file:
        memory = mmap.mmap(file.fileno(), 0)
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    arguments = [_argument(spec, base) for spec in request["arguments"]]
    pointers = [a if _is_plain(a) else ctypes.pointer(a) for a in arguments]
    if len(shapes) == 1 and shapes[0][0] < 0:  # a single scalar is returned, not written
        pointers.append(ctypes.pointer(results))
    elif shapes:
        pointers.insert(0, ctypes.pointer(ctypes.pointer(results)))
    engine.invoke(request["function"], *pointers)
    return [_read(getattr(results, f"r{i}"), *shape) for i, shape in enumerate(shapes)]


_NUMBERS: dict[int, Any] = {1: ctypes.c_bool, 4: ctypes.c_float, 8: ctypes.c_int64}


def _is_plain(argument: Any) -> bool:
    return not isinstance(argument._type_, type) or not issubclass(
        argument._type_, ctypes.Structure
    )


def _argument(spec: dict[str, Any], base: int) -> Any:
    if "value" in spec:
        return ctypes.pointer(ctypes.c_int64(spec["value"]))
    return ctypes.pointer(descriptor(base + spec["offset"], spec["shape"]))


def _read(result: Any, rank: int, size: int) -> Any:
    if rank < 0:
        return result if not hasattr(result, "value") else result.value
    shape = tuple(result.sizes) if rank else ()
    count = 1
    for n in shape:
        count *= n
    if not count:
        return shape, b""
    return shape, ctypes.string_at(result.aligned + result.offset * size, count * size)
