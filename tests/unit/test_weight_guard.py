"""Weight guards: detection of changed weights in Python and in native code, with and without write
tracking by the kernel.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from ingot.codegen.support import tensor_layout_probe as tensor_layout
from ingot.codegen.support import weight_guard, write_tracking
from ingot.plan import contents, prepared
from ingot.plan.contents import guarded
from ingot.plan.prepared import Weights


@pytest.fixture(params=["digests", "write tracking"])
def tracking(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[bool]:
    """Weights of any size are armed at once, or never."""
    if request.param == "digests":
        monkeypatch.setattr(guarded, "tracker", lambda: None)
        monkeypatch.setattr(prepared, "IN_CALL", 1 << 20)
    else:
        monkeypatch.setattr(contents, "SMALL", mmap.PAGESIZE)
        monkeypatch.setattr(contents, "PATIENCE", 0)
    yield request.param == "write tracking"


def weights() -> list[torch.Tensor]:
    torch.manual_seed(0)
    return [
        nn.Parameter(torch.zeros(2000)[:1200].view(40, 30)),
        torch.randn(50, 40)[7:, 3:].t(),
        torch.randn(3),
        torch.empty(0, 4),
        torch.randn(1, 1).expand(5, 5),
        torch.randn(6, 9).to(torch.bfloat16),
        torch.randn(20, 3, dtype=torch.float64),
        torch.arange(100),
        torch.randn(300, 200),
        nn.Parameter(torch.randn(64, 64, 3, 3)),
    ]


def shifted(ws: list[torch.Tensor]) -> None:
    """The same memory, version counter and values, read from another offset."""
    ws[0].data = ws[0].data.as_strided((40, 30), (30, 1), 100)


def freed_and_filled(ws: list[torch.Tensor]) -> None:
    """As in FSDP: the storage is the same object, possibly with the same memory."""
    saved = ws[8].clone()
    ws[8].untyped_storage().resize_(0)
    ws[8].untyped_storage().resize_(saved.nbytes)
    with torch.autograd._unsafe_preserve_version_counter(ws[8]):
        ws[8].copy_(saved * 2)


def by_system_call(ws: list[torch.Tensor]) -> None:
    with open("/dev/zero", "rb", buffering=0) as file:
        file.readinto(ws[8].numpy())


def by_address(ws: list[torch.Tensor]) -> None:
    ctypes.memset(ws[8].data_ptr() + 4 * 31_007, 7, 1)


CHANGES: dict[str, Callable[[list[torch.Tensor]], object]] = {
    "written": lambda ws: ws[0].detach().add_(1),
    "a view of it written": lambda ws: ws[1][0, 0].fill_(9),
    "other memory": lambda ws: setattr(ws[0], "data", torch.randn(40, 30)),
    "another place": shifted,
    "set": lambda ws: ws[2].set_(torch.ones(3)),
    "other numbers in another object": lambda ws: ws.__setitem__(0, nn.Parameter(torch.ones(4, 3))),
    "by NumPy": lambda ws: np.multiply(ws[6].numpy(), 2, out=ws[6].numpy()),
    "by NumPy, integers": lambda ws: np.add(ws[7].numpy(), 1, out=ws[7].numpy()),
    "through data, halves": lambda ws: ws[5].data.mul_(-1),
    "through data, one of few": lambda ws: ws[2].data[1:2].add_(1),
    "through data, one of many": lambda ws: ws[8].data[123, 45].add_(1),
    "through data, the first": lambda ws: ws[9].data[0, 0, 0, 0].add_(1),
    "through data, the last": lambda ws: ws[9].data[-1, -1, -1, -1].add_(1),
    "two exchanged": lambda ws: ws[8].data[:2].copy_(ws[8][:2].flip(0)),
    "strides": lambda ws: setattr(ws[9], "data", ws[9].data.transpose(2, 3)),
    "turned in place": lambda ws: ws[8].t_(),
    "another dtype": lambda ws: setattr(ws[8], "data", ws[8].data.double()),
    "another dtype of the same bytes": lambda ws: setattr(
        ws[8], "data", ws[8].data.view(torch.int32)
    ),
    "negated lazily": lambda ws: setattr(ws[8], "data", torch._neg_view(ws[8].data)),
    "freed and filled": freed_and_filled,
    "by a system call": by_system_call,
    "by its address": by_address,
}


def armed(tensor: torch.Tensor) -> bool:
    (found,) = guarded.of([tensor])
    return found.span is not None


@pytest.mark.parametrize("native", [False, True], ids=["Python", "native"])
@pytest.mark.parametrize("change", CHANGES)
def test_changes_are_noticed(change: str, native: bool, tracking: bool) -> None:
    ws = weights()
    noted = Weights(tuple(ws))
    assert noted.are(tuple(ws)) and noted.are(tuple(ws))
    assert armed(ws[8]) is armed(ws[9]) is tracking
    if native:
        assert noted.frame()
        assert noted.are_by_frame(tuple(ws)) and noted.are_by_frame(tuple(ws))
    with torch.no_grad():
        CHANGES[change](ws)
    assert not (noted.are_by_frame if native else noted.are)(tuple(ws))


@pytest.mark.usefixtures("tracking")
def test_what_only_reads_changes_nothing() -> None:
    ws = weights()
    noted = Weights(tuple(ws))
    [w.sum() for w in ws]
    [w.clone().add_(1) for w in ws]
    ws[0].grad = torch.ones(40, 30)
    assert noted.are(tuple(ws)) and noted.frame() and noted.are_by_frame(tuple(ws))


@pytest.mark.usefixtures("tracking")
def test_the_same_numbers_written_again_are_no_change() -> None:
    """A write of the same values costs a comparison, not a repacking."""
    ws = weights()
    noted = Weights(tuple(ws))
    ws[8].copy_(ws[8].clone())
    assert noted.are(tuple(ws)) and noted.frame() and noted.are_by_frame(tuple(ws))


def test_every_guard_sees_a_write(tracking: bool) -> None:
    """The first guard that checks must not hide the write from the others."""
    ws = tuple(weights())
    guards = [Weights(ws) for _ in range(3)]
    assert all(guard.are(ws) for guard in guards) and armed(ws[8]) is tracking
    assert guards[2].frame()
    ws[8].numpy()[7, 7] += 1
    assert not guards[0].are(ws) and not guards[1].are(ws)
    assert not guards[2].are_by_frame(ws)
    again = Weights(ws)
    assert again.are(ws) and not guards[1].are(ws)


def test_written_while_the_frame_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """A write between the comparison and the computation of the digest for native code."""
    ws = (torch.randn(30),)
    noted = Weights(ws)
    assert noted.are(ws)
    build = Weights._native_frame

    def late(self: Weights, pages: list[Any], ranges: list[tuple[int, int]]) -> object:
        ws[0].numpy()[3] += 1
        return build(self, pages, ranges)

    monkeypatch.setattr(Weights, "_native_frame", late)
    assert noted.frame() == 0


@pytest.mark.usefixtures("tracking")
def test_inference_tensors() -> None:
    """PyTorch does not count writes to inference tensors, so their bytes are compared."""
    with torch.inference_mode():
        ws = (torch.randn(300, 20),)
    noted = Weights(ws)
    assert noted.are(ws) and noted.frame() and noted.are_by_frame(ws)
    with torch.inference_mode():
        ws[0][3, 4] += 1
    assert not noted.are_by_frame(ws) and not noted.are(ws)
    for guard in ("sampled", "off"):
        noted = Weights(ws, guard)
        assert not noted.are(ws) and not noted.frame()


@pytest.mark.parametrize("guard", ["sampled", "off"])
def test_cheaper_guards_see_what_is_counted(guard: str) -> None:
    ws = (torch.randn(300, 200), nn.Parameter(torch.randn(8, 8)))
    noted = Weights(ws, guard)
    assert noted.are(ws) and noted.frame() and noted.are_by_frame(ws)
    ws[0][5, 5] += 1
    assert not noted.are_by_frame(ws) and not noted.are(ws)
    noted = Weights(ws, guard)
    ws[0].numpy()[:] += 1
    seen = guard == "off"
    assert noted.frame() == 0 if guard == "sampled" else noted.frame() != 0
    assert noted.are(ws) is seen


def test_shared_memory_is_never_armed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process writes through its own page tables."""
    monkeypatch.setattr(contents, "PATIENCE", 0)
    ws = (torch.randn(300, 200).share_memory_(),)
    noted = Weights(ws)
    assert noted.are(ws) and not armed(ws[0])
    (found,) = guarded.of(ws)
    assert not found.wants_tracking()  # the list of mappings is not read in every call
    child = os.fork()
    if child == 0:
        ws[0].numpy()[200, 100] += 1
        os._exit(0)
    os.waitpid(child, 0)
    assert not noted.are(ws)


