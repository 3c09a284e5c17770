"""Protection from virtual machines that advertise AMX and trap when it is used: a bf16 matmul then
kills the process. If AMX is advertised, a child process tries it once; if the child dies, oneDNN is
disabled in this process.
"""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from functools import cache

from ingot.machine import this_machine

SAFE_ISA = "AVX512_CORE_BF16"
_TRIAL = "import torch; a = torch.ones(64, 64, dtype=torch.bfloat16); (a @ a).sum().item()"


@cache
def protect_from_amx() -> bool:
    """True if AMX is advertised but traps and ONEDNN_MAX_CPU_ISA is not set."""
    advertised = {"amx_tile", "amx_bf16"} & this_machine().features
    if not advertised or os.environ.get("ONEDNN_MAX_CPU_ISA"):
        return False
    trial = subprocess.run([sys.executable, "-c", _TRIAL], capture_output=True, check=False)
    if trial.returncode >= 0:
        return False
    import torch

    torch.backends.mkldnn.enabled = False  # type: ignore[assignment]
    warnings.warn(
        f"this machine advertises AMX but traps on it: oneDNN is off in this process. Set "
        f"ONEDNN_MAX_CPU_ISA={SAFE_ISA} before PyTorch starts to enable it again.",
        stacklevel=3,
    )
    return True
