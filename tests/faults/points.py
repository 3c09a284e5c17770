"""Where a fault can be injected: every public function, every method `rewrite` of a pass and the
methods that generated text calls, in the packages that are stages of the compiler, found by walking
them. A fault replaces the code of the
function itself, so that whoever holds it (tables of rules, other modules) meets the fault."""

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
"""Patches of PyTorch around a capture: there is no program yet that could run in eager."""
EAGER = ("ingot.runtime.outcome", "ingot.plan.host_ops", "ingot.runtime.eager_call")
"""They raise eager's errors, or are what a failure falls back to."""
CALLERS = ("ingot.runtime.executable.Executable.__call__",
           "ingot.runtime.executable.EagerExecutable.__call__")  # fmt: skip
"""What the user calls."""
TOO_LATE = ("ingot.runtime.workspace.give_back", "ingot.runtime.workspace.give_back_any")
"""Inputs are gone by then: the call cannot run again."""
METHODS = ("rewrite", "is_current", "same_dtypes", "__call__")
"""`__call__`: objects that generated text is handed as functions."""
FAULTS: tuple[type[Exception], ...] = (RuntimeError, AssertionError, KeyError, RecursionError)
hits: list[str] = []
"""Faults that were met, by the names of the functions."""


def modules() -> Iterator[Any]:
    for package in PACKAGES:
        root = importlib.import_module(f"ingot.{package}")
        yield root
        for found in pkgutil.walk_packages(root.__path__, f"{root.__name__}."):
            yield importlib.import_module(found.name)


def points() -> dict[str, FunctionType]:
    """By the names under which they are known."""
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
    """The code that `run` executes, in this thread."""
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
    """The function fails meanwhile; the list has its name once for each call."""
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
