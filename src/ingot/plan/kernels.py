"""Kernels and what is beside the arguments of a launch: the layout of packed weights, how they are
computed, what the sizes must satisfy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ingot.errors import Place
from ingot.plan.operands import Call
from ingot.program.shapes import Size

LOOPS = "loops"
"""The family of kernels that are generated from regions."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel. `access` is r, w or rw for a pointer, empty for a number, `call` for
    the address of another kernel."""

    name: str
    access: str = ""
    dtype: torch.dtype | None = None
    """Of the elements pointed to; None if the kernel does not depend on it."""
    optional: bool = False
    """May the pointer be null (0)?"""


@dataclass(frozen=True)
class Kernel:
    """Machine code that launches name. `digest` identifies the MLIR it was compiled from."""

    name: str
    family: str
    digest: str
    parameters: tuple[Parameter, ...]


@dataclass(frozen=True)
class Attributes:
    """Attributes of a launch besides its arguments: the geometry of a convolution, the layout of
    packed weights. Subclasses are frozen records of plain data, registered by
    `plan.text.register`."""


@dataclass(frozen=True)
class Expansion(Attributes):
    """Of a launch that expands to native calls once sizes are known, because its tables depend on
    them."""

    def sizes(self) -> tuple[Size, ...]:
        """The sizes that the calls depend on."""
        raise NotImplementedError

    def launches(self, sizes: Sequence[int]) -> Sequence[Any]:
        """The calls for the values of `sizes`."""
        raise NotImplementedError

    def of_one_image(self) -> tuple[Expansion, Size, Mapping[str, Size]] | None:
        """The launch as a loop over a batch: the launch for one image, the number of images, and
        the bytes from one to the next for each parameter that moves. None if it has no batch."""
        return None


@dataclass(frozen=True)
class Packing(Attributes):
    """A layout of packed weights."""

    dtype: torch.dtype
    """Element type of the packed buffer."""

    def make(self, *values: torch.Tensor) -> torch.Tensor:
        raise NotImplementedError


@dataclass(frozen=True)
class Recipe:
    """How a packed or folded buffer is computed from weights: `calls` on the tensors of `sources`,
    named %s0, %s1, …; then `packing` of the results, if any."""

    buffer: str
    sources: tuple[str, ...]
    calls: tuple[Call, ...]
    results: tuple[str, ...]
    packing: Packing | None = None


# -- what sizes must satisfy -----------------------------------------------------------------------


@dataclass(frozen=True)
class Iteration:
    """0 <= i < size"""

    size: Size


@dataclass(frozen=True)
class Quotient:
    """floor(of / by)"""

    of: Affine
    by: Size


@dataclass(frozen=True)
class Remainder:
    of: Affine
    by: Size


@dataclass(frozen=True)
class Affine:
    """constant + sum of factor · term"""

    constant: Size
    terms: tuple[tuple[Size, Iteration | Quotient | Remainder], ...] = ()


@dataclass(frozen=True)
class Requirement:
    """0 <= index < size for all iterations: an assumption of a launch that was not proved for all
    sizes. It is checked once for each set of sizes."""

    index: Affine
    size: Size
    subject: str
    """The op whose operand is indexed."""
    place: Place | None = None
