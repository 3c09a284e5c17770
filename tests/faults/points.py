"""Injection points: every public function, every `rewrite` method of a pass and every method called
by generated text, found by walking the packages of the compiler stages. A fault replaces the code
object of a function, so that all holders of a reference (rule tables, other modules) meet it."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FrameType, FunctionType
from typing import Any

PACKAGES = ("passes", "ops", "fuse", "plan", "kernels", "select", "codegen", "runtime")
CAPTURING = ("ingot.passes.decompositions.recurrent",)
"""Patches PyTorch during capture, when there is no program yet that could run in eager."""
EAGER = ("ingot.runtime.outcome", "ingot.plan.host_ops", "ingot.runtime.eager_call")
"""They raise eager's errors, or are themselves the fallback."""
CALLERS = ("ingot.runtime.executable.Executable.__call__",
           "ingot.runtime.executable.EagerExecutable.__call__")  # fmt: skip
"""Called by the user."""
TOO_LATE = ("ingot.runtime.workspace.give_back", "ingot.runtime.workspace.give_back_any")
"""Inputs are already overwritten, so the call cannot be repeated."""
METHODS = ("rewrite", "is_current", "same_dtypes", "__call__")
"""`__call__`: objects that generated text receives as functions."""
FAULTS: tuple[type[Exception], ...] = (RuntimeError, AssertionError, KeyError, RecursionError)
hits: list[str] = []
"""Names of the functions whose fault was raised."""


def modules() -> Iterator[Any]:
    for package in PACKAGES:
        root = importlib.import_module(f"ingot.{package}")
        yield root
        for found in pkgutil.walk_packages(root.__path__, f"{root.__name__}."):
            yield importlib.import_module(found.name)


def points() -> dict[str, FunctionType]:
    """Qualified name → function."""
    found: dict[str, FunctionType] = {}
    for module in modules():
        if module.__name__ in EAGER + CAPTURING:
            continue
        for name, value in vars(module).items():
            if getattr(value, "__module__", None) != module.__name__:
                continue
            for method in METHODS if inspect.isclass(value) else ():
                if isinstance(vars(value).get(method), FunctionType):
                    found[f"{module.__name__}.{name}.{method}"] = vars(value)[method]
            function = inspect.unwrap(value) if callable(value) else None
            if not isinstance(function, FunctionType) or inspect.isgeneratorfunction(function):
                continue
            if not name.startswith("_") and not function.__code__.co_freevars:
                found[f"{module.__name__}.{name}"] = function
    return {name: function for name, function in found.items() if name not in (*TOO_LATE, *CALLERS)}


def called(run: Any) -> set[CodeType]:
    """The code objects that `run` executes on this thread."""
    seen: set[CodeType] = set()

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            seen.add(frame.f_code)

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        run()
    finally:
        sys.setprofile(before)
    return seen


def _failing(*args: Any, **kwargs: Any) -> Any:
    __import__("sys").modules["tests.faults.points"].fail("NAME", "FAULT")


def fail(name: str, fault: str) -> None:
    hits.append(name)
    raise next(kind for kind in FAULTS if kind.__name__ == fault)("injected")


@contextmanager
def broken(name: str, function: FunctionType, fault: type[Exception]) -> Iterator[list[str]]:
    """Make the function fail inside the context. The list receives its name once per call."""
    hits.clear()
    real = function.__code__
    constants = {"NAME": name, "FAULT": fault.__name__}
    code = _failing.__code__
    replaced = tuple(constants.get(c, c) if isinstance(c, str) else c for c in code.co_consts)
    function.__code__ = code.replace(
        co_consts=replaced, co_filename=real.co_filename, co_name=real.co_name
    )
    try:
        yield hits
    finally:
        function.__code__ = real
