"""The whole compiler on one page: a functional ATen graph in, a callable out. Each step is a
function of the stage before it; no other module imports every stage. Failures of a stage are caught
only here: the compiler retries with fewer features, and in the end PyTorch runs the graph.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cache
from typing import TypeVar

import torch
from torch import fx
from torch.utils._python_dispatch import _disable_current_modes

from ingot import observe
from ingot.codegen.loops.kernels import Kernels, all_kernels, build_kernels
from ingot.collection import without_collection
from ingot.compilation_cache.key import Subject
from ingot.compilation_cache.lookup import cached
from ingot.dispatch.dispatch_matmul import DispatchMatmul, has_symbolic_matmuls
from ingot.dispatch.resolve import Resolve, has_dispatch
from ingot.dispatch.threads import kernel_work
from ingot.dispatch.variants import Variants, account
from ingot.errors import CompileError
from ingot.fallback.boundary import Boundary, blamed_step, blaming
from ingot.fallback.interpreted import (
    graph_run,
    interpreted_graph,
    interpreted_program,
    program_run,
)
from ingot.fallback.recovery import recovery
from ingot.fallback.reproducer import CapturedGraph
from ingot.fuse.fused import CallStep, Fused, KernelStep, Step
from ingot.fuse.group import fuse
from ingot.fuse.region import Region
from ingot.kernels import precompile
from ingot.kernels.registry import family_passes
from ingot.machine import targeting, this_machine
from ingot.options import Options
from ingot.passes.base import Pass, run_passes
from ingot.passes.decompose import decomposition_table
from ingot.passes.lower import Lower
from ingot.passes.native import native_passes
from ingot.passes.versions import Versions, leaves, versions
from ingot.plan.decisions import Decisions
from ingot.program.program import Level, Program, program_from_fx
from ingot.program.quantized import why_uncertain
from ingot.program.verify import verify
from ingot.runtime.glue import Run, Runner, emit
from ingot.select.fuse_epilogues import Epilogue, fuse_epilogues
from ingot.select.planner import Planned, Version, plan_versions
from ingot.select.reductions import reduction_variants
from ingot.stages import Compiled, Derivation, not_planned

T = TypeVar("T")


@dataclass(frozen=True)
class Lowered(Version):
    """A version of the program, lowered to kernels."""

    timings: dict[str, float]
    """Milliseconds of each step."""


MOST_EAGER_STEPS = 8
"""Steps of one plan that may fall back to eager before the whole graph does."""


def compile_graph(
    gm: fx.GraphModule, options: Options, static_inputs: Iterable[int] = ()
) -> Compiled:
    """Compile a graph from AOTAutograd; `static_inputs` are the module's own tensors."""
    static = tuple(static_inputs)
    boundary = Boundary(CapturedGraph(gm, "aten", static, torch.is_grad_enabled()), options)

    def compiled() -> Compiled:
        _require_certain(gm)
        program = cache(lambda: program_from_fx(gm, static_input_indices=static))
        subject = Subject.of_graph(gm, static)
        found = cached(subject, boundary, lambda: _within(program(), boundary))
        return _with_recovery(found, program, boundary, lambda: graph_run(gm))

    return boundary.attempt(
        "making a Program",
        compiled,
        lambda e: _eager(boundary, e, lambda r: interpreted_graph(gm, r)),
    )


def compile_program(program: Program, options: Options) -> Compiled:
    """Compile one version of the program for each outcome of its branches on sizes, and the branch
    that selects among them."""
    level, static = program.level.value, [*_static(program)]
    boundary = Boundary(CapturedGraph(program.graph_module, level, tuple(static)), options)

    def compiled() -> Compiled:
        _require_certain(program.graph_module)
        subject = Subject.of_program(program)
        found = cached(subject, boundary, lambda: _within(program, boundary))
        return _with_recovery(found, lambda: program, boundary, lambda: program_run(program))

    return boundary.attempt(
        "the compiler",
        compiled,
        lambda e: _eager(boundary, e, lambda r: interpreted_program(program, r)),
    )


def _require_certain(gm: fx.GraphModule) -> None:
    uncertain = why_uncertain(gm)
    if uncertain is not None:
        raise CompileError(uncertain)


