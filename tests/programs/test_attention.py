"""ingot's attention against PyTorch's in f64, and calls that are left to PyTorch."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import ingot
from ingot.program.native_ops import attention
from ingot.runtime.executable import Executable
from tests.plans import native_call_nodes

Sizes = tuple[int, int, int, int, int]
"""Batch, heads, queries, keys, width."""

SIZES: list[Sizes] = [
    (1, 12, 128, 128, 64),
    (2, 3, 7, 13, 64),
    (1, 2, 100, 1100, 32),
    (1, 2, 1, 700, 64),
    (2, 1, 4, 5, 16),
    (1, 1, 5, 1, 128),
    (1, 2, 530, 530, 16),
]


def tensors(sizes: Sizes, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor, Tensor]:
    images, heads, queries, keys, width = sizes
    torch.manual_seed(0)
    query = torch.randn(images, queries, heads, width, dtype=dtype).transpose(1, 2)
    key = torch.randn(images, heads, keys, width, dtype=dtype)
    value = torch.randn(images, keys, heads, width, dtype=dtype).transpose(1, 2)
    return query, key, value


def plain(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v)


def ahead_hidden(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def masked(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v, mask, scale=0.3)


def is_native(compiled: Executable) -> bool:
    nodes = compiled.compiled.fused.program.graph.nodes
    steps = native_call_nodes(compiled.compiled)
    calls = [node for node in nodes if node.target is attention]
    return bool(calls) and all(call in steps for call in calls)


def check(
    function: Callable[..., Tensor], args: tuple[Tensor, ...], tolerance: float = 2e-6
) -> Executable:
    compiled = ingot.compile(function, args)
    eager = function(*args)
    result = compiled(*args)
    assert result.dtype == eager.dtype
    for size, ours, theirs in zip(result.shape, result.stride(), eager.stride(), strict=True):
        assert size == 1 or ours == theirs
    wide = function(*(a.double() if a.is_floating_point() else a for a in args))
    torch.testing.assert_close(result.double(), wide, atol=tolerance, rtol=tolerance)
    return compiled


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_plain(sizes: Sizes) -> None:
    assert is_native(check(plain, tensors(sizes)))


@pytest.mark.parametrize("sizes", [s for s in SIZES if s[2] == s[3]], ids=str)
def test_nothing_ahead_is_seen(sizes: Sizes) -> None:
    assert is_native(check(ahead_hidden, tensors(sizes)))


def test_more_keys_than_queries_or_fewer() -> None:
    check(ahead_hidden, tensors((1, 2, 40, 600, 16)))
    check(ahead_hidden, tensors((1, 2, 600, 40, 16)))


MASKS: dict[str, Callable[[Sizes], Tensor]] = {
    "whole": lambda s: torch.randn(s[0], s[1], s[2], s[3]),
    "a row for all": lambda s: torch.randn(1, 1, 1, s[3]),
    "a column": lambda s: torch.randn(s[0], 1, s[2], 1),
    "two dimensions": lambda s: torch.randn(s[2], s[3]),
    "turned": lambda s: torch.randn(s[0], s[1], s[3], s[2]).transpose(2, 3),
    "some hidden": lambda s: torch.where(torch.rand(s[0], 1, s[2], s[3]) < 0.4, -math.inf, 0.0),
    "truths": lambda s: torch.rand(s[0], 1, s[2], s[3]) < 0.7,
}


@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize("sizes", [SIZES[1], SIZES[2], SIZES[3]], ids=str)
def test_masks(sizes: Sizes, kind: str) -> None:
    arguments = (*tensors(sizes), MASKS[kind](sizes))
    assert is_native(check(masked, arguments, 4e-6))


def test_a_query_that_sees_nothing_gives_what_pytorch_gives() -> None:
    q, k, v = tensors((1, 2, 9, 20, 16))
    mask = torch.zeros(1, 1, 9, 20)
    mask[..., 4, :] = -math.inf
    compiled = ingot.compile(masked, (q, k, v, mask))
    torch.testing.assert_close(compiled(q, k, v, mask), masked(q, k, v, mask))


def test_numbers_that_are_none() -> None:
    q, k, v = tensors((1, 2, 9, 20, 16))
    q[0, 0, 3, 0] = math.nan
    v[0, 1, 2, 5] = math.inf
    compiled = ingot.compile(plain, (q, k, v))
    torch.testing.assert_close(compiled(q, k, v), plain(q, k, v), equal_nan=True)


def test_large_scores_do_not_overflow() -> None:
    q, k, v = tensors((1, 2, 50, 60, 32))
    check(plain, (q * 100, k * 100, v), 2e-4)


def test_f64() -> None:
    assert is_native(check(plain, tensors((1, 2, 33, 40, 16), torch.float64), 1e-14))


@pytest.mark.parametrize("keys", [0, 1])
def test_hardly_any_keys(keys: int) -> None:
    args = tensors((1, 2, 5, keys, 16))
    compiled = ingot.compile(plain, args)
    torch.testing.assert_close(compiled(*args), plain(*args))


def test_no_queries() -> None:
    args = tensors((1, 2, 0, 8, 16))
    assert ingot.compile(plain, args)(*args).shape == (1, 2, 0, 16)


def test_odd_widths_are_left_to_pytorch() -> None:
    assert not is_native(check(plain, tensors((1, 2, 5, 8, 15))))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_types_are_as_near_as_pytorchs(dtype: torch.dtype) -> None:
    half = tuple(t.to(dtype) for t in tensors((1, 2, 50, 80, 16)))
    exact = plain(*(t.double() for t in half))
    ours, theirs = ingot.compile(plain, half)(*half), plain(*half)
    assert ours.dtype is theirs.dtype
    torch.testing.assert_close(ours, theirs, rtol=2e-2, atol=4e-3)
    assert (ours - exact).abs().max() <= 1.01 * (theirs - exact).abs().max()


def test_the_number_of_threads_changes_nothing() -> None:
    args = tensors((1, 3, 200, 700, 32))
    compiled = ingot.compile(plain, args)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        one = compiled(*args)
        torch.set_num_threads(2)
        two = compiled(*args)
    finally:
        torch.set_num_threads(before)
    assert torch.equal(one, two)


def test_a_known_mask_is_not_made() -> None:
    def causal_by_hand(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        ahead = torch.ones(40, 40, dtype=torch.bool).triu(1)
        mask = torch.zeros(40, 40, dtype=q.dtype).masked_fill(ahead, -math.inf)
        return F.scaled_dot_product_attention(q, k, v, mask)

    compiled = check(causal_by_hand, tensors((1, 2, 40, 40, 16)))
    graph = compiled.compiled.fused.program.graph
    (call,) = (node for node in graph.nodes if node.target is attention)
    assert call.args[3] is None and call.args[4] is True


def test_a_known_mask_through_torch_compile() -> None:
    """The mask's values are read while AOTAutograd's fake tensor mode is active."""

    def causal(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        place = torch.arange(q.shape[2])
        hidden = torch.zeros(q.shape[2], k.shape[2]).masked_fill(place > place[:, None], -1e38)
        return F.scaled_dot_product_attention(q, k, v, hidden[None, None])

    args = tensors((1, 2, 40, 40, 32))
    with torch.no_grad():
        got = torch.compile(causal, backend="ingot", fullgraph=True)(*args)
    torch.testing.assert_close(got, ahead_hidden(*args), rtol=1e-5, atol=1e-6)


def test_grouped_heads() -> None:
    def grouped(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(q, k, v, enable_gqa=True)

    q, _, _ = tensors((1, 6, 30, 50, 32))
    _, k, v = tensors((1, 2, 30, 50, 32))
    assert is_native(check(grouped, (q, k, v)))


def test_sizes_that_move() -> None:
    torch._dynamo.reset()
    compiled = torch.compile(plain, backend="ingot", dynamic=True, fullgraph=True)
    with torch.no_grad():
        for sizes in SIZES[1:5]:
            args = tensors(sizes)
            torch.testing.assert_close(compiled(*args), plain(*args))


def test_training_keeps_pytorchs_kernel() -> None:
    torch._dynamo.reset()
    args = [t.requires_grad_() for t in tensors((1, 2, 20, 30, 16))]
    torch.compile(plain, backend="ingot")(*args).sum().backward()
    got = [t.grad for t in args]
    for t in args:
        t.grad = None
    plain(*args).sum().backward()
    for ours, theirs in zip(got, args, strict=True):
        torch.testing.assert_close(ours, theirs.grad)
