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
from collections.abc import Iterable
from functools import cache

import torch

from ingot.errors import CompileError
from ingot.forks import before_fork

OPENMP = frozenset({
    "GOMP_parallel", "GOMP_barrier", "omp_get_thread_num", "omp_get_num_threads",
    "omp_get_max_threads",
})  # fmt: skip
BLAS = frozenset({"sgemm_", "dgemm_", "cblas_sgemm_pack"})
C_LIBRARY = frozenset({"aligned_alloc", "free"})
C_MATH = frozenset(
    name + letter
    for name in (
        "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cos", "cosh", "erf", "erfc",
        "exp", "exp2", "expm1", "fmod", "hypot", "lgamma", "log", "log10", "log1p", "log2",
        "nextafter", "pow", "sin", "sinh", "tan", "tanh", "tgamma",
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
    if name in C_LIBRARY or name in C_MATH:
        return _process(), torch_library()
    if name in COMPILER_RUNTIME:
        return (_compiler_library(),)
    return ()


@cache
def symbol_address(name: str) -> int | None:
    """None if generated code may not import the symbol, or no library has it."""
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
    return symbol_address(name) is not None


def imported(declarations: Iterable[str]) -> dict[str, int]:
    """The addresses of all functions that a module with these declarations may call."""
    found = dict(_compiler_runtime())
    for declaration in declarations:
        for name in _DECLARED.findall(declaration):
            address = symbol_address(name)
            if address is None:
                raise CompileError(f"generated code imports {name}, which no library here has")
            found[name] = address
    return found


@cache
def _compiler_runtime() -> dict[str, int]:
    addresses = {name: symbol_address(name) for name in COMPILER_RUNTIME}
    return {name: address for name, address in addresses.items() if address is not None}
