"""Every error a user can meet. A message has a headline that never changes, the user's own file and
line, the reason, and what to do. Internal frames stay out of the text.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """A line of the user's program."""

    file: str
    line: int
    code: str = ""

    def __str__(self) -> str:
        code = f"\n      {self.code}" if self.code else ""
        return f"{self.file}:{self.line}{code}"


class IngotError(Exception):
    """The base of all errors. `headline` names the kind and never changes; `why` is the reason,
    `place` the user's line if it is known, `hints` are remedies."""

    headline = "ingot could not do this"

    def __init__(self, why: str, *, place: Place | None = None, hints: Iterable[str] = ()):
        self.why = why
        self.place = place
        self.hints = tuple(hints)
        super().__init__(self.render())

    def add_hints(self, *hints: str) -> None:
        self.hints += hints
        self.args = (self.render(),)

    def render(self) -> str:
        lines = [f"{self.headline}: {self.why}"]
        if self.place is not None:
            lines.append(f"  at {self.place}")
        lines.extend(f"  hint: {hint}" for hint in self.hints)
        return "\n".join(lines)


class OptionError(IngotError, ValueError):
    """An unknown option, or an invalid value of a known one."""

    headline = "not a valid ingot option"


class CaptureError(IngotError):
    """The model cannot be captured as one graph, or has no functional form."""

    headline = "the program could not be captured"


class InputError(IngotError, ValueError):
    """Arguments that the program was not compiled for. Nothing was run."""

    headline = "the program was not made for these arguments"


class FileError(IngotError, ValueError):
    """A damaged or foreign file. The reason begins with the file, its member and its path."""

    headline = "the file cannot be loaded"


class CacheError(IngotError):
    """The cache on disk is absent, or cannot be written."""

    headline = "the cache cannot be used"


class SaveError(IngotError, ValueError):
    """A value in the program cannot be serialised."""

    headline = "the program cannot be saved"


class VerifyError(IngotError):
    """A Program violates its specification."""

    headline = "the program is not well formed"


class PlanError(IngotError):
    """Raised by `plan.verify`. An invalid plan is a bug in ingot; it never runs. The hints name the
    file of its text and the command that reproduces the failure."""

    headline = "internal error: invalid plan"


class PlanTextError(IngotError, ValueError):
    """`why` begins with line and column, and ends with the line itself."""

    headline = "the text of the plan cannot be read"


class CompileError(IngotError):
    """Code generation or LLVM failed. Raised with `strict`."""

    headline = "a kernel could not be compiled"


class BoundsError(IngotError):
    """An access outside its buffer, found by `checks="bounds"`. Memory was not touched."""

    headline = "generated code left its memory"


class EmitError(IngotError):
    """The program could not be written as MLIR, or its module could not be run."""

    headline = "the program could not be written as MLIR"
    problems: tuple[object, ...] = ()
    """One record for each op that the dialect cannot represent."""


class MismatchError(IngotError):
    """`Program.verify` found a difference beyond the tolerance."""

    headline = "the result differs from eager's"


class DispatchError(IngotError, ValueError):
    """An invalid declaration of a dispatched op."""

    headline = "not a valid dispatch"


class UnsupportedError(IngotError):
    """Raised while lowering one op; always caught by the claim in progress and kept as a reason."""

    headline = "no native lowering"


class IngotWarning(UserWarning):
    """The base of FallbackWarning and EagerCallWarning."""


class FallbackWarning(IngotWarning):
    """A stage of the compiler failed, and PyTorch's kernels run that part instead."""


class EagerCallWarning(IngotWarning):
    """A call of a compiled program ran the model in eager."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Text for a hint: the closest known name, and all known names."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1)
    guess = f"did you mean {close[0]!r}? " if close else ""
    return f"{guess}known: {', '.join(names)}"
