"""Some virtual machines advertise AMX and trap when it is used: a bf16 product then kills the
process. Where AMX is advertised, it is tried once in a child process; if the child dies, PyTorch is
told to stay below it.
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
    """True where AMX is advertised but traps and this process runs without the variable that avoids
    it."""
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
        f"ONEDNN_MAX_CPU_ISA={SAFE_ISA} before PyTorch starts to have it back.",
        stacklevel=3,
    )
    return True
