"""Binding of call arguments: natively, or by the slow path for unusual calls."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from array import array
from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor, nn

import ingot
from ingot.codegen.support.launcher import UNUSUAL
from ingot.runtime import launch as launch_module
from ingot.runtime.launch import Bound, SegmentLauncher


@pytest.fixture(autouse=True)
def no_gradients() -> Iterator[None]:
    with torch.no_grad():
        yield


def launches(executable: ingot.Executable) -> list[SegmentLauncher]:
    scope = executable.compiled.run.__globals__
    return [value for value in scope.values() if isinstance(value, SegmentLauncher)]


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Records each use of the slow path."""
    notes: list[str] = []
    whole = SegmentLauncher.__call__

    def noted(self: SegmentLauncher, *args: object) -> int:
        notes.append("long")
        return whole(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(SegmentLauncher, "__call__", noted)
    return notes


def test_ordinary_calls_are_bound_natively(taken: list[str]) -> None:
    net = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3))
    x = torch.randn(4, 6)
    compiled = ingot.compile(net, (x,))
    compiled(x)
    taken.clear()  # the first call packs the weights
    for rows in (x, torch.randn(4, 6), torch.randn(9, 6)[2:6]):
        torch.testing.assert_close(compiled(rows), net(rows))
    assert taken == []


class Subclass(Tensor):
    pass


UNUSUAL_TENSORS: dict[str, Callable[[], Tensor]] = {
    "a subclass": lambda: torch.randn(4, 6).as_subclass(Subclass),
    "without memory": lambda: torch.empty(0, 6),
}


@pytest.mark.parametrize("kind", UNUSUAL_TENSORS)
def test_unusual_tensors_give_the_same(kind: str) -> None:
    x = UNUSUAL_TENSORS[kind]()
    compiled = torch.compile(lambda x: x * 2 + 1, backend="ingot", dynamic=False)
    assert torch.equal(torch.Tensor(compiled(x)), torch.Tensor(x * 2 + 1))


def test_the_long_way_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    net = nn.Sequential(nn.Linear(6, 5), nn.GELU(), nn.Linear(5, 3))
    x = torch.randn(4, 6)
    quick = ingot.compile(net, (x,))
    monkeypatch.setattr(launch_module, "launcher", lambda frame: None)
    slow = ingot.compile(net, (x,))
    assert all(each.quick is None for each in launches(slow))
    for _ in range(3):
        assert torch.equal(quick(x), slow(x))
        torch.testing.assert_close(slow(x), net(x))
        net[0].weight.add_(0.5)


def test_written_weights_take_the_long_way_once(taken: list[str]) -> None:
    net, x = nn.Linear(6, 5), torch.randn(4, 6)
    compiled = ingot.compile(net, (x,))
    compiled(x)
    taken.clear()
    net.weight.add_(0.5)
    for _ in range(3):
        torch.testing.assert_close(compiled(x), net(x))
    assert taken == ["long"]


def test_nothing_runs_where_it_says_unusual() -> None:
    compiled = ingot.compile(lambda x: x + 1, (torch.ones(3),))
    compiled(torch.ones(3))
    (launch,) = launches(compiled)
    assert launch.quick is not None
    bases = array("q", [0] * 8)
    subclass = torch.ones(3).as_subclass(Subclass)
    assert launch.quick(bases.buffer_info()[0], 0, torch.ones(3), subclass) == UNUSUAL


def test_lazy_copies_are_copied_before_they_are_written() -> None:
    def function(x: Tensor) -> Tensor:
        x.add_(1)
        return x * 2

    original = torch.ones(5)
    compiled = ingot.compile(function, (torch.ones(5),))
    for _ in range(2):
        lazy = torch._lazy_clone(original)
        assert torch.equal(compiled(lazy), torch.full((5,), 4.0))
        assert torch.equal(lazy, torch.full((5,), 2.0))
        assert torch.equal(original, torch.ones(5))


def test_modes_change_between_calls() -> None:
    compiled = ingot.compile(lambda x: x.sin(), (torch.ones(7),))
    for _ in range(20):
        x = torch.randn(7)
        torch.testing.assert_close(compiled(x), x.sin())
        with torch.inference_mode():
            y = torch.randn(7)
            torch.testing.assert_close(compiled(y), y.sin())
            torch.testing.assert_close(compiled(x), x.sin())


