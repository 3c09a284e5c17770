"""A saved program as a model: its inputs follow from its signature."""

from __future__ import annotations

import os
from functools import cached_property
from typing import Any

import click
import sympy
import torch
from torch.fx import Node
from torch.utils import _pytree as pytree

from ingot.artifact.archive import read_archive
from ingot.artifact.load import load
from ingot.artifact.store import ProgramFile
from ingot.cli.inputs import Arguments
from ingot.cli.models import Workload, replaced
from ingot.program.call import call_spec
from ingot.program.graph import placeholders
from ingot.program.program import Fixed, Program
from ingot.program.shapes import shape_of, size_of

LIKELY = 8
"""A dynamic size, within its range."""


def open_saved(path: str, given: Arguments) -> Workload:
    """A compiled program, and PyTorch on the saved graph as `eager`; or a Program alone."""
    if not os.path.exists(path):
        raise click.BadParameter(f"{path!r}: no such file")
    model = load(path)
    is_program = isinstance(model, Program)
    known, names = example_arguments(model if isinstance(model, Program) else model.program)
    if given.args:  # as many as there are by position, then by name
        count = len(known.args)
        named = dict(zip(known.kwargs, given.args[count:]))
        args, kwargs = given.args[:count], {**named, **given.kwargs}
        if len(given.args) > count + len(known.kwargs):
            raise click.UsageError(f"{path} takes {', '.join(names) or 'no inputs'}")
    else:
        args, kwargs = replaced(known, names, given)
    eager = None if is_program else SavedGraph(path)
    return Workload(path, model, tuple(args), kwargs, eager, names[: len(args)])


class SavedGraph:
    """The graph of a compiled program, run by PyTorch op by op. It is read when it is called."""

    def __init__(self, path: str):
        self.path = path

    @cached_property
    def program(self) -> Program:
        return ProgramFile(self.path, read_archive(self.path)).program()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.program(*args, **kwargs)


def example_arguments(program: Program) -> tuple[Arguments, tuple[str, ...]]:
    """Random arguments in the dtypes and sizes that the program was made for, and their names."""
    calling, nodes = call_spec(program), placeholders(program.graph)
    leaves, leaf_names = [], []
    for k, wanted in enumerate(calling.arguments):
        if isinstance(wanted, Fixed):
            leaves.append(wanted.value)
            leaf_names.append(str(k))
        else:
            leaves.append(_example(nodes[wanted], program))
            leaf_names.append(program.signature.inputs[wanted].name)
    args, kwargs = pytree.tree_unflatten(leaves, calling.in_spec)
    firsts = pytree.tree_unflatten(leaf_names, calling.in_spec)[0]
    names = (each if isinstance(each, str) else str(k) for k, each in enumerate(firsts))
    return Arguments([*args], dict(kwargs)), (*names, *kwargs)


def _example(node: Node, program: Program) -> Any:
    value = node.meta["val"]
    if not isinstance(value, torch.Tensor):
        return _number(size_of(value) if isinstance(value, torch.SymInt) else value, program)
    shape = [_number(size, program) for size in shape_of(node)]
    if value.dtype.is_floating_point or value.dtype.is_complex:
        wide = torch.complex64 if value.dtype.is_complex else torch.float32
        return torch.randn(shape, dtype=wide).to(value.dtype)
    return torch.randint(0, 2, shape).to(value.dtype)


def _number(size: Any, program: Program) -> Any:
    """A dynamic size is one within its range."""
    if not isinstance(size, sympy.Expr):
        return size
    values = {}
    for symbol in size.free_symbols:
        known = program.symbols[str(symbol)]
        upper = LIKELY if known.upper is None else min(LIKELY, int(known.upper))
        values[symbol] = max(upper, int(known.lower))
    return int(size.subs(values))
