"""From Fused to Plan: kernel selection, then the passes that assign memory and order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import sympy

from ingot.codegen.loops.kernels import Kernels
from ingot.dispatch.variants import Variants
from ingot.fuse.fused import Fused, Step
from ingot.fuse.region import Region
from ingot.journal import Journal, JournalEntry
from ingot.kernels.choose_variants import thread_choices
from ingot.passes.versions import Question, Versions
from ingot.plan.decisions import Decisions, lines_of
from ingot.plan.draft import Names, PlanDraft
from ingot.plan.ir import NOWHERE, Branch, Op, Plan
from ingot.plan.passes.assign_arena import AssignArena
from ingot.plan.passes.assign_buffers import AssignBuffers
from ingot.plan.passes.base import PlanPass, run_passes
from ingot.plan.passes.eliminate_dead_ops import EliminateDeadOps
from ingot.plan.passes.form_parallel import FormParallel
from ingot.plan.passes.form_segments import FormSegments
from ingot.plan.passes.merge_versions import MergeVersions
from ingot.plan.passes.place_allocations import PlaceAllocations
from ingot.plan.resources import Resources
from ingot.plan.verify import verify
from ingot.program.program import Program
from ingot.select.fuse_epilogues import Epilogue
from ingot.select.selector import Selector


@dataclass(frozen=True)
class Version:
    """A version of a program with its kernels, before planning."""

    fused: Fused
    kernels: Kernels
    epilogues: Mapping[Region, Epilogue]
    """Regions that run as epilogues of matmuls."""
    decisions: Decisions
    """Those on epilogues."""


@dataclass(frozen=True)
class Planned:
    plan: Plan
    resources: Resources
    journal: Journal
    refusals: Mapping[Step, str]
    """Why no kernel family runs a call."""


def plan_versions(
    program: Program, tree: Versions, versions: Sequence[Version], variants: Variants
) -> Planned:
    """`versions` are in the order of the tree's leaves."""
    draft = PlanDraft(
        Resources(variants.options.weight_guard), variants, dict(program.symbols), Names()
    )
    selectors = []
    for number, v in enumerate(versions):
        draft.decisions = v.decisions.copy()
        selectors.append(Selector(v.fused, v.kernels, v.epilogues, draft, number))
    inputs = selectors[0].inputs()
    for other in selectors[1:]:
        other.inputs(inputs)
    if len(selectors) == 1:
        draft.ranges = dict(selectors[0].fused.program.symbols)
        selectors[0].ops()
    else:
        blocks = iter([_block(selector, draft) for selector in selectors])
        draft.ops += _branch(tree, blocks)
    plan, journal = _finished(draft, inputs, selectors)
    verify(plan)  # a plan that does not verify never runs
    refusals = {step: why for s in selectors for step, why in s.claims.refused().items()}
    return Planned(plan, draft.resources, journal, refusals)


def _journal(selectors: Sequence[Selector], draft: PlanDraft) -> Journal:
    """The decisions made before there was a plan, and the journals of the plans of bodies. Counts
    are of the steps that the decisions are about and of what became of them."""
    steps = sum(len(s.fused.steps) for s in selectors)
    fused = sum(len(s.epilogues) for s in selectors)
    grouped = sum(len(s.groups) for s in selectors)
    launches = sum(len(set(map(id, s.groups.values()))) for s in selectors)
    counts = {
        "fuse_epilogues": (steps, steps - fused),
        "select_kernels": (steps, steps),
        "fuse_horizontal": (grouped, launches),
        "choose_variants": (steps, steps),
    }
    decisions = [s.decisions for s in selectors]
    notes = {name: lines_of(decisions, name) for name in counts}
    notes["choose_variants"] += tuple(thread_choices(draft.variants))
    entries = (JournalEntry(name, 0.0, *both, notes[name]) for name, both in counts.items())
    return Journal((*entries, *draft.bodies))


def _block(selector: Selector, draft: PlanDraft) -> tuple[Op, ...]:
    """The ops of one version."""
    outer, known = draft.ops, set(draft.known)
    draft.ops, draft.plain, draft.decisions = [], {}, selector.decisions
    draft.ranges = dict(selector.fused.program.symbols)
    selector.ops()
    ops, draft.ops, draft.known = tuple(draft.ops), outer, known
    return ops


def _branch(tree: Versions, blocks: Iterator[tuple[Op, ...]]) -> tuple[Op, ...]:
    if not isinstance(tree, Question):
        return next(blocks)
    then = _branch(tree.yes, blocks)
    otherwise = _branch(tree.no, blocks)
    return (Branch(tree.fact, then, otherwise, NOWHERE),)


def plan_body(
    body: Fused,
    symbols: Sequence[sympy.Symbol],
    kernels: Kernels,
    epilogues: Mapping[Region, Epilogue],
    outer: PlanDraft,
    within: str,
) -> Plan:
    """The plan of a control-flow body that Python executes. Its last inputs are the values of
    `symbols`. The outer draft keeps its journal."""
    draft = PlanDraft(outer.resources, outer.variants, dict(outer.ranges), outer.names)
    selector = Selector(body, kernels, epilogues, draft)
    sizes = selector.symbol_inputs(symbols)
    inputs = [*selector.inputs(), *sizes]
    selector.ops()
    plan, journal = _finished(draft, inputs, [selector])
    for entry in journal.entries:
        place = f"{within}/{entry.within}" if entry.within else within
        outer.bodies.append(replace(entry, within=place))
    return plan


def _finished(
    draft: PlanDraft, inputs: Sequence[str], selectors: Sequence[Selector]
) -> tuple[Plan, Journal]:
    plan = Plan(
        tuple(inputs), tuple(draft.ops), tuple(draft.buffers.values()),
        tuple(draft.kernels.values()), tuple(draft.recipes.values()), tuple(draft.symbols.values()),
    )  # fmt: skip
    profiled = draft.variants.options.profile
    passes: list[PlanPass] = [
        EliminateDeadOps(),
        *([] if profiled else [MergeVersions()]),
        AssignBuffers(),
        FormSegments(profiled),
        FormParallel(),
        PlaceAllocations(),
        AssignArena(),
    ]
    return run_passes(plan, passes, _journal(selectors, draft), check=draft.variants.options.verify)
