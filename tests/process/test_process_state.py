"""Compiling leaves the process state unchanged: symbol scope, environment, modes, handlers."""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import sys
import warnings
from typing import Any

import torch

from tests.process.run import run_function

SYMBOLS = (
    "sgemm_", "dgemm_", "cblas_sgemm", "cblas_sgemm_pack", "mkl_serv_set_num_threads", "MKL_malloc",
    "dnnl_sgemm", "dnnl_engine_create", "GOMP_parallel", "GOMP_barrier", "omp_get_max_threads",
    "Sleef_expf16_u10", "aoti_torch_empty_strided", "mlirModuleCreateParse", "LLVMContextCreate",
    "__truncdfhf2", "malloc", "expf",
)  # fmt: skip


def symbol_scope() -> dict[str, int]:
    """Addresses found by dlsym(RTLD_DEFAULT)."""
    find = ctypes.CDLL(None).dlsym
    find.restype, find.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p]
    return {name: find(None, name.encode()) or 0 for name in SYMBOLS}


def floating_point_control() -> int:
    """MXCSR without its sticky exception flags: rounding, flush to zero, masks."""
    environment = (ctypes.c_uint32 * 8)()
    assert ctypes.CDLL("libm.so.6").fegetenv(environment) == 0
    return environment[7] & ~0x3F


def state() -> dict[str, Any]:
    return {
        "symbols": symbol_scope(),
        "environment": dict(os.environ),
        "dlopen flags": sys.getdlopenflags(),
        "recursion limit": sys.getrecursionlimit(),
        "warning filters": list(warnings.filters),
        "signal handlers": {s: signal.getsignal(s) for s in signal.valid_signals()},
        "collector": (gc.isenabled(), gc.get_freeze_count(), gc.get_threshold(), gc.callbacks[:]),
        "MXCSR": floating_point_control(),
        "torch threads": (torch.get_num_threads(), torch.get_num_interop_threads()),
        "torch modes": (
            torch.is_grad_enabled(),
            torch.is_inference_mode_enabled(),
            torch.get_default_dtype(),
            torch.are_deterministic_algorithms_enabled(),
            torch.is_autocast_cpu_enabled(),
            torch.get_float32_matmul_precision(),
            torch.backends.mkldnn.enabled,
            torch.random.get_rng_state().tolist(),
        ),
        "working directory": os.getcwd(),
    }


def compile_in_all_ways() -> None:
    """Torch compiles once before the first snapshot, so that its own changes are not compared."""
    torch.manual_seed(0)
    linear, x = torch.nn.Linear(64, 64), torch.randn(3, 64)

    def program(x: torch.Tensor) -> torch.Tensor:
        return torch.lgamma(linear(x).relu() + 1).softmax(-1)

    torch.compile(program, backend="aot_eager")(x)
    torch.export.export(torch.nn.Sequential(linear), (x,))
    import torch_mlir.ir  # noqa: F401

    before = state()
    import ingot

    with torch.no_grad():
        ingot.compile(program, (x,))(x)
    torch.compile(program, backend="ingot")(x).sum().backward()
    ingot.export(linear, (x,))
    after = state()
    for name, value in before.items():
        assert after[name] == value, f"{name}: {value} before, {after[name]} after"


def test_process_is_as_it_was() -> None:
    run_function(compile_in_all_ways)
