"""The tensors of a program: safetensors for their memory, JSON for the layout of each name. A
tensor is stored as the flat span of memory that it covers, so that strides need no more memory than
the file has bytes. Names that share a tensor in the program share it after loading.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from ingot.artifact.arguments import DTYPES, MOST_RANK
from ingot.document import Part, parse
from ingot.errors import FileError, SaveError
from ingot.program.overlap import overlaps_itself

MOST_TENSORS = 100_000
MOST_NAME = 1000
MOST_ELEMENTS = 2**40
"""A separate limit: an expanded tensor has more elements than the file stores."""
_NAMES = {dtype: name for name, dtype in DTYPES.items()}
_HALVES = {
    torch.complex32: torch.float16, torch.complex64: torch.float32, torch.complex128: torch.float64
}  # fmt: skip
"""Complex elements are stored as pairs of these."""


def pack(tensors: Mapping[str, Tensor]) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The layout of each name, and the memory of the distinct tensors, by their first names."""
    layout: dict[str, Any] = {}
    data: dict[str, Tensor] = {}
    first: dict[int, str] = {}
    for name, tensor in tensors.items():
        same = first.setdefault(id(tensor), name)
        if same != name:
            layout[name] = {"same_as": same}
            continue
        data[name] = _flat(name, tensor.detach())
        layout[name] = {
            "dtype": _NAMES[tensor.dtype],
            "shape": list(tensor.shape),
            "strides": list(tensor.stride()),
            "parameter": isinstance(tensor, nn.Parameter),
            "requires_grad": tensor.requires_grad,
        }
    return layout, data


def _flat(name: str, tensor: Tensor) -> Tensor:
    if tensor.layout is not torch.strided or tensor.dtype not in _NAMES:
        raise SaveError(f"{name}: a {tensor.layout} tensor of {tensor.dtype}")
    if tensor.device.type != "cpu":
        raise SaveError(f"{name}: a tensor on {tensor.device}")
    count = extent(tensor.shape, tensor.stride())
    if overlaps_itself(tensor):
        flat = tensor.as_strided((count,), (1,)).resolve_conj().resolve_neg().clone()
    else:  # the gaps between its elements are not the program's
        flat = torch.zeros(count, dtype=tensor.dtype)
        flat.as_strided(tensor.shape, tensor.stride()).copy_(tensor)
    return torch.view_as_real(flat).reshape(-1) if flat.is_complex() else flat


def extent(shape: Any, strides: Any) -> int:
    """The number of elements of memory that a tensor spans."""
    if 0 in shape:
        return 0
    return 1 + sum((size - 1) * stride for size, stride in zip(shape, strides))


SAFETENSORS = {
    "BOOL": torch.bool, "U8": torch.uint8, "I8": torch.int8, "U16": torch.uint16,
    "I16": torch.int16, "U32": torch.uint32, "I32": torch.int32, "U64": torch.uint64,
    "I64": torch.int64, "F16": torch.float16, "BF16": torch.bfloat16, "F32": torch.float32,
    "F64": torch.float64, "F8_E4M3": torch.float8_e4m3fn, "F8_E5M2": torch.float8_e5m2,
    "F8_E4M3FNUZ": torch.float8_e4m3fnuz, "F8_E5M2FNUZ": torch.float8_e5m2fnuz,
    "F8_E8M0": torch.float8_e8m0fnu,
}  # fmt: skip
"""The names of dtypes in safetensors."""
MOST_HEADER = 100_000_000


