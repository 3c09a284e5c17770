"""Large blocks are reused when no tensor holds them, and only then."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from ingot.runtime import memory
from ingot.runtime.memory import IDLE, KEPT, LARGE, empty_large

COUNT = LARGE // 4


@pytest.fixture(autouse=True)
def nothing_kept() -> None:
    memory._blocks.by_size.clear()


def large(count: int = COUNT) -> torch.Tensor:
    return empty_large((count,), (1,), torch.float32)


def test_a_block_serves_again() -> None:
    first = large()
    address = first.data_ptr()
    del first
    again = large()
    assert again.data_ptr() == address
    assert again.shape == (COUNT,) and again.is_contiguous()


HOLDERS: dict[str, Callable[[torch.Tensor], object]] = {
    "the tensor": lambda t: t,
    "a view": lambda t: t[5:6],
    "another type of it": lambda t: t.view(torch.int32),
    "what is detached": lambda t: t.detach(),
    "its storage": lambda t: t.untyped_storage(),
    "a typed storage": lambda t: t.storage(),
    "an array": lambda t: t.numpy(),
    "a capsule": lambda t: torch.utils.dlpack.to_dlpack(t),
    "a graph": lambda t: (t.requires_grad_() * 2).grad_fn,
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_what_is_held_is_not_given_out(holder: str) -> None:
    first = large()
    address = first.data_ptr()
    held = HOLDERS[holder](first)
    del first
    assert large().data_ptr() != address
    del held
    assert large().data_ptr() == address


def test_shared_memory_is_not_given_out_again() -> None:
    first = large().share_memory_()
    address = first.data_ptr()
    del first
    assert large().data_ptr() != address


def test_two_sizes_that_alternate_are_both_kept() -> None:
    small, big = large(), large(COUNT * 2)
    addresses = small.data_ptr(), big.data_ptr()
    del small, big
    assert [large().data_ptr() for _ in range(2)] == [addresses[0]] * 2
    assert large(COUNT * 2).data_ptr() == addresses[1]


def test_little_of_other_sizes_stays() -> None:
    for more in range(2 * IDLE // LARGE):
        large(COUNT + more)
    assert memory._blocks.kept_bytes() <= IDLE + 2 * LARGE
    assert COUNT * 4 not in memory._blocks.by_size
    newest = 4 * (COUNT + 2 * IDLE // LARGE - 1)
    assert newest in memory._blocks.by_size


def test_a_block_that_was_resized_is_not_given_out() -> None:
    first = large()
    first.untyped_storage().resize_(8)
    del first
    assert large().untyped_storage().nbytes() == LARGE


def test_no_more_is_kept_than_the_limit() -> None:
    held = [large() for _ in range(KEPT // LARGE + 3)]
    assert memory._blocks.kept_bytes() == KEPT
    assert len({t.data_ptr() for t in held}) == len(held)


def test_strides_and_emptiness() -> None:
    wide = empty_large((3, COUNT // 2), (COUNT, 1), torch.float32)
    assert wide.stride() == (COUNT, 1)
    assert wide.fill_(1).sum() == 3 * (COUNT // 2)
    assert empty_large((0, COUNT), (COUNT, 1), torch.float32).shape == (0, COUNT)


def test_a_block_serves_any_type() -> None:
    first = large()
    address = first.data_ptr()
    del first
    for dtype in (torch.int64, torch.float32, torch.bool):
        count = LARGE // dtype.itemsize
        again = empty_large((count // 2, 2), (1, count // 2), dtype)
        assert again.dtype is dtype and again.data_ptr() == address
        assert again.shape == (count // 2, 2) and again.stride() == (1, count // 2)
        del again


def test_inference_mode_is_of_the_call() -> None:
    """A result is an inference tensor by the mode of its call, not of the block's creation or
    earlier uses."""
    for mode in (True, False, True, False):
        with torch.inference_mode(mode):
            result = large()
        assert result.is_inference() is mode
        del result
    result = large().requires_grad_()
    (result * result).sum().backward()
    assert result.grad is not None


def test_each_result_counts_its_own_changes() -> None:
    first = large().zero_()
    assert first._version == 1
    del first
    again = large()
    assert again._version == 0 and not again.requires_grad and again._base is None


def test_what_was_shared_goes_once_nobody_holds_it() -> None:
    large().share_memory_()
    for more in range(1, 2 * IDLE // LARGE):
        large(COUNT + more)
    assert LARGE not in memory._blocks.by_size
