"""Features of this machine, probed once: vector width, caches, library support. Nothing is inferred
from a name: a vector width counts only if the operating system saves the registers it needs.
"""

from __future__ import annotations

import glob
import os
from dataclasses import dataclass
from functools import cache

import torch


@dataclass(frozen=True)
class Machine:
    vector_bits: int
    """Width of the widest float vectors: 512, 256 or 128."""
    features: frozenset[str]
    """CPU flags as the operating system lists them."""
    l2_bytes: int
    """L2 cache of one core."""
    l3_bytes: int
    """L3 cache shared by a group of cores."""

    def lanes(self, element_bytes: int = 4) -> int:
        return self.vector_bits // 8 // element_bytes


@cache
def this_machine() -> Machine:
    flags = frozenset(_cpu_flags())
    bits = (
        512
        if {"avx512f", "avx512dq", "avx512bw", "avx512vl"} <= flags
        else 256
        if {"avx2", "fma"} <= flags
        else 128
    )
    return Machine(bits, flags, _cache_bytes(2, 1 << 20), _cache_bytes(3, 1 << 25))


def _cpu_flags() -> list[str]:
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                if line.startswith("flags"):
                    return line.split(":", 1)[1].split()
    except OSError:
        pass
    capability = torch.backends.cpu.get_cpu_capability()
    return {
        "AVX512": ["avx512f", "avx512dq", "avx512bw", "avx512vl", "avx2", "fma"],
        "AVX2": ["avx2", "fma"],
    }.get(capability, [])


def _cache_bytes(level: int, default: int) -> int:
    for index in glob.glob("/sys/devices/system/cpu/cpu0/cache/index*"):
        try:
            with open(os.path.join(index, "level")) as file:
                if int(file.read()) != level:
                    continue
            with open(os.path.join(index, "size")) as file:
                text = file.read().strip()
            return int(text[:-1]) * {"K": 1 << 10, "M": 1 << 20}[text[-1]]
        except (OSError, ValueError, KeyError):
            continue
    return default


@cache
def library_multiplies(half: torch.dtype) -> bool:
    """Does oneDNN support matmuls of this half-precision dtype on this machine?"""
    asked = {
        torch.bfloat16: "_is_mkldnn_bf16_supported",
        torch.float16: "_is_mkldnn_fp16_supported",
    }
    answer = getattr(torch.ops.mkldnn, asked[half], None)
    return answer is not None and bool(answer())
