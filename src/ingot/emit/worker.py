"""The helper process that runs MLIR's pipelines and the code that comes of them. Started with a
file descriptor to listen on; every request is answered from a fork with limits on its memory and
time, so a crash, a hang or a memory blow-up ends the fork and leaves the helper as it was. Imports
no torch: it is ready in a fraction of a second.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import resource
import signal
import sys
import tempfile
from collections.abc import Callable
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any

from torch_mlir import ir, passmanager
from torch_mlir._mlir_libs import _stablehlo as stablehlo
from torch_mlir.dialects import torch as torch_dialect

Request = dict[str, Any]
Reply = dict[str, Any]


def lower(request: Request) -> Reply:
    """Run the pipelines in `steps` over `module` and print the result."""
    with ir.Context() as context:
        module = _parse(context, request["module"])
        failed = _run_steps(module, request["steps"], request["calls"])
        return failed or {"text": module.operation.get_asm(enable_debug_info=False)}


def run(request: Request) -> Reply:
    """Compile the module to machine code and call its function on the arrays in a shared file."""
    with ir.Context() as context:
        module = _parse(context, request["module"])
        if request["refine"]:
            _fix_sizes(ir.SymbolTable(module.operation)[request["function"]], request["arguments"])
        failed = _run_steps(module, request["steps"])
        if failed:
            return failed
        function = ir.SymbolTable(module.operation)[request["function"]]
        kinds = function.type.results
        shapes = [_result_shape(kind) for kind in kinds]
        function.attributes["llvm.emit_c_interface"] = ir.UnitAttr.get()
        failed = _run_steps(module, request["to_llvm"])
        if failed:
            return failed
        from torch_mlir.execution_engine import ExecutionEngine

        engine = ExecutionEngine(module, opt_level=0, shared_libs=[])  # ten times as fast
        return {"results": _call(engine, request, shapes)}


def _parse(context: ir.Context, data: bytes | str) -> ir.Module:
    torch_dialect.register_dialect(context)
    stablehlo.register_dialect(context)
    context.enable_multithreading(False)
    # The tm_tensor dialect has no bindings: a pass that uses it brings it in.
    with ir.Location.unknown():
        passmanager.PassManager.parse("builtin.module(func.func(tm-tensor-bufferize))").run(
            ir.Module.create().operation
        )
    return ir.Module.parse(data)


def _fix_sizes(function: Any, arguments: list[dict[str, Any]]) -> None:
    """Give the function's arguments the sizes they have this time; upstream's passes carry them
    on to all other values."""
    kinds = []
    for argument, spec in zip(function.arguments, arguments):
        if "shape" in spec:
            element = argument.type.element_type
            with ir.Location.unknown():
                argument.set_type(ir.RankedTensorType.get(spec["shape"], element))
        kinds.append(argument.type)
    kind = ir.FunctionType.get(kinds, function.type.results)
    function.attributes["function_type"] = ir.TypeAttr.get(kind)


CALLS_REFUSED = ("failed to legalize operation 'func.call'", "Module does not conform to the")
"""What the last pass of torch-mlir's pipelines, which only looks, says to calls."""


def _run_steps(module: ir.Module, steps: list[tuple[str, str]], calls: bool = False) -> Reply:
    for name, pipeline in steps:
        try:
            passmanager.PassManager.parse(pipeline).run(module.operation)
        except ir.MLIRError as error:
            heard = [d.message for d in error.error_diagnostics]
            if calls and heard and all(text.startswith(CALLS_REFUSED) for text in heard):
                continue
            said = [(str(d.location), d.message) for d in error.error_diagnostics]
            return {"failed": name, "diagnostics": said or [("", str(error))]}
    return {}


def _result_shape(kind: Any) -> tuple[int, int]:
    """The rank and the bytes of an element; rank -1 is a plain number."""
    if isinstance(kind, ir.RankedTensorType):
        return kind.rank, _element_bytes(kind.element_type)
    return -1, _element_bytes(kind)