def _static(program: Program) -> Iterator[int]:
    own = ("parameter", "buffer", "constant")
    return (i for i, spec in enumerate(program.signature.inputs) if spec.kind in own)


def _eager(
    boundary: Boundary, error: Exception, make: Callable[[str], tuple[Fused, Run]]
) -> Compiled:
    """Run the whole graph op by op."""
    fused, run = make(boundary.fell_back("the graph runs through PyTorch's kernels", error))
    made = not_planned(fused, run)
    observe.compiled(made, boundary.options)
    return made


def _with_recovery(
    compiled: Compiled,
    program: Callable[[], Program],
    boundary: Boundary,
    reference: Callable[[], Run],
) -> Compiled:
    """If planning fails during a call, PyTorch runs that call."""
    scope = compiled.run.__globals__
    scope["recover"] = recovery(boundary, program, reference)
    return compiled


@without_collection
def _within(program: Program, boundary: Boundary) -> Compiled:
    """Compile with every feature; on failure without measuring, then without fusion. The caller's
    modes are disabled meanwhile: constants are real tensors."""
    options = boundary.options
    less = {
        "built-in choices are taken": replace(options, tune=0.0),
        "no kernels are generated": replace(options, tune=0.0, fuse=False),
    }
    rungs = {scope: each for scope, each in less.items() if each != options}

    def descend(error: Exception) -> Compiled:
        if not rungs:
            raise error
        scope = next(iter(rungs))
        found = boundary.attempt("", lambda: run(rungs.pop(scope)), lambda _: descend(error))
        boundary.fell_back(scope, error)
        return found

    def run(options: Options) -> Compiled:
        with _target(options):
            with blaming("precompile"):
                precompile.begin(program.graph)
            with account.compile(), _disable_current_modes():
                return _compile(program, Variants(options), boundary)

    return boundary.attempt("", lambda: run(options), descend)


def _target(options: Options) -> AbstractContextManager[None]:
    """The machine that code is generated for."""
    if not options.checks:
        return nullcontext()
    return targeting(replace(this_machine(), range_checks=True))


def _compile(program: Program, variants: Variants, boundary: Boundary) -> Compiled:
    with blaming("dispatch"):
        tree = versions(_resolved(program, variants))
    parts = [lower_version(version, variants, boundary) for version in leaves(tree)]
    compiled = _planned(program, tree, parts, variants, boundary)
    for each in compiled.versions or (compiled,):
        observe.compiled(each, variants.options)
    return compiled


def _resolved(program: Program, variants: Variants) -> Program:
    """Replace dispatched ops by their implementations."""
    options = variants.options
    steps: list[Pass] = [Lower(core=True)] if program.level is Level.PRE_DISPATCH else []
    if has_symbolic_matmuls(program):
        program = run_passes(program, [*steps, DispatchMatmul(variants)], verify=options.verify)
        steps = []
    if not has_dispatch(program):
        return program
    steps.append(Resolve(options, decomposition_table()))
    return run_passes(program, steps, verify=options.verify)


def compile_version(program: Program, options: Options) -> Compiled:
    """Compile a program as a single version."""
    variants = Variants(options)
    boundary = Boundary(CapturedGraph(program.graph_module, program.level.value), options)
    with _target(options):
        parts = [lower_version(program, variants, boundary)]
        return _planned(program, program, parts, variants, boundary)


def lower_version(program: Program, variants: Variants, boundary: Boundary) -> Lowered:
    options = variants.options
    timings: dict[str, float] = {}
    lower: list[Pass] = [Lower(core=True)] if program.level is Level.PRE_DISPATCH else []

    def passed() -> Program:
        passes = [*lower, *native_passes(program), *family_passes(program)]
        return run_passes(program, passes, verify=options.verify)

    core = _timed(timings, "passes", passed)
    _timed(timings, "verify", lambda: verify(core))
    fused = _timed(timings, "fuse", lambda: fuse(core, options))
    decisions = Decisions()
    fused, epilogues = _timed(
        timings, "epilogues", lambda: fuse_epilogues(fused, variants.packs, decisions)
    )
    kernels = _timed(timings, "codegen", lambda: _kernels(fused, epilogues, variants, boundary))
    return Lowered(fused, kernels, epilogues, decisions, timings)