@pytest.mark.usefixtures("tracking")
def test_in_a_forked_child() -> None:
    """The child's writes are private and detected in the child; the parent's guard is
    unaffected."""
    ws = (torch.randn(300, 200),)
    noted = Weights(ws)
    assert noted.are(ws) and noted.frame()
    child = os.fork()
    if child == 0:
        right = not noted.are_by_frame(ws) and noted.are(ws)
        right = right and bool(noted.frame()) and noted.are_by_frame(ws)
        ws[0].numpy()[200, 100] += 1
        right = right and not noted.are_by_frame(ws) and not noted.are(ws)
        os._exit(0 if right else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert noted.are_by_frame(ws) and noted.are(ws)


def test_a_weight_that_is_written_in_every_step_is_not_armed() -> None:
    """Every armed page costs a fault when it is written."""
    ws = (torch.randn(300, 200),)
    arms = 0
    for _ in range(30):
        noted = Weights(ws)
        arms += armed(ws[0])
        assert noted.are(ws)
        ws[0].add_(1)
    assert arms == 0


def test_random_single_bytes(tracking: bool) -> None:
    """Single-byte changes at random positions."""
    draw = random.Random(0)
    ws = (torch.randn(517, 119), torch.randn(1001).to(torch.bfloat16))
    for _ in range(300):
        noted = Weights(ws)
        assert noted.are(ws)
        which = draw.choice(ws)
        place = which.data_ptr() + draw.randrange(which.nbytes)
        old = ctypes.c_uint8.from_address(place).value
        ctypes.c_uint8.from_address(place).value = old ^ (1 << draw.randrange(8))
        assert not noted.are(ws)


def test_words_tell_the_truth() -> None:
    """The probed offsets also hold for tensors that the probe did not use."""
    assert tensor_layout.tensor_layout() is not None
    for tensor in weights():
        with torch.no_grad():
            version = tensor._version
            if tensor.numel() and not any(s == 0 for s in tensor.stride()):
                tensor.zero_()
                assert tensor._version == version + 1
        words = weight_guard.note(tensor, 0)
        assert words[4 : 5 + tensor.dim()] == (tensor.dim(), *tensor.shape)
        assert words[10 : 10 + tensor.dim()] == tensor.stride()
        assert words[15:17] == (tensor.storage_offset(), tensor.numel())


def test_where_memory_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise PermissionError("no")

    monkeypatch.setattr(os, "open", refuse)
    assert tensor_layout.tensor_layout.__wrapped__() is None
    assert write_tracking.open_tracker() is None


def test_where_words_are_elsewhere() -> None:
    """Memory without the expected contents gives no offsets and no crash."""
    assert tensor_layout._found(lambda address, count: ()) is None
    assert tensor_layout._found(lambda address, count: (0,) * count) is None
