"""Worker processes that run programs. A worker that dies, hangs or grows is replaced. It writes its
current statement or mode to shared memory, so that the cause is known.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import resource
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping
from ctypes import Array, c_char
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

from .outcome import FuzzerError
from .program import Program

MEMORY = 12 << 30
PROGRAMS_EACH = 150
"""A worker is replaced after this many programs."""


@dataclass
class Report:
    """The result of one seed."""

    seed: int
    program: Program | None = None
    findings: list[Any] = field(default_factory=list)
    ops: set[str] = field(default_factory=set)
    modes: list[str] = field(default_factory=list)
    tried: int = 0
    accepted: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    dropped: str = ""
    """Why the program was not run."""
    died: str = ""
    """The task of the worker when it died or hung: "generate ..." is eager's fault."""
    seconds: float = 0.0


def serve(pipe: Connection, status: Array[c_char], log: str) -> None:
    """The main loop of a worker: receives tasks, sends results."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    quiet = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    import logging

    import torch

    torch.set_num_threads(2)
    logging.disable(logging.CRITICAL)

    def note(text: str) -> None:
        status.value = text.encode()[:4000]

    served = 0
    while True:
        task = pipe.recv()
        if task is None:
            return
        name, *arguments = task
        collect(served)
        served += 1
        try:
            pipe.send((True, TASKS[name](note, *arguments)))
        except (Exception, FuzzerError):
            pipe.send((False, traceback.format_exc()))


def collect(served: int) -> None:
    """Collect garbage rarely: a full collection takes as long as a small compilation."""
    if served == 1:
        gc.collect()
        gc.freeze()
        gc.disable()
    elif served % 20 == 0:
        gc.collect()


def draw_seed(note: Any, seed: int) -> Report:
    """The program of a seed, not yet run."""
    from .generate import generate

    note(f"eager, drawing {seed}")
    program, tally = generate(seed, lambda text: note(f"eager, drawing {seed}: {text}"))
    report = Report(
        seed, program, [], program.ops(), [], tally.tried, tally.accepted, tally.reasons
    )
    if not program.statements:
        report.dropped = "no statement"
    return report


def run_report(note: Any, report: Report, options: Mapping[str, Any], modes: int) -> Report:
    """Run a drawn program through `modes` modes."""
    from .check import check, deterministic, modes_of, options_of

    start = time.perf_counter()
    program, seed = report.program, report.seed
    assert program is not None
    note("eager")
    if not deterministic(program):
        report.dropped = "not deterministic in eager"
        return report
    for mode in modes_of(program, seed, modes):
        note(f"mode {mode.name}")
        report.modes.append(mode.name)
        finding = check(program, mode, options_of(seed, options))
        if finding is not None:
            finding.seed = seed
            report.findings.append(finding)
    report.seconds = time.perf_counter() - start
    return report


def run_program(note: Any, program: Program, mode: str, options: Mapping[str, Any]) -> Any:
    from .check import check, deterministic
    from .modes import MODES

    note("eager")
    if not deterministic(program):
        return None
    note(f"mode {mode}")
    return check(program, MODES[mode], options)


TASKS = {"draw": draw_seed, "run": run_report, "program": run_program}


class Died(Exception):
    """The worker's process ended or was killed; the text is its last task."""


class Worker:
    """A process that runs one task at a time."""

    def __init__(self) -> None:
        self.context = multiprocessing.get_context("spawn")
        self.status = self.context.RawArray(c_char, 4096)
        self.process: Any = None
        self.pipe: Any = None
        self.tasks = 0
        handle, self.log = tempfile.mkstemp(prefix="fuzz-", suffix=".log")
        os.close(handle)

    def start(self) -> None:
        self.pipe, inner = self.context.Pipe()
        self.process = self.context.Process(
            target=serve, args=(inner, self.status, self.log), daemon=True
        )
        self.process.start()
        inner.close()
        self.tasks = 0

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.pipe.close()
            self.process = None

    def run(self, *task: Any, timeout: float = 240.0) -> Any:
        """The task's result. Raises `Died`; the next task starts a new process."""
        if self.process is not None and self.tasks >= PROGRAMS_EACH:
            self.stop()
        if self.process is None:
            self.start()
        self.tasks += 1
        self.pipe.send(task)
        try:
            if not self.pipe.poll(timeout):
                raise Died(f"hangs: {self._doing()}")
            good, result = self.pipe.recv()
        except (EOFError, ConnectionResetError):
            self.process.join()
            code = self.process.exitcode
            raise Died(f"exit {code}: {self._doing()}") from None
        finally:
            if sys.exc_info()[0] is not None or not self.process.is_alive():
                self.stop()
        if not good:
            raise RuntimeError(result)
        return result

    def _doing(self) -> str:
        return self.status.value.decode(errors="replace")

    def close(self) -> None:
        self.stop()
        os.unlink(self.log)
