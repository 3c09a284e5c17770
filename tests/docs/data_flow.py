"""The measured data flow of one compilation: the stages that `torch.compile` of a linear layer and
a GELU runs, in order, by the calls of the two orchestrators (`backend/` and `pipeline.py`).

    python -m tests.docs.data_flow
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from inspect import CO_GENERATOR
from itertools import groupby, pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch import nn

import ingot

SOURCE = Path(ingot.__file__).parent
STAGES = ("capture", "passes", "fuse", "plan", "codegen", "runtime")
_STAGE_OF_ROOM = {
    **{stage: stage for stage in STAGES},
    "select": "plan",
    "kernels": "plan",  # except for emitters, see `stage_of`
}
"""The other packages hold the IRs and code shared by all stages."""
BACKGROUND = "kernels/precompile.py"
"""Its functions start threads and return."""
LISTS_PASSES = "family_passes"
"""In kernels/registry.py: lists the passes of kernel families, which run with the other passes."""
SELECTION = ("select/fuse_epilogues.py", "plan/resources.py")
"""Modules that generate code during planning."""


@dataclass(frozen=True)
class Entry:
    """A call into a stage from outside it."""

    caller: str
    file: str
    function: str

    @property
    def stage(self) -> str:
        return "passes" if self.function == LISTS_PASSES else stage_of(self.file)

    @property
    def is_orchestrated(self) -> bool:
        """Whether the caller is an orchestrator."""
        return self.caller == "pipeline.py" or self.caller.startswith("backend/")

    def __str__(self) -> str:
        return f"{self.file}: {self.function}"


def stage_of(file: str) -> str:
    """The stage of a file; empty if it belongs to none."""
    room, _, name = file.partition("/")
    if room == "kernels" and Path(name).name.startswith("emit"):
        return "codegen"
    return _STAGE_OF_ROOM.get(room, "")


@contextmanager
def entries() -> Iterator[list[Entry]]:
    """The calls on this thread that enter a stage, in order. A generator is entered once."""
    found: list[Entry] = []
    stack: list[str] = []
    generators: set[FrameType] = set()

    def profile(frame: FrameType, event: str, _: Any) -> None:
        path = frame.f_code.co_filename
        if event not in ("call", "return") or not path.startswith(f"{SOURCE}/"):
            return
        if event == "return":
            if stack:
                stack.pop()
            return
        file, caller = str(Path(path).relative_to(SOURCE)), stack[-1] if stack else ""
        stack.append(file)
        name = frame.f_code.co_name
        if frame.f_code.co_flags & CO_GENERATOR:
            if frame in generators:
                return
            generators.add(frame)
        if caller and stage_of(file) not in ("", stage_of(caller)) and not name.startswith("<"):
            found.append(Entry(caller, file, name))

    sys.setprofile(profile)
    try:
        yield found
    finally:
        sys.setprofile(None)


def measured() -> list[Entry]:
    """The calls of the second compilation in a process, when all imports are done."""
    options: dict[str, Any] = {"tune": 0.0, "strict": True}
    x = torch.randn(32, 64)
    with torch.no_grad():
        torch.compile(nn.Linear(64, 8).eval(), backend="ingot", options=options)(x)
        model = nn.Sequential(nn.Linear(64, 256), nn.GELU()).eval()
        fast = torch.compile(model, backend="ingot", options=options)
        with entries() as found:
            fast(x)
    return found


def walk(found: list[Entry]) -> list[tuple[str, list[Entry]]]:
    """The stages in order, each with the functions that the orchestrators call in it."""
    orchestrated = [each for each in found if each.is_orchestrated and each.file != BACKGROUND]
    orchestrated = [each for each in orchestrated if not re.match("_[a-z]", each.function)]
    distinct = [each for k, each in enumerate(orchestrated) if each not in orchestrated[:k]]
    return [(stage, list(calls)) for stage, calls in groupby(distinct, lambda each: each.stage)]


def is_return(before: str, stage: str) -> bool:
    return STAGES.index(stage) < STAGES.index(before)


def returns(steps: list[tuple[str, list[Entry]]]) -> list[tuple[str, str]]:
    stages = [stage for stage, _ in steps]
    return [(a, b) for a, b in pairwise(stages) if is_return(a, b)]


def nested(found: list[Entry]) -> list[str]:
    """Code generation called by kernel selection, which waits for it."""
    ahead = (e for e in found if e.caller in SELECTION and e.stage == "codegen")
    return list(dict.fromkeys(map(str, ahead)))


def as_text(steps: list[tuple[str, list[Entry]]]) -> str:
    lines, before = [], STAGES[0]
    for stage, calls in steps:
        mark = "↩" if is_return(before, stage) else " "
        lines += [f"{mark} {stage:8} {calls[0]}", *(f"  {'':8} {each}" for each in calls[1:])]
        before = stage
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    entered = measured()
    print(as_text(walk(entered)))
    print(f"{len(returns(walk(entered)))} returns")
    print("kernel selection calls and waits for", *nested(entered), sep="\n  ")
