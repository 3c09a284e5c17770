"""Explain recompilations. Converts Dynamo's reason for the failed guard, available while the
backend runs, to a Recompile with the old value, the new value and a hint, and reports it to the log
`ingot.recompiles` and to listeners.
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from typing import Any

from ingot.listeners import Listeners

log = logging.getLogger("ingot.recompiles")


@dataclass(frozen=True)
class Recompile:
    guard: str
    """The condition that failed."""
    old: str
    new: str
    hint: str

    def __str__(self) -> str:
        values = f": it was {self.old}, now it is {self.new}" if self.new else ""
        return f"compiled again because {self.guard}{values}. {self.hint}"


_recompiles: Listeners[Recompile] = Listeners()
listening = _recompiles.listening


@dataclass(frozen=True)
class _Form:
    """One of the forms of Dynamo's recompile reasons."""

    pattern: re.Pattern[str]
    guard: str
    hint: str


_FORMS = (
    _Form(
        re.compile(
            r"tensor '(?P<name>.+?)' size mismatch at index (?P<dim>\d+)\. "
            r"expected (?P<old>\S+), actual (?P<new>\S+)"
        ),
        "the size of {name} along dim {dim} changed",
        "torch._dynamo.mark_dynamic({name}, {dim}) before the first call, or "
        "torch.compile(dynamic=True), makes one program for all sizes",
    ),
    _Form(
        re.compile(
            r"tensor '(?P<name>.+?)' (?P<what>dtype|rank|stride|requires_grad|device).*?mismatch.*?"
            r"expected (?P<old>.+?), actual (?P<new>\S+)"
        ),
        "the {what} of {name} changed",
        "call it with one {what}, or expect one program for each",
    ),
    _Form(
        re.compile(r"(?P<name>[\w.\[\]']+) == (?P<old>.+?)\s*(#|$)"),
        "the number {name} is part of the program",
        "an int that changes is dynamic with torch.compile(dynamic=True); a value in a tensor "
        "is never part of the program",
    ),
)
_OTHER = "TORCH_LOGS=recompiles shows all guards that failed"


def note_recompile() -> None:
    """To be called by a backend: reports if this is not the function's first program."""
    from torch._dynamo.utils import get_metrics_context

    reason = get_metrics_context()._metrics.get("recompile_reason")
    if not reason:
        return
    found = explained(str(reason))
    log.info("%s", found)
    _recompiles.tell(found)


def explained(reason: str) -> Recompile:
    text = re.sub(r"^\d+/\d+: ", "", reason.splitlines()[0])
    for form in _FORMS:
        match = form.pattern.search(text)
        if match is not None:
            parts = match.groupdict()
            new = parts.get("new") or _local(parts["name"])
            guard, hint = form.guard.format(**parts), form.hint.format(**parts)
            return Recompile(guard, parts["old"], new, hint)
    return Recompile(f"a guard failed: {text.split('#')[0].strip()}", "", "", _OTHER)


def _local(name: str) -> str:
    """The current value of a local variable of the function."""
    from torch._dynamo.symbolic_convert import InstructionTranslator

    try:
        values: Any = InstructionTranslator.current_tx().f_locals
    except (AttributeError, AssertionError):
        return ""
    return repr(values[name]) if name in values else ""
