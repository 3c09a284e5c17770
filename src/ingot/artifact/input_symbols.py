"""Descriptions of a program's inputs, against which a loaded program checks its calls, without a
ShapeEnv and FakeTensors, which would import PyTorch's tracers.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor
from torch.fx.experimental.sym_node import _NO_HINT, SymNode

from ingot.artifact.symbol_ranges import SymbolReader


class DescribedTensor(Tensor):
    """Dtype, sizes, strides and device of a tensor, without memory and ops."""

    sizes: tuple[Any, ...]
    strides: tuple[Any, ...]

    @property
    def shape(self) -> Any:  # type: ignore[override]
        return self.sizes

    def stride(self, dim: Any = None) -> Any:
        return self.strides if dim is None else self.strides[dim]

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        raise NotImplementedError(f"{func} on the description of a tensor")


class _NoShapeEnv:
    """Symbols as they are, without guards, replacements and values."""

    _replacements_version_counter = 0
    _translation_validation_enabled = False

    def __init__(self) -> None:
        self.var_to_range: dict[Any, Any] = {}

    def create_symintnode(self, expr: Any, *, hint: None = None) -> torch.SymInt:
        return torch.SymInt(SymNode(expr, self, int, _NO_HINT))  # type: ignore[arg-type]

    def create_symfloatnode(self, expr: Any, *, hint: None = None) -> torch.SymFloat:
        return torch.SymFloat(SymNode(expr, self, float, _NO_HINT))  # type: ignore[arg-type]

    def create_symboolnode(self, expr: Any) -> torch.SymBool:
        return torch.SymBool(SymNode(expr, self, bool, _NO_HINT))  # type: ignore[arg-type]

    def _maybe_evaluate_static(self, expr: Any) -> None:
        """What ranges decide is not asked for."""


class InputSymbols(SymbolReader):
    """To describe inputs only: neither a ShapeEnv nor FakeTensors, which would import PyTorch's
    tracers."""

    def _start(self) -> None:
        self.mode = nullcontext()
        self.env = _NoShapeEnv()

    def _enter(
        self, symbol: Any, kind: str, values: Any, example: int | float | None, size_like: bool
    ) -> None:
        self.env.var_to_range[symbol] = values

    def tensor(self, sizes: Any, strides: Any, offset: Any, **kind: Any) -> Tensor:
        make: Any = Tensor._make_wrapper_subclass
        plain = [[n if isinstance(n, int) else 0 for n in each] for each in (sizes, strides)]
        made = make(DescribedTensor, plain[0], strides=plain[1], **kind)
        made.sizes, made.strides = tuple(sizes), tuple(strides)
        return made

    def forget_questions(self) -> None:
        pass
