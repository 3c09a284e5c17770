"""Programs that write, alias and change state in combination: mutation × region × alias × control
flow × module state."""

from __future__ import annotations

from . import (  # noqa: F401
    programs_of_control_flow,
    programs_of_functions,
    programs_of_modules,
    programs_of_regions,
    programs_of_writes,
)
from .cases import CASES, Case

__all__ = ["CASES", "Case"]
