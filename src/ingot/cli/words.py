"""Arguments and options that several commands share."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from ingot.cli.file_names import names_in

if TYPE_CHECKING:
    from ingot.cli.models import Request

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class ModelType(click.ParamType[str]):
    name = "MODEL"

    def shell_complete(
        self, context: click.Context, parameter: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Files, the names in one after its colon, and model types after `hf:`."""
        if incomplete.startswith("hf:"):
            return [CompletionItem(f"hf:{name}") for name in _model_types(incomplete[3:])]
        file, colon, name = incomplete.partition(":")
        if not colon:
            return [CompletionItem(incomplete, type="file")]
        return [CompletionItem(f"{file}:{each}") for each in names_in(file, name)]


def _model_types(start: str) -> Iterator[str]:
    spec = importlib.util.find_spec("transformers")
    for folder in (spec and spec.submodule_search_locations) or ():
        names = (path.name for path in Path(folder, "models").iterdir() if path.is_dir())
        yield from sorted(n for n in names if n.startswith(start) and not n.startswith("_"))


INPUT = click.option(
    "-i",
    "--input",
    "inputs",
    multiple=True,
    metavar="[NAME=]VALUE",
    help="An input: random as SHAPE[:DTYPE[:VALUES]], such as 8x128, x=8x128:int64 or "
    "8x128:int64:0..1000 (VALUES: randn, rand, zeros, ones, arange, LOW..HIGH); a file (.pt, .npy, "
    ".safetensors); or int:3, float:0.5, bool:true, str:text, none. Repeat it for each input.",
)
OPTION = click.option(
    "-O",
    "--option",
    "options",
    multiple=True,
    metavar="NAME=VALUE",
    help="An option of the compiler, such as strict=1. Repeatable.",
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def model_words(function: Callable[..., Any]) -> Callable[..., Any]:
    """MODEL and the options that describe it and its inputs; `requested` reads them."""
    decorators: tuple[Decorator, ...] = (
        click.argument("model", type=ModelType()),
        INPUT,
        click.option(
            "--set", "settings", multiple=True, metavar="KEY=VALUE",
            help="A field of the configuration of an hf: model, such as num_hidden_layers=2; "
            "KEY?=VALUE if it has one.",
        ),
        click.option(
            "--seed", default=0, show_default=True, help="Seed of random weights and inputs."
        ),
    )  # fmt: skip
    for decorator in reversed(decorators):
        function = decorator(function)
    return function


def requested(words: dict[str, Any]) -> Request:
    """Takes what `model_words` added out of a command's parameters."""
    from ingot.cli.models import Request

    names = ("model", "inputs", "settings", "seed")
    return Request(*(words.pop(name) for name in names))


def compiler_options(words: tuple[str, ...]) -> dict[str, Any]:
    from ingot.options import parse_option

    found = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not (name and equals):
            raise click.BadParameter(f"--option {word!r} is not of the form NAME=VALUE")
        found[name] = parse_option(name, text)
    return found


def check_writable(path: str) -> None:
    """Before anything is computed for it."""
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise click.BadParameter(f"cannot write {path}: no folder {folder}")
