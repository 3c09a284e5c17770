"""ingot: a compiler for PyTorch programs. Public names are imported on first use, so that `import
ingot` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ingot import extensions
from ingot.collection import without_collection
from ingot.version import __version__ as __version__

if TYPE_CHECKING:
    from ingot.ahead import compile, refresh
    from ingot.artifact.load import load
    from ingot.dispatch.declare import dispatch
    from ingot.errors import (
        BoundsError,
        CacheError,
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
    from ingot.frontend import export
    from ingot.options import Options
    from ingot.program.program import Program

__all__ = [
    "BoundsError",
    "CacheError",
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
    "load",
    "refresh",
]

_HOMES = {
    "Report": "explain.report",
    "Options": "options",
    "Program": "program.program",
    "compile": "ahead",
    "export": "frontend",
    "load": "artifact.load",
    "refresh": "ahead",
}
"""The module of each public name that is not an error."""

extensions.register({
    "Program.__call__": "ingot.program.call:call_program",
    "Program.as_text": "ingot.program.text:program_to_text",
    "Program.from_exported": "ingot.capture.functionalize.pre_dispatch:pre_dispatch_program",
    "Program.to_exported": "ingot.program.to_exported:program_to_exported",
    "Program.lowered": "ingot.passes.lower:lower_program",
    "Program.save": "ingot.artifact.store:save_program",
    "Program.load": "ingot.artifact.store:load_program",
    "Executable.save": "ingot.artifact.save:save_executable",
    "Executable.save_c": "ingot.deploy.save_c:save_c",
    "Program.to_mlir": "ingot.emit.methods:to_mlir",
    "Program.verify": "ingot.emit.methods:verify",
    "compile_version": "ingot.pipeline:compile_version",
})  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in ("dispatch", "explain"):
        return importlib.import_module(f"ingot.{name}")  # a callable package
    value = globals()[name] = _imported(f"ingot.{_HOMES.get(name, 'errors')}", name)
    return value


@without_collection
def _imported(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
