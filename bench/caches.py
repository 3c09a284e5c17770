"""The environment of a process that finds nothing compiled before: what a cold first call needs."""

from __future__ import annotations

import atexit
import compileall
import importlib.util
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path


def cold_caches(folder: Path | str) -> dict[str, str]:
    """Cache folders inside `folder`; what could remember compiled graphs is switched off."""
    write_bytecode()
    return {
        "TORCHINDUCTOR_CACHE_DIR": f"{folder}/inductor",
        "TORCHINDUCTOR_FX_GRAPH_CACHE": "0",
        "TORCHINDUCTOR_AUTOGRAD_CACHE": "0",
        "XDG_CACHE_HOME": f"{folder}/xdg",
        "INGOT_TUNING": f"{folder}/tuning",
        "ONEDNN_MAX_CPU_ISA": os.environ.get("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16"),
    }


def forget_tuning() -> None:
    """For this process: what was measured on the machine before, perhaps while it was busy, is not
    used."""
    folder = tempfile.mkdtemp()
    os.environ["INGOT_TUNING"] = folder
    atexit.register(shutil.rmtree, folder, ignore_errors=True)


@cache
def write_bytecode() -> None:
    """Of ingot's source, as pip does for the other contenders: an installed package has it."""
    spec = importlib.util.find_spec("ingot")
    assert spec is not None and spec.submodule_search_locations
    for folder in spec.submodule_search_locations:
        compileall.compile_dir(folder, quiet=1)
