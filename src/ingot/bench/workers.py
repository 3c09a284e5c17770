"""One process for each contender, so that a crash, a hang or a failed import costs only a dash in a
table.

A job prepares a call and compares its results with eager's; the process then times samples of the
call on demand. It starts with empty compiler caches of its own. It is stopped (SIGSTOP) whenever it
is not its turn, so that no spinning thread pool disturbs another's turn. It dies with its parent.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import resource
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch

from ingot.bench.agreement import furthest, tolerance_of
from ingot.bench.caches import cold_caches
from ingot.bench.contenders import COMPILERS, CONTENDERS, Prepare, import_modules
from ingot.bench.timing import Timing, calls_per_sample, sample_in_turns, timed_ms
from ingot.bench.tree import INSTALLED, Tree
from ingot.bench.workload import Workload, flops

THREADS = 2
"""Of PyTorch, ONNX Runtime and OpenVINO, unless a job says otherwise."""
SAMPLE_S = 0.02
WARM_UP_S = 0.05
LONGEST_S = 900.0
"""Limit on the time from the start of a contender until it is ready."""
PR_SET_PDEATHSIG = 1
MAIN = Path(__file__).with_name("worker_main.py")


@dataclass(frozen=True)
class Ready:
    """The answer of a contender that is able to run."""

    cold_s: float | None = None
    """The first call minus a later one, for contenders that compile in it."""
    flops: int | None = None
    """Floating-point operations of the network's matmuls and convolutions, counted in eager."""
    prepare_s: float = 0.0
    """Everything before the second call: conversion, compilation, the first call minus a later."""
    memory: int = 0
    """Bytes of memory that the contender takes beside the model: code, packed weights, buffers."""
    error: float = 0.0
    """The largest difference from eager, relative to the largest value in eager's result."""


@dataclass(frozen=True)
class Failed:
    reason: str


Prepared = tuple[Callable[[], Any], Ready]


@dataclass(frozen=True)
class Job:
    """The task of a worker, sent to it by name."""

    prepare: Callable[[Path], Prepared]
    """Given a folder that the contenders of one network share, prepares the call to time and
    compares its results with eager's. Raises if it cannot run or is wrong."""
    tree: Tree = INSTALLED
    threads: int = THREADS


