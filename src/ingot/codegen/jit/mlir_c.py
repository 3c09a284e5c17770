"""MLIR's C API, called without the GIL: torch-mlir's bindings hold it while LLVM works.
`object_code` compiles a module's text with a pass pipeline to a relocatable object; an Engine holds
machine code that LLVM itself linked. If MLIR or LLVM rejects the module, a CompileError carries all
diagnostics. Several threads may compile at once.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

from ingot.errors import CompileError
from ingot.forks import compiling

_POINTER = ctypes.c_void_p


class _Text(ctypes.Structure):
    """MlirStringRef: bytes and their number."""

    _fields_ = (("data", ctypes.c_char_p), ("length", ctypes.c_size_t))


class _Said(ctypes.Structure):
    """The same as callbacks receive it: not zero-terminated."""

    _fields_ = (("data", _POINTER), ("length", ctypes.c_size_t))


_SAY = ctypes.CFUNCTYPE(None, _Said, _POINTER)
_HEAR = ctypes.CFUNCTYPE(ctypes.c_int8, _POINTER, _POINTER)
_FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "mlirContextAttachDiagnosticHandler": (ctypes.c_uint64, (_POINTER, _HEAR, _POINTER, _POINTER)),
    "mlirDiagnosticPrint": (None, (_POINTER, _SAY, _POINTER)),
    "mlirModuleCreateParse": (_POINTER, (_POINTER, _Text)),
    "mlirModuleDestroy": (None, (_POINTER,)),
    "mlirModuleGetOperation": (_POINTER, (_POINTER,)),
    "mlirPassManagerRunOnOp": (ctypes.c_int8, (_POINTER, _POINTER)),
    "mlirExecutionEngineCreate": (
        _POINTER,
        (_POINTER, ctypes.c_int, ctypes.c_int, _POINTER, ctypes.c_bool, ctypes.c_bool),
    ),
    "mlirExecutionEngineRegisterSymbol": (None, (_POINTER, _Text, _POINTER)),
    "mlirExecutionEngineLookupPacked": (_POINTER, (_POINTER, _Text)),
    "mlirExecutionEngineDestroy": (None, (_POINTER,)),
    "mlirExecutionEngineDumpToObjectFile": (None, (_POINTER, _Text)),
    "mlirModuleGetBody": (_POINTER, (_POINTER,)),
    "mlirBlockGetFirstOperation": (_POINTER, (_POINTER,)),
    "mlirOperationGetNextInBlock": (_POINTER, (_POINTER,)),
    "mlirOperationSetAttributeByName": (None, (_POINTER, _Text, _POINTER)),
    "mlirAttributeParseGet": (_POINTER, (_POINTER, _Text)),
}


@cache
def _library() -> ctypes.CDLL:
    from torch_mlir import _mlir_libs

    folder = Path(str(_mlir_libs.__file__)).parent
    library = ctypes.CDLL(str(folder / "libTorchMLIRAggregateCAPI.so"))
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


class Engine:
    """Machine code of one module, alive as long as this object."""

    def __init__(
        self,
        text: str,
        pipeline: str,
        symbols: Mapping[str, int],
        cpu: str | None = None,
        features: str = "",
        dumps: bool = False,
    ):
        """`symbols`: imported names → addresses. `cpu`: the processor to compile for; None: this
        one. `dumps`: whether `dump` will be called."""
        from torch_mlir import ir, passmanager

        library = _library()
        self._address: int | None = None
        said: list[str] = []
        with compiling(), ir.Context() as context:
            context.enable_multithreading(False)
            passes = passmanager.PassManager.parse(pipeline)
            listener = _listener(said)
            place = _pointer(context)
            library.mlirContextAttachDiagnosticHandler(place, listener, None, None)
            module = _found(library.mlirModuleCreateParse(place, _text(text)), said)
            try:
                operation = library.mlirModuleGetOperation(module)
                _found(library.mlirPassManagerRunOnOp(_pointer(passes), operation), said)
                if cpu is not None:
                    _compile_for(cpu, features, module, place)
                made = library.mlirExecutionEngineCreate(module, 2, 0, None, dumps, False)
                self._address = _found(made, said)
                for name, address in symbols.items():
                    library.mlirExecutionEngineRegisterSymbol(made, _text(name), address)
            finally:
                library.mlirModuleDestroy(module)

    def lookup(self, name: str) -> int:
        """The address of the wrapper of an exported function; LLVM compiles on the first lookup."""
        with compiling():
            found = _library().mlirExecutionEngineLookupPacked(self._address, _text(name))
        return _found(found, ["LLVM generated no code"])

    def dump(self) -> bytes:
        """The object that LLVM made, after the first lookup."""
        data = _read_while(
            lambda path: _library().mlirExecutionEngineDumpToObjectFile(self._address, _text(path))
        )
        if not data:
            raise CompileError("LLVM wrote no object")
        return data

    def __del__(self) -> None:
        # At interpreter shutdown modules are emptied, and code may still run in a thread that the
        # interpreter does not wait for.
        if self._address is None or sys is None or sys.is_finalizing():
            return
        _library().mlirExecutionEngineDestroy(self._address)


def object_code(
    text: str, pipeline: str, symbols: Mapping[str, int], cpu: str | None, features: str
) -> bytes:
    """A relocatable object of the module, whose one exported function is `ingot_anchor`."""
    engine = Engine(text, pipeline, symbols, cpu, features, dumps=True)
    engine.lookup("ingot_anchor")
    return engine.dump()


def _compile_for(cpu: str, features: str, module: int, context: int) -> None:
    """Makes LLVM compile all functions of a module for this processor."""
    library = _library()
    attributes = {
        "target_cpu": f'"{cpu}"',
        "target_features": f'#llvm.target_features<["{features}"]>',
    }
    made = {
        name: library.mlirAttributeParseGet(context, _text(t)) for name, t in attributes.items()
    }
    operation = library.mlirBlockGetFirstOperation(library.mlirModuleGetBody(module))
    while operation:
        for name, attribute in made.items():
            library.mlirOperationSetAttributeByName(operation, _text(name), attribute)
        operation = library.mlirOperationGetNextInBlock(operation)


def _read_while(write: Callable[[str], object]) -> bytes:
    """What `write` writes to the file of the given name: a pipe, so that no disk is needed."""
    reader, writer = os.pipe()
    with open(reader, "rb") as file, ThreadPoolExecutor(1) as beside:
        try:
            data = beside.submit(file.read)
            write(f"/dev/fd/{writer}")
        finally:
            os.close(writer)
        return data.result()


def _text(text: str) -> _Text:
    data = text.encode()
    return _Text(data, len(data))


def _found(result: int | None, said: list[str]) -> int:
    """Raises on a null pointer or a zero, which both signal failure."""
    if not result:
        raise CompileError("\n".join(said) or "LLVM cannot make code of the module")
    return result


def _listener(said: list[str]) -> Callable[..., Any]:
    @_SAY
    def say(text: _Said, _: int) -> None:
        said.append(ctypes.string_at(text.data, text.length).decode())

    @_HEAR
    def hear(diagnostic: int, _: int) -> int:
        _library().mlirDiagnosticPrint(diagnostic, say, None)
        return 1

    return hear


def _pointer(thing: Any) -> int:
    """The C pointer of an object of the bindings."""
    capsule = thing._CAPIPtr
    found: int = _capsule_pointer(capsule, _capsule_name(capsule))
    return found


_capsule_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(
    ("PyCapsule_GetName", ctypes.pythonapi)
)
_capsule_pointer = ctypes.PYFUNCTYPE(_POINTER, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
