"""Draws the arguments of an op by schema type."""

from __future__ import annotations

from random import Random
from typing import Any, Protocol

import torch
from torch import Tensor

from .catalogue import Op
from .inputs import DTYPES
from .program import Argument, Raw, Ref, SizeOf, Statement

NUMBERS = (0, 1, -1, 2, 3, 0.5, -1.5, 2.5, 1e-3, True, 0.0, -0.0)
EDGE_NUMBERS = (float("inf"), float("-inf"), float("nan"), 2**31, -(2**31), 300, 65520.0, 1e30, 1j)
INTEGERS = (0, 0, 1, 1, 2, 2, 3, -1, -2, 4, 5)
REALS = (0.0, 0.5, 1.0, 0.1, 1e-5, 2.0, -1.0, 0.25)
TEXTS = {
    "norm": ("backward", "ortho", "forward"),
    "reduce": ("sum", "prod", "mean", "amax", "amin", "add", "multiply"),
    "rounding_mode": ("floor", "trunc", None),
    "interpolation": ("linear", "lower", "higher", "midpoint", "nearest"),
    "driver": (None, "gels", "gelsy", "gelsd", "gesvd"),
    "mode": ("nearest", "bilinear", "constant", "reflect", "replicate", "circular", "reduced"),
    "UPLO": ("L", "U"),
    "approximate": ("none", "tanh"),
    "side": ("left", "right"),
    "indexing": ("ij", "xy"),
    "padding": ("valid", "same"),
    "ord": ("fro", "nuc"),
    "p": ("fro", "nuc"),
    "equation": (
        "ij,jk->ik",
        "i,i->",
        "ii->i",
        "bij,bjk->bik",
        "...i,...i->...",
        "ij->ji",
        "ij,ij",
    ),
    "pad_mode": ("reflect", "constant"),
}
"""Values of enumerations, by argument name."""
FORMATS = (torch.contiguous_format, torch.preserve_format, torch.channels_last)
DIMS = ("dim", "dims", "axis", "dim0", "dim1", "dim2", "axis0", "axis1", "start_dim", "end_dim",
        "source", "destination", "dims_self", "dims_other", "batch_dim")  # fmt: skip
SHAPES = ("size", "shape", "normalized_shape", "output_size", "sizes", "repeats", "split_sizes",
          "input_sizes", "self_size", "input_size")  # fmt: skip


class Pool(Protocol):
    """The values that arguments are drawn from."""

    rng: Random
    values: dict[str, Any]

    def report(self, text: str) -> None:
        """Record what is about to run."""
        ...

    def operand(self, like: Tensor | None) -> str:
        """The name of a tensor; `like` is the first operand of the same call."""
        ...


def draw_call(pool: Pool, op: Op) -> Statement:
    """A call of the op. Eager may still refuse it."""
    rng = pool.rng
    args: list[Argument] = []
    kwargs: list[tuple[str, Argument]] = []
    first: Tensor | None = None
    for name, kind, keyword_only, has_default in op.arguments:
        if has_default and (rng.random() < 0.6 or kind == "Optional[Generator]"):
            continue
        written = op.out and keyword_only and kind == "Tensor"
        if written and rng.random() < 0.5:
            value: Argument = Raw(f"torch.zeros(0, dtype=torch.{rng.choice(DTYPES)})")
            if first is not None and rng.random() < 0.8:
                value = Raw(f"torch.zeros(0, dtype={first.dtype})")
        else:
            value = draw(pool, kind, name, first)
        if first is None and isinstance(value, Ref):
            operand = pool.values[value.name]
            first = operand if isinstance(operand, Tensor) else None
        positional = len(args) + len(kwargs) == _position(op, name) and not kwargs
        if keyword_only or not positional:
            kwargs.append((name, value))
        else:
            args.append(value)
    return Statement((), f"torch.ops.aten.{op.qualified}", tuple(args), tuple(kwargs), op.qualified)


def _position(op: Op, name: str) -> int:
    return [argument[0] for argument in op.arguments].index(name)


