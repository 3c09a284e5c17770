"""Detection of tensors that share memory, from their strides alone."""

from __future__ import annotations

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from ingot.program.overlap import overlap, overlaps_itself, same_place


def test_parts_of_a_matrix() -> None:
    y = torch.arange(12.0).view(3, 4)
    assert overlap(y, y)
    assert overlap(y[:, 0], y[1])
    assert overlap(y[:, 1:], y[:, :-1])
    assert not overlap(y[:, 0], y[:, 1])
    assert not overlap(y[:2], y[2:])
    assert not overlap(y[0, ::2], y[0, 1::2])
    assert not overlap(y, y.clone())


def test_two_storages_in_one_memory() -> None:
    y = torch.arange(12.0).view(3, 4)
    again = torch.from_numpy(y.numpy())
    assert overlap(y[1:], again)
    assert not overlap(y[:1], again[1:])


def test_bytes_count_not_elements() -> None:
    y = torch.zeros(4)
    assert overlap(y[1:], y.view(torch.int8)[4:5])
    assert not overlap(y[1:], y.view(torch.int8)[:4])


def test_tensors_without_memory() -> None:
    with FakeTensorMode():
        y = torch.empty(3, 4)
        assert overlap(y[0], y)
        assert not overlap(y[0], y[1])
        assert not overlap(y, torch.empty(3, 4))
        assert same_place(y, y.view(3, 4))
        assert not same_place(y, y[:2])


def test_a_tensor_in_itself() -> None:
    y = torch.arange(12.0)
    for plain in (y, y.view(3, 4).t(), y.unfold(0, 2, 2), y[:1].expand(1, 1), torch.empty(0, 3)):
        assert not overlaps_itself(plain)
    assert not overlaps_itself(y.as_strided((2, 3), (3, 2)))
    for shared in (y.expand(2, 12), y.unfold(0, 2, 1), y.as_strided((3, 3), (3, 2))):
        assert overlaps_itself(shared) == (len({*shared.flatten().tolist()}) < shared.numel())
