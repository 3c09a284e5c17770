"""Interfaces of the MLIR that a program is emitted to; the classes are in emit/."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol

import torch


class MlirText(Protocol):
    """A program as MLIR text."""

    @property
    def text(self) -> str: ...

    def as_text(self) -> str: ...

    def weights(self) -> dict[str, torch.Tensor]:
        """The model's own tensors, by the `ingot.name` of their argument."""
        ...

    def save(self, path: str | os.PathLike[str]) -> tuple[Path, ...]:
        """Write the text to `path` and the weights beside it as safetensors; both or nothing."""
        ...


class MlirComparison(Protocol):
    """The results of emitted MLIR compared with eager's."""

    @property
    def dialect(self) -> str: ...

    def as_text(self) -> str: ...
