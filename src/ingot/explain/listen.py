"""`ingot.explain`: compiles a model in a cache of its own, records the compiler's events, runs the
model a few times and writes the report. The user's compiled functions, random state, inputs and
buffers are left as they were. The model is called a few dozen times at most; a function that trains
does as many training steps.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch.utils._pytree import tree_leaves

from ingot import observe
from ingot.capture import recompiles
from ingot.capture.recompiles import Recompile
from ingot.explain.describe import describe
from ingot.explain.gather import call_rows, choice_rows, kernel_rows, native_steps
from ingot.explain.records import Summary
from ingot.explain.report import CompileTimes, Report
from ingot.fallback import events
from ingot.fuse.fused import CallStep
from ingot.kernels.matmul.packing import Panels
from ingot.options import Options, make_options
from ingot.stages import Compiled

LEAST_RUNS = 3
MOST_RUNS = 20
SECONDS = 0.5
"""Time for the timed calls after the one that compiles; their number stays within the bounds."""
BUSY = 1.5
"""Load per core above which threads wait for each other, not for memory."""


def explain(
    model: Callable[..., Any],
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    options: Mapping[str, Any] | Options | None = None,
) -> Report:
    """Compile and run `model(*args, **kwargs)` and report kernels, library calls, ops left to
    PyTorch with the reason, and the time of each.

    The model is compiled in a cache of its own and called up to a few dozen times; inputs, buffers
    and the random state are restored. Grad mode is the caller's: to see a backward, explain a
    function that calls `.backward()`.
    """
    chosen = options if isinstance(options, Options) else make_options(options)
    session = _Session(replace(chosen, profile=True))
    kwargs = dict(kwargs or {})
    told = recompiles.listening(session.recompiles.append)
    failed = events.listening(session.fallbacks.append)
    heard = observe.listening(session.heard)
    with left_as_found(model, args, kwargs), heard, failed, told:
        call = session.compiled(model)
        first, result = _timed(lambda: call(*args, **kwargs))
        run_ms = session.time_runs(lambda: call(*args, **kwargs))
        eager_ms = _fastest(lambda: session.plain(model)(*args, **kwargs))
    return session.report(_name(model), Times(first, run_ms, eager_ms), result)


class Times(NamedTuple):
    """Milliseconds of calls."""

    first: float
    run: float
    eager: float


class _Session:
    """One compilation of one model, and the events recorded from it."""

    def __init__(self, options: Options):
        from torch._dynamo.utils import counters

        self.options = options
        self.graphs: list[Compiled] = []
        self.backend_ms = 0.0
        self.inside_ms = 0.0
        self.steps_ms: list[list[list[float]]] = []
        """Milliseconds by run, graph and step."""
        self.runs_ms: list[float] = []
        self.recompiles: list[Recompile] = []
        self.fallbacks: list[events.Fallback] = []
        self._in_backend = False
        self._told = {kind: counters[kind] for kind in ("graph_break", "unimplemented")}
        """Dynamo's counts of graph breaks and of functions that it left to Python, by reason."""
        self._told_before = {kind: Counter(told) for kind, told in self._told.items()}

    def heard(self, compiled: Compiled) -> None:
        self.graphs.append(compiled)
        if self._in_backend:
            self.inside_ms += sum(compiled.timings.values())

    def compiled(self, model: Callable[..., Any]) -> Callable[..., Any]:
        """The model, compiled in a cache of its own; the user's is neither read nor filled."""
        from ingot import pipeline  # noqa: F401  (its imports must not count as any graph's time)
        from ingot.machine_guard import protect_from_amx
        from ingot.passes.decompose import decomposition_table

        protect_from_amx()
        decomposition_table()
        return torch.compile(  # type: ignore[call-overload]
            self.plain(model), backend=self._backend, isolate_recompiles=True
        )

    @staticmethod
    def plain(model: Callable[..., Any]) -> Callable[..., Any]:
        """The model as the user wrote it."""
        from torch._dynamo.eval_frame import innermost_fn

        return innermost_fn(getattr(model, "_orig_mod", model))

    def _backend(self, gm: torch.fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
        from ingot.backend.dynamo import aot_compile

        self._in_backend, start = True, time.perf_counter()
        try:
            return aot_compile(gm, inputs, self.options)
        finally:
            self._in_backend = False
            self.backend_ms += 1e3 * (time.perf_counter() - start)

    def time_runs(self, call: Callable[[], Any]) -> float:
        """Milliseconds of the fastest call, since noise only adds; records those of every step."""
        elapsed = self.runs_ms
        while len(elapsed) < LEAST_RUNS or (
            sum(elapsed) < 1e3 * SECONDS and len(elapsed) < MOST_RUNS
        ):
            for graph in self.graphs:
                graph.seconds[:] = [0.0] * len(graph.seconds)
            elapsed.append(_timed(call)[0])
            self.steps_ms.append([_milliseconds(graph) for graph in self.graphs])
        return min(elapsed)

    def _step_times(self) -> list[list[float]]:
        """The minimum time of each step over all runs since its graph was compiled."""
        return [
            [
                min(run[g][s] for run in self.steps_ms if g < len(run))
                for s in range(len(graph.fused.steps))
            ]
            for g, graph in enumerate(self.graphs)
        ]

    def report(self, name: str, ms: Times, result: Any) -> Report:
        times = self._step_times()
        kernels = kernel_rows(self.graphs, times)
        calls = call_rows(self.graphs, times)
        compile_ms = self._compile_times(ms.first - ms.run)
        summary = self._summary(ms, compile_ms, result)
        return Report(
            name=name,
            graphs=len(self.graphs),
            kernels=len(kernels),
            regions=sum(row.regions for row in kernels),
            native_calls=_count(calls, "native"),
            library_calls=_count(calls, "library"),
            fallbacks=_count(calls, "fallback"),
            eager_steps=_count(calls, "host"),
            graph_breaks=summary.graph_breaks,
            uncaptured=summary.uncaptured,
            kernel_rows=kernels,
            call_rows=calls,
            compile_ms=compile_ms,
            run_ms=ms.run,
            choices=(choices := choice_rows(self.graphs)),
            failures=summary.failures,
            notes=(*map(str, self.recompiles), *summary.notes),
            eager_ms=ms.eager,
            description=describe(name, self.graphs, times, summary, self.recompiles, choices),
        )

    def _outside(self) -> float:
        """Milliseconds of a call outside of its steps: the least of all runs, as for the steps."""
        gaps = (call - sum(map(sum, steps)) for call, steps in zip(self.runs_ms, self.steps_ms))
        return max(0.0, min(gaps))

    def _summary(self, ms: Times, compile_ms: CompileTimes, result: Any) -> Summary:
        breaks, left = self._heard_of("graph_break"), self._heard_of("unimplemented")
        return Summary(
            run_ms=ms.run,
            outside_ms=self._outside(),
            eager_ms=ms.eager,
            dynamo_ms=compile_ms.dynamo,
            autograd_ms=compile_ms.autograd,
            compile_ms=compile_ms.total,
            graph_breaks=breaks,
            uncaptured=left,
            failures=tuple(dict.fromkeys(map(str, self.fallbacks))),
            notes=tuple(_notes(result, self.graphs, breaks + left)),
        )

    def _heard_of(self, kind: str) -> tuple[str, ...]:
        return tuple((Counter(self._told[kind]) - self._told_before[kind]).elements())

    def _compile_times(self, total: float) -> CompileTimes:
        steps: dict[str, float] = {}
        for graph in self.graphs:
            for step, ms in graph.timings.items():
                steps[step] = steps.get(step, 0.0) + ms
        autograd = max(0.0, self.backend_ms - self.inside_ms)
        return CompileTimes(max(0.0, total - autograd - sum(steps.values())), autograd, steps)


def _milliseconds(graph: Compiled) -> list[float]:
    """Milliseconds of each step; a step that runs as part of another takes 0."""
    missing = len(graph.fused.steps) - len(graph.seconds)
    return [1e3 * s for s in graph.seconds] + [0.0] * missing


def _grouped(graph: Compiled) -> int:
    """Matmuls that run in one launch with others."""
    entries = graph.plan_journal.entries
    return sum(e.nodes_before for e in entries if e.name == "fuse_horizontal")


def _count(rows: Iterable[Any], kind: str) -> int:
    return sum(row.count for row in rows if row.kind == kind)


def _notes(result: Any, graphs: Sequence[Compiled], stops: Sequence[str]) -> Iterator[str]:
    if not graphs and not stops:
        yield "Dynamo captured nothing: there is no tensor operation to compile."
    tensors = [leaf for leaf in tree_leaves(result) if isinstance(leaf, torch.Tensor)]
    if any(t.requires_grad and t.grad_fn is not None for t in tensors):
        yield "The backward was not run: explain a function that calls .backward() to see it too."
    native = [
        step
        for graph in graphs
        for k, kind in native_steps(graph).items()
        if kind == "control" and isinstance(step := graph.fused.steps[k], CallStep)
    ]
    if native:
        regions = sum(len(body.regions()) for step in native for body in step.bodies)
        yield f"Branches and loops that run natively: {len(native)}, of {regions} regions."
    matmuls = sum(_grouped(graph) for graph in graphs if graph.version == 0)
    if matmuls:
        yield (
            f"Matmuls that run as one step with others of the same input: {matmuls}. "
            "Here each was timed alone."
        )
    prepared = [p for graph in graphs if graph.version == 0 for p in graph.prepared]
    packed = sum(p.bytes() for p in prepared)
    if packed:
        yield f"Weights packed for matmuls take {packed / 1e6:.1f} MB beside the weights."
    narrow = sum(
        isinstance(recipe.packing, Panels) and recipe.packing.stored is torch.int8
        for graph in graphs
        if graph.version == 0 and graph.plan is not None
        for recipe in graph.plan.recipes
    )
    if narrow:
        yield f"Weights rounded to 8-bit integers (1/127 of the largest in a column): {narrow}."
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load > BUSY * cores:
        yield f"This machine has {cores} cores and a load of {load:.1f}: its times mean little."


def _fastest(call: Callable[[], Any]) -> float:
    """Milliseconds of the fastest call after the first."""
    elapsed = [_timed(call)[0]]
    while len(elapsed) <= LEAST_RUNS or (sum(elapsed) < 1e3 * SECONDS and len(elapsed) < MOST_RUNS):
        elapsed.append(_timed(call)[0])
    return min(elapsed[1:])


def _timed(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = call()
    return 1e3 * (time.perf_counter() - start), result


@contextmanager
def left_as_found(model: Any, args: Any, kwargs: Any) -> Iterator[None]:
    """Restore inputs, the module's buffers and the random state if the runs changed them."""
    held = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
    if isinstance(model, torch.nn.Module):
        held += list(model.buffers())
    before = [(tensor, tensor._version, tensor.detach().clone()) for tensor in held]
    with torch.random.fork_rng(devices=[]):
        try:
            yield
        finally:
            for tensor, version, value in before:
                if tensor._version != version:
                    with torch.no_grad():
                        tensor.copy_(value)


def _name(model: Any) -> str:
    return str(getattr(model, "__qualname__", type(model).__name__))
