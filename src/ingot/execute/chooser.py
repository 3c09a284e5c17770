"""The branch between versions of a program. Comes in: a tree of questions about sizes, and the
steps and kernels of each version; goes out: one function for all. What holds: where every step of
every version is native, so is the branch, and all versions are one native program; elsewhere the
host asks, as for any branch that it steers.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import sympy
import torch

from ingot.codegen.kernels import Kernels
from ingot.dispatch.variants import Variants
from ingot.execute.runner import Run, Runner, RunnerWriter, finished
from ingot.fallback.recovery import CHOOSER, guarded
from ingot.fuse.fused import Fused
from ingot.fuse.region import Region
from ingot.passes.versions import Question, Versions
from ingot.plan.followers import Follower
from ingot.plan.joined import joined
from ingot.plan.sizes import SizePrinter, identifier
from ingot.program.graph import placeholders
from ingot.program.program import Program


def native_chooser(
    program: Program,
    tree: Versions,
    versions: Sequence[tuple[Fused, Kernels]],
    ways: Variants,
    followers: Mapping[Region, Follower],
) -> tuple[Fused, Runner] | None:
    """All versions as one native program; None where a step needs the host. `versions` are in the
    order of the tree's leaves, `followers` those of all."""
    whole = joined(program, tree, (fused for fused, _ in versions))
    if whole is None:
        return None
    kernels = all_kernels([each for _, each in versions])
    writer = RunnerWriter(whole, kernels, ways, followers)
    return (whole, finished(writer)) if writer.roles.controls.keys() >= {*whole.steps[:1]} else None


def all_kernels(parts: Sequence[Kernels]) -> Kernels:
    regions = {region: kernel for part in parts for region, kernel in part.by_region.items()}
    failures = {region: why for part in parts for region, why in part.failures.items()}
    return Kernels(regions, failures, len({kernel.text for kernel in regions.values()}))


def host_chooser(
    program: Program, tree: Versions, versions: Sequence[tuple[Run, str]]
) -> tuple[Run, str]:
    """One function of the text of all versions, which take their inputs in the same way, and its
    text. What a version refers to has names that no other has."""
    bodies = [source.splitlines()[1:] for _, source in versions]
    head = _common_lines(bodies)
    printer = SizePrinter(_names(program, "\n".join(head)))
    rest = iter([body[len(head) :] for body in bodies])
    source = "\n".join(["def run(inputs):", *head, *_questions(tree, printer, rest, "    ")])
    scope: dict[str, Any] = {}
    for run, _ in versions:
        scope |= run.__globals__
    exec(compile(guarded(source), CHOOSER, "exec"), scope)
    return scope.pop("run"), source


def _common_lines(bodies: Sequence[Sequence[str]]) -> list[str]:
    """What every version begins with: taking the inputs and their sizes."""
    same = itertools.takewhile(lambda lines: len(set(lines)) == 1, zip(*bodies))
    return [lines[0] for lines in same]


def _names(program: Program, head: str) -> dict[sympy.Symbol, str]:
    """Of the symbols, as the runner gave them."""
    names: dict[sympy.Symbol, str] = {}
    for i, node in enumerate(placeholders(program.graph)):
        value = node.meta.get("val")
        for number in value.shape if isinstance(value, torch.Tensor) else (value,):
            if isinstance(number, torch.SymInt) and number.node.expr.is_Symbol:
                symbol = number.node.expr
                name = f"in{i}" if number is value else identifier("size", symbol.name)
                if re.search(rf"\b{name}\b", head):
                    names.setdefault(symbol, name)
    return names


def _questions(
    tree: Versions, printer: SizePrinter, bodies: Iterator[Sequence[str]], indent: str
) -> list[str]:
    if not isinstance(tree, Question):
        return [f"{indent}{line[4:]}" for line in next(bodies)]
    return [
        f"{indent}if {printer.doprint(tree.fact)}:",
        *_questions(tree.yes, printer, bodies, f"{indent}    "),
        *_questions(tree.no, printer, bodies, indent),
    ]
