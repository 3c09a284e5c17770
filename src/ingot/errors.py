"""Every error a user can meet. Comes in: what went wrong and where; goes out: one message with a
headline that never changes, the user's own file and line, why, and what to do. Internal frames stay
out of the text.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """A line of the user's own program."""

    file: str
    line: int
    code: str = ""

    def __str__(self) -> str:
        code = f"\n      {self.code}" if self.code else ""
        return f"{self.file}:{self.line}{code}"


class IngotError(Exception):
    """What all of our errors are. `headline` names the kind and is stable."""

    headline = "ingot could not do this"

    def __init__(self, why: str, *, place: Place | None = None, hints: Iterable[str] = ()):
        self.why = why
        self.place = place
        self.hints = tuple(hints)
        super().__init__(self.render())

    def render(self) -> str:
        lines = [f"{self.headline}: {self.why}"]
        if self.place is not None:
            lines.append(f"  at {self.place}")
        lines.extend(f"  hint: {hint}" for hint in self.hints)
        return "\n".join(lines)


class OptionError(IngotError, ValueError):
    headline = "not a valid ingot option"


class CaptureError(IngotError):
    headline = "the program could not be captured"


class InputError(IngotError, ValueError):
    headline = "the program was not made for these arguments"


class FileError(IngotError, ValueError):
    """`why` begins with the file, its member and the path inside of it."""

    headline = "the file cannot be loaded"


class SaveError(IngotError, ValueError):
    headline = "the program cannot be saved"


class VerifyError(IngotError):
    headline = "the program is not well formed"


class PlanError(IngotError):
    """What `plan.verify` raises: a plan that breaks its own rules is a bug of ingot's."""

    headline = "internal error: invalid plan"


class PlanTextError(IngotError, ValueError):
    """`why` begins with line and column, and ends with the line itself."""

    headline = "the text of the plan cannot be read"


class CompileError(IngotError):
    headline = "a kernel could not be compiled"


class BoundsError(IngotError):
    headline = "generated code left its memory"


class EmitError(IngotError):
    headline = "the program could not be written as MLIR"
    problems: tuple[object, ...] = ()
    """One for each operation that the dialect cannot take."""


class MismatchError(IngotError):
    headline = "the result differs from eager's"


class DispatchError(IngotError, ValueError):
    headline = "not a valid dispatch"


class UnsupportedError(IngotError):
    """Raised while lowering one op; always caught by the claim that asked, and kept as a reason."""

    headline = "no native lowering"


class IngotWarning(UserWarning):
    """What all of our warnings are."""


class FallbackWarning(IngotWarning):
    """A stage of the compiler failed, and PyTorch runs what it was about."""


class EagerCallWarning(IngotWarning):
    """A call of a compiled program ran the model in eager: right, but not faster."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A closing clause that lists the known names and guesses which was meant."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1)
    guess = f"did you mean {close[0]!r}? " if close else ""
    return f"{guess}known: {', '.join(names)}"
