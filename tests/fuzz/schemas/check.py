"""One program in one mode: each call is compared with eager and, on a difference, with the
control."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

import torch

from .evidence import Evidence
from .judge import Difference, compare
from .modes import MODES, Mode, as_called, compiled, runs
from .outcome import Outcome, eager, observe
from .program import Program

DEFAULT_OPTIONS: dict[str, Any] = {"strict": True}
CHECKED = {"checks": "bounds"}
"""Generated code raises at the first load or store outside of its buffer."""


@dataclass
class Finding:
    """The differences of one call."""

    program: Program
    mode: str
    call: int
    differences: list[Difference]
    upstream: bool = False
    """The control differs from eager in the same way."""
    control: str = ""
    """The outcome of the control."""
    seed: int = -1
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        return self.differences[0].label if self.differences else ""

    @property
    def signature(self) -> str:
        """Findings with equal signatures form one class."""
        first = self.differences[0]
        if first.kind != "raises":
            return f"{first.label}: {', '.join(sorted(self.program.ops()))}"
        headline = first.text.splitlines()[0] if first.text else ""
        return "raises: " + re.sub(r"0x[0-9a-f]+|\d+|'[^']*'|\"[^\"]*\"", "#", headline)[:110]


def modes_of(program: Program, seed: int, count: int = 2) -> list[Mode]:
    """The modes that a program runs in, chosen by its seed."""
    modes = [mode for mode in MODES.values() if runs(program, mode)]
    return Random(seed).sample(modes, min(count, len(modes)))


def options_of(seed: int, options: Mapping[str, Any]) -> dict[str, Any]:
    """Programs of odd seeds run with bounds checks, so that both kinds of code are exercised."""
    return {**CHECKED, **options} if seed % 2 else dict(options)


def run_calls(
    program: Program, mode: Mode, options: Mapping[str, Any], calls: tuple[int, ...], control: bool
) -> list[Outcome]:
    """The outcome of each call, under ingot or under the control."""
    torch._dynamo.reset()
    try:
        function = compiled(program, mode, options, control=control)
    except Exception as error:
        import traceback

        text = "".join(traceback.format_exception(error))[-6000:]
        return [Outcome(error=f"{type(error).__name__}: {error}", trace=text) for _ in calls]
    return [observe(function, program, program.make_inputs(call)) for call in calls]


def check(
    program: Program, mode: Mode, options: Mapping[str, Any] = DEFAULT_OPTIONS
) -> Finding | None:
    """The first call that differs, or None if all match eager."""
    program = as_called(program, mode)
    wanted = [eager(program, call) for call in mode.calls]
    found = run_calls(program, mode, options, mode.calls, control=False)
    try:
        for call, got, want in zip(mode.calls, found, wanted):
            if specialised(program, mode, call, got):
                continue
            evidence = Evidence(program, call, want)
            differences = compare(got, want, evidence)
            if differences:
                finding = Finding(program, mode.name, call, differences, options=dict(options))
                judge_control(finding, mode, options, got, want, evidence)
                return finding
        return None
    finally:
        torch._dynamo.reset()


def specialised(program: Program, mode: Mode, call: int, got: Outcome) -> bool:
    """Whether the captured program reports that it was not made for this call's inputs."""
    return mode.ahead and call > 0 and got.error.startswith("InputError")


def judge_control(
    finding: Finding, mode: Mode, options: Mapping[str, Any], got: Outcome, want: Outcome,
    evidence: Evidence,
) -> None:  # fmt: skip
    calls = mode.calls[: finding.call + 1]
    try:
        outcome = run_calls(finding.program, mode, options, calls, control=True)[-1]
    except Exception as error:
        finding.control = f"cannot be run: {error}"
        return
    differences = compare(outcome, want, evidence)
    finding.control = outcome.error or "; ".join(d.label for d in differences) or "equals eager"
    if differences and got.error and outcome.error:
        finding.upstream = True
    elif differences and not got.error and not outcome.error:
        finding.upstream = not compare(got, outcome, evidence)


def deterministic(program: Program) -> bool:
    """Whether eager gives the same result twice, with different garbage in free memory."""
    for call in (0, 1, 2):
        first = eager(program, call)
        for size in (16, 64, 256, 1024, 4096, 16384):
            blocks = [torch.full((size,), 7.25) for _ in range(8)]
            del blocks
        second = eager(program, call)
        if first.error != second.error:
            return False
        mine, others = (
            [*each.results, *each.inputs, *each.grads] for each in (first, second)
        )  # fmt: skip
        if len(mine) != len(others) or not all(map(_identical, mine, others)):
            return False
    return True


def _identical(mine: Any, other: Any) -> bool:
    from .defined import same
    from .outcome import Snapshot

    if isinstance(mine, Snapshot) and isinstance(other, Snapshot):
        return same(mine.value, other.value)
    return bool(mine == other or (mine != mine and other != other))