def draw(pool: Pool, kind: str, name: str, first: Tensor | None) -> Argument:
    rng = pool.rng
    if kind.startswith("Optional["):
        if rng.random() < 0.4:
            return None
        kind = kind[len("Optional[") : -1]
    match kind:
        case "Tensor":
            return Ref(pool.operand(first))
        case "List[Tensor]":
            head = pool.operand(first)
            rest = [pool.operand(pool.values[head]) for _ in range(rng.choice((0, 1, 1, 2)))]
            return tuple(Ref(each) for each in (head, *rest))
        case "List[Optional[Tensor]]":
            count = rng.choice((1, 1, 2))
            return tuple(
                None if rng.random() < 0.2 else Ref(pool.operand(None)) for _ in range(count)
            )
        case "bool":
            return rng.random() < 0.5
        case "number" | "complex":
            return _number(pool, first)
        case "float":
            return rng.choice(REALS) if rng.random() < 0.95 else rng.choice(EDGE_NUMBERS[:3])
        case "int":
            return _integer(pool, name, first)
        case "str":
            return rng.choice(TEXTS.get(name, ("none",)))
        case "ScalarType":
            return getattr(torch, rng.choice(DTYPES))
        case "Layout":
            return torch.strided
        case "Device":
            return "cpu"
        case "MemoryFormat":
            return rng.choice(FORMATS)
        case "List[int]":
            return _integers(pool, name, first)
        case "List[bool]":
            return tuple(rng.random() < 0.7 for _ in range(rng.choice((1, 2, 3, 3))))
        case "List[float]":
            return tuple(rng.choice(REALS) for _ in range(rng.choice((1, 2, 2))))
        case "List[number]":
            return tuple(rng.choice(NUMBERS) for _ in range(rng.choice((1, 2))))
    return None


def _number(pool: Pool, first: Tensor | None) -> Argument:
    rng = pool.rng
    numbers = [n for n, value in pool.values.items() if isinstance(value, int | float)]
    if numbers and rng.random() < 0.3:
        return Ref(rng.choice(numbers))
    if first is not None and rng.random() < 0.12:
        return rng.choice(EDGE_NUMBERS)
    return rng.choice(NUMBERS)


def _integer(pool: Pool, name: str, first: Tensor | None) -> Argument:
    rng = pool.rng
    if name in DIMS and first is not None and rng.random() < 0.9:
        return rng.randrange(-max(first.dim(), 1), max(first.dim(), 1))
    numbers = [n for n, value in pool.values.items() if isinstance(value, int)]
    if numbers and rng.random() < 0.2:
        return Ref(rng.choice(numbers))
    return _size(pool) if rng.random() < 0.2 else rng.choice(INTEGERS)


def _size(pool: Pool) -> Argument:
    """A size of some tensor, sometimes off by one."""
    rng = pool.rng
    shaped = [n for n, v in pool.values.items() if isinstance(v, Tensor) and v.dim()]
    if not shaped:
        return rng.choice(INTEGERS)
    name = rng.choice(shaped)
    dim = rng.randrange(pool.values[name].dim())
    return SizeOf(name, dim, rng.choice((1, 1, 1, 1, 2)), rng.choice((0, 0, 0, 0, 1, -1)))


def _integers(pool: Pool, name: str, first: Tensor | None) -> Argument:
    rng = pool.rng
    if name in DIMS and first is not None and rng.random() < 0.9:
        dims = list(range(first.dim()))
        rng.shuffle(dims)
        count = len(dims) if rng.random() < 0.4 else rng.randrange(len(dims) + 1)
        return tuple(d - first.dim() if rng.random() < 0.3 else d for d in dims[:count])
    if name in SHAPES and rng.random() < 0.8:
        return _shape(pool, first)
    count = rng.choice((1, 2, 2, 3, first.dim() if first is not None else 0))
    return tuple(
        rng.choice(INTEGERS) if rng.random() < 0.8 else _size(pool) for _ in range(count)
    )  # fmt: skip


def _shape(pool: Pool, first: Tensor | None) -> Argument:
    """A shape close to an existing one: equal, merged, a suffix, with an inserted 1 or a -1."""
    rng = pool.rng
    shaped = [n for n, v in pool.values.items() if isinstance(v, Tensor)]
    same = [n for n in shaped if pool.values[n] is first]
    name = rng.choice(same if same and rng.random() < 0.7 else shaped) if shaped else ""
    if not name:
        return tuple(rng.choice((1, 2, 3)) for _ in range(rng.choice((0, 1, 2, 2))))
    rank = pool.values[name].dim()
    shape: list[Argument] = [
        SizeOf(name, d) if rng.random() < 0.7 else pool.values[name].shape[d] for d in range(rank)
    ]
    match rng.choice(("same", "merge", "one", "tail", "guess", "front", "swap")):
        case "merge" if rank > 1:
            at = rng.randrange(rank - 1)
            shape[at : at + 2] = [-1]
        case "one":
            shape.insert(rng.randrange(rank + 1), 1)
        case "tail" if rank > 1:
            del shape[: rng.randrange(1, rank)]
        case "guess" if rank:
            shape[rng.randrange(rank)] = -1
        case "front":
            shape.insert(0, rng.choice((1, 2, 3)))
        case "swap" if rank > 1:
            shape.reverse()
    return tuple(shape)