def _element_bytes(kind: Any) -> int:
    if isinstance(kind, ir.ComplexType):
        return 2 * _element_bytes(kind.element_type)
    if isinstance(kind, ir.IndexType):
        return 8
    return max(1, kind.width // 8)


def _descriptor(rank: int) -> type[ctypes.Structure]:
    """A ranked memref, as generated code sees it."""
    fields: list[tuple[str, Any]] = [
        ("allocated", ctypes.c_void_p),
        ("aligned", ctypes.c_void_p),
        ("offset", ctypes.c_int64),
    ]
    if rank:
        fields += [("sizes", ctypes.c_int64 * rank), ("strides", ctypes.c_int64 * rank)]
    return type(f"Memref{rank}", (ctypes.Structure,), {"_fields_": fields})


def _call(engine: Any, request: Request, shapes: list[tuple[int, int]]) -> list[Any]:
    fields = [
        (f"r{i}", _descriptor(rank) if rank >= 0 else _NUMBERS[size])
        for i, (rank, size) in enumerate(shapes)
    ]
    struct = type("Results", (ctypes.Structure,), {"_fields_": fields})
    results = struct()
    with open(request["file"], "r+b") as file:
        memory = mmap.mmap(file.fileno(), 0)
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    arguments = [_argument(spec, base) for spec in request["arguments"]]
    pointers = [a if _is_plain(a) else ctypes.pointer(a) for a in arguments]
    if len(shapes) == 1 and shapes[0][0] < 0:  # a single number is returned, not written
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
    shape = spec["shape"]
    made = _descriptor(len(shape))()
    made.allocated = made.aligned = base + spec["offset"]
    stride = 1
    for i in reversed(range(len(shape))):
        made.sizes[i], made.strides[i] = shape[i], stride
        stride *= shape[i]
    return ctypes.pointer(made)


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


HANDLERS: dict[str, Callable[[Request], Reply]] = {"lower": lower, "run": run}


def answer(request: Request) -> Reply:
    """Handle the request in a fork; what it printed comes with a crash."""
    ours, theirs = Pipe()
    with tempfile.TemporaryFile() as printed:
        pid = os.fork()
        if pid == 0:
            _in_fork(request, theirs, printed.fileno())
        theirs.close()
        in_time = ours.poll(request["seconds"])
        if not in_time:
            os.kill(pid, signal.SIGKILL)
        try:
            reply: Reply = ours.recv() if in_time else {"crashed": "time"}
        except EOFError:
            reply = {"crashed": ""}
        _, status = os.waitpid(pid, 0)
        if reply.get("crashed") == "":
            reply["crashed"] = _end_name(status)
        printed.seek(0)
        return {**reply, "printed": printed.read()[-4000:].decode(errors="replace")}


def _in_fork(request: Request, pipe: Connection, printed: int) -> None:
    try:
        os.dup2(printed, 1)
        os.dup2(printed, 2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (request["memory"], request["memory"]))
        try:
            reply = HANDLERS[request["do"]](request)
        except MemoryError:
            reply = {"crashed": "memory"}
        except Exception as error:
            reply = {"failed": request["do"], "diagnostics": [("", f"{error}")]}
        pipe.send(reply)
        pipe.close()
    finally:
        os._exit(0)


def _end_name(status: int) -> str:
    if os.WIFSIGNALED(status):
        return signal.Signals(os.WTERMSIG(status)).name
    return f"exit {os.WEXITSTATUS(status)}"


def reproduce(source: str, pipelines: str) -> None:
    """Run the pipelines over a file in this very process and print what comes of it."""
    data = Path(source).read_bytes()
    with ir.Context() as context:
        module = _parse(context, data if source.endswith("bc") else data.decode())
        failed = _run_steps(module, json.loads(Path(pipelines).read_text()))
        print(failed or module.operation.get_asm(enable_debug_info=False))
    sys.exit(1 if failed else 0)


def main() -> None:
    if len(sys.argv) > 2:
        reproduce(*sys.argv[1:])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    pipe = Connection(int(sys.argv[1]))
    while True:
        try:
            request = pipe.recv()
        except EOFError:
            return
        pipe.send(answer(request))


if __name__ == "__main__":
    main()