def _timed(timings: dict[str, float], name: str, run: Callable[[], T]) -> T:
    start = time.perf_counter()
    with blaming(name):
        result = run()
    timings[name] = timings.get(name, 0.0) + 1e3 * (time.perf_counter() - start)
    return result


def _kernels(
    fused: Fused, epilogues: Mapping[Region, Epilogue], variants: Variants, boundary: Boundary
) -> Kernels:
    symbols = fused.program.symbols
    code = {region: epilogue.code for region, epilogue in epilogues.items()}

    def give_up(region: Region, error: Exception) -> str:
        if not boundary.catches(error):
            raise CompileError(f"{type(error).__name__}: {error}") from error
        error.__dict__.setdefault("ingot_stage", "codegen")
        return boundary.fell_back("a region runs through PyTorch's kernels", error)

    return build_kernels(
        fused, variants.options, code, kernel_work(variants),
        lambda region: reduction_variants(variants, region, symbols), give_up,
    )  # fmt: skip


def _planned(
    program: Program, tree: Versions, parts: list[Lowered], variants: Variants, boundary: Boundary
) -> Compiled:
    """Plan all versions together. If planning a step fails, PyTorch runs that step and planning
    starts over."""
    eager: list[Step] = []

    def bound(parts: list[Lowered]) -> Compiled:
        timings = parts[0].timings
        planned = _timed(timings, "plan", lambda: plan_versions(program, tree, parts, variants))
        runner = _timed(
            timings, "bind", lambda: emit(planned.plan, planned.resources, variants.options)
        )
        return _compiled(parts, planned, runner, variants)

    def attempt(parts: list[Lowered]) -> Compiled:
        return boundary.attempt("plan", lambda: bound(parts), lambda error: again(parts, error))

    def again(parts: list[Lowered], error: Exception) -> Compiled:
        step = blamed_step(error)
        owner = next((part for part in parts if step in part.fused.steps), None)
        if owner is None or len(eager) == MOST_EAGER_STEPS or not _is_native(step):
            raise error
        eager.append(step)
        reason = boundary.fell_back("a step runs through PyTorch's kernels", error)
        left = _without(owner, step, reason, variants, boundary)
        return attempt([left if part is owner else part for part in parts])

    return attempt(parts)


def _is_native(step: Step) -> bool:
    """May this step still fall back to PyTorch?"""
    return isinstance(step, KernelStep) or step.native


def _without(
    part: Lowered, step: Step, reason: str, variants: Variants, boundary: Boundary
) -> Lowered:
    """The version with one step left to PyTorch."""
    left = replace(step, native=False, reason=reason) if isinstance(step, CallStep) else step
    steps = tuple(left if each is step else each for each in part.fused.steps)
    fused = replace(part.fused, steps=steps)
    kernels = _kernels(fused, {}, variants, boundary)
    if isinstance(step, KernelStep):
        regions = {r: kernel for r, kernel in kernels.by_region.items() if r is not step.region}
        failures = {**kernels.failures, step.region: reason}
        kernels = replace(kernels, by_region=regions, failures=failures)
    decisions = Decisions()
    decisions.fuse_epilogues.add(f"no epilogues: planning failed: {reason}")
    return Lowered(fused, kernels, {}, decisions, part.timings)


def _compiled(
    parts: Sequence[Lowered], planned: Planned, runner: Runner, variants: Variants
) -> Compiled:
    """The whole program; if it has several versions, each is a Compiled of the same plan."""
    found = tuple(
        _version(
            Derivation(
                part.fused, part.kernels.distinct, part.timings, part.kernels, planned.journal,
                planned.refusals, tuple(variants.made.values()), number,
            ),
            planned, runner, runner.seconds.get(number, []),
        )
        for number, part in enumerate(parts)
    )  # fmt: skip
    if len(found) == 1:
        return found[0]
    kernels = all_kernels([part.kernels for part in parts])
    whole = replace(found[0].derive(), native=kernels, kernels=kernels.distinct, versions=found)
    return _version(whole, planned, runner, found[0].seconds)


def _version(
    derivation: Derivation, planned: Planned, runner: Runner, seconds: list[float]
) -> Compiled:
    return Compiled(
        runner.run, lambda: derivation, runner.source, planned.plan, planned.resources,
        runner.prepared, runner.segments, seconds,
    )  # fmt: skip
