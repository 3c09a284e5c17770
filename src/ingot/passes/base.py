"""Pass infrastructure. A pass maps a Program to a Program by editing a ProgramDraft, the one
mutable copy that `run_passes` makes of its input; the input is never changed. Each pass adds a
journal entry with short notes and, on request, is verified. Every edit keeps a value's meta["val"];
outputs alias each other or an input only if they did before.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar

import torch
from torch.fx import Graph, Node

from ingot.exclusive import exclusively
from ingot.foreign_rules import note_registration
from ingot.journal import Journal, JournalEntry
from ingot.passes.offsets import refresh_offsets
from ingot.program.graph import (
    copy_module,
    is_item,
    memory_root,
    output_values,
    placeholders,
    view_chain,
)
from ingot.program.program import Level, Program, Signature

Rule = Callable[["ProgramDraft", Node], Node | None]
"""A rewrite of one node. Returns the replacement, the same node if it was edited in place, or None
if the rule does not apply."""


class ProgramDraft:
    """The mutable copy of a program that passes edit."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.module = copy_module(program.graph_module)
        self.constants = dict(program.constants)
        self.symbols = program.symbols
        self.signature: Signature = program.signature
        self.level: Level = program.level
        self._made: dict[Any, dict[str, torch.Tensor]] = {}
        """Constants added by this draft, by dtype, shape and strides."""
        self.refresh()

    @property
    def graph(self) -> Graph:
        return self.module.graph

    def refresh(self) -> None:
        """Recompute which values leave the graph."""
        values = output_values(self.graph)
        user = self.signature.user_outputs()
        inputs = placeholders(self.graph)
        self.returned = {node for node in values[:user] if isinstance(node, Node)}
        self.escaping = {node for value in values[:user] for node in _memory_chain(value)}
        self.stored = {node for value in values[user:] for node in _memory_chain(value)}
        self.overwritten = {
            inputs[spec.target] for spec in self.signature.outputs if spec.target is not None
        }

    def swap(self, node: Node, new: Node) -> None:
        """Replace every use of `node` by `new` and erase `node`."""
        node.replace_all_uses_with(new, propagate_meta=False)
        if node in self.returned:
            self.returned.add(new)
        if node in self.escaping:
            self.escaping.update(_memory_chain(new))
        if node in self.stored:
            self.stored.update(_memory_chain(new))
        self.graph.erase_node(node)

    def may_share(self, node: Node, source: Node) -> bool:
        """Whether `node`, a copy of `source`, may be replaced by `source`. Not if the user would
        then hold two outputs, or an output and an input, in the same memory."""
        root = memory_root(source)
        if node in self.stored and root in self.overwritten:
            return False
        if node not in self.escaping:
            return True
        return root.op == "call_function" and root not in self.escaping

    def may_stand_for(self, node: Node, source: Node) -> bool:
        """Whether `node`, equal to `source` and in the same memory, may be the same tensor
        object."""
        if node not in self.returned:
            return True
        return source.op == "call_function" and source not in self.returned

    def call(
        self, before: Node, target: Any, args: tuple[Any, ...], val: Any, **kwargs: Any
    ) -> Node:
        """Insert a call before `before`, with the same source location."""
        with self.graph.inserting_before(before):
            node = self.graph.call_function(target)
        node.args, node.kwargs = args, kwargs  # set separately: torch.fx warns of symbolic numbers
        node.meta = {**before.meta, "val": val}
        return node

    def add_constant(self, before: Node, tensor: torch.Tensor) -> Node:
        """Read a constant of the program before `before`, whose meta it inherits. Equal constants
        are added once."""
        kind = (tensor.dtype, tensor.shape, tensor.stride())
        made = self._made.setdefault(kind, {})
        equal = [name for name, other in made.items() if torch.equal(other, tensor)]
        name = equal[0] if equal else self._new_name()
        if not equal:
            made[name] = self.constants[name] = tensor
            self.module.register_buffer(name, tensor)
        with self.graph.inserting_before(before):
            node = self.graph.get_attr(name)
        node.meta = dict(before.meta)
        return node

    def _new_name(self) -> str:
        number = len(self.constants)
        while (name := f"_folded{number}") in self.constants or hasattr(self.module, name):
            number += 1
        return name

    def close(self, journal: Journal, level: Level) -> Program:
        used = {node.target for node in self.graph.nodes if node.op == "get_attr"}
        kept = {name: tensor for name, tensor in self.constants.items() if name in used}
        return replace(
            self.program,
            graph_module=self.module,
            signature=self.signature,
            constants=MappingProxyType(kept),
            symbols=self.symbols,
            level=level,
            journal=journal,
        )


def _memory_chain(value: Any) -> Iterator[Node]:
    """The value, every base it is a view of, and the call that the last is an item of."""
    if not isinstance(value, Node):
        return
    for node in view_chain(value):
        yield node
    if is_item(node):
        yield node.args[0]  # type: ignore[misc]


@dataclass(frozen=True)
class Pass:
    """A named step. File, class and name agree."""

    name: ClassVar[str]
    leaves: ClassVar[Level | None] = None
    """The program's level after this pass, if the pass changes it."""

    def rewrite(self, draft: ProgramDraft) -> list[str]:
        """Edit the draft and return notes for the journal."""
        raise NotImplementedError

    def run(self, program: Program) -> Program:
        return run_passes(program, [self])


@exclusively()
def run_passes(program: Program, passes: Sequence[Pass], verify: bool = False) -> Program:
    """Run the passes in order and return the result; the given program is not changed."""
    from ingot.program.verify import verify as check

    draft = ProgramDraft(program)
    journal, level = program.journal, program.level
    for step in passes:
        before = len(draft.graph.nodes)
        start = time.perf_counter()
        notes = step.rewrite(draft)
        ms = (time.perf_counter() - start) * 1e3
        level = step.leaves or level
        draft.level = level
        journal = journal.with_entry(
            JournalEntry(step.name, ms, before, len(draft.graph.nodes), tuple(notes))
        )
        if verify:
            check(draft.close(journal, level))
    refresh_offsets(draft.graph)
    return draft.close(journal, level)


def args_of(node: Node) -> Any:
    """A node's arguments, untyped, for rules that know their op's schema."""
    return node.args


def apply_rules(draft: ProgramDraft, rules: Mapping[Any, Sequence[Rule]]) -> list[str]:
    """One sweep in program order: each node tries the rules of its op until one replaces it.
    Returns the number of applications per rule."""
    counts: dict[str, int] = {}
    draft.refresh()
    for node in list(draft.graph.nodes):
        for rule in rules.get(node.target, ()) if node.op == "call_function" else ():
            new = rule(draft, node)
            if new is None:
                continue
            name = rule.__name__.replace("_", " ").strip()
            counts[name] = counts.get(name, 0) + 1
            if new is not node:
                draft.swap(node, new)
                break
    return [f"{name}: {count}" for name, count in sorted(counts.items())]


class RuleTable(dict[Any, list[Rule]]):
    """Rules by op, filled by decorator. Registering a rule twice for one op raises."""

    def on(self, *targets: Any) -> Callable[[Rule], Rule]:
        def register(rule: Rule) -> Rule:
            for target in targets:
                rules = self.setdefault(target, [])
                if rule in rules:
                    raise ValueError(f"{rule.__name__} is registered for {target} already")
                note_registration(target, rule)
                rules.append(rule)
            return rule

        return register
