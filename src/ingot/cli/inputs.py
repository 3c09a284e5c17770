"""Inputs of a model as words of a command line: `[NAME=]VALUE`. Every error quotes the word and
says what is accepted. Nothing in a file of inputs is executed.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import torch
from torch import Tensor

from ingot.errors import did_you_mean

_NAMED = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_SHAPE = re.compile(r"(\d+(x\d+)*)?", re.ASCII)
_RANGE = re.compile(r"(-?\d+(?:\.\d+)?)\.\.(-?\d+(?:\.\d+)?)", re.ASCII)
_FORM = "SHAPE[:DTYPE[:VALUES]], such as 8x128 or 8x128:int64 or 8x128:int64:0..1000"
_TRUTH = {"true": True, "false": False}
SCALARS: dict[str, Callable[[str], Any]] = {
    "int": int,
    "float": float,
    "bool": lambda text: _TRUTH[text],
    "str": str,
}
DTYPES = {
    str(value).removeprefix("torch."): value
    for value in vars(torch).values()
    if isinstance(value, torch.dtype)
    and not re.match(r"torch\.(q|bits|float4|u?int[1-7]$)", str(value))
}
FILES = (".pt", ".pth", ".npy", ".safetensors")


@dataclass
class Arguments:
    args: list[Any] = field(default_factory=list)
    kwargs: dict[str, Any] = field(default_factory=dict)


def parse_inputs(words: Iterable[str]) -> Arguments:
    """Random values are drawn from PyTorch's generator, in the order of the words."""
    found = Arguments()
    for word in words:
        match = _NAMED.fullmatch(word)
        name, text = match.groups() if match else ("", word)
        value = parse_value(text, name)
        if name in found.kwargs:
            raise click.BadParameter(f"{name!r} is given twice")
        if name:
            found.kwargs[name] = value
        elif not text.endswith(FILES) or isinstance(value, Tensor):
            found.args.append(value)
        elif isinstance(value, list | tuple):
            found.args += value
        else:
            found.kwargs |= value
    return found


def parse_value(text: str, name: str = "") -> Any:
    """`name`: of the tensor to take from a file that holds several."""
    if text.endswith(FILES):
        return _from_file(Path(text), name)
    if text == "none":
        return None
    kind, _, rest = text.partition(":")
    if kind in SCALARS:
        try:
            return SCALARS[kind](rest)
        except (ValueError, KeyError):
            raise click.BadParameter(f"{text!r}: {rest!r} is no {kind}") from None
    return _random(text)


def _random(text: str) -> Tensor:
    sizes, *rest = text.split(":")
    if not _SHAPE.fullmatch(sizes) or len(rest) > 2:
        raise click.BadParameter(
            f"{text!r} is not of the form {_FORM}; nor a file ({', '.join(FILES)}); nor a number, "
            "such as int:3, float:0.5 or bool:true"
        )
    dtype_name, values = (*rest, "", "")[:2]
    dtype = _dtype(dtype_name or "float32", text)
    shape = [int(size) for size in sizes.split("x")] if sizes else []
    return _filled(shape, dtype, values, text)


def _dtype(name: str, text: str) -> torch.dtype:
    found = DTYPES.get(name, getattr(torch, name, None))  # such as torch.long
    if not isinstance(found, torch.dtype):
        raise click.BadParameter(
            f"{text!r}: no dtype {name!r}: {did_you_mean(name, DTYPES)}. A form is 8x128:int64"
        )
    return found


def _filled(shape: list[int], dtype: torch.dtype, values: str, text: str) -> Tensor:
    is_real = dtype.is_floating_point or dtype.is_complex
    wide = torch.complex64 if dtype.is_complex else torch.float32
    if not values:
        made = torch.randn(shape, dtype=wide) if is_real else torch.randint(0, 2, shape)
        return made.to(dtype)
    if values in VALUES:
        return VALUES[values](shape, wide if is_real else torch.float32).to(dtype)
    match = _RANGE.fullmatch(values)
    if match is None:
        hint = did_you_mean(values, [*VALUES, "LOW..HIGH"])
        raise click.BadParameter(f"{text!r}: no values {values!r}: {hint}")
    low, high = map(float, match.groups())
    if low >= high or not (is_real or int(low) < int(high)):
        raise click.BadParameter(f"{text!r}: {values} is empty")
    if is_real:
        return (low + (high - low) * torch.rand(shape)).to(dtype)
    return torch.randint(int(low), int(high), shape).to(dtype)


def _counted(shape: list[int], dtype: torch.dtype) -> Tensor:
    return torch.arange(torch.Size(shape).numel()).reshape(shape)


VALUES: dict[str, Callable[[list[int], torch.dtype], Tensor]] = {
    "randn": lambda shape, dtype: torch.randn(shape, dtype=dtype),
    "rand": lambda shape, dtype: torch.rand(shape, dtype=dtype),
    "zeros": lambda shape, dtype: torch.zeros(shape),
    "ones": lambda shape, dtype: torch.ones(shape),
    "arange": _counted,
}


def _from_file(path: Path, name: str) -> Any:
    """A tensor, a list of values, or a dict of them by name."""
    try:
        found = _read(path)
    except OSError as error:
        raise click.BadParameter(f"{path}: {error.strerror or error}") from None
    except (ValueError, RuntimeError, EOFError, pickle.UnpicklingError) as error:
        why = str(error).partition("\n")[0]
        raise click.BadParameter(f"{path} holds no plain tensors: {why}") from None
    if not isinstance(found, dict) or (not name and all(isinstance(key, str) for key in found)):
        return _checked(found, path)
    if len(found) == 1:
        return next(iter(found.values()))
    if name not in found:
        raise click.BadParameter(f"{path}: {did_you_mean(name, map(str, found))}")
    return found[name]


def _checked(found: Any, path: Path) -> Any:
    if isinstance(found, Tensor | list | tuple | dict):
        return found
    raise click.BadParameter(f"{path} holds a {type(found).__name__}, not tensors")


def _read(path: Path) -> Any:
    if path.suffix == ".npy":
        import numpy

        return torch.from_numpy(numpy.load(path, allow_pickle=False))
    if path.suffix == ".safetensors":
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        try:
            return load_file(path)
        except SafetensorError as error:
            raise ValueError(str(error)) from None
    return torch.load(path, weights_only=True, map_location="cpu")


def described(value: Any) -> str:
    """`float32[8, 128]`, or the value."""
    if isinstance(value, Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    return repr(value)
