"""The symbols that generated code may import, and the library of each. Addresses are looked up
through library handles and registered with the JIT; no library is opened with RTLD_GLOBAL, because
PyTorch's BLAS, oneDNN and OpenMP would then shadow the symbols of libraries that the process loads
later. Importing a name outside this table is a CompileError.
"""

from __future__ import annotations

import ctypes
import glob
import os
import re
from collections.abc import Callable, Iterable
from functools import cache

import torch

from ingot.errors import CompileError
from ingot.forks import before_fork
from ingot.machine import this_machine

OPENMP = frozenset({
    "GOMP_parallel", "GOMP_barrier", "omp_get_thread_num", "omp_get_num_threads",
    "omp_get_max_threads",
})  # fmt: skip
BLAS = frozenset({"sgemm_", "dgemm_", "cblas_sgemm_pack"})
C_LIBRARY = frozenset({"aligned_alloc", "free", "ioctl"})
MEMORY = frozenset({"memcpy", "memmove", "memset"})
"""Functions that LLVM calls for long copies."""
C_MATH = frozenset(
    name + letter
    for name in (
        "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cos", "cosh", "erf", "erfc",
        "exp", "exp2", "expm1", "fmod", "hypot", "lgamma", "log", "log10", "log1p", "log2",
        "nextafter", "pow", "sin", "sinh", "tan", "tanh", "tgamma",
        "ceil", "exp10", "floor", "fma", "ldexp", "nearbyint", "rint", "round", "roundeven",
        "trunc",
    )
    for letter in ("", "f")
)  # fmt: skip
SLEEF = re.compile(r"Sleef_\w+")
COMPILER_RUNTIME = (
    "__truncsfhf2", "__truncdfhf2", "__extendhfsf2", "__truncsfbf2", "__truncdfbf2",
    "__divti3", "__modti3", "__udivti3", "__umodti3", "__multi3", "__muloti4",
    "__floattisf", "__floattidf", "__floatuntisf", "__floatuntidf",
    "__fixsfti", "__fixdfti", "__fixunssfti", "__fixunsdfti",
)  # fmt: skip
"""Functions that LLVM calls where the machine lacks an instruction. They are defined in libgcc,
which may be missing from the process's global scope; libc and libm are always in it, because Python
needs them."""
PYTHON = frozenset({
    "PyErr_CheckSignals", "PyErr_Fetch", "PyEval_RestoreThread", "PyEval_SaveThread",
    "PyGILState_Ensure", "PyGILState_Release", "PyLong_AsLongLong", "PyLong_FromLongLong",
    "Py_DecRef", "Py_IncRef",
})  # fmt: skip
"""Functions of Python's C API that the runtime's own code calls."""
THREAD_STATE = {
    "_ZN3c108GradMode10is_enabledEv": "libc10.so",
    "_ZN3c104impl28tls_is_dispatch_key_excludedENS_11DispatchKeyE": "libc10.so",
    "_ZN3c104impl28tls_is_dispatch_key_includedENS_11DispatchKeyE": "libc10.so",
    "_ZN3c104impl20TorchDispatchModeTLS9stack_lenEv": "libc10.so",
    "_ZN2at4impl22PythonTorchFunctionTLS9stack_lenEv": "libtorch_cpu.so",
    "_ZN3c1017get_default_dtypeEv": "libc10.so",
}
"""Functions of PyTorch that tell the state of a thread, and their libraries."""
_OBJECTS: dict[str, int] = {}
"""Addresses of objects of this process that the runtime's own code refers to."""
_DECLARED = re.compile(r"llvm\.func (?:\w+ )*@([\w.]+)\(")


@cache
def torch_library() -> ctypes.CDLL:
    """libtorch_cpu, loaded by `import torch`: Sleef, MKL and the C shim."""
    path = os.path.join(os.path.dirname(torch.__file__), "lib", "libtorch_cpu.so")
    return ctypes.CDLL(path, mode=ctypes.RTLD_LOCAL)


