"""The safe side of the helper process. Comes in: a module and pipelines; goes out: MLIR text or
results, or an EmitError. What holds: whatever a pipeline does, this process lives on; a crash, a
hang and a memory blow-up leave a reproducer on disk: the input, the pipeline, one command. The
helper is started once and kept ready.
"""

from __future__ import annotations

import atexit
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from ingot.emit.levels import Step
from ingot.errors import EmitError


@dataclass(frozen=True)
class Limits:
    """What one request may use."""

    seconds: float = 300.0
    memory: int = 16 << 30
    """Bytes of address space."""


USUAL = Limits()


@dataclass(frozen=True)
class Complaint:
    """What a pipeline said, and at which location."""

    location: str
    message: str


class PipelineError(Exception):
    """A pipeline that refused its input, with all it said."""

    def __init__(self, step: str, complaints: Sequence[Complaint]) -> None:
        self.step = step
        self.complaints = tuple(complaints)
        super().__init__(f"{step}: " + "; ".join(c.message for c in complaints))


_lock = threading.Lock()
_helper: tuple[int, subprocess.Popen[bytes], Connection] | None = None
"""The process id it was started in, the helper, the line to it."""


def start() -> None:
    """Have the helper ready, without waiting for it."""
    with _lock:
        _connection()


def lower(
    module: bytes | str, steps: Sequence[Step], limits: Limits, *, calls: bool = False
) -> str:
    """The module behind all steps, as text. With `calls` it may call functions."""
    request = {"do": "lower", "module": module, "steps": _pairs(steps), "calls": calls}
    reply = _ask(request, limits)
    return str(_checked(reply, module, steps)["text"])


def run(
    module: str,
    function: str,
    steps: Sequence[Step],
    to_llvm: Step,
    arguments: Sequence[dict[str, Any]],
    file: str,
    limits: Limits,
    *,
    refine: bool = False,
) -> list[Any]:
    """The results of `function`; arrays come and go as bytes. With `refine` its types are made
    those of the arguments first."""
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
    reply = _checked(_ask(request, limits), module, [*steps, to_llvm])
    return list(reply["results"])


def _pairs(steps: Sequence[Step]) -> list[tuple[str, str]]:
    return [(step.name, step.pipeline) for step in steps]


def _ask(request: dict[str, Any], limits: Limits) -> dict[str, Any]:
    with _lock:
        line = _connection()
        try:
            line.send({**request, "seconds": limits.seconds, "memory": limits.memory})
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


def _checked(reply: dict[str, Any], module: bytes | str, steps: Sequence[Step]) -> dict[str, Any]:
    if "failed" in reply:
        complaints = [Complaint(where, what) for where, what in reply["diagnostics"]]
        raise PipelineError(reply["failed"], complaints)
    if "crashed" not in reply:
        return reply
    command = write_reproducer(module, steps)
    raise EmitError(
        _crash_text(reply["crashed"], reply.get("printed", "")),
        hints=[f"to see it again: {command}"],
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


def write_reproducer(module: bytes | str, steps: Sequence[Step]) -> str:
    """Leave the input and the pipelines on disk; the command that runs them."""
    folder = Path(tempfile.mkdtemp(prefix="ingot-reproducer-"))
    source = folder / ("input.mlirbc" if isinstance(module, bytes) else "input.mlir")
    source.write_bytes(module if isinstance(module, bytes) else module.encode())
    (folder / "pipelines.json").write_text(json.dumps(_pairs(steps), indent=1))
    script = folder / "reproduce.sh"
    command = f"{sys.executable} -m ingot.emit.worker {source} {folder / 'pipelines.json'}"
    script.write_text(f"#!/bin/sh\nexec {command}\n")
    return f"sh {script}"
