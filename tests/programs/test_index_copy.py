"""index_copy against eager: in-place cache updates, and copies that are not in place."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

import ingot
from ingot.kernels.index_copy.claim import IndexCopy, index_copy_of
from ingot.runtime.executable import Executable
from tests.plans import native_call_nodes

CASES = [
    ((7,), 0, 3), ((5, 6), 0, 2), ((5, 6), 1, 4), ((2, 3, 9, 8), 2, 1), ((2, 3, 9, 8), -2, 5),
    ((2, 1, 4, 3, 5), 3, 2), ((1, 4), 0, 1),
]  # fmt: skip
"""Shape, dimension, number of slices."""


def copied(x: Tensor, index: Tensor, source: Tensor, dim: int) -> Tensor:
    return (x + 1).index_copy(dim, index, source * 2) - 1


def is_native(compiled: Executable) -> bool:
    nodes = native_call_nodes(compiled.compiled)
    calls = [node for node in nodes if node.target is torch.ops.aten.index_copy.default]
    return any(isinstance(index_copy_of(node), IndexCopy) for node in calls)


def tensors(shape: tuple[int, ...], dim: int, count: int) -> tuple[Tensor, Tensor, Tensor]:
    slices = list(shape)
    slices[dim] = count
    return torch.randn(shape), torch.randperm(shape[dim])[:count], torch.randn(slices)


@pytest.mark.parametrize(("shape", "dim", "count"), CASES, ids=str)
def test_a_copy(shape: tuple[int, ...], dim: int, count: int) -> None:
    torch.manual_seed(0)
    args = (*tensors(shape, dim, count), dim)
    compiled = ingot.compile(copied, args, options={"strict": True})
    assert is_native(compiled)
    torch.testing.assert_close(compiled(*args), copied(*args))


DTYPES = [torch.int8, torch.bool, torch.bfloat16, torch.float16, torch.float64, torch.int64]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dtypes(dtype: torch.dtype) -> None:
    x, index, source = tensors((4, 6, 5), 1, 3)
    args = (x.mul(9).to(dtype), index, source.mul(9).to(dtype))

    def move(x: Tensor, index: Tensor, source: Tensor) -> Tensor:
        return x.index_copy(1, index, source)

    compiled = ingot.compile(move, args, options={"strict": True})
    assert is_native(compiled)
    assert torch.equal(compiled(*args), move(*args))


def test_layouts() -> None:
    def move(x: Tensor, index: Tensor, source: Tensor) -> Tensor:
        return x.index_copy(1, index, source)

    x = torch.randn(6, 10, 4).permute(2, 0, 1)[:, :, ::2]
    source, index = torch.randn(4, 5, 9)[:, :, 4:].transpose(1, 2)[:, :3], torch.arange(8)[1:6:2]
    compiled = ingot.compile(move, (x, index, source), options={"strict": True})
    result, eager = compiled(x, index, source), move(x, index, source)
    assert torch.equal(result, eager) and result.stride() == eager.stride()


def test_the_last_of_those_with_the_same_place_stays() -> None:
    args = (torch.zeros(3, 4), torch.tensor([1, 1, 1]), torch.arange(12.0).view(3, 4), 0)
    compiled = ingot.compile(copied, args)
    torch.testing.assert_close(compiled(*args), copied(*args))


def test_a_large_copy_in_several_threads() -> None:
    args = (torch.randn(1, 1024, 300), torch.tensor([5, 1000]), torch.randn(1, 2, 300), 1)
    compiled = ingot.compile(copied, args)
    torch.testing.assert_close(compiled(*args), copied(*args))


class Cache(nn.Module):
    """A decoder's cache update."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("keys", torch.zeros(2, 3, 16, 8))

    def forward(self, new: Tensor, position: Tensor) -> Tensor:
        self.keys.index_copy_(2, position, new.transpose(1, 2))
        return self.keys.sum(-1)


def test_a_cache_is_written_where_it_lies() -> None:
    module, plain = Cache(), Cache()
    args = (torch.randn(2, 1, 3, 8), torch.tensor([0]))
    compiled = ingot.compile(module, args, options={"strict": True})
    assert is_native(compiled) and "op" not in compiled.compiled.source
    address = module.keys.data_ptr()
    for position in (0, 3, 15, 3):
        args = (torch.randn(2, 1, 3, 8), torch.tensor([position]))
        torch.testing.assert_close(compiled(*args), plain(*args))
        assert torch.equal(module.keys, plain.keys) and module.keys.data_ptr() == address


@pytest.mark.parametrize("place", [16, -1])
def test_a_place_outside_is_eagers_error(place: int) -> None:
    module = Cache()
    args = (torch.randn(2, 2, 3, 8), torch.tensor([0, 1]))
    compiled = ingot.compile(module, args)
    compiled(*args)
    before = module.keys.clone()
    outside = (args[0] + 1, torch.tensor([2, place]))
    with pytest.raises(IndexError):
        Cache()(*outside)
    with pytest.raises(IndexError):
        compiled(*outside)
    assert torch.equal(module.keys, before)


def test_any_number_of_slices() -> None:
    count = torch.export.Dim("count", min=1, max=16)
    module, plain = Cache(), Cache()
    shapes = {"new": {1: count}, "position": {0: count}}
    args = (torch.randn(2, 3, 3, 8), torch.arange(3))
    compiled = ingot.compile(module, args, dynamic_shapes=shapes, options={"strict": True})
    assert is_native(compiled)
    for number in (1, 2, 5, 16):
        args = (torch.randn(2, number, 3, 8), torch.randperm(16)[:number])
        torch.testing.assert_close(compiled(*args), plain(*args))
