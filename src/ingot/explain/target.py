"""The target of `ingot explain module:callable --input 8x128`: resolves a command line to a model
and the arguments to call it with. Errors quote the rejected argument and say what is accepted.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click
import torch

from ingot.errors import did_you_mean

Workload = tuple[Any, Sequence[Any], Mapping[str, Any]]


def find_target(name: str) -> Any:
    """`package.module:attribute` or `folder/file.py:attribute`; the working directory is on the
    import path."""
    module_name, colon, path = name.partition(":")
    if not (module_name and colon and path):
        raise click.BadParameter(f"{name!r} is not of the form module:callable")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found: Any = _imported(module_name)
    except (ModuleNotFoundError, FileNotFoundError) as error:
        raise click.BadParameter(f"cannot import {module_name!r}: {error}") from error
    for part in path.split("."):
        if not hasattr(found, part):
            known = [n for n in dir(found) if not n.startswith("_")]
            raise click.BadParameter(f"no {part!r} in {module_name!r}: {did_you_mean(part, known)}")
        found = getattr(found, part)
    if not callable(found):
        raise click.BadParameter(f"{name!r} is a {type(found).__name__}, not a callable")
    return found


def _imported(name: str) -> Any:
    if not name.endswith(".py"):
        return importlib.import_module(name)
    spec = importlib.util.spec_from_file_location(os.path.basename(name)[:-3], name)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
    return module


def workload_of(target: Any, name: str, inputs: Sequence[str]) -> Workload:
    """The target with random inputs or, without inputs, the result of calling the target."""
    if inputs:
        return target, tuple(random_input(text) for text in inputs), {}
    try:
        made = target()
    except TypeError as error:
        raise click.UsageError(
            f"{name} needs arguments: give them with --input ({error})"
        ) from error
    model, args, kwargs = (*made, {})[:3] if _is_workload(made) else (None, (), {})
    if model is None:
        raise click.UsageError(
            f"{name} returned a {type(made).__name__}, not (model, args) or (model, args, kwargs); "
            "to explain the callable itself, give its arguments with --input"
        )
    return model, tuple(args), kwargs


def _is_workload(made: Any) -> bool:
    return (
        isinstance(made, tuple)
        and len(made) in (2, 3)
        and callable(made[0])
        and isinstance(made[1], list | tuple)
    )


def random_input(text: str) -> torch.Tensor:
    """`8x128:int64` as a tensor: normally distributed values, or random zeros and ones."""
    sizes, _, dtype_name = text.partition(":")
    dtype = getattr(torch, dtype_name or "float32", None)
    try:
        shape = [int(size) for size in sizes.split("x")] if sizes else []
    except ValueError:
        shape = [-1]
    if not isinstance(dtype, torch.dtype) or any(size < 0 for size in shape):
        raise click.BadParameter(f"{text!r} is not of the form 8x128 or 8x128:int64")
    if dtype.is_floating_point or dtype.is_complex:
        return torch.randn(shape, dtype=torch.complex64 if dtype.is_complex else None).to(dtype)
    return torch.randint(0, 2, shape).to(dtype)
