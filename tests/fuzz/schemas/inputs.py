"""Input tensors: values by kind, memory layouts and aliases, as text and as tensors.

`fill` is copied into every reproducer, so it depends on torch alone.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass

import torch
from torch import Tensor

FLOATS = ("float32", "float32", "float32", "float64", "float16", "bfloat16")
INTEGERS = ("int64", "int64", "int32", "uint8", "int8", "int16")
DTYPES = (*FLOATS, *FLOATS, *INTEGERS, "bool", "bool", "complex64")
KINDS = ("normal", "normal", "small", "small", "positive", "edge")
LAYOUTS = ("contiguous", "contiguous", "permuted", "step", "offset", "middle", "expanded",
           "misaligned", "channels_last")  # fmt: skip
ALIASES = ("{0}", "{0}.mT", "{0}[1:]", "{0}[:-1]", "{0}[..., 1:]", "{0}.flatten()", "{0}[..., ::2]",
           "{0}.unsqueeze(0)", "{0}[0]", "{0}.detach()")  # fmt: skip


def fill(shape, dtype, kind, seed):  # type: ignore[no-untyped-def]
    """Values of a dtype: normal, small (integers from -2 to 3), positive, or edge (extremes)."""
    generator = torch.Generator().manual_seed(seed)
    noise = torch.randn(shape, generator=generator, dtype=torch.float64)
    whole = torch.randint(-2, 4, shape, generator=generator)
    if dtype == torch.bool:
        return whole > 0
    if not dtype.is_floating_point and not dtype.is_complex:
        least, most = torch.iinfo(dtype).min, torch.iinfo(dtype).max
        extremes = torch.tensor([least, most, least + 1, most - 1, 0, 1, max(least, -1), 2, 100])
        picked = extremes[torch.randint(9, shape, generator=generator)]
        kinds = {"edge": picked, "normal": (10 * noise).long(), "positive": whole.abs() + 1}
        value = kinds.get(kind, whole)
        return (value if least < 0 or kind == "edge" else value.abs()).to(dtype)
    info = torch.finfo(dtype)
    edges = [info.max, -info.max, info.tiny, info.tiny / 4, info.eps, float("inf"), -0.0, 0.0]
    edges += [float("-inf"), float("nan"), 1.0, -1.0, 0.5, 65504.0, 65520.0, 3e4, 2.0**31, 88.8]
    edges += [2.0**63, -(2.0**31), 255.5, 1e-30]
    picked = torch.tensor(edges, dtype=torch.float64)
    picked = picked[torch.randint(len(edges), shape, generator=generator)]
    picked = torch.where(noise > 0.7, noise, picked)
    real = {"edge": picked, "small": whole.double(), "positive": noise.abs() + 0.1}.get(kind, noise)
    if dtype.is_complex:
        return torch.complex(real, real.flip(-1) if real.dim() else -real).to(dtype)
    return real.to(dtype)


Size = int | str
"""A constant, or the name of a size that varies between calls."""


@dataclass(frozen=True)
class Input:
    """One parameter of a program."""

    name: str
    dtype: str
    """A torch dtype's name; "int" and "float" are Python numbers."""
    shape: tuple[Size, ...]
    layout: str = "contiguous"
    kind: str = "normal"
    seed: int = 0
    alias_of: str = ""
    """The input that this one aliases; `layout` is then an expression over it."""
    grad: bool = False

    @property
    def is_tensor(self) -> bool:
        return self.dtype not in ("int", "float")

    def text(self) -> str:
        """The expression that creates the input; `values` varies its values between calls."""
        if not self.is_tensor:
            number = 2 + self.seed % 3
            return f"{number} + values" if self.dtype == "int" else f"{number}.5 + values"
        made = self.layout.format(self.alias_of) if self.alias_of else self._own_text()
        return f"{made}.detach().requires_grad_()" if self.grad else made

    def _own_text(self) -> str:
        shape = list(self.shape)
        match self.layout if shape else "contiguous":
            case "permuted":
                order = tuple(reversed(range(len(shape))))
                return f"{self._fill(shape[::-1])}.permute({order})"
            case "step":
                return f"{self._fill([*shape[:-1], f'2 * {shape[-1]}'])}[..., ::2]"
            case "offset":
                return f"{self._fill([f'{shape[0]} + 1', *shape[1:]])}[1:]"
            case "middle":
                return f"{self._fill([*shape[:-1], f'{shape[-1]} + 2'])}[..., 1:-1]"
            case "expanded":
                return f"{self._fill([1, *shape[1:]])}.expand({_tuple(shape)})"
            case "misaligned":
                count = " * ".join(map(str, shape))
                return f"{self._fill([f'{count} + 1'])}[1:].view({_tuple(shape)})"
            case "channels_last" if len(shape) == 4:
                return f"{self._fill(shape)}.contiguous(memory_format=torch.channels_last)"
        return self._fill(shape)

    def _fill(self, shape: list[Size]) -> str:
        return f'fill({_tuple(shape)}, torch.{self.dtype}, "{self.kind}", {self.seed} + values)'


def _tuple(items: list[Size]) -> str:
    return f"({', '.join(map(str, items))}{',' if len(items) == 1 else ''})"


def fill_source() -> str:
    return inspect.getsource(fill).replace("  # type: ignore[no-untyped-def]", "")


def ulp_away(tensor: Tensor, generator: torch.Generator) -> Tensor:
    """Each finite, non-zero element moved by one ulp, up or down."""
    if tensor.is_complex():
        return torch.view_as_complex(ulp_away(torch.view_as_real(tensor), generator).contiguous())
    if not tensor.is_floating_point():
        return tensor
    up = torch.rand(tensor.shape, generator=generator) < 0.5
    there = torch.where(up, float("inf"), float("-inf")).to(tensor.dtype)
    moved = torch.nextafter(tensor, there)
    return torch.where(tensor.isfinite() & moved.isfinite() & (tensor != 0), moved, tensor)
