"""Write tracking of storages that are neighbours in memory: they share pages and scans, with each
other and with memory that is none of theirs."""

from __future__ import annotations

import ctypes
import mmap
import random

import pytest
import torch

from ingot.plan import contents
from ingot.plan.contents import guarded
from ingot.plan.prepared import Weights

PAGE = mmap.PAGESIZE


@pytest.fixture(autouse=True)
def armed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    if guarded.tracker() is None:
        pytest.skip("the kernel offers no write tracking")
    monkeypatch.setattr(contents, "SMALL", PAGE)
    monkeypatch.setattr(contents, "PATIENCE", 0)


class Block:
    """Memory with storages at chosen offsets and other bytes between them."""

    def __init__(self, size: int):
        self.memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.array = (ctypes.c_uint8 * size).from_buffer(self.memory)
        self.start = ctypes.addressof(self.array)

    def storage(self, offset: int, size: int) -> torch.Tensor:
        part = (ctypes.c_uint8 * size).from_buffer(self.memory, offset)
        return torch.frombuffer(part, dtype=torch.uint8)

    def write(self, offset: int) -> None:
        self.array[offset] = (self.array[offset] + 1) % 256


def spans(tensors: tuple[torch.Tensor, ...]) -> list[contents.Span]:
    return [each.span for each in guarded.of(tensors) if each.span is not None]


def three(block: Block) -> tuple[torch.Tensor, ...]:
    """Of 100 bytes and several pages, with gaps of a cache line."""
    sizes, at, found = (5 * PAGE + 17, 100, 6 * PAGE - 1), 24, []
    for size in sizes:
        found.append(block.storage(at, size))
        at += size + 64
    return tuple(found)


def test_neighbours_share_one_scan() -> None:
    ws = three(Block(16 * PAGE))
    noted = Weights(ws)
    assert noted.are(ws)
    assert len(set(spans(ws))) == 1 and len(spans(ws)) == 3
    pages, loose = guarded.checks(guarded.of(ws))
    assert len(pages) == 1 and sum(size for _, size in loose) < 2 * PAGE
    assert noted.frame() and noted.are_by_frame(ws)


@pytest.mark.parametrize("which", range(3))
def test_a_write_to_one_is_seen_by_its_programs_alone(which: int) -> None:
    ws = three(Block(16 * PAGE))
    own = [Weights((w,)) for w in ws]
    assert all(guard.are((w,)) for guard, w in zip(own, ws, strict=True))
    assert all(guard.frame() for guard in own)
    ws[which][50] ^= 1
    others = [k for k in range(3) if k != which]
    assert all(own[k].are((ws[k],)) for k in others)  # their look clears the flags of its pages
    assert not own[which].are_by_frame((ws[which],)) and not own[which].are((ws[which],))


def test_a_busy_neighbour_is_left_out() -> None:
    """Its page stops being scanned; a write to the weights in that page is seen all the same."""
    block = Block(16 * PAGE)
    ws = three(block)
    between = 24 + ws[0].nbytes + 5
    noted = Weights(ws)
    for _ in range(contents.HOT + 1):
        block.write(between)
        assert noted.are(ws)
    assert noted.frame()
    block.write(between)
    assert noted.are_by_frame(ws), "the page is scanned although its writes mean nothing"
    block.write(24 + ws[0].nbytes - 1)
    assert not noted.are_by_frame(ws) and not noted.are(ws)


def test_a_dead_neighbour_leaves_its_place_to_another() -> None:
    block = Block(16 * PAGE)
    first, second, third = three(block)
    kept = Weights((first, third))
    gone = Weights((second,))
    assert kept.are((first, third)) and gone.are((second,))
    assert kept.are((first, third))
    del gone, second
    block.write(24 + first.nbytes + 64)
    assert kept.are((first, third)) and kept.frame() and kept.are_by_frame((first, third))


def test_storages_that_share_memory() -> None:
    """Two storages over the same bytes: a write through either changes both."""
    block = Block(16 * PAGE)
    outer, inner = block.storage(0, 12 * PAGE), block.storage(3 * PAGE + 5, 4 * PAGE)
    guards = [Weights((outer,)), Weights((inner,))]
    assert guards[0].are((outer,)) and guards[1].are((inner,))
    inner[PAGE] ^= 1
    assert not guards[0].are((outer,)) and not guards[1].are((inner,))


@pytest.mark.parametrize("seed", range(8))
def test_random_neighbours(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against the plain truth: a guard holds if and only if none of its storages was written since
    it was made, whatever else is written, armed and looked at in between."""
    draw = random.Random(seed)
    monkeypatch.setattr(contents, "MOST", draw.choice([1, 4 * PAGE, 40 * PAGE]))
    block, tensors, at = Block(400 * PAGE), [], 0
    while len(tensors) < 24:
        at += draw.choice([0, 16, 64, 700, PAGE, 3 * PAGE])
        tensors.append(
            (at, block.storage(at, draw.choice([40, 900, PAGE, 2 * PAGE + 3, 9 * PAGE])))
        )
        at += tensors[-1][1].nbytes
    groups = [tuple(sorted(draw.sample(range(24), draw.randrange(1, 9)))) for _ in range(6)]
    guards: dict[int, Weights] = {}
    stale: set[int] = set()
    for _ in range(400):
        match draw.choice(["write", "write beside", "look", "look", "native", "make"]):
            case "write":
                k = draw.randrange(24)
                start, tensor = tensors[k]
                block.write(start + draw.randrange(tensor.nbytes))
                stale |= {g for g in guards if k in groups[g]}
            case "write beside":
                where = draw.randrange(at)
                if not any(start <= where < start + t.nbytes for start, t in tensors):
                    block.write(where)
            case "make":
                g = draw.randrange(6)
                guards[g] = Weights(tuple(tensors[k][1] for k in groups[g]))
                stale.discard(g)
            case kind if guards:
                g = draw.choice(list(guards))
                ws = tuple(tensors[k][1] for k in groups[g])
                if kind == "look":
                    assert guards[g].are(ws) is (g not in stale)
                elif g in stale:
                    assert guards[g].frame() == 0
                elif guards[g].frame():
                    # The look that confirms a frame may arm other pages than it scans: then the
                    # next one holds.
                    assert guards[g].are_by_frame(ws) or (
                        guards[g].frame() and guards[g].are_by_frame(ws)
                    )
