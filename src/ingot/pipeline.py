"""The whole compiler on one page: a functional ATen graph in, a callable out. Each step is a
function of the stage before it; nothing else imports every stage.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from torch import fx
from torch.utils._python_dispatch import _disable_current_modes

from ingot import observe
from ingot.codegen import foresight
from ingot.codegen.kernels import Kernels, build_kernels
from ingot.collection import without_collection
from ingot.dispatch.inside import Inside, has_products
from ingot.dispatch.resolve import Resolve, has_dispatch
from ingot.dispatch.threads import kernel_work
from ingot.dispatch.ways import Ways, account
from ingot.execute.chooser import all_kernels, host_chooser, native_chooser
from ingot.execute.runner import Runner, build_runner
from ingot.fuse.group import fuse
from ingot.fuse.region import Region
from ingot.options import Options
from ingot.passes.base import Pass, run_passes
from ingot.passes.decompose import decomposition_table
from ingot.passes.lower import Lower
from ingot.passes.native import native_passes
from ingot.passes.versions import Versions, leaves, versions
from ingot.plan.choices import reduction_ways
from ingot.plan.followers import Follower, with_followers
from ingot.program.program import Level, Program, program_from_fx
from ingot.program.verify import verify
from ingot.stages import Compiled, Fused

T = TypeVar("T")


@dataclass(frozen=True)
class Lowered:
    """A version up to its kernels."""

    fused: Fused
    followers: Mapping[Region, Follower]
    """Regions that run with a product."""
    kernels: Kernels
    timings: dict[str, float]
    """Milliseconds of each step."""


def compile_graph(
    gm: fx.GraphModule, options: Options, static_inputs: Iterable[int] = ()
) -> Compiled:
    """The graph AOTAutograd hands over, as native code; `static_inputs` are the module's own."""
    return compile_program(program_from_fx(gm, static_input_indices=static_inputs), options)


@without_collection
def compile_program(program: Program, options: Options) -> Compiled:
    """One version of the program for each way that its branches on sizes may go, and the branch
    between them. No mode of the caller's is at work meanwhile: constants are real tensors."""
    foresight.begin(program.graph)
    ways = Ways(options)
    with account.compile(), _disable_current_modes():
        return _compile(program, ways)


def _compile(program: Program, ways: Ways) -> Compiled:
    options = ways.options
    tree = versions(_resolved(program, ways))
    parts = [lower_version(version, ways) for version in leaves(tree)]
    chosen = None
    if len(parts) > 1 and not options.profile:
        both = [(part.fused, part.kernels) for part in parts]
        followers = {region: each for part in parts for region, each in part.followers.items()}
        chosen = _timed(
            parts[0].timings, "plan",
            lambda: native_chooser(program, tree, both, ways, followers),
        )  # fmt: skip
    if chosen is None:
        return _by_host(program, tree, _apart(parts, ways), options)
    fused, runner = chosen
    found = [_compiled(part, runner, ways) for part in parts]
    for each in found:
        observe.compiled(each, options)
    kernels = all_kernels([part.kernels for part in parts])
    return replace(
        found[0], fused=fused, native=kernels, kernels=kernels.distinct, versions=tuple(found)
    )


def _by_host(program: Program, tree: Versions, parts: list[Compiled], options: Options) -> Compiled:
    for part in parts:
        observe.compiled(part, options)
    if len(parts) == 1:
        return parts[0]
    run, source = host_chooser(program, tree, [(part.run, part.source) for part in parts])
    kernels = sum(part.kernels for part in parts)
    return replace(parts[0], run=run, source=source, versions=tuple(parts), kernels=kernels)


def _resolved(program: Program, ways: Ways) -> Program:
    """Dispatched operations give way to their implementations."""
    options = ways.options
    steps: list[Pass] = [Lower(core=True)] if program.level is Level.PRE_DISPATCH else []
    if has_products(program):
        program = run_passes(program, [*steps, Inside(ways)], verify=options.verify)
        steps = []
    if not has_dispatch(program):
        return program
    steps.append(Resolve(options, decomposition_table()))
    return run_passes(program, steps, verify=options.verify)


def compile_version(program: Program, options: Options) -> Compiled:
    """A program without choices between versions."""
    ways = Ways(options)
    return _alone(lower_version(program, ways), ways)


def lower_version(program: Program, ways: Ways) -> Lowered:
    options = ways.options
    timings: dict[str, float] = {}
    lower: list[Pass] = [Lower(core=True)] if program.level is Level.PRE_DISPATCH else []
    passes = [*lower, *native_passes(program)]
    core = _timed(timings, "passes", lambda: run_passes(program, passes, verify=options.verify))
    _timed(timings, "verify", lambda: verify(core))
    fused = _timed(timings, "fuse", lambda: fuse(core, options))
    fused, followers = _timed(
        timings, "followers", lambda: with_followers(fused) if ways.packs else (fused, {})
    )
    kernels = _timed(timings, "codegen", lambda: _kernels(fused, followers, ways))
    return Lowered(fused, followers, kernels, timings)


def _timed(timings: dict[str, float], name: str, run: Callable[[], T]) -> T:
    start = time.perf_counter()
    result = run()
    timings[name] = 1e3 * (time.perf_counter() - start)
    return result


def _kernels(fused: Fused, followers: Mapping[Region, Follower], ways: Ways) -> Kernels:
    symbols = fused.program.symbols
    code = {region: follower.code for region, follower in followers.items()}
    return build_kernels(
        fused, ways.options, code, kernel_work(ways),
        lambda region: reduction_ways(ways, region, symbols),
    )  # fmt: skip


def _apart(parts: Sequence[Lowered], ways: Ways) -> list[Compiled]:
    prefixes = [f"v{number}_" for number in range(len(parts))] if len(parts) > 1 else [""]
    return [_alone(part, ways, prefix) for part, prefix in zip(parts, prefixes, strict=True)]


def _alone(part: Lowered, ways: Ways, prefix: str = "") -> Compiled:
    runner = _timed(
        part.timings, "plan",
        lambda: build_runner(part.fused, part.kernels, ways, part.followers, prefix),
    )  # fmt: skip
    return _compiled(part, runner, ways)


def _compiled(part: Lowered, runner: Runner, ways: Ways) -> Compiled:
    return Compiled(
        part.fused, runner.run, runner.source, part.kernels.distinct, part.timings,
        part.kernels, runner.products, runner.prepared, runner.controls, runner.together,
        tuple(ways.made.values()),
    )  # fmt: skip
