"""Attacks on the tensors and their layout."""

from __future__ import annotations

import json
import struct
from typing import Any

from ..files import File
from .registry import attack


def _tensor(file: File) -> Any:
    return next(t for t in file.program["tensors"].values() if t.get("shape") == [4, 4])


@attack(r"\$\.tensors\[.*\]: shape and strides span")
def strides_beyond_the_data(file: File) -> None:
    _tensor(file)["strides"] = [1 << 40, 1]


@attack(r"\$\.tensors\[.*\]\.strides\[0\]: -1 is not in")
def a_negative_stride(file: File) -> None:
    _tensor(file)["strides"][0] = -1


@attack(r"\$\.tensors\[.*\]: shape and strides span")
def a_shape_beyond_the_data(file: File) -> None:
    _tensor(file)["shape"] = [1 << 30, 4]


@attack(r"\$\.tensors\[.*\]\.shape: more than")
def an_expanded_tensor_without_end(file: File) -> None:
    _tensor(file).update(shape=[1 << 40, 1 << 20], strides=[0, 0])


@attack(r"tensors\.safetensors: .*: torch\.float32 of rank 1, not torch\.float64")
def another_dtype(file: File) -> None:
    _tensor(file)["dtype"] = "float64"


@attack(r"inputs\[\d+\]\.target: the tensor is .* which is not what the graph")
def another_shape_than_the_graph(file: File) -> None:
    _tensor(file).update(shape=[2, 8], strides=[8, 1])


@attack(r"same_as: no such tensor")
def the_same_as_nothing(file: File) -> None:
    name = next(n for n, t in file.program["tensors"].items() if "same_as" in t)
    file.program["tensors"][name]["same_as"] = name


@attack(r"requires_grad: a tensor of torch\.uint8 has no gradient", "dtypes")
def a_gradient_of_integers(file: File) -> None:
    found = next(t for t in file.program["tensors"].values() if t.get("dtype") == "uint8")
    found["requires_grad"] = True


@attack(r"tensors\.safetensors: not safetensors")
def a_header_longer_than_the_file(file: File) -> None:
    file.tensors = struct.pack("<Q", 1 << 60) + file.tensors[8:]


@attack(r"tensors\.safetensors: header: .*data_offsets\[1\]")
def offsets_beyond_the_file(file: File) -> None:
    length = struct.unpack("<Q", file.tensors[:8])[0]
    header = json.loads(file.tensors[8 : 8 + length])
    next(v for k, v in header.items() if k != "__metadata__")["data_offsets"] = [0, 1 << 50]
    data = json.dumps(header).encode()
    file.tensors = struct.pack("<Q", len(data)) + data + file.tensors[8 + length :]


@attack(r"tensors\.safetensors: .* is not in both")
def a_tensor_without_data(file: File) -> None:
    file.program["tensors"]["state/more"] = dict(_tensor(file))


@attack(r"tensors\.safetensors: not safetensors")
def no_tensors(file: File) -> None:
    file.tensors = b""


@attack(r"program\.json: \$\.tensors")
def names_that_are_absurd(file: File) -> None:
    name = next(n for n, t in file.program["tensors"].items() if "same_as" in t)
    file.program["tensors"]["state/" + "x" * 5000] = file.program["tensors"].pop(name)
