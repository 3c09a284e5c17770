"""PyTorch's own transformer layers, which are one op in inference: decomposed, native, and equal to
eager, with every kind of mask."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

import ingot

AHEAD = torch.triu(torch.ones(9, 9, dtype=torch.bool), 1)
PADDED = torch.zeros(3, 9, dtype=torch.bool)
PADDED[0, 5:], PADDED[2, 1:] = True, True
MASKS: dict[str, dict[str, Tensor]] = {
    "none": {},
    "ahead": {"src_mask": AHEAD},
    "added": {"src_mask": torch.zeros(9, 9).masked_fill(AHEAD, -torch.inf)},
    "padded": {"src_key_padding_mask": PADDED},
    "both": {"src_mask": AHEAD, "src_key_padding_mask": PADDED},
}


def layer(dtype: torch.dtype = torch.float32, **options: Any) -> nn.TransformerEncoderLayer:
    torch.manual_seed(0)
    made = nn.TransformerEncoderLayer(64, 4, 96, batch_first=True, **options)
    for parameter in made.parameters():
        nn.init.normal_(parameter, std=0.2)
    return made.eval().to(dtype)


def check(model: nn.Module, x: Tensor, **kwargs: Tensor) -> None:
    torch._dynamo.reset()
    eager = model(x, **kwargs)
    got = torch.compile(model, backend="ingot", options={"strict": True})(x, **kwargs)
    assert got.dtype is eager.dtype and got.stride() == eager.stride()
    torch.testing.assert_close(got, eager, rtol=1e-4, atol=2e-5, equal_nan=True)


@torch.no_grad()
@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("mask", MASKS)
def test_layer(mask: str, activation: str, norm_first: bool) -> None:
    model = layer(activation=activation, norm_first=norm_first)
    check(model, torch.randn(3, 9, 64), **MASKS[mask])
    report = ingot.explain(model, (torch.randn(3, 9, 64),), MASKS[mask])
    assert report.fallbacks == 0 and report.native_calls >= 4


@torch.no_grad()
def test_queries_whose_keys_are_all_masked() -> None:
    hidden = PADDED.clone()
    hidden[1] = True
    model, x = layer(), torch.randn(3, 9, 64)
    assert model(x, src_key_padding_mask=hidden)[1].isnan().all()
    check(model, x, src_key_padding_mask=hidden)


@torch.no_grad()
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16], ids=str)
def test_other_dtypes(dtype: torch.dtype) -> None:
    model, x = layer(dtype), torch.randn(3, 9, 64).to(dtype)
    eager = model(x)
    torch._dynamo.reset()
    got = torch.compile(model, backend="ingot")(x)
    assert torch.equal(got, eager) if dtype is not torch.float64 else torch.allclose(got, eager)


@torch.no_grad()
@pytest.mark.parametrize("shape", [(1, 1, 64), (2, 1, 64), (1, 33, 64), (0, 9, 64)], ids=str)
def test_edges(shape: tuple[int, ...]) -> None:
    check(layer(), torch.randn(shape))


@torch.no_grad()
def test_strided_and_moving_sizes() -> None:
    model = layer()
    check(model, torch.randn(9, 64, 3).permute(2, 0, 1))
    fast = torch.compile(model, backend="ingot", dynamic=True, options={"strict": True})
    for batch, length in ((3, 9), (2, 17), (5, 40)):
        x = torch.randn(batch, length, 64)
        torch.testing.assert_close(fast(x), model(x), rtol=1e-4, atol=2e-5)


@torch.no_grad()
@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_encoder(nested: bool) -> None:
    """Also if PyTorch converts padded inputs to a nested tensor."""
    model = nn.TransformerEncoder(layer(), 2, enable_nested_tensor=nested).eval()
    x = torch.randn(3, 9, 64)
    check(model, x)
    check(model, x, mask=AHEAD)
    eager = model(x, src_key_padding_mask=PADDED)
    got = torch.compile(model, backend="ingot")(x, src_key_padding_mask=PADDED)
    seen = ~PADDED[:, : eager.shape[1]]
    torch.testing.assert_close(got[:, : eager.shape[1]][seen], eager[seen], rtol=1e-4, atol=2e-5)


def test_training_is_as_it_was() -> None:
    """With dropout and gradients, for which PyTorch does not use the op."""
    model = layer(dropout=0.0).train()
    x = torch.randn(3, 9, 64, requires_grad=True)
    model(x).square().sum().backward()
    assert x.grad is not None
    expected, x.grad = x.grad, None
    torch.compile(model, backend="ingot")(x).square().sum().backward()
    torch.testing.assert_close(x.grad, expected, rtol=1e-3, atol=1e-4)
