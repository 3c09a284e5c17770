"""Convolutions of every form between other layers: 1-D, 2-D and 3-D, groups, strides, dilation,
transposed, all paddings. Each runs with an empty batch, one-pixel images if the kernel size allows,
unusual strides, and non-finite values. Native or not, the result equals eager's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from .check import check

pytestmark = pytest.mark.timeout(300)
C = 16
KINDS = {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}
TRANSPOSED = {1: nn.ConvTranspose1d, 2: nn.ConvTranspose2d, 3: nn.ConvTranspose3d}
FORMS: dict[str, dict[str, Any]] = {
    "point": {"kernel_size": 1},
    "plain": {"kernel_size": 3, "padding": 1},
    "same": {"kernel_size": 4, "padding": "same"},
    "valid": {"kernel_size": 2, "padding": "valid"},
    "strided": {"kernel_size": 3, "stride": 2, "padding": 2, "bias": False},
    "dilated": {"kernel_size": 3, "dilation": 2, "padding": 2},
    "groups": {"kernel_size": 3, "groups": 4, "padding": 1},
    "wide groups": {"kernel_size": 3, "groups": 2, "padding": 1, "stride": 2},
    "depthwise": {"kernel_size": 3, "groups": C, "padding": 1, "dilation": 2},
    "reflect": {"kernel_size": 3, "padding": 1, "padding_mode": "reflect"},
    "replicate": {"kernel_size": 3, "padding": 2, "padding_mode": "replicate"},
    "circular": {"kernel_size": 3, "padding": 1, "padding_mode": "circular"},
}
TRANSPOSED_FORMS: dict[str, dict[str, Any]] = {
    "patches": {"kernel_size": 2, "stride": 2},
    "overlapping": {"kernel_size": 3, "stride": 2, "padding": 1, "output_padding": 1},
    "groups": {"kernel_size": 3, "groups": 4},
    "dilated": {"kernel_size": 3, "dilation": 2, "padding": 1, "bias": False},
}


def images(dims: int) -> Iterator[Tensor]:
    size = {1: (13,), 2: (9, 8), 3: (5, 6, 4)}[dims]
    spoilt = torch.randn(3, C, *size)
    for image, value in ((1, float("inf")), (2, float("nan"))):
        spoilt[image, 3][(2,) * dims] = value
    yield spoilt
    yield torch.randn(2, *size, 2 * C)[..., ::2].movedim(-1, 1)
    yield torch.randn(0, C, *size)
    yield torch.randn(1, C, *(1,) * dims)


def agrees(layer: nn.Module, dims: int) -> None:
    kind = KINDS[dims]
    made = layer(torch.randn(1, C, *(6,) * dims)).shape[1]
    module = nn.Sequential(kind(C, C, 1), nn.ReLU(), layer, nn.ReLU6(), kind(made, 5, 1)).eval()
    with torch.no_grad():
        module[0].weight.copy_(torch.eye(C).view(module[0].weight.shape))
        for x in images(dims):
            torch._dynamo.reset()
            fast = torch.compile(module, backend="ingot", fullgraph=True, options={"strict": True})
            try:
                wanted = module(x)
            except RuntimeError:  # the image is smaller than the convolution window
                with pytest.raises(RuntimeError):
                    fast(x)
                continue
            got = fast(x)
            torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-4, equal_nan=True)
            assert got.stride() == wanted.stride()


@pytest.mark.parametrize("name", FORMS)
def test_two_dimensions(name: str) -> None:
    agrees(nn.Conv2d(C, 2 * C, **FORMS[name]), 2)


@pytest.mark.parametrize("name", ["plain", "strided", "dilated", "groups", "depthwise", "circular"])
def test_one_dimension(name: str) -> None:
    agrees(nn.Conv1d(C, 2 * C, **FORMS[name]), 1)


@pytest.mark.parametrize("name", ["plain", "strided", "groups", "replicate"])
def test_three_dimensions(name: str) -> None:
    agrees(nn.Conv3d(C, 2 * C, **FORMS[name]), 3)


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("name", TRANSPOSED_FORMS)
def test_transposed(name: str, dims: int) -> None:
    agrees(TRANSPOSED[dims](C, 12, **TRANSPOSED_FORMS[name]), dims)


def test_arguments_by_name() -> None:
    x, weight = torch.randn(2, C, 9, 8), torch.randn(5, C, 3, 3)
    check(lambda x, w: torch.conv2d(input=x, weight=w, padding=1).relu(), x, weight, loosen=10)
    check(lambda x, w: nn.functional.conv2d(x, weight=w, stride=2), x, weight, loosen=10)
