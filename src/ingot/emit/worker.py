"""The helper process that runs MLIR pipelines and the machine code compiled from them. It listens
on the file descriptor given as its argument and answers each request in a fork with limits on
memory and time: a crash, a hang or exhausted memory ends the fork, not the helper. It does not
import torch, so it is ready in a fraction of a second.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import tempfile
from collections.abc import Callable
from multiprocessing.connection import Connection, Pipe

from ingot.emit.execution import run
from ingot.emit.interpret import interpret
from ingot.emit.pipelines import Reply, Request, lower

HANDLERS: dict[str, Callable[[Request], Reply]] = {
    "lower": lower,
    "run": run,
    "interpret": interpret,
}


def answer(request: Request) -> Reply:
    """Handle the request in a fork. The reply includes the fork's output."""
    ours, theirs = Pipe()
    with tempfile.TemporaryFile() as printed:
        pid = os.fork()
        if pid == 0:
            _in_fork(request, theirs, printed.fileno())
        theirs.close()
        in_time = ours.poll(request["seconds"])
        if not in_time:
            os.kill(pid, signal.SIGKILL)
        try:
            reply: Reply = ours.recv() if in_time else {"crashed": "time"}
        except EOFError:
            reply = {"crashed": ""}
        _, status, usage = os.wait4(pid, 0)
        if reply.get("crashed") == "":
            full = _is_full(usage, request["memory"])
            reply["crashed"] = "memory" if full else _end_name(status)
        printed.seek(0)
        return {**reply, "printed": printed.read()[-4000:].decode(errors="replace")}


def _in_fork(request: Request, pipe: Connection, printed: int) -> None:
    try:
        os.dup2(printed, 1)
        os.dup2(printed, 2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (request["memory"], request["memory"]))
        try:
            reply = HANDLERS[request["do"]](request)
        except MemoryError:
            reply = {"crashed": "memory"}
        except Exception as error:
            reply = {"failed": request["do"], "diagnostics": [("", f"{error}")]}
        pipe.send(reply)
        pipe.close()
    finally:
        os._exit(0)


def _is_full(usage: resource.struct_rusage, limit: int) -> bool:
    """Whether a fork used nearly all of its address space: a failed allocation often surfaces as a
    crash elsewhere."""
    size, resident = (int(n) * resource.getpagesize() for n in _pages()[:2])
    return size + usage.ru_maxrss * 1024 - resident > 0.9 * limit


def _pages() -> list[str]:
    """Pages in use by this process, and by the fork when it started."""
    with open("/proc/self/statm") as file:
        return file.read().split()


def _end_name(status: int) -> str:
    if os.WIFSIGNALED(status):
        return signal.Signals(os.WTERMSIG(status)).name
    return f"exit {os.WEXITSTATUS(status)}"


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    pipe = Connection(int(sys.argv[1]))
    while True:
        try:
            request = pipe.recv()
        except EOFError:
            return
        pipe.send(answer(request))


if __name__ == "__main__":
    main()
