"""ingot: a compiler for PyTorch programs. The names here are the public ones; each is imported when
it is first used, so that `import ingot` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ingot.ahead import compile, refresh
    from ingot.capture.export import export
    from ingot.dispatch.declare import dispatch
    from ingot.errors import (
        BoundsError,
        CaptureError,
        CompileError,
        DispatchError,
        EagerCallWarning,
        EmitError,
        FallbackWarning,
        FileError,
        IngotError,
        IngotWarning,
        InputError,
        MismatchError,
        OptionError,
        Place,
        SaveError,
        UnsupportedError,
        VerifyError,
    )
    from ingot.explain.listen import explain
    from ingot.explain.report import Report
    from ingot.options import Options
    from ingot.program.program import Program

__all__ = [
    "BoundsError",
    "CaptureError",
    "CompileError",
    "DispatchError",
    "EagerCallWarning",
    "EmitError",
    "FallbackWarning",
    "FileError",
    "IngotError",
    "IngotWarning",
    "InputError",
    "MismatchError",
    "OptionError",
    "Options",
    "Place",
    "Program",
    "Report",
    "SaveError",
    "UnsupportedError",
    "VerifyError",
    "compile",
    "dispatch",
    "explain",
    "export",
    "refresh",
]

_HOMES = {
    "Report": "explain.report",
    "Options": "options",
    "Program": "program.program",
    "compile": "ahead",
    "export": "capture.export",
    "refresh": "ahead",
}
"""Public names that are not errors, and the module of each."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in ("dispatch", "explain"):
        return importlib.import_module(f"ingot.{name}")  # a package that can be called
    module = importlib.import_module(f"ingot.{_HOMES.get(name, 'errors')}")
    value = globals()[name] = getattr(module, name)
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
