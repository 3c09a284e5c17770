"""Saves compiled programs with eager's results, and runs them in another process."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.utils import _pytree as pytree

import ingot

RUN = Path(__file__).with_name("run.py")
Call = tuple[tuple[Any, ...], Mapping[str, Any]]


def save(
    model: Callable[..., Any], calls: Sequence[Call], folder: Path, dynamic_shapes: Any = None,
    **given: Any,
) -> list[str]:  # fmt: skip
    """Save the program compiled for the first call, and what eager returns and writes in each; the
    arguments of `run`."""
    eager = copy.deepcopy(model)
    with torch.no_grad():
        args, kwargs = copied(calls[0])
        exe = ingot.compile(model, args, kwargs, dynamic_shapes=dynamic_shapes)
        exe.save(folder / "it.ingot", **given)
        records = []
        for call in calls:
            args, kwargs = copied(call)
            leaves = copy.deepcopy(pytree.tree_leaves(eager(*args, **kwargs)))
            before, (args, kwargs) = copied(call), (args, kwargs)
            after = pytree.tree_leaves((args, kwargs))
            records.append(
                {"args": before[0], "kwargs": before[1], "result": leaves, "after": after}
            )
    torch.save(records, folder / "calls.pt")
    return [str(folder / "it.ingot"), str(folder / "calls.pt")]


def copied(call: Call) -> tuple[tuple[Any, ...], dict[str, Any]]:
    args, kwargs = copy.deepcopy((call[0], dict(call[1])))
    return args, kwargs


def run(arguments: list[str], cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """In a process without compilers, and without the cache of this one."""
    return subprocess.run(
        [sys.executable, str(RUN), *arguments], capture_output=True, text=True, cwd=cwd,
        timeout=300, env={**os.environ, "PATH": "", "INGOT_CACHE_MB": "0", **environment},
    )  # fmt: skip