@cache
def openmp_library() -> ctypes.CDLL | None:
    """The OpenMP runtime that PyTorch itself runs on, or None if it cannot be found."""
    folder = os.path.join(os.path.dirname(torch.__file__), "lib")
    for path in sorted(glob.glob(os.path.join(folder, "libgomp*"))):
        return ctypes.CDLL(path, mode=ctypes.RTLD_LOCAL)
    return None


@cache
def _process() -> ctypes.CDLL:
    """The dynamic linker's global scope."""
    return ctypes.CDLL(None)


@cache
def _compiler_library() -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL("libgcc_s.so.1", mode=ctypes.RTLD_LOCAL)
    except OSError:
        return None


@before_fork
def stop_openmp_threads() -> None:
    """Stop the OpenMP pool of the forking thread: its threads do not exist in the child, where
    libgomp would wait for them forever. The next parallel region restarts them in each process."""
    hard_pause = 2
    for library in (_process(), openmp_library()):
        pause = getattr(library, "omp_pause_resource_all", None)
        if pause is not None:
            pause(hard_pause)
            return


def _libraries(name: str) -> tuple[ctypes.CDLL | None, ...]:
    """The libraries to search for a symbol, in order."""
    if name in OPENMP:
        # PyTorch's own calls bind to the global scope first, for example to a preloaded runtime;
        # generated code has to run on the same threads.
        return _process(), openmp_library(), torch_library()
    if name in BLAS or SLEEF.fullmatch(name):
        return (torch_library(),)
    if name in C_LIBRARY or name in C_MATH or name in MEMORY:
        return _process(), torch_library()
    if name in COMPILER_RUNTIME:
        return (_compiler_library(),)
    if name in PYTHON:
        return (ctypes.pythonapi,)
    if name in THREAD_STATE:
        return (_torch_library(THREAD_STATE[name]),)
    return ()


def _torch_library(name: str) -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(os.path.join(os.path.dirname(torch.__file__), "lib", name))
    except OSError:
        return None


def define(name: str, address: int) -> str:
    """Let generated code refer to an object of this process by this name."""
    _OBJECTS[name] = address
    return name


def declared(symbol: str, arguments: str, result: str = "") -> str:
    """The declaration of an imported function."""
    return f"  llvm.func @{symbol}{arguments}{result}"


def declared_names(declaration: str) -> list[str]:
    return _DECLARED.findall(declaration)


def symbol_address(name: str) -> int | None:
    """None if generated code may not import the symbol, or no library has it."""
    known = _OBJECTS.get(name)
    return _library_symbol(name) if known is None else known


@cache
def _library_symbol(name: str) -> int | None:
    for library in _libraries(name):
        if library is None:
            continue
        try:
            function = getattr(library, name)
        except AttributeError:
            continue
        return ctypes.cast(function, ctypes.c_void_p).value
    return None


def has_symbol(name: str) -> bool:
    """Is the symbol there on the machine that code is generated for?"""
    if is_torch_symbol(name) and not this_machine().has_torch:
        return False
    return symbol_address(name) is not None


def is_torch_symbol(name: str) -> bool:
    """Is it a function of libtorch, or of a library inside it?"""
    return name in BLAS or name in THREAD_STATE or SLEEF.fullmatch(name) is not None


def imported(
    declarations: Iterable[str], elsewhere: Callable[[str], int | None] = lambda name: None
) -> dict[str, int]:
    """The addresses of all functions that a module with these declarations may call; `elsewhere`
    finds those of other generated code."""
    found = dict(_compiler_runtime())
    for declaration in declarations:
        for name in declared_names(declaration):
            address = symbol_address(name) or elsewhere(name)
            if address is None:
                raise CompileError(f"generated code imports {name}, which no library here has")
            found[name] = address
    return found


@cache
def _compiler_runtime() -> dict[str, int]:
    addresses = {name: symbol_address(name) for name in COMPILER_RUNTIME}
    return {name: address for name, address in addresses.items() if address is not None}
