"""`--dynamic NAME=INPUT.DIM[,INPUT.DIM…][:MIN..MAX]`: sizes that vary, as torch.export's
`dynamic_shapes`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from typing import Any

import click
import torch
from torch import nn
from torch.export import Dim

from ingot.cli.models import Workload
from ingot.errors import did_you_mean

_FORM = re.compile(r"([A-Za-z_]\w*)=([\w.,]+?)(?::(\d+)\.\.(\d+))?", re.ASCII)

Sizes = dict[int, Any]


def dynamic_shapes(words: Iterable[str], workload: Workload) -> Any:
    """None without words."""
    found: dict[str, Sizes] = {}
    inputs = workload.inputs()
    for word in words:
        name, places, low, high = _parsed(word)
        dim = Dim(name, min=low, max=high)
        for place in places:
            key, number = _place(place, word, inputs)
            found.setdefault(key, {})[number] = dim
    return _by_parameter(workload, found) if found else None


def _parsed(word: str) -> tuple[str, list[str], int | None, int | None]:
    match = _FORM.fullmatch(word)
    if match is None:
        raise click.BadParameter(
            f"--dynamic {word!r} is not of the form NAME=INPUT.DIM[,INPUT.DIM…][:MIN..MAX], such "
            "as batch=x.0:1..64"
        )
    name, places, low, high = match.groups()
    if low is not None and int(low) > int(high):
        raise click.BadParameter(f"--dynamic {word!r}: {low} is more than {high}")
    bounds = (None, None) if low is None else (int(low), int(high))
    return name, places.split(","), *bounds


def _place(place: str, word: str, inputs: dict[str, Any]) -> tuple[str, int]:
    key, _, number = place.rpartition(".")
    names = list(inputs)
    if key.isdigit() and key not in inputs and int(key) < len(names):
        key = names[int(key)]
    if key not in inputs:
        raise click.BadParameter(
            f"--dynamic {word!r}: no input {key!r}: {did_you_mean(key, names)}"
        )
    value = inputs[key]
    rank = value.dim() if isinstance(value, torch.Tensor) else 0
    if not number.isdigit() or int(number) >= rank:
        raise click.BadParameter(f"--dynamic {word!r}: {key} has {rank} dims, from 0")
    return key, int(number)


def _by_parameter(workload: Workload, found: dict[str, Sizes]) -> dict[str, Any]:
    """With an entry for every argument; those of `*args` are a tuple under that name."""
    model: Callable[..., Any] = workload.model
    if isinstance(model, nn.Module):
        model = model.forward
    named: dict[str, Any] = {name: found.get(name) for name in workload.inputs()}
    try:
        parameters = inspect.signature(model).parameters.values()
    except (TypeError, ValueError):
        return named
    rest = [named.pop(name) for name in list(named) if name.isdigit()]
    for parameter in parameters:
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL and rest:
            named[parameter.name] = tuple(rest)
    return named
