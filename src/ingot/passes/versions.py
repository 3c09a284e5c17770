"""Multi-versioning: `torch.cond` on symbolic sizes is resolved before compilation. The result is a
decision tree over sizes with a program per leaf, in which the branch taken replaces the cond.
Questions depend on input sizes only. A predicate that follows from earlier answers is not asked
again. Beyond MOST_VERSIONS programs the remaining conds stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import sympy
import torch
from torch.fx import Node
from torch.utils._sympy.numbers import int_oo
from torch.utils._sympy.value_ranges import ValueRanges

from ingot.journal import JournalEntry
from ingot.passes.base import ProgramDraft
from ingot.passes.facts import Known, opposite
from ingot.passes.inline import inline_branch, replace_call
from ingot.program.graph import placeholders
from ingot.program.program import Program, SymbolRange

MOST_VERSIONS = 16
MOST_NODES = 8000
"""Total over all versions: each is compiled."""


@dataclass(frozen=True)
class Question:
    """An inner node of the decision tree: which of two programs to run."""

    fact: sympy.Basic
    yes: Versions
    no: Versions


Versions = Question | Program


def leaves(tree: Versions) -> Iterator[Program]:
    if isinstance(tree, Program):
        yield tree
    else:
        yield from leaves(tree.yes)
        yield from leaves(tree.no)


def versions(program: Program) -> Versions:
    """The decision tree; the program itself if no branch depends on a size."""
    symbols = _input_symbols(program)
    if not any(_asks(node, symbols) for node in program.graph.nodes):
        return program
    return _Splitter(symbols).split(program, Known(symbols))


class _Splitter:
    def __init__(self, symbols: Mapping[sympy.Symbol, Any]):
        self.symbols = symbols
        self.count = 1
        self.nodes = 0

    def split(self, program: Program, known: Known) -> Versions:
        program = _resolved(program, known, self.symbols)
        asking = next((n for n in program.graph.nodes if _asks(n, self.symbols)), None)
        self.nodes += len(program.graph.nodes)
        if asking is None or self.count >= MOST_VERSIONS or self.nodes >= MOST_NODES:
            return _noted(program, known)
        self.count += 1
        fact = known.open_part(_predicate(asking))
        no = known.learned(opposite(fact))
        return Question(fact, self.split(program, known.learned(fact)), self.split(program, no))


def _resolved(program: Program, known: Known, symbols: Mapping[sympy.Symbol, Any]) -> Program:
    """The program with all decided branches inlined."""
    draft = ProgramDraft(program)
    when = "here" if known.facts else "always"
    notes: list[str] = []
    before = len(program.graph.nodes)
    while True:
        found = [(n, known.decide(_predicate(n))) for n in draft.graph.nodes if _asks(n, symbols)]
        taken = [(node, way) for node, way in found if way is not None]
        if not taken:
            break
        for node, way in taken:
            notes.append(f"{node.name} is {when} {way}: only that branch is left")
            replace_call(draft, node, inline_branch(draft, node, way))
    draft.graph.eliminate_dead_code()
    journal = program.journal
    if notes:
        entry = JournalEntry("versions", 0.0, before, len(draft.graph.nodes), tuple(notes))
        journal = journal.with_entry(entry)
    return draft.close(journal, program.level)


def _noted(program: Program, known: Known) -> Program:
    """Record the learned facts in the program's symbol ranges and its journal."""
    nodes = len(program.graph.nodes)
    facts = " and ".join(map(str, known.facts)) or "all sizes"
    entry = JournalEntry("versions", 0.0, nodes, nodes, (f"the version for {facts}",))
    symbols = MappingProxyType(_narrowed(program, known))
    return replace(program, symbols=symbols, journal=program.journal.with_entry(entry))


def _narrowed(program: Program, known: Known) -> dict[str, SymbolRange]:
    ranges = {symbol.name: found for symbol, found in known.ranges.items()}
    result = {}
    for name, old in program.symbols.items():
        found = ranges.get(name)
        if found is None:
            result[name] = old
            continue
        lower = int(found.lower) if found.lower.is_Integer else old.lower
        upper = int(found.upper) if found.upper.is_Integer else old.upper
        result[name] = SymbolRange(max(lower, old.lower), upper)
    return result


def _asks(node: Node, symbols: Mapping[sympy.Symbol, Any]) -> bool:
    """Whether this is a branch on input sizes."""
    if node.target is not torch.ops.higher_order.cond or not isinstance(node.args[0], Node):
        return False
    value = node.args[0].meta.get("val")
    return isinstance(value, torch.SymBool) and value.node.expr.free_symbols <= set(symbols)


def _predicate(node: Node) -> Any:
    return node.args[0].meta["val"].node.expr  # type: ignore[union-attr]


def _input_symbols(program: Program) -> dict[sympy.Symbol, ValueRanges[Any]]:
    """Symbols that are an input or a size of one, with their ranges."""
    found: dict[sympy.Symbol, ValueRanges[Any]] = {}
    for node in placeholders(program.graph):
        value = node.meta.get("val")
        numbers = value.shape if isinstance(value, torch.Tensor) else (value,)
        for number in numbers:
            if isinstance(number, torch.SymInt) and number.node.expr.is_Symbol:
                symbol = number.node.expr
                known = program.symbols.get(symbol.name)
                if known is not None:
                    upper = int_oo if known.upper is None else known.upper
                    found[symbol] = ValueRanges(known.lower, upper)
    return found
