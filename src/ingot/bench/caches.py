"""The environment of a process that finds nothing compiled, to measure a cold first call."""

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
    """Cache folders inside `folder`; caches of compiled graphs are disabled."""
    write_bytecode()
    return {
        "TORCHINDUCTOR_CACHE_DIR": f"{folder}/inductor",
        "TORCHINDUCTOR_FX_GRAPH_CACHE": "0",
        "TORCHINDUCTOR_AUTOGRAD_CACHE": "0",
        "XDG_CACHE_HOME": f"{folder}/xdg",
        "INGOT_CACHE_DIR": f"{folder}/ingot",
        "INGOT_CACHE_MB": "2048",
        "INGOT_TUNING": f"{folder}/tuning",
        "ONEDNN_MAX_CPU_ISA": os.environ.get("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16"),
    }


def forget_tuning() -> None:
    """In this process, ignores earlier tuning measurements, which a busy machine may have
    spoiled."""
    folder = tempfile.mkdtemp()
    os.environ["INGOT_TUNING"] = folder
    atexit.register(shutil.rmtree, folder, ignore_errors=True)


@cache
def write_bytecode() -> None:
    """Compiles ingot's source to bytecode, as pip does for the other contenders."""
    spec = importlib.util.find_spec("ingot")
    assert spec is not None and spec.submodule_search_locations
    for folder in spec.submodule_search_locations:
        compileall.compile_dir(folder, quiet=1)
