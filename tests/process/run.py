"""Subprocesses for tests of process state, where a failure may be a hang or a signal."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def run_python(
    *arguments: str,
    timeout: float = 240,
    env: Mapping[str, str | None] | None = None,
    **options: Any,
) -> subprocess.CompletedProcess[str]:
    """Run Python with these arguments from the root of the repository. `env` holds changes to the
    environment; None removes a variable. If the process fails, so does the caller, with its output.
    """
    environment: dict[str, str] = {**os.environ}
    for name, value in (env or {}).items():
        environment.pop(name, None)
        if value is not None:
            environment[name] = value
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=timeout,
        cwd=ROOT, env=environment, **options,
    )  # fmt: skip
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def run_function(function: Callable[[], None], **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a module-level function of a test module in a new Python process."""
    call = f"from {function.__module__} import {function.__name__} as f; f()"
    return run_python("-c", call, **options)
