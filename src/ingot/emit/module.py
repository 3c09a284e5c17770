"""A program written in MLIR. What holds: the function `main` of the text takes the inputs of
`program`, in order, and returns the outputs that `returned` lists; weights are among the inputs,
beside the text and never in it.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from ingot.emit.levels import Dialect
from ingot.errors import EmitError
from ingot.program.program import Program


@dataclass(frozen=True)
class MlirModule:
    text: str
    dialect: Dialect
    program: Program
    """The legalized program that the text was made from."""
    returned: tuple[int, ...]
    """The program's outputs that the function returns; the others are constants."""

    def __str__(self) -> str:
        return self.text

    def as_text(self) -> str:
        return self.text

    def weights(self) -> dict[str, torch.Tensor]:
        """The tensors that belong to the model, by the `ingot.name` of their argument."""
        specs = self.program.signature.inputs
        return {s.target: self.program.state[s.target] for s in specs if s.target is not None}

    def save(self, path: str | os.PathLike[str]) -> tuple[Path, ...]:
        """Write the text to `path` and the weights beside it as safetensors; both or nothing."""
        from safetensors.torch import save_file

        text = Path(path)
        weights = self.weights()
        plain = {name: tensor.detach().clone().contiguous() for name, tensor in weights.items()}
        files: list[tuple[Path, Callable[[str], None]]] = [
            (text, lambda name: _write(name, self.text))
        ]
        if plain:
            files.append((text.with_suffix(".safetensors"), lambda name: save_file(plain, name)))
        return _write_all(files)


def _write(name: str, text: str) -> None:
    with open(name, "w") as file:
        file.write(text)


def _write_all(files: list[tuple[Path, Callable[[str], None]]]) -> tuple[Path, ...]:
    """Every file under another name first, then all renamed."""
    made: list[tuple[str, Path]] = []
    try:
        for path, write in files:
            handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
            os.close(handle)
            made.append((name, path))
            write(name)
        for name, path in made:
            os.replace(name, path)
    except OSError as error:
        for name, _ in made:
            Path(name).unlink(missing_ok=True)
        raise EmitError(f"cannot write {files[0][0]}: {error.strerror or error}") from error
    return tuple(path for path, _ in files)
