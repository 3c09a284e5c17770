"""The whole compiler on one page: a functional ATen graph in, a callable out. Each step is a
function of the stage before it; nothing else imports every stage.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TypeVar

from torch import fx

from ingot import observe
from ingot.codegen import foresight
from ingot.codegen.kernels import build_kernels
from ingot.collection import without_collection
from ingot.dispatch.inside import Inside
from ingot.dispatch.resolve import Resolve, has_dispatch
from ingot.execute.chooser import body_of, build_chooser
from ingot.execute.runner import build_runner
from ingot.fuse.group import fuse
from ingot.options import Options
from ingot.passes.base import Pass, native_passes, run_passes
from ingot.passes.decompose import decomposition_table
from ingot.passes.lower import Lower
from ingot.passes.versions import leaves, versions
from ingot.plan.followers import with_followers
from ingot.program.program import Level, Program, program_from_fx
from ingot.program.verify import verify
from ingot.stages import Compiled

T = TypeVar("T")


def compile_graph(
    gm: fx.GraphModule, options: Options, static_inputs: Iterable[int] = ()
) -> Compiled:
    """The graph AOTAutograd hands over, as native code; `static_inputs` are the module's own."""
    return compile_program(program_from_fx(gm, static_input_indices=static_inputs), options)


@without_collection
def compile_program(program: Program, options: Options) -> Compiled:
    """One version of the program for each way that its branches on sizes may go, and what chooses
    between them."""
    foresight.begin(program.graph)
    tree = versions(_resolved(program, options))
    parts = [compile_version(version, options) for version in leaves(tree)]
    for part in parts:
        observe.compiled(part, options)
    if len(parts) == 1:
        return parts[0]
    bodies = [body_of(part.run, part.source) for part in parts]
    run, source = build_chooser(program, tree, bodies)
    return replace(
        parts[0], run=run, source=source, versions=tuple(parts),
        kernels=sum(part.kernels for part in parts),
    )  # fmt: skip


def _resolved(program: Program, options: Options) -> Program:
    """Dispatched operations give way to their implementations."""
    own = options.tune and bool(program.symbols)
    if not own and not has_dispatch(program):
        return program
    steps: list[Pass] = [Lower(core=True)] if program.level is Level.PRE_DISPATCH else []
    if own:
        steps.append(Inside())
    steps.append(Resolve(options, decomposition_table()))
    return run_passes(program, steps, verify=options.verify)


def compile_version(program: Program, options: Options) -> Compiled:
    timings: dict[str, float] = {}

    def step(name: str, run: Callable[[], T]) -> T:
        start = time.perf_counter()
        result = run()
        timings[name] = 1e3 * (time.perf_counter() - start)
        return result

    lower: list[Pass] = [Lower(core=True)] if program.level is Level.PRE_DISPATCH else []
    passes = [*lower, *native_passes(program)]
    core = step("passes", lambda: run_passes(program, passes, verify=options.verify))
    step("verify", lambda: verify(core))
    fused = step("fuse", lambda: fuse(core, options))
    fused, followers = step("followers", lambda: with_followers(fused))
    code = {region: follower.code for region, follower in followers.items()}
    kernels = step("codegen", lambda: build_kernels(fused, options, code))
    runner = step("plan", lambda: build_runner(fused, kernels, options, followers))
    return Compiled(
        fused, runner.run, runner.source, kernels.distinct, timings, kernels,
        runner.products, runner.prepared, runner.controls,
    )  # fmt: skip