def read_safetensors(data: memoryview, where: str) -> dict[str, Tensor]:
    """The tensors, in the memory of `data`. Their bytes follow each other without gaps."""
    length = int.from_bytes(data[:8], "little")
    if len(data) < 8 or length > min(MOST_HEADER, len(data) - 8):
        raise FileError(f"{where}: not safetensors: a header of {length} bytes")
    rows = parse(bytes(data[8 : 8 + length]), f"{where}: header").entries()
    rows.pop("__metadata__", None)
    body = data[8 + length :]
    found: dict[str, Tensor] = {}
    ends: dict[int, int] = {}
    for name, row in rows.items():
        fields = row.fields("dtype", "shape", "data_offsets")
        dtype = fields["dtype"].choice(SAFETENSORS, "dtype")
        shape = [n.integer(0) for n in fields["shape"].items(most=MOST_RANK)]
        begin, end = (n.integer(0, len(body)) for n in fields["data_offsets"].items(2))
        if end - begin != math.prod(shape) * dtype.itemsize:
            fields["data_offsets"].fail(f"{end - begin} bytes for {shape} of {dtype}")
        if end > begin:
            if begin in ends:
                fields["data_offsets"].fail("two tensors in the same place")
            ends[begin] = end
            found[name] = torch.frombuffer(body[begin:end], dtype=dtype).reshape(shape)
        else:
            found[name] = torch.empty(shape, dtype=dtype)
    at = 0
    while at in ends:
        at = ends.pop(at)
    if ends or at != len(body):
        raise FileError(f"{where}: the tensors cover other bytes than there are")
    return found


def unpack(
    layout: Part, memory: Mapping[str, Tensor], where: str, copy: bool = True
) -> dict[str, Tensor]:
    """`memory`: what `read_safetensors` found. `copy`: tensors are aligned and independent of it;
    otherwise they are in it."""
    rows = layout.entries()
    if len(rows) > MOST_TENSORS:
        layout.fail(f"{len(rows)} tensors, more than {MOST_TENSORS}")
    own = {name for name, row in rows.items() if "same_as" not in row.entries()}
    if own != set(memory):
        odd = sorted(own ^ set(memory))[0]
        raise FileError(f"{where}: {odd[:60]!a} is not in both the data and {layout.path}")
    made: dict[str, Tensor] = {}
    for name, row in rows.items():
        if len(name) > MOST_NAME or not name.isprintable():
            row.fail("the name is too long or not printable")
        if name in own:
            made[name] = _tensor(row, memory[name], f"{where}: {name!a}", copy)
    for name, row in rows.items():
        if name not in own:
            same = row.fields("same_as")["same_as"]
            if same.text() not in made:
                same.fail("no such tensor")
            made[name] = made[same.text()]
    return {name: made[name] for name in rows}


def _tensor(row: Part, flat: Tensor, where: str, copy: bool) -> Tensor:
    fields = row.fields("dtype", "shape", "strides", "parameter", "requires_grad")
    dtype = fields["dtype"].choice(DTYPES, "dtype")
    shape = [n.integer(0) for n in fields["shape"].items(most=MOST_RANK)]
    strides = [n.integer(0) for n in fields["strides"].items(len(shape))]
    stored = _HALVES.get(dtype, dtype)
    if flat.dtype is not stored or (flat.dim() != 1 and list(flat.shape) != shape):
        raise FileError(f"{where}: {flat.dtype} of rank {flat.dim()}, not {stored} of rank 1")
    flat = flat.reshape(-1)
    if math.prod(shape) > MOST_ELEMENTS:
        fields["shape"].fail(f"more than {MOST_ELEMENTS} elements")
    count = extent(shape, strides) * (2 if dtype.is_complex else 1)
    if count != flat.numel():
        row.fail(f"shape and strides span {count} numbers, the data has {flat.numel()}")
    whole = torch.empty_like(flat).copy_(flat) if copy else flat
    plain = torch.view_as_complex(whole.view(-1, 2)) if dtype.is_complex else whole
    tensor = torch.empty(0, dtype=dtype).set_(plain.untyped_storage(), 0, shape, strides)
    return _owned(fields, tensor)


def _owned(fields: Mapping[str, Part], tensor: Tensor) -> Tensor:
    parameter, grad = fields["parameter"].boolean(), fields["requires_grad"].boolean()
    if grad and not (tensor.is_floating_point() or tensor.is_complex()):
        fields["requires_grad"].fail(f"a tensor of {tensor.dtype} has no gradient")
    return nn.Parameter(tensor, requires_grad=grad) if parameter else tensor.requires_grad_(grad)
