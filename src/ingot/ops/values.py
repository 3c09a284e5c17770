"""SSA values of native code and the literals of their types."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import torch

from ingot.ops.dtypes import REGISTER, bits_of, f32_bits, is_float

POINTER = "!llvm.ptr"


@dataclass(frozen=True, slots=True)
class Val:
    """An SSA value: its name, its torch dtype, its lanes (1 = scalar)."""

    name: str
    dtype: torch.dtype
    lanes: int = 1

    @property
    def type(self) -> str:
        return vector_type(REGISTER[self.dtype], self.lanes)


@dataclass(frozen=True, slots=True)
class Ptr:
    """An SSA value that is an address."""

    name: str

    @property
    def type(self) -> str:
        return POINTER


Value = Val | Ptr


def vector_type(element: str, lanes: int) -> str:
    return element if lanes == 1 else f"vector<{lanes}x{element}>"


def literal(value: complex, dtype: torch.dtype) -> str:
    if dtype is torch.bool:
        return "true" if value else "false"
    if not is_float(dtype):
        assert not isinstance(value, complex)
        number = int(value)
        width = bits_of(dtype)
        wrapped = number & ((1 << width) - 1)
        return str(wrapped - (1 << width) if wrapped >> (width - 1) else wrapped)
    assert not isinstance(value, complex)
    number_f = float(value)
    if dtype is torch.float64:
        return f"0x{struct.unpack('<Q', struct.pack('<d', number_f))[0]:016X}"
    return f"0x{f32_bits(number_f, dtype):08X}"
