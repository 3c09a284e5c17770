"""Accepted differences from eager, each with its reason. Strict: a test runs each entry's program,
and an entry that no longer differs must be removed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .check import Finding
from .inputs import Input
from .program import Program, Ref, Statement


@dataclass(frozen=True)
class Known:
    signature: str
    """A regular expression, searched in `Finding.signature`."""
    mode: str
    """A mode in which the program differs."""
    program: Program
    reason: str


EXPECTED: tuple[Known, ...] = (
    Known(
        r"^nonfinite: .*\b(std|var)_mean\b",
        "compile-static",
        Program(
            (Input("x", "float32", (2, 3, 1), "middle", "edge", 755),),
            (
                Statement(
                    ("spread", "mean"), "torch.std_mean", (Ref("x"), (0, 1, 2)),
                    op="std_mean.dim", unpacks=True,
                ),
            ),
            ("mean",),
        ),
        "the mean of numbers with one infinity is that infinity; eager's Welford recurrence, and "
        "its f64 run, subtract it from itself and give NaN (torch.mean does not)",
    ),
)  # fmt: skip


def known(finding: Finding) -> Known | None:
    for entry in EXPECTED:
        if re.search(entry.signature, finding.signature):
            return entry
    return None
