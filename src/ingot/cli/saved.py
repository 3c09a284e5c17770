"""A saved program as a model: its inputs follow from its signature."""

from __future__ import annotations

import os
from typing import Any

import click
import sympy
import torch
from torch.utils import _pytree as pytree

from ingot.artifact.archive import MANIFEST, read_archive
from ingot.artifact.load import load
from ingot.artifact.store import ProgramFile
from ingot.cli.inputs import Arguments
from ingot.cli.models import Workload, replaced
from ingot.program.call import call_spec
from ingot.program.graph import placeholders
from ingot.program.program import Fixed, Program

LIKELY = 8
"""A dynamic size, within its range."""


def open_saved(path: str, given: Arguments) -> Workload:
    """A compiled program with the saved Program beside it as `eager`; or a Program alone."""
    if not os.path.exists(path):
        raise click.BadParameter(f"{path!r}: no such file")
    members = read_archive(path)
    model: Any = load(path)
    whole = model if MANIFEST not in members else ProgramFile(path, members).program()
    known, names = example_arguments(whole)
    if given.args:  # as many as there are by position, then by name
        count = len(known.args)
        named = dict(zip(known.kwargs, given.args[count:]))
        args, kwargs = given.args[:count], {**named, **given.kwargs}
        if len(given.args) > count + len(known.kwargs):
            raise click.UsageError(f"{path} takes {', '.join(names) or 'no inputs'}")
    else:
        args, kwargs = replaced(known, names, given)
    eager = None if model is whole else whole
    return Workload(path, model, tuple(args), kwargs, eager, names[: len(args)])


def example_arguments(program: Program) -> tuple[Arguments, tuple[str, ...]]:
    """Random arguments in the dtypes and sizes that the program was made for, and their names."""
    calling, nodes = call_spec(program), placeholders(program.graph)
    leaves, leaf_names = [], []
    for k, wanted in enumerate(calling.arguments):
        if isinstance(wanted, Fixed):
            leaves.append(wanted.value)
            leaf_names.append(str(k))
        else:
            leaves.append(_example(nodes[wanted].meta["val"], program))
            leaf_names.append(program.signature.inputs[wanted].name)
    args, kwargs = pytree.tree_unflatten(leaves, calling.in_spec)
    firsts = pytree.tree_unflatten(leaf_names, calling.in_spec)[0]
    names = (each if isinstance(each, str) else str(k) for k, each in enumerate(firsts))
    return Arguments([*args], dict(kwargs)), (*names, *kwargs)


def _example(value: Any, program: Program) -> Any:
    if not isinstance(value, torch.Tensor):
        return _size(value, program)
    shape = [_size(size, program) for size in value.shape]
    if value.dtype.is_floating_point or value.dtype.is_complex:
        wide = torch.complex64 if value.dtype.is_complex else torch.float32
        return torch.randn(shape, dtype=wide).to(value.dtype)
    return torch.randint(0, 2, shape).to(value.dtype)


def _size(size: Any, program: Program) -> Any:
    if not isinstance(size, torch.SymInt):
        return size
    values = {}
    for symbol in size.node.expr.free_symbols:
        known = program.symbols[str(symbol)]
        upper = LIKELY if known.upper is None else min(LIKELY, int(known.upper))
        values[symbol] = max(upper, int(known.lower))
    return int(sympy.sympify(size.node.expr).subs(values))
