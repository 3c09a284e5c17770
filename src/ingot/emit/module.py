"""The result of emission: MLIR text and the program it was made from. The function `main` takes the
inputs of `program`, in order, and returns the outputs listed in `returned`. Weights are inputs;
they are stored beside the text, never in it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from ingot.emit.files import write_all
from ingot.emit.levels import Dialect
from ingot.emit.pairs import as_pairs
from ingot.program.graph import placeholders
from ingot.program.program import Program


@dataclass(frozen=True)
class MlirModule:
    text: str
    dialect: Dialect
    program: Program
    """The legalized program that the text was made from."""
    returned: tuple[int, ...]
    """The program's outputs that the function returns; the others are constants."""
    runnable: str
    """The text to execute: the same, with scf's loops in place of StableHLO's."""

    def __str__(self) -> str:
        return self.text

    def as_text(self) -> str:
        return self.text

    def weights(self) -> dict[str, torch.Tensor]:
        """The model's tensors, by the `ingot.name` of their argument."""
        found = {}
        for spec, node in zip(self.program.signature.inputs, placeholders(self.program.graph)):
            if spec.target is not None:
                found[spec.target] = as_pairs(node, self.program.state[spec.target])
        return found

    def save(self, path: str | os.PathLike[str]) -> tuple[Path, ...]:
        """Write the text to `path` and the weights beside it as safetensors: both files or none."""
        from safetensors.torch import save_file

        text = Path(path)
        weights = self.weights()
        plain = {name: tensor.detach().clone().contiguous() for name, tensor in weights.items()}
        files: list[tuple[Path, Callable[[str], object]]] = [
            (text, lambda name: _write(name, self.text))
        ]
        if plain:
            files.append((text.with_suffix(".safetensors"), lambda name: save_file(plain, name)))
        return write_all(files)


def _write(name: str, text: str) -> None:
    with open(name, "w") as file:
        file.write(text)