class Worker:
    """A contender in its own process."""

    def __init__(self, name: str, job: Job, folder: Path):
        """`folder` is shared by the contenders of one network."""
        self.log = folder / f"{name}.log"
        self.pipe, theirs = Pipe()
        caches = cold_caches(folder / name.replace(" ", "-"))
        command = [job.tree.interpreter, "-P", str(MAIN), str(theirs.fileno())]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                command,
                env={**os.environ, **caches, **job.tree.settings()},
                pass_fds=[theirs.fileno()],
                stdout=log,
                stderr=log,
            )
        theirs.close()
        with suppress(ConnectionError):  # `answer` reports a process that has died
            self.pipe.send(own_folders())
            self.pipe.send((job, folder))
        self.state: Ready | Failed = self.answer(LONGEST_S)
        self.pause()

    def answer(self, seconds: float) -> Any:
        """The next message of the process; a dead or silent process is an answer as well."""
        try:
            if self.pipe.poll(seconds):
                return self.pipe.recv()
        except (EOFError, ConnectionError):
            self.process.wait()
            return Failed(self.epitaph())
        self.process.kill()
        return Failed(f"no answer in {seconds:.0f} s")

    def epitaph(self) -> str:
        code = self.process.returncode or 0
        cause = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        lines = self.log.read_text(errors="replace").strip().splitlines()
        return f"{cause}: {lines[-1][:160]}" if lines else cause

    def sample(self) -> float:
        """Milliseconds of a call; NaN once it has failed."""
        if isinstance(self.state, Failed):
            return float("nan")
        self.process.send_signal(signal.SIGCONT)
        self.pipe.send("sample")
        answer = self.answer(LONGEST_S)
        self.pause()
        if isinstance(answer, Failed):
            self.state = answer
            return float("nan")
        return float(answer)

    def pause(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def close(self) -> None:
        with suppress(OSError, subprocess.TimeoutExpired):
            self.process.send_signal(signal.SIGCONT)
            self.pipe.send("")
            self.process.wait(timeout=10)
        self.process.kill()
        self.process.wait()
        self.pipe.close()


def own_folders() -> list[str]:
    """Where this process imports from, besides Python and what is installed."""
    installed = set(sysconfig.get_paths().values())
    return [path for path in sys.path if os.path.isdir(path) and path not in installed]


Watch = Callable[[str, int, int], None]
"""Is told what is measured now, how many samples and contenders are done, and of how many."""


def unwatched(name: str, done: int, total: int) -> None:
    pass


@contextmanager
def workers(jobs: Mapping[str, Job], watch: Watch = unwatched) -> Iterator[dict[str, Worker]]:
    """Contenders that are measured together, prepared one after the other."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        started: dict[str, Worker] = {}
        for name, job in jobs.items():
            watch(f"preparing {name}", len(started), len(jobs))
            started[name] = Worker(name, job, Path(folder))
            stack.callback(started[name].close)
        yield started


@dataclass(frozen=True)
class Measured:
    """The results of contenders after their rounds."""

    times: dict[str, Timing]
    """Of contenders that ran to the end."""
    ready: dict[str, Ready]
    missing: dict[str, str]
    """Why the others did not."""

    def gflop(self, name: str) -> float | None:
        flops = self.ready[name].flops if name in self.ready else None
        return None if flops is None else flops / 1e9

    def best_gflops(self, name: str) -> float | None:
        """The rate of the fastest sample."""
        gflop = self.gflop(name)
        return None if gflop is None else gflop / (min(self.times[name].samples) / 1e3)


def measure_in_turns(jobs: Mapping[str, Job], rounds: int, watch: Watch = unwatched) -> Measured:
    with workers(jobs, watch) as started:
        able = {name: w for name, w in started.items() if isinstance(w.state, Ready)}
        counter, total = itertools.count(), rounds * len(able)

        def sample(name: str) -> float:
            watch("measuring in turns", next(counter), total)
            return able[name].sample()

        times = sample_in_turns({name: partial(sample, name) for name in able}, rounds=rounds)
        missing = {n: w.state.reason for n, w in started.items() if isinstance(w.state, Failed)}
        ready = {n: w.state for n, w in started.items() if isinstance(w.state, Ready)}
    return Measured({name: times[name] for name in ready}, ready, missing)


def cold_in_turns(jobs: Mapping[str, Job], rounds: int) -> Measured:
    """The time of the first call: each sample is a process that starts with nothing compiled."""
    last: dict[str, Ready | Failed] = {}

    def sample(name: str) -> float:
        if isinstance(last.get(name), Failed):
            return float("nan")
        with workers({name: jobs[name]}) as started:
            state = last[name] = started[name].state
        if isinstance(state, Ready) and state.cold_s is not None:
            return state.cold_s * 1e3
        return float("nan")

    times = sample_in_turns({name: partial(sample, name) for name in jobs}, rounds=rounds)
    missing = {n: state.reason for n, state in last.items() if isinstance(state, Failed)}
    ready = {n: state for n, state in last.items() if isinstance(state, Ready)}
    return Measured({name: times[name] for name in ready}, ready, missing)


def serve(pipe: Connection) -> None:
    """The process: prepares the job, reports the outcome, then times a sample on each request."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    warnings.simplefilter("ignore")
    with torch.no_grad():
        try:
            job, folder = pipe.recv()
            torch.set_num_threads(job.threads)
            call, ready = job.prepare(folder)
            job.tree.verify()
            count = calls_per_sample(call, SAMPLE_S)
        except Exception as error:
            pipe.send(Failed(reason_of(error)))
            return
        pipe.send(ready)
        while pipe.recv():
            warm_up(call)
            pipe.send(timed_ms(call, count))


def warm_up(call: Callable[[], Any]) -> None:
    """Calls until a process that was stopped has its threads on both cores again."""
    end = time.perf_counter() + WARM_UP_S
    call()
    while time.perf_counter() < end:
        call()


def network_job(
    contender: str,
    build: Callable[[], Workload],
    tree: Tree = INSTALLED,
    threads: int = THREADS,
) -> Job:
    return Job(partial(prepare, contender, CONTENDERS[contender], build), tree, threads)


def prepare(contender: str, make: Prepare, build: Callable[[], Workload], folder: Path) -> Prepared:
    """The call that `make` makes of a workload; `contender` is its name."""
    model, args = build()
    expected = model(*args)
    import_modules(contender)
    before, start = resident(), time.perf_counter()
    call = make(model, args, folder)
    made_s = time.perf_counter() - start
    results: list[Any] = []
    first_ms = timed_ms(lambda: results.append(call()))
    steady_ms = timed_ms(lambda: results.append(call()))
    memory = max(0, resident() - before)
    error = furthest(results, [expected] * 2)
    if not error <= tolerance_of(expected):  # a NaN is wrong as well
        raise ArithmeticError(f"wrong: differs from eager by {error:.1e} of the largest value")
    first_s = max(0.0, (first_ms - steady_ms) / 1e3)
    return call, Ready(
        cold_s=first_s if contender in COMPILERS else None,
        flops=flops(model, args) if contender == "eager" else None,
        prepare_s=0.0 if contender == "eager" else made_s + first_s,
        memory=0 if contender == "eager" else memory,
        error=error,
    )


def resident() -> int:
    """Bytes of memory of this process; shared libraries are counted."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def reason_of(error: BaseException) -> str:
    """The innermost cause, in one line."""
    while error.__cause__ is not None:
        error = error.__cause__
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:240]
