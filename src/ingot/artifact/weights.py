"""Weights in a safetensors file of their own, which several artifacts and processes share: the file
of a program names it. It lies in the same folder or below, has the names of the state dict, and is
mapped to memory. A program refuses a file with other bytes than the one it was saved with.
"""

from __future__ import annotations

import mmap
import os
import stat
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import torch
from safetensors.torch import save
from torch import Tensor

from ingot.artifact.archive import write_beside
from ingot.artifact.tensors import pack, read_safetensors
from ingot.document import Part
from ingot.errors import FileError, OptionError, SaveError

INSIDE, BESIDE = "inside", "beside"
_MOST_NAME = 1000


@dataclass(frozen=True)
class WeightsFile:
    """As the file of a program names it."""

    name: str
    """Relative to the folder of the program's file, with slashes."""
    checksum: int

    def encode(self) -> dict[str, Any]:
        return {"file": self.name, "checksum": self.checksum}

    @staticmethod
    def decode(part: Part) -> WeightsFile | None:
        if part.value is None:
            return None
        fields = part.fields("file", "checksum")
        name = fields["file"].line(_MOST_NAME)
        if not _is_below(name):
            fields["file"].fail(f"{name!a} is not a file in the same folder or below")
        return WeightsFile(name, fields["checksum"].integer(0, 2**32 - 1))


def _is_below(name: str) -> bool:
    path = PurePosixPath(name)
    plain = all(part not in ("", ".", "..") for part in name.split("/"))
    return plain and not path.is_absolute() and "\\" not in name and "\0" not in name


def weights_path(
    path: str | os.PathLike[str], where: str | os.PathLike[str]
) -> tuple[str, str] | None:
    """The path of the weights of the program that is saved to `path`, and their name in its file;
    None if they are inside."""
    if where == INSIDE:
        return None
    target = Path(os.fspath(path))
    if where == BESIDE:
        found = target.with_suffix(".safetensors")
    else:
        found = target.parent / os.fspath(where)
    name = os.path.relpath(found, target.parent).replace(os.sep, "/")
    if not _is_below(name) or found == target:
        raise OptionError(
            f"weights={os.fspath(where)!r}",
            hints=[f"{INSIDE!r}, {BESIDE!r} or a path in the folder of the program's file"],
        )
    return os.fspath(found), name


def save_weights(state: Mapping[str, Tensor], path: str, share: bool) -> memoryview:
    """Write the weights and return the bytes of the file. `share`: a file with these weights is
    left as it is."""
    _, flat = pack(state)
    own = {name: _shaped(state[name], data) for name, data in flat.items()}
    if share and os.path.exists(path):
        view = map_weights(path)
        _require_equal(own, read_safetensors(view, path), path)
        return view
    data = save(own)
    write_beside(path, lambda partial: Path(partial).write_bytes(data))
    return memoryview(data)


def _shaped(tensor: Tensor, flat: Tensor) -> Tensor:
    plain = tensor.is_contiguous() and flat.numel() == tensor.numel()
    return flat.view(tensor.shape) if plain else flat


def _require_equal(own: Mapping[str, Tensor], found: Mapping[str, Tensor], path: str) -> None:
    hints = ["save the weights to another file"]
    for name, tensor in own.items():
        other = found.get(name)
        if other is None or (other.dtype, other.shape) != (tensor.dtype, tensor.shape):
            raise SaveError(f"{path} has no tensor like {name}", hints=hints)
        if not torch.equal(_bytes(tensor), _bytes(other)):
            raise SaveError(f"{path} has other values for {name}", hints=hints)


def _bytes(tensor: Tensor) -> Tensor:
    return tensor.reshape(-1).view(torch.uint8)


def map_weights(path: str) -> memoryview:
    """The bytes of the file, in a private mapping."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # opening a pipe would block
            raise FileError(f"{path}: the weights are not a regular file")
        with open(path, "rb") as file:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
    except FileNotFoundError:
        raise FileError(
            f"{path}: the weights are not there", hints=["load(path, weights=…) if they moved"]
        ) from None
    except (OSError, ValueError) as error:
        raise FileError(f"{path}: the weights cannot be read: {error}") from None


def require_weights(matches: bool, path: str) -> None:
    if not matches:
        raise FileError(
            f"{path}: damaged, or other weights than the program was saved with",
            hints=["load the program with its own weights; replace them with load_weights"],
        )


def checksum_of(data: memoryview) -> int:
    return zlib.crc32(data)
