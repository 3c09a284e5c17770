"""Program's methods that other modules implement: each is declared, found, and takes what its
declaration says."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys

import pytest

import ingot
from ingot import extensions
from ingot.program.program import Program

STATIC = ("from_exported", "load")
VARIADIC = ("__call__",)


@pytest.mark.parametrize("method", extensions.registered())
def test_function_takes_what_the_method_declares(method: str) -> None:
    module, _, name = extensions.registered()[method].partition(":")
    function = inspect.signature(getattr(importlib.import_module(module), name))
    given = list(inspect.signature(getattr(Program, method)).parameters.values())
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


def test_method_without_a_function_names_those_that_have_one() -> None:
    with pytest.raises(LookupError, match=r"Program\.to_stone; implemented are: __call__, as_text"):
        extensions.extension("to_stone")


def test_method_is_registered_once() -> None:
    with pytest.raises(ValueError, match=r"Program\.save is registered already"):
        extensions.register({"save": "ingot.artifact.store:save_program"})


def test_program_does_not_load_the_modules_that_extend_it() -> None:
    code = (
        "import sys, ingot.program.program; "
        "rooms = ('capture', 'passes', 'ops', 'fuse', 'emit', 'artifact', 'codegen'); "
        "print(*[m for m in sys.modules if m.startswith(tuple(f'ingot.{r}' for r in rooms))])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == []
    assert ingot.Program is Program
