"""Calls that the model itself answers: eager runs them right, native code cannot. Tensors without
memory (meta, fake), wrapped ones (functorch, subclasses), forward-mode tangents, a thread state
that the program was not made under.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch.autograd import forward_ad

from ingot.errors import EagerCallWarning, InputError
from ingot.program.plain_tensor import why_not_plain


class EagerCall:
    """The model, as it was when the program was made of it."""

    def __init__(self, model: Callable[..., Any]):
        self.model = model
        modules = model.modules() if isinstance(model, nn.Module) else ()
        self._training = [(module, module.training) for module in modules]
        self._told: set[str] = set()

    def __call__(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        if any(module.training is not before for module, before in self._training):
            raise InputError(
                "the model was switched between train() and eval() since it was compiled, and this "
                "call needs it as it was",
                hints=["compile it again"],
            )
        return self.model(*args, **kwargs)

    def with_warning(self, why: str, hint: str, args: Sequence[Any], kwargs: Any) -> Any:
        """One warning for each reason."""
        if why not in self._told:
            self._told.add(why)
            warnings.warn(
                f"the model runs in eager, not as native code: {why}\n  hint: {hint}",
                EagerCallWarning,
                stacklevel=4,
            )
        return self(args, kwargs)


def is_strange(nodes: Sequence[fx.Node], values: Sequence[Any]) -> bool:
    """Is there a value that only eager can take? A program that was captured with a sparse tensor,
    say, takes one itself."""
    duals = forward_ad._current_level >= 0
    for node, value in zip(nodes, values, strict=True):
        wanted = node.meta.get("val")
        if not isinstance(value, Tensor) or not isinstance(wanted, Tensor):
            continue
        if wanted.layout is not torch.strided and value.layout is wanted.layout:
            continue
        if why_not_plain(value) is not None:
            return True
        if duals and forward_ad.unpack_dual(value).tangent is not None:
            return True
    return False
