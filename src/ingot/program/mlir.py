"""What a program's emission to MLIR gives its user; emit/ has the classes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol

import torch


class MlirText(Protocol):
    """A program written in MLIR."""

    @property
    def text(self) -> str: ...

    def as_text(self) -> str: ...

    def weights(self) -> dict[str, torch.Tensor]:
        """The tensors that belong to the model, by the `ingot.name` of their argument."""
        ...

    def save(self, path: str | os.PathLike[str]) -> tuple[Path, ...]:
        """Write the text to `path` and the weights beside it as safetensors; both or nothing."""
        ...


class MlirComparison(Protocol):
    """The results of emitted MLIR beside eager's."""

    @property
    def dialect(self) -> str: ...

    def as_text(self) -> str: ...
