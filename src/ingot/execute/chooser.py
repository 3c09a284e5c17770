"""The branch between versions of a program. Comes in: a tree of questions about sizes, and the
steps and kernels of each version; goes out: one function for all. What holds: where every step of
every version is native, so is the branch, and all versions are one native program; elsewhere the
host asks, as for any branch that it steers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import sympy
import torch

from ingot.codegen.kernels import Kernels
from ingot.dispatch.ways import Ways
from ingot.execute.runner import Run, Runner, RunnerWriter, finished
from ingot.passes.versions import Question, Versions
from ingot.plan.joined import joined
from ingot.plan.sizes import SizePrinter
from ingot.program.graph import placeholders
from ingot.program.program import Program
from ingot.stages import Fused


def native_chooser(
    program: Program, tree: Versions, versions: Sequence[tuple[Fused, Kernels]], ways: Ways
) -> tuple[Fused, Runner] | None:
    """All versions as one native program; None where a step needs the host. `versions` are in the
    order of the tree's leaves."""
    whole = joined(program, tree, (fused for fused, _ in versions))
    if whole is None:
        return None
    kernels = all_kernels([each for _, each in versions])
    writer = RunnerWriter(whole, kernels, ways)
    return (whole, finished(writer)) if writer.roles.controls.keys() >= {*whole.steps[:1]} else None


def all_kernels(parts: Sequence[Kernels]) -> Kernels:
    regions = {region: kernel for part in parts for region, kernel in part.by_region.items()}
    failures = {region: why for part in parts for region, why in part.failures.items()}
    return Kernels(regions, failures, len({kernel.text for kernel in regions.values()}))


def host_chooser(program: Program, tree: Versions, runs: Sequence[Run]) -> tuple[Run, str]:
    """A function that asks and calls one of `runs`. Also its text."""
    names: dict[sympy.Symbol, str] = {}
    lines = []
    for i, node in enumerate(placeholders(program.graph)):
        for text, number in _numbers(f"inputs[{i}]", node.meta.get("val")):
            if isinstance(number, torch.SymInt) and number.node.expr.is_Symbol:
                symbol = number.node.expr
                if symbol not in names and symbol in _asked(tree):
                    names[symbol] = f"size_{symbol}"
                    lines.append(f"    size_{symbol} = {text}")
    numbers = iter(range(len(runs)))
    lines += _questions(tree, SizePrinter(names).doprint, numbers, "    ")
    source = "\n".join(["def run(inputs):", *lines])
    scope: dict[str, Any] = {f"run{k}": run for k, run in enumerate(runs)}
    exec(compile(source, "<ingot chooser>", "exec"), scope)
    return scope["run"], source


def _asked(tree: Versions) -> set[sympy.Symbol]:
    if not isinstance(tree, Question):
        return set()
    return tree.fact.free_symbols | _asked(tree.yes) | _asked(tree.no)


def _numbers(text: str, value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, torch.Tensor):
        return [(f"{text}.size({k})", size) for k, size in enumerate(value.shape)]
    return [(text, value)]


def _questions(
    tree: Versions, written: Callable[[Any], str], numbers: Iterator[int], indent: str
) -> list[str]:
    if not isinstance(tree, Question):
        return [f"{indent}return run{next(numbers)}(inputs)"]
    return [
        f"{indent}if {written(tree.fact)}:",
        *_questions(tree.yes, written, numbers, f"{indent}    "),
        *_questions(tree.no, written, numbers, indent),
    ]
