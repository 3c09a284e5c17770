"""Complex tensors have no native kernels but give eager's results, also next to native ones."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from .check import check

FUNCTIONS: dict[str, Callable[[Tensor], object]] = {
    "arithmetic": lambda z: (z * z.conj() + 2j) / (z + 1),
    "conj view": lambda z: z.conj(),
    "conj then real op": lambda z: z.conj().real * 2,
    "neg bit": lambda z: z.conj().imag + 1,
    "parts": lambda z: z.real.exp() + z.imag.sin(),
    "abs and angle": lambda z: (z.abs(), z.angle()),
    "polar": lambda z: torch.polar(z.abs(), z.angle()) * 2,
    "exp": lambda z: z.exp() + z.sqrt() + z.log(),
    "product": lambda z: z @ z.mH,
    "sum": lambda z: z.sum(0) + z.mean(),
    "view_as_real": lambda z: torch.view_as_real(z) * 2,
    "round trip": lambda z: torch.view_as_complex(torch.view_as_real(z) * 2) + 1,
    "fft": lambda z: torch.fft.ifft(torch.fft.fft(z) * 2).real,
    "where": lambda z: torch.where(z.real > 0, z, z.conj()),
    "cat": lambda z: torch.cat([z, z * 1j], 1),
    "in place": lambda z: z.clone().mul_(1j).add_(z),
    "to real": lambda z: z.to(torch.complex128).abs().float(),
    "equal": lambda z: z == z.conj(),
    "index": lambda z: z[torch.tensor([2, 0]), 1:] * 2,
}


@pytest.mark.filterwarnings("ignore:Casting complex")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_inference(name: str) -> None:
    check(FUNCTIONS[name], torch.randn(3, 4, dtype=torch.complex64))


@pytest.mark.parametrize("name", ["arithmetic", "parts", "abs and angle", "product", "fft"])
def test_training(name: str) -> None:
    z = torch.randn(3, 4, dtype=torch.complex64, requires_grad=True)
    check(FUNCTIONS[name], z, grad=True, loosen=4)


def test_conjugated_input() -> None:
    z = torch.randn(3, dtype=torch.complex64)
    check(lambda z: z * 2, z.conj())
    check(lambda x: x * 2, z.conj().imag)


def test_rotary_embedding() -> None:
    def rotate(x: Tensor, frequencies: Tensor) -> Tensor:
        pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * frequencies).flatten(-2).type_as(x)

    angles = torch.outer(torch.arange(5.0), torch.linspace(1, 0.1, 4))
    frequencies = torch.polar(torch.ones_like(angles), angles)
    check(rotate, torch.randn(2, 5, 8), frequencies)
    check(rotate, torch.randn(2, 5, 8, dtype=torch.bfloat16), frequencies)


def test_spectral_filter() -> None:
    def function(x: Tensor, weight: Tensor) -> Tensor:
        spectrum = torch.fft.rfft(x, dim=-1) * weight
        return torch.fft.irfft(spectrum, n=x.size(-1)).relu() + x

    check(function, torch.randn(2, 16), torch.randn(9, dtype=torch.complex64))
