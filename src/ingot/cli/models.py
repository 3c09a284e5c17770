"""A model and its inputs, as every command takes them: `path.py:name`, `package.module:name`,
`hf:architecture`, or a file that `ingot compile` wrote; `Request` is the text, `Workload` what it
stands for.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import click
import torch
from torch import nn
from torch.utils import _pytree as pytree

from ingot.cli.errors import users_code
from ingot.cli.inputs import Arguments, described, parse_inputs
from ingot.cli.objects import find_target

EXAMPLES = "example_inputs"
"""The name of the attribute with which a model, or the module that defines it, gives its inputs: a
tuple of arguments, a dict of keyword arguments, or a function that returns one of these."""


@dataclass(frozen=True)
class Request:
    """The words of a command line that name a model and its inputs."""

    model: str
    inputs: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    """Fields of a transformers configuration, as KEY=VALUE."""
    seed: int = 0


@dataclass(frozen=True)
class Workload:
    """A callable, and the arguments to call it with."""

    name: str
    model: Callable[..., Any]
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    eager: Callable[..., Any] | None = None
    """What PyTorch runs instead, if `model` is a compiled program from a file."""
    names: tuple[str, ...] = ()
    """Of `args`; numbers where no name is known."""

    @staticmethod
    def of(
        name: str, model: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Workload:
        """By position as far as the parameters allow it, as programs are called best."""
        names = positional_names(model)
        args, kwargs = [*args], dict(kwargs)
        for parameter in names[len(args) :]:
            if parameter not in kwargs:
                break
            args.append(kwargs.pop(parameter))
        return Workload(name, model, tuple(args), kwargs, None, _padded(names, len(args)))

    def inputs(self) -> dict[str, Any]:
        return {**dict(zip(self.names, self.args, strict=True)), **self.kwargs}

    def called(self) -> str:
        inputs = self.inputs().items()
        text = ", ".join(f"{name}: {_described(value)}" for name, value in inputs)
        return f"{self.name} with {text or 'no inputs'}"

    def copied(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments for a call that may write to them."""
        return pytree.tree_map_only(torch.Tensor, torch.clone, (self.args, self.kwargs))

    def call_eager(self) -> Any:
        args, kwargs = self.copied()
        return (self.eager or self.model)(*args, **kwargs)


def _described(value: Any) -> str:
    leaves, spec = pytree.tree_flatten(value)
    if spec.is_leaf():
        return described(value)
    return f"{type(value).__name__} of {', '.join(map(described, leaves))}"


def build(request: Request) -> Workload:
    """Loads the model and makes its inputs, with PyTorch's generator seeded: two processes make the
    same."""
    torch.manual_seed(request.seed)
    if request.model.startswith("hf:"):
        from ingot.cli.hugging_face import build_architecture

        name = request.model.removeprefix("hf:")
        model, defaults = build_architecture(name, request.settings)
        return _with_inputs(request, model, defaults)
    if request.settings:
        raise click.UsageError("--set is for hf: models only")
    if is_saved(request.model):
        from ingot.cli.saved import open_saved

        return open_saved(request.model, parse_inputs(request.inputs))
    found, module = find_target(request.model)
    return _workload(request, found, module)


def is_saved(name: str) -> bool:
    is_other = ":" not in name and not name.endswith(".py") and os.path.isfile(name)
    return name.endswith(".ingot") or is_other


def _workload(request: Request, found: Any, module: ModuleType) -> Workload:
    """A module, a class of one, a function, or a function that returns one of these with or without
    inputs."""
    if isinstance(found, type) and issubclass(found, nn.Module):
        with users_code(f"calling {request.model}()"):
            found = found().eval()
    given = parse_inputs(request.inputs)
    if not isinstance(found, nn.Module) and not _is_workload(found):
        if not callable(found):
            kind = type(found).__name__
            raise click.BadParameter(f"{request.model!r} is a {kind}, not a callable")
        if not (request.inputs and _takes(found, given)):
            found = _made(request, found, module)
    if _is_workload(found):
        model, args, kwargs = (*found, {})[:3]
        return _with_inputs(request, model, Arguments([*args], dict(kwargs)), given)
    return _with_inputs(request, found, _examples(found, module), given)


