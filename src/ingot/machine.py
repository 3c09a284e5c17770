"""Features of the machine that code is generated for: vector width, caches, library support. This
machine is probed once; nothing is inferred from a name, and a vector width counts only if the
operating system saves the registers it needs. `targeting` and the environment variable
INGOT_MACHINE replace it by a psABI level, so that code for an older machine can be made and tested
here.
"""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from functools import cache

import torch

from ingot.errors import OptionError, did_you_mean

VARIABLE = "INGOT_MACHINE"

_BASELINE = frozenset({"cmov", "cx8", "fpu", "fxsr", "mmx", "sse", "sse2"})
_V2 = _BASELINE | {"cx16", "lahf_lm", "popcnt", "pni", "sse4_1", "sse4_2", "ssse3"}
_V3 = _V2 | {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"}
_V4 = _V3 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
LEVELS: dict[str, frozenset[str]] = {"x86-64-v2": _V2, "x86-64-v3": _V3, "x86-64-v4": _V4}
"""psABI levels with the CPU flags that each requires, as Linux lists them, from the lowest."""


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
    isa: str
    """What code is compiled for: a psABI level, or an identification of exactly this CPU."""
    range_checks: bool = False
    """Whether kernels check the range of every access. A property of the target, as a sanitizer is
    for C: kernels with and without checks are cached apart."""
    has_torch: bool = True
    """Is libtorch in the process? A C program has neither its BLAS nor its Sleef."""

    def as_text(self) -> str:
        """All that code depends on; the features are those of the `isa`."""
        own = (field.name for field in fields(self) if field.name != "features")
        return ", ".join(f"{name} {getattr(self, name)}" for name in own)

    def lanes(self, element_bytes: int = 4) -> int:
        return self.vector_bits // 8 // element_bytes

    @property
    def level(self) -> str | None:
        """The psABI level that LLVM compiles for; None for exactly this CPU."""
        return self.isa if self.isa in LEVELS else None


_forced: ContextVar[Machine | None] = ContextVar("ingot_machine", default=None)


def this_machine() -> Machine:
    """The machine that code is generated for."""
    return _forced.get() or _default()


@contextmanager
def targeting(machine: Machine) -> Iterator[None]:
    """Generate code for this machine instead of the default one."""
    token = _forced.set(machine)
    try:
        yield
    finally:
        _forced.reset(token)


def is_targeting() -> bool:
    """Is code generated for another machine than the default one?"""
    return this_machine() is not _default()


@cache
def machine_of_level(level: str) -> Machine:
    if level not in LEVELS:
        raise OptionError(f"machine={level!r}", hints=[did_you_mean(level, LEVELS)])
    flags = LEVELS[level]
    here = probed_machine()
    return replace(here, vector_bits=_vector_bits(flags), features=flags, isa=level)


@cache
def _default() -> Machine:
    forced = os.environ.get(VARIABLE)
    return machine_of_level(forced) if forced else probed_machine()


def machine_levels() -> list[str]:
    """The psABI levels whose code runs on the default machine, from the highest."""
    flags = _default().features
    return [level for level, needed in reversed(LEVELS.items()) if needed <= flags]


@cache
def probed_machine() -> Machine:
    """The machine that this process runs on."""
    information = _cpu_information()
    flags = frozenset(information.get("flags", "").split()) or frozenset(_assumed_flags())
    model = [information.get(key, "") for key in ("vendor_id", "cpu family", "model")]
    isa = hashlib.sha256(" ".join([*model, *sorted(flags)]).encode()).hexdigest()[:16]
    return Machine(
        _vector_bits(flags), flags, _cache_bytes(2, 1 << 20), _cache_bytes(3, 1 << 25), isa
    )


def _vector_bits(flags: frozenset[str]) -> int:
    if {"avx512f", "avx512dq", "avx512bw", "avx512vl"} <= flags:
        return 512
    return 256 if {"avx2", "fma"} <= flags else 128


def cpu_model() -> str:
    """The name of the CPU as the operating system gives it; empty if it gives none."""
    return _cpu_information().get("model name", "")


def _cpu_information() -> dict[str, str]:
    """The lines about the first CPU."""
    found: dict[str, str] = {}
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                if not line.strip():
                    break
                key, _, value = line.partition(":")
                found[key.strip()] = value.strip()
    except OSError:
        pass
    return found


def _assumed_flags() -> list[str]:
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
