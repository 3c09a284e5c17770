"""Calls executed by the model itself, because eager handles them and native code cannot: tensors
without memory (meta, fake), wrapped tensors (functorch, subclasses), forward-mode tangents, a
thread state under which the program was not made.
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
    """The model, which must be in the training mode it had when the program was made."""

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
        """Warns once for each reason."""
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
    for example, takes one itself."""
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