def test_arguments_that_do_not_fit_are_refused_after_some_that_did() -> None:
    compiled = ingot.compile(lambda x, y: x + y, (torch.ones(3), torch.ones(3)))
    compiled(torch.ones(3), torch.ones(3))
    bad = [
        (torch.ones(4), torch.ones(4)), (torch.ones(3).double(), torch.ones(3)), (torch.ones(3),),
        (torch.ones(3), 1), (torch.ones(3), None),
    ]  # fmt: skip
    for args in bad:
        with pytest.raises((ingot.InputError, TypeError)):
            compiled(*args)
    flipped = torch.arange(6.0)[::2], torch._neg_view(torch.ones(3))
    assert torch.equal(compiled(*flipped), flipped[0] + flipped[1])


def test_no_reference_is_left_and_none_is_lost() -> None:
    net = nn.Linear(6, 5)
    x = torch.randn(4, 6)
    compiled = ingot.compile(net, (x,))
    compiled(x)
    (launch,) = launches(compiled)
    watched = [x, net.weight, net.bias, launch._seen, None]
    before = [sys.getrefcount(each) for each in watched[:-1]]
    for _ in range(500):
        compiled(x)
    assert [sys.getrefcount(each) for each in watched[:-1]] == before
    gone = weakref.ref(x)
    watched.clear()
    del x
    gc.collect()
    assert gone() is None


def test_weights_are_replaced_while_others_run() -> None:
    """Packed copies of the old weights stay alive until running calls have finished with them."""
    torch.manual_seed(0)
    net = nn.Sequential(*(nn.Linear(64, 64) for _ in range(6)))
    x = torch.randn(32, 64)
    compiled = ingot.compile(net, (x,))
    compiled(x)
    done, problems = threading.Event(), []

    def run() -> None:
        while not done.is_set():
            if not compiled(x).isfinite().all():
                problems.append("no number")

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for k in range(60):
        with torch.no_grad():
            net[k % 6].weight.copy_(torch.randn(64, 64) / 8)
    done.set()
    for thread in threads:
        thread.join()
    assert not problems
    torch.testing.assert_close(compiled(x), net(x))


@pytest.mark.parametrize("rank", [1, 3, 5, 6, 8])
@pytest.mark.parametrize("entry", ["ahead", "torch.compile"])
def test_dynamic_tensors_are_bound_natively_within_their_storage(
    entry: str, rank: int, taken: list[str]
) -> None:
    """A tensor stores its sizes inline for up to five dimensions, and elsewhere for more."""

    def function(x: Tensor) -> Tensor:
        return x.sin() * 2

    def example(rows: int) -> Tensor:
        return torch.rand(rows, *[2] * (rank - 1))

    if entry == "ahead":
        dynamic = ({0: torch.export.Dim.AUTO},)
        compiled = ingot.compile(function, (example(3),), dynamic_shapes=dynamic)
    else:
        compiled = torch.compile(function, backend="ingot", dynamic=True)
    compiled(example(3))
    compiled(example(5))
    taken.clear()
    whole, memory = example(64), example(70)
    for x in (whole, memory[6:], memory[20:64]):
        torch.testing.assert_close(compiled(x), function(x))
    assert taken == []
    inside, outside = [memory[:64], memory[20:64]], [memory, memory[6:], memory[1::3]]
    memory.untyped_storage().resize_(64 * memory[0].nbytes)
    for x in inside:
        torch.testing.assert_close(compiled(x), function(x))
    for x in outside:
        with pytest.raises(ingot.IngotError, match="storage"):
            compiled(x)


@pytest.mark.parametrize("rank", [2, 7])
def test_what_pytorch_reads_is_within_its_storage(rank: int) -> None:
    def function(x: Tensor) -> Tensor:
        return torch.cumsum(x, 0)

    sizes = [2] * (rank - 1)
    compiled = ingot.compile(
        function, (torch.rand(3, *sizes),), dynamic_shapes=({0: torch.export.Dim.AUTO},)
    )
    x = torch.rand(6, *sizes)
    torch.testing.assert_close(compiled(x), function(x))
    x.untyped_storage().resize_(x.nbytes - 4)
    with pytest.raises(ingot.InputError, match="storage"):
        compiled(x)


def test_tensors_of_another_dtype_are_not_bound() -> None:
    launch = SegmentLauncher([(2, Bound("x", 4, 0, dtype=torch.float32))])
    assert launch.quick is not None
    bases = array("q", [0] * 8)
    assert launch.quick(bases.buffer_info()[0], 0, torch.ones(3, dtype=torch.int32)) == UNUSUAL
