"""Methods of Program implemented in other modules: each is declared, found, and has the declared
parameters."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys

import pytest

import ingot
from ingot import extensions
from ingot.program.program import Program

METHODS = [name for name in extensions.registered() if name.startswith("Program.")]
STATIC = ("Program.from_exported", "Program.load")
VARIADIC = ("Program.__call__",)


@pytest.mark.parametrize("method", METHODS)
def test_function_takes_what_the_method_declares(method: str) -> None:
    module, _, name = extensions.registered()[method].partition(":")
    function = inspect.signature(getattr(importlib.import_module(module), name))
    given = list(
        inspect.signature(getattr(Program, method.removeprefix("Program."))).parameters.values()
    )
    taken = list(function.parameters.values())
    if method not in STATIC:
        given, taken = given[1:], taken[1:]
    if method in VARIADIC:
        assert [p.name for p in given] == [p.name for p in taken]
        return
    taken = taken[: len(given)]
    assert [(p.name, p.kind, p.default) for p in given] == [
        (p.name, p.kind, p.default) for p in taken
    ]


def test_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(LookupError, match=r"nothing implements Program\.to_stone; implemented"):
        extensions.extension("Program.to_stone")


def test_method_is_registered_once() -> None:
    with pytest.raises(ValueError, match=r"Program\.save is registered already"):
        extensions.register({"Program.save": "ingot.artifact.store:save_program"})


def test_program_does_not_load_the_modules_that_extend_it() -> None:
    code = (
        "import sys, ingot.program.program; "
        "rooms = ('capture', 'passes', 'ops', 'fuse', 'emit', 'artifact', 'codegen'); "
        "print(*[m for m in sys.modules if m.startswith(tuple(f'ingot.{r}' for r in rooms))])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == []
    assert ingot.Program is Program
