"""Objects of the user's program by name: `path.py:name`, `package.module:name`."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import click

from ingot.cli.errors import users_code
from ingot.cli.file_names import names_in
from ingot.cli.inputs import Arguments
from ingot.errors import did_you_mean


def find_target(name: str) -> tuple[Any, ModuleType]:
    """What `module:name` names, and its module. The name may be a path of attributes, and it may be
    called with literal arguments: `net.py:make_model(layers=2)`."""
    module_name, colon, path = name.partition(":")
    if name.endswith(".py") and os.path.isfile(name):
        names = ", ".join(names_in(name))
        raise click.BadParameter(f"which object of the file? {name}:NAME, one of {names}")
    if not (module_name and colon and path):
        raise click.BadParameter(
            f"{name!r} is not of the form module:callable; a model is path.py:name, "
            "package.module:name, hf:architecture or a saved file.ingot"
        )
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    path, arguments = _call_of(path, name)
    module = _imported(module_name)
    found: Any = module
    for part in path.split("."):
        if not hasattr(found, part):
            known = [n for n in dir(found) if not n.startswith("_")]
            raise click.BadParameter(f"no {part!r} in {module_name!r}: {did_you_mean(part, known)}")
        found = getattr(found, part)
    if arguments is None:
        return found, module
    with users_code(f"calling {name}"):
        return found(*arguments.args, **arguments.kwargs), module


def _call_of(path: str, name: str) -> tuple[str, Arguments | None]:
    """The path, and the arguments if it is followed by a call."""
    if not path.endswith(")"):
        return path, None
    wrong = click.BadParameter(f"{name!r}: the arguments of a call are literals")
    try:
        call = ast.parse(path, mode="eval").body
        if not isinstance(call, ast.Call):
            raise wrong
        kwargs = {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
        return ast.unparse(call.func), Arguments([*map(ast.literal_eval, call.args)], kwargs)
    except (SyntaxError, ValueError):
        raise wrong from None


def _imported(name: str) -> ModuleType:
    try:
        with users_code(f"importing {name}"):
            return _from_file(name) if name.endswith(".py") else importlib.import_module(name)
    except click.ClickException as error:
        cause = error.__cause__
        if isinstance(cause, ModuleNotFoundError) and f"{name}.".startswith(f"{cause.name}."):
            raise click.BadParameter(f"cannot import {name!r}: {cause}") from None
        raise


def _from_file(path: str) -> ModuleType:
    if not os.path.isfile(path):
        raise click.BadParameter(f"cannot import {path!r}: no such file")
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
    return module
