"""Workspaces are reused; large arenas shrink and are freed."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
import torch
import torch.nn.functional as F

import ingot
from ingot.runtime import idle, memory, workspace
from ingot.runtime.workspace import LARGE, PATIENCE, borrow_any, give_back_any


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    for kept in (workspace._free, workspace._large):
        kept.clear()
    yield
    workspace._large.clear()


def used(size: int) -> int:
    """The size of the arena borrowed for a run of this size."""
    found = borrow_any(size, 4)
    give_back_any(found)
    return found.size


def test_arena_serves_again() -> None:
    first = borrow_any(1000, 4)
    give_back_any(first)
    assert borrow_any(500, 4) is first


def test_large_arenas_are_kept_apart() -> None:
    """A small run neither uses nor holds a large arena."""
    assert used(2 * LARGE) == 2 * LARGE
    assert used(1000) == 1000
    assert workspace.kept_bytes() == 2 * LARGE + 1000


def test_large_arena_shrinks_when_runs_need_far_less() -> None:
    used(8 * LARGE)
    sizes = [used(LARGE + 1) for _ in range(PATIENCE + 1)]
    assert sizes[0] == 8 * LARGE and sizes[-1] == LARGE + 1


def test_large_arena_stays_while_some_runs_need_it() -> None:
    for _ in range(3):
        assert used(4 * LARGE) == 4 * LARGE
        for _ in range(PATIENCE - 1):
            assert used(LARGE + 1) == 4 * LARGE


def test_arena_of_a_failed_allocation_is_not_used() -> None:
    found = borrow_any(2 * LARGE, 4)
    with pytest.raises(RuntimeError):
        found.fit(1 << 60, 4)
    assert found.size == -1


def test_released_when_not_used_for_a_while() -> None:
    used(2 * LARGE)
    assert idle.sweeper.sweep(time.monotonic() - 60)
    assert workspace.kept_bytes() == 2 * LARGE
    memory._blocks.by_size.clear()
    assert not idle.sweeper.sweep(time.monotonic() + 60)
    assert workspace.kept_bytes() == 0


def test_thread_releases_and_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idle, "KEEP", 0.1)
    memory._blocks.by_size.clear()
    sweeper = idle.Sweeper()
    sweeper.releases = list(idle.sweeper.releases)
    monkeypatch.setattr(workspace, "sweeper", sweeper)
    monkeypatch.setattr(memory, "sweeper", sweeper)
    used(2 * LARGE)
    end = time.monotonic() + 20
    while (workspace.kept_bytes() or sweeper._thread) and time.monotonic() < end:
        time.sleep(0.05)
    assert workspace.kept_bytes() == 0
    assert sweeper._thread is None


@torch.no_grad()
def test_large_batch_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Intermediates of one large batch are not kept forever."""
    monkeypatch.setattr(idle, "KEEP", 1000.0)

    def program(x: torch.Tensor) -> torch.Tensor:
        y = F.linear(x, weight).softmax(-1)
        return F.linear(y.cumsum(-1), weight.t()).sum(-1)

    weight, x = torch.randn(4096, 8), torch.randn(4096, 8)
    exe = ingot.compile(program, (x,))
    torch.testing.assert_close(exe(x), program(x), rtol=1e-3, atol=1e-4)
    assert workspace.kept_bytes() > LARGE
    idle.sweeper.sweep(time.monotonic() + 60)
    assert workspace.kept_bytes() <= LARGE
    torch.testing.assert_close(exe(x), program(x), rtol=1e-3, atol=1e-4)
