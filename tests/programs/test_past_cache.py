"""Results larger than the last-level cache use non-temporal stores: equal to eager at any
address."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from unittest import mock

import pytest
import torch
from torch import Tensor

import ingot
from ingot.codegen.loops import kernels
from ingot.machine import this_machine


def scaled(x: Tensor) -> Tensor:
    return x * 2 + 1


def normed(x: Tensor) -> Tensor:
    return torch.nn.functional.layer_norm(x, x.shape[-1:])


@pytest.fixture(autouse=True)
def small_cache() -> Iterator[None]:
    """Every result exceeds the cache, and no kernel is cached."""
    small = replace(this_machine(), l3_bytes=1)
    with (
        mock.patch.object(kernels, "this_machine", lambda: small),
        mock.patch.object(kernels, "_known", {}),
    ):
        yield


SHAPES = [(1 << 16,), (64, 1024), (33, 1023), (7, 3), (129, 8), (5, 0), (1,)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64, torch.int8])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_pointwise(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    x = (torch.randn(shape) * 10).to(dtype)
    torch.testing.assert_close(ingot.compile(scaled, (x,))(x), scaled(x), rtol=0, atol=0)


@pytest.mark.parametrize("shape", [(64, 1024), (33, 1023), (129, 8)], ids=str)
def test_rows(shape: tuple[int, ...]) -> None:
    x = torch.randn(shape)
    torch.testing.assert_close(ingot.compile(normed, (x,))(x), normed(x))


def turned(x: Tensor) -> Tensor:
    return x.t().contiguous() + 1


TURNED = [(64, 1024), (33, 1023), (128, 40), (40, 96), (257, 129)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64, torch.int8])
@pytest.mark.parametrize("shape", TURNED, ids=str)
def test_transpositions(shape: tuple[int, int], dtype: torch.dtype) -> None:
    x = (torch.randn(shape) * 10).to(dtype)
    torch.testing.assert_close(ingot.compile(turned, (x,))(x), turned(x), rtol=0, atol=0)


@pytest.mark.parametrize(("dtype", "past"), [(torch.bfloat16, True), (torch.bool, False)])
def test_transpositions_write_whole_lines_or_as_usual(dtype: torch.dtype, past: bool) -> None:
    def compared(x: Tensor) -> Tensor:
        return (x.t().contiguous() > 0).to(dtype)

    x = torch.randn(256, 256)
    exe = ingot.compile(compared, (x,))
    torch.testing.assert_close(exe(x), compared(x), rtol=0, atol=0)
    (known,) = kernels._known.values()
    assert ("nontemporal" in known.draft.text) == past


@pytest.mark.parametrize("offset", range(9))
def test_an_input_written_at_any_address(offset: int) -> None:
    """Ordinary stores are used if the address is not a multiple of the vector size."""

    def double(x: Tensor) -> None:
        x.mul_(2)

    memory = torch.randn(4105)
    expected = memory.clone()
    double(expected[offset : offset + 4096])
    torch.compile(double, backend="ingot")(memory[offset : offset + 4096])
    torch.testing.assert_close(memory, expected, rtol=0, atol=0)


def test_the_code_does_so() -> None:
    x = torch.randn(64, 1024)
    ingot.compile(scaled, (x,))
    (known,) = kernels._known.values()
    assert "nontemporal" in known.draft.text and "sfence" in known.draft.text
