"""The client of the helper process: runs pipelines on a module there and returns MLIR text or
results. No pipeline failure ends this process. A crash, a hang or exhausted memory raises an
EmitError and leaves a reproducer on disk: the input, the pipeline, one command. The helper is
started once and kept ready.
"""

from __future__ import annotations

import atexit
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from ingot.emit.levels import PipelineStep
from ingot.emit.reproduce import write_reproducer
from ingot.errors import EmitError
from ingot.forks import fork_safe_lock


@dataclass(frozen=True)
class Limits:
    """Resource limits of one request."""

    seconds: float = 300.0
    memory: int = 16 << 30
    """Bytes of address space."""


USUAL = Limits()


@dataclass(frozen=True)
class Complaint:
    """A pipeline's diagnostic and its location."""

    location: str
    message: str


class PipelineError(Exception):
    """A pipeline rejected its input; with all of its diagnostics."""

    def __init__(self, step: str, complaints: Sequence[Complaint]) -> None:
        self.step = step
        self.complaints = tuple(complaints)
        super().__init__(f"{step}: " + "; ".join(c.message for c in complaints))


_lock = fork_safe_lock()
_helper: tuple[int, subprocess.Popen[bytes], Connection] | None = None
"""The id of the process that started it, the helper, the connection to it."""


def start() -> None:
    """Start the helper, without waiting for it."""
    with _lock:
        _connection()


def lower(
    module: bytes | str, steps: Sequence[PipelineStep], limits: Limits, *, calls: bool = False
) -> str:
    """The module after all steps, as text. With `calls` it may call declared functions."""
    request = {"do": "lower", "module": module, "steps": _pairs(steps), "calls": calls}
    return str(_answer(request, limits)["text"])


def run(
    module: str,
    function: str,
    steps: Sequence[PipelineStep],
    to_llvm: PipelineStep,
    arguments: Sequence[dict[str, Any]],
    file: str,
    limits: Limits,
    *,
    refine: bool = False,
) -> list[Any]:
    """The results of `function`; tensors are passed as bytes. `refine` first sets its types to
    those of the arguments."""
    request = {
        "do": "run",
        "module": module,
        "function": function,
        "steps": _pairs(steps),
        "to_llvm": _pairs([to_llvm]),
        "arguments": list(arguments),
        "file": file,
        "refine": refine,
    }
    return list(_answer(request, limits)["results"])


def interpret(
    module: str,
    function: str,
    steps: Sequence[PipelineStep],
    arguments: Sequence[dict[str, Any]],
    file: str,
    limits: Limits,
) -> list[Any]:
    """The same with StableHLO's reference interpreter."""
    request = {
        "do": "interpret",
        "module": module,
        "function": function,
        "steps": _pairs(steps),
        "arguments": list(arguments),
        "file": file,
    }
    return list(_answer(request, limits)["results"])


def _pairs(steps: Sequence[PipelineStep]) -> list[tuple[str, str]]:
    return [(step.name, step.pipeline) for step in steps]


def _ask(request: dict[str, Any]) -> dict[str, Any]:
    with _lock:
        line = _connection()
        try:
            line.send(request)
            return line.recv()
        except (EOFError, OSError):
            _stop()
            return {"crashed": "the helper process itself", "printed": ""}


def _connection() -> Connection:
    global _helper
    if _helper is None or _helper[0] != os.getpid() or _helper[1].poll() is not None:
        ours, theirs = socket.socketpair()
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-m", "ingot.emit.worker", str(theirs.fileno())],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
            )
        _helper = (os.getpid(), process, Connection(ours.detach()))
    return _helper[2]


def _stop() -> None:
    global _helper
    if _helper is not None and _helper[0] == os.getpid():
        _helper[2].close()
        _helper[1].kill()
        _helper[1].wait()
    _helper = None


atexit.register(_stop)


def _answer(request: dict[str, Any], limits: Limits) -> dict[str, Any]:
    request = {**request, "seconds": limits.seconds, "memory": limits.memory}
    reply = _ask(request)
    if "failed" in reply:
        complaints = [Complaint(where, what) for where, what in reply["diagnostics"]]
        raise PipelineError(reply["failed"], complaints)
    if "crashed" not in reply:
        return reply
    raise EmitError(
        _crash_text(reply["crashed"], reply.get("printed", "")),
        hints=[f"to see it again: {write_reproducer(request)}"],
    )


def _crash_text(how: str, printed: str) -> str:
    known = {
        "time": "an MLIR pipeline took longer than it may",
        "memory": "an MLIR pipeline needed more memory than it may use",
    }
    text = known.get(how, f"an MLIR pipeline ended with {how}")
    if "bad_alloc" in printed or "out of memory" in printed.lower():
        text = known["memory"]
    lines = [line for line in printed.splitlines() if line.strip()][:3]
    return "\n  ".join([text, *lines])
