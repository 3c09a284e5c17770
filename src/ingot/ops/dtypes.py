"""Dtypes in native code: which have arithmetic, their types in registers and in memory, and how a
number rounds to each. Half-precision types are held in f32 registers."""

from __future__ import annotations

import math
import struct

import torch

FLOATS = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
HALVES = (torch.bfloat16, torch.float16)
UNSIGNED = (torch.uint8, torch.uint16, torch.uint32, torch.uint64)
REGISTER = {
    torch.float64: "f64", torch.float32: "f32", torch.bfloat16: "f32", torch.float16: "f32",
    torch.int64: "i64", torch.int32: "i32", torch.int16: "i16", torch.int8: "i8",
    torch.uint64: "i64", torch.uint32: "i32", torch.uint16: "i16", torch.uint8: "i8",
    torch.bool: "i1",
}  # fmt: skip
MEMORY = {**REGISTER, torch.bfloat16: "i16", torch.float16: "f16", torch.bool: "i8"}
NATIVE_DTYPES = frozenset(REGISTER)


def is_float(dtype: torch.dtype) -> bool:
    return dtype in FLOATS


def bits_of(dtype: torch.dtype) -> int:
    """Width in a register."""
    return 1 if dtype is torch.bool else int(REGISTER[dtype][1:])


def rounded(value: float, dtype: torch.dtype) -> float:
    """`value` as f32, f16 or bf16 would hold it."""
    exact: float = struct.unpack("<f", struct.pack("<I", f32_bits(value, dtype)))[0]
    return exact


def f32_bits(value: float, dtype: torch.dtype) -> int:
    """The bits, as f32, of `value` rounded to f32, and from there to f16 or bf16, as PyTorch does.
    Avoids torch, because this runs under fake tensor modes."""
    if math.isnan(value):
        return 0x7FC00000
    bits = _packed(value, "<f", "<I", 0x7F800000)
    if dtype is torch.float16:
        single: float = struct.unpack("<f", struct.pack("<I", bits))[0]
        half = _packed(single, "<e", "<H", 0x7C00)
        exact: float = struct.unpack("<e", struct.pack("<H", half))[0]
        return _packed(exact, "<f", "<I", 0x7F800000)
    if dtype is torch.bfloat16 and not math.isinf(value):
        return (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return bits


def _packed(value: float, kind: str, unsigned: str, infinity: int) -> int:
    try:
        return int(struct.unpack(unsigned, struct.pack(kind, value))[0])
    except OverflowError:
        sign = 1 << (8 * struct.calcsize(unsigned) - 1) if value < 0 else 0
        return infinity | sign
