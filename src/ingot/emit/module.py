"""A program written in MLIR. What holds: the function `main` of the text takes the inputs of
`program`, in order, and returns the outputs that `returned` lists; weights are among the inputs,
beside the text and never in it.
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
    """The text to run it by: the same, but for StableHLO's loops, which are scf's."""

    def __str__(self) -> str:
        return self.text

    def as_text(self) -> str:
        return self.text

    def weights(self) -> dict[str, torch.Tensor]:
        """The tensors that belong to the model, by the `ingot.name` of their argument."""
        found = {}
        for spec, node in zip(self.program.signature.inputs, placeholders(self.program.graph)):
            if spec.target is not None:
                found[spec.target] = as_pairs(node, self.program.state[spec.target])
        return found

    def save(self, path: str | os.PathLike[str]) -> tuple[Path, ...]:
        """Write the text to `path` and the weights beside it as safetensors; both or nothing."""
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