def _takes(function: Callable[..., Any], given: Arguments) -> bool:
    """Can it be called with these inputs? A builtin, whose parameters are unknown, takes any."""
    try:
        inspect.signature(function).bind(*given.args, **given.kwargs)
    except TypeError:
        return False
    except ValueError:
        return bool(given.args or given.kwargs)
    return True


def _made(request: Request, function: Callable[..., Any], module: ModuleType) -> Any:
    """What a function without parameters returns; the function itself if its inputs are known
    otherwise."""
    name = request.model
    if not _takes(function, Arguments()):
        if _examples(function, module) is not None:
            return function
        why = _unbound(function, parse_inputs(request.inputs))
        raise click.UsageError(f"{name} needs arguments: give them with --input{why}")
    with users_code(f"calling {name}()"):
        made = function()
    if isinstance(made, nn.Module) or _is_workload(made):
        return made
    raise click.UsageError(
        f"{name} returned a {type(made).__name__}, not (model, args) or (model, args, kwargs), nor "
        "a module; to take the callable itself, give its arguments with --input"
    )


def _unbound(function: Callable[..., Any], given: Arguments) -> str:
    try:
        inspect.signature(function).bind(*given.args, **given.kwargs)
    except TypeError as error:
        return f" ({error})"
    except ValueError:
        return ""
    return ""


def _is_workload(made: Any) -> bool:
    return (
        isinstance(made, tuple)
        and len(made) in (2, 3)
        and callable(made[0])
        and isinstance(made[1], list | tuple)
        and (len(made) == 2 or isinstance(made[2], Mapping))
    )


def _examples(model: Any, module: ModuleType) -> Arguments | None:
    """Those that the model or its module declares."""
    examples = getattr(model, EXAMPLES, getattr(module, EXAMPLES, None))
    if callable(examples):
        with users_code(f"calling {EXAMPLES}()"):
            examples = examples()
    if examples is None:
        return None
    if isinstance(examples, Mapping):
        return Arguments([], dict(examples))
    return Arguments([*examples] if isinstance(examples, list | tuple) else [examples])


def _with_inputs(
    request: Request,
    model: Callable[..., Any],
    known: Arguments | None,
    given: Arguments | None = None,
) -> Workload:
    """The inputs of the command line replace those that the model brings: all of them if one is
    given by position, else those of the same name."""
    given = given or parse_inputs(request.inputs)
    if known is None and not request.inputs:
        if not _takes(_forward(model), Arguments()):
            raise click.UsageError(
                f"{request.model} needs inputs: give them with --input SHAPE[:DTYPE], or as "
                f"{EXAMPLES} in its module"
            )
        known = Arguments()
    if known is None or given.args:
        return Workload.of(request.model, model, given.args, given.kwargs)
    names = _padded(positional_names(model), len(known.args))
    return Workload.of(request.model, model, *replaced(known, names, given))


def replaced(
    known: Arguments, names: Sequence[str], given: Arguments
) -> tuple[list[Any], dict[str, Any]]:
    """The known inputs, `names` being those of the ones by position, with others of those names."""
    kwargs = {**known.kwargs, **given.kwargs}
    return [kwargs.pop(name, value) for name, value in zip(names, known.args)], kwargs


def _forward(model: Callable[..., Any]) -> Callable[..., Any]:
    return model.forward if isinstance(model, nn.Module) else model


def positional_names(model: Callable[..., Any]) -> list[str]:
    """The names of the parameters that may be given by position."""
    try:
        parameters = inspect.signature(_forward(model)).parameters.values()
    except (TypeError, ValueError):  # a builtin
        return []
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [parameter.name for parameter in parameters if parameter.kind in kinds]


def _padded(names: Sequence[str], count: int) -> tuple[str, ...]:
    return (*names[:count], *map(str, range(len(names), count)))
