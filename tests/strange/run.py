"""Runs rows of the table in a separate process: `python -m tests.strange.run ENTRY POSITION [KIND
…]`.

Prints a line at the start of a row and one with its outcome: `right`, `raises <type>` if eager does
not, `wrong …`. A row without an outcome killed the process.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.export import Dim
from torch.masked import MaskedTensor
from torch.utils import _pytree as pytree

import ingot

from .kinds import KINDS, Function, Wrapper


def plain(x: Any) -> Tensor:
    y = x.to(torch.float32)
    return torch.sin(y) * 2 + 1


def host(x: Any) -> Tensor:
    """The argument is read by an eager step."""
    return torch.cumsum(x, 0) + 1


def product(x: Any) -> Tensor:
    return torch.relu(x @ x) - x


def mutated(x: Any) -> Tensor:
    x.add_(1)
    return x * 2


def in_dict(xs: Any) -> Tensor:
    return xs["a"][0] * 2 + xs["b"].sin()


POSITIONS: dict[str, Callable[..., Any]] = {
    "argument": plain,
    "read by PyTorch": host,
    "in a product": product,
    "mutated": mutated,
    "in a structure": in_dict,
}


def wrapped(position: str, function: Function) -> Function:
    if position != "in a structure":
        return function
    return lambda x: function({"a": [x], "b": torch.ones(4, 4)})


def compiled(entry: str, position: str) -> Callable[[], Function]:
    """Returns a factory of the function that a row calls."""
    function = POSITIONS[position]
    example = torch.rand(4, 4)
    if entry.startswith("ahead"):
        given = {"a": [example], "b": torch.ones(4, 4)} if position == "in a structure" else example
        sizes = pytree.tree_map(lambda _: {0: Dim.AUTO, 1: Dim.AUTO}, (given,))
        dynamic = sizes if entry == "ahead, Dim.AUTO" else None
        made = wrapped(position, ingot.compile(function, (given,), dynamic_shapes=dynamic))
        return lambda: made

    def just_in_time() -> Function:
        torch._dynamo.reset()
        dynamic = entry == "torch.compile, dynamic"
        found = wrapped(position, torch.compile(function, backend="ingot", dynamic=dynamic))
        if entry != "torch.compile":
            found(torch.rand(4, 4))
        if dynamic:
            found(torch.rand(6, 6))
        return found

    return just_in_time


def same(got: Any, wanted: Any) -> str | None:
    """The difference, or None."""
    a, b = pytree.tree_leaves(got), pytree.tree_leaves(wanted)
    if len(a) != len(b):
        return "the number of results"
    return next((found for pair in zip(a, b) if (found := _differs(*pair))), None)


def _differs(a: Any, b: Any) -> str | None:
    if type(a) is not type(b):
        return f"type {type(a).__name__}, not {type(b).__name__}"
    if not isinstance(a, Tensor):
        return None if a == b else f"{a}, not {b}"
    if isinstance(a, Wrapper):
        return _differs(a.inner, b.inner)
    if isinstance(a, MaskedTensor):
        return same([a.get_data(), a.get_mask()], [b.get_data(), b.get_mask()])
    for name in ("dtype", "device", "layout", "requires_grad", "is_nested"):
        if getattr(a, name) != getattr(b, name):
            return f"{name} {getattr(a, name)}, not {getattr(b, name)}"
    if a.is_nested:
        return same(a.unbind(), b.unbind())
    if a.shape != b.shape:
        return f"shape {a.shape}, not {b.shape}"
    if a.device.type == "meta" or isinstance(a, torch._subclasses.FakeTensor):
        return None
    if a.layout is not torch.strided:
        a, b = a.to_dense(), b.to_dense()
    with torch.no_grad():
        close = torch.allclose(
            a.detach().resolve_neg(), b.detach().resolve_neg(), rtol=1e-5, atol=1e-6, equal_nan=True
        )
    return None if close else f"values {a}, not {b}"


DEAD_IN_EAGER = {"freed", "shrunk"}


def outcome(name: str, function: Function, eager: Function) -> str:
    x = torch.rand(4, 4, generator=torch.Generator().manual_seed(3))
    wanted: Any = None
    eager_raises = False
    if name not in DEAD_IN_EAGER:
        try:
            wanted = KINDS[name](eager, x.clone())
        except Exception:
            eager_raises = True
    try:
        got = KINDS[name](function, x.clone())
    except Exception as error:
        if eager_raises:
            return "right"
        found = getattr(error, "inner_exception", None) or error
        return f"raises {type(found).__name__}"
    if eager_raises:
        return "wrong: eager raises"
    difference = "eager cannot say" if name in DEAD_IN_EAGER else same(got, wanted)
    return "right" if difference is None else f"wrong: {difference}".replace("\n", " ")


def main(entry: str, position: str, *names: str) -> None:
    warnings.simplefilter("ignore")
    make, eager = compiled(entry, position), wrapped(position, POSITIONS[position])
    for name in names or KINDS:
        print(f"begin\t{name}", flush=True)
        print(f"end\t{name}\t{outcome(name, make(), eager)}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
