"""Candidates: an implementation together with values for its parameters. The result of a candidate
is a fresh tensor with the dtype, shape and strides of the reference's result.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ingot.dispatch.size_expressions import Shapes, SizeExpression

REFERENCE = "reference"


class Unlike(ValueError):
    """The result of a candidate differs from the reference's in structure, dtype or shape."""


@dataclass(frozen=True)
class Candidate:
    name: str
    function: Callable[..., Any]
    when: SizeExpression | None = None
    """The sizes for which it is valid; None: all."""
    variants: str = ""
    """The built-in variants to compile it with, in the syntax of the option `variants`."""

    def serves(self, shapes: Shapes) -> bool:
        return self.when is None or self.when.holds(shapes)


def candidates_of(
    name: str,
    function: Callable[..., Any],
    parameters: Mapping[str, Sequence[Any]],
    when: SizeExpression | None,
) -> list[Candidate]:
    """One candidate for each combination of parameter values."""
    found = []
    for values in itertools.product(*parameters.values()):
        chosen = dict(zip(parameters, values))
        text = ", ".join(f"{key}={value}" for key, value in chosen.items())
        bound = partial(function, **chosen) if chosen else function
        found.append(Candidate(f"{name}[{text}]" if chosen else name, bound, when))
    return found


def signature_difference(
    reference: inspect.Signature, other: inspect.Signature, parameters: Sequence[str]
) -> str:
    """How a signature differs from the reference's plus these parameters; empty if it does not."""
    wanted = [*reference.parameters, *parameters]
    if list(other.parameters) == wanted:
        return ""
    return f"it takes ({', '.join(other.parameters)}), not ({', '.join(wanted)})"


def fitted(result: Any, like: Any, arguments: Sequence[Any]) -> Any:
    """The result as fresh tensors in the layout of `like`; raises Unlike if that is impossible."""
    got, spec = pytree.tree_flatten(result)
    wanted, wanted_spec = pytree.tree_flatten(like)
    if len(got) != len(wanted) or not all(isinstance(g, torch.Tensor) for g in got):
        raise Unlike(f"it returns {spec}, the reference {wanted_spec}")
    fresh = [_fitted(g, w, arguments) for g, w in zip(got, wanted)]
    return pytree.tree_unflatten(fresh, wanted_spec)


def _fitted(got: torch.Tensor, like: torch.Tensor, arguments: Sequence[Any]) -> torch.Tensor:
    if got.dtype != like.dtype or got.dim() != like.dim():
        raise Unlike(f"it returns {_kind(got)}, the reference {_kind(like)}")
    if not _same(got.shape, like.shape):
        raise Unlike(f"it returns {_kind(got)}, the reference {_kind(like)}")
    if not _same(got.stride(), like.stride()):
        return _laid_out(got, like)
    return own(got, arguments)


def own(result: torch.Tensor, arguments: Sequence[Any]) -> torch.Tensor:
    """The result, copied if it shares memory with an argument."""
    memory = _memory(result)
    shared = any(isinstance(a, torch.Tensor) and _memory(a) == memory for a in arguments)
    return result.clone() if shared else result


def _memory(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage()._cdata


def _laid_out(got: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """A copy with the dimension order of `like` in memory."""
    order = sorted(range(like.dim()), key=lambda d: _magnitude(like.stride(d)), reverse=True)
    back = [order.index(d) for d in range(like.dim())]
    return got.permute(order).clone(memory_format=torch.contiguous_format).permute(back)


def _magnitude(stride: Any) -> int:
    if not isinstance(stride, torch.SymInt):
        return int(stride)
    return int(stride.node.expr.xreplace(dict(stride.node.shape_env.backed_var_to_val)))


def _same(a: Sequence[Any], b: Sequence[Any]) -> bool:
    from ingot.dispatch.narrow import expression

    return all(expression(x) == expression(y) for x, y in zip(a, b, strict=True))


def _kind(tensor: torch.Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"
