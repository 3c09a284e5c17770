"""The builder of native code: loops, branches, blocks and calls compute what they say."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Sequence

import pytest
import torch

from ingot.codegen.jit.jit import compile_module
from ingot.codegen.jit.lazy import Once
from ingot.codegen.jit.native import Native
from ingot.codegen.mlir.blocks import BlockBuilder
from ingot.codegen.mlir.builder import Builder
from ingot.ops.values import Ptr, Val, Value

I64 = torch.int64
WORDS, COUNT = Ptr("%words"), Val("%count", I64)
LISTS: list[list[int]] = [[], [7], [3, -4, 5], list(range(-9, 40))]


def total() -> str:
    """The sum and the number of positive words, in a loop that carries both; their difference."""
    b = Builder(1)
    zero, one = b.const(0, I64), b.const(1, I64)

    def step(k: Val, carried: Sequence[Val]) -> list[Val]:
        word, (sums, number) = b.load_word(b.word_at(WORDS, k)), carried
        return b.branches(
            b.cmp("gt", word, zero),
            lambda: [b.add(sums, word), b.add(number, one)],
            lambda: [sums, number],
        )

    sums, number = b.carrying((zero, COUNT, one), [zero, zero], step, unrolled=False)
    return b.function("total", [WORDS, COUNT], b.sub(sums, number))


def last() -> str:
    """The last word before the first 5, found by a while loop over addresses; -1 without one."""
    b = Builder(1)
    end, found = b.word_at(WORDS, COUNT), b.slot(I64)
    b.store_register(found, b.const(-1, I64))

    def goes_on(state: Sequence[Ptr]) -> Val:
        more = b.not_(b.is_same(state[0], end))
        no = b.const(0, torch.bool)
        return b.branch(more, lambda: b.cmp("ne", b.load_word(state[0]), five), lambda: no)

    def step(state: Sequence[Ptr]) -> list[Ptr]:
        b.store_register(found, b.load_word(state[0]))
        return [b.word_at(state[0], 1)]

    five = b.const(5, I64)
    b.repeat_while([WORDS], goes_on, step)
    return b.function("last", [WORDS, COUNT], b.load_word(found))


def first_negative() -> str:
    """The position of the first negative word, or -1: a loop of blocks that is left early."""
    b = BlockBuilder()
    place = Val("%place", I64)
    with b.rounds(COUNT) as k:
        word = b.load_word(b.word_at(WORDS, k))
        b.jump_if(b.cmp("lt", word, b.const(0, I64)), "found", "next", k)
        b.block("next")
    b.jump("found", b.const(-1, I64))
    b.block("found", place)
    return b.function("first_negative", [WORDS, COUNT], place)


def called() -> str:
    """Calls `total` by its name and by its address; memory is copied to the stack first."""
    b = Builder(1)
    room = b.slot(I64, count=64)
    b.copy(room, WORDS, b.mul(COUNT, b.const(8, I64)))
    arguments: list[Value] = [room, COUNT]
    direct = b.invoke_value("total", arguments, I64)
    indirect = b.invoke_value(b.address_of("total"), arguments, I64)
    return b.function("called", [WORDS, COUNT], b.add(direct, indirect))


@Once
def native() -> Native:
    texts = {f.__name__: f() for f in (total, last, first_negative, called)}
    return compile_module([], texts)


def run(name: str, words: Sequence[int]) -> int:
    kind = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)
    table = array("q", words)
    return int(kind(native().addresses[name])(table.buffer_info()[0], len(words)))


@pytest.mark.parametrize("words", LISTS)
def test_loops_and_branches(words: list[int]) -> None:
    positive = [word for word in words if word > 0]
    assert run("total", words) == sum(positive) - len(positive)
    assert run("called", words) == 2 * (sum(positive) - len(positive))


@pytest.mark.parametrize("words", LISTS)
def test_while_over_addresses(words: list[int]) -> None:
    before = words[: words.index(5)] if 5 in words else words
    assert run("last", words) == (before[-1] if before else -1)


@pytest.mark.parametrize("words", LISTS)
def test_blocks(words: list[int]) -> None:
    assert run("first_negative", words) == next((k for k, w in enumerate(words) if w < 0), -1)


def test_a_value_knows_its_type_wherever_it_is_used() -> None:
    b = Builder(8)
    x = b.load(Ptr("%in"), torch.bfloat16, 8)
    b.store(Ptr("%out"), b.add(x, x))
    b.invoke("f", [Ptr("%in"), COUNT, x])
    assert b.lines[-1].strip() == (
        f"llvm.call @f(%in, %count, {x.name}) : (!llvm.ptr, i64, vector<8xf32>) -> ()"
    )
    assert b.lines[-2].strip().endswith("{alignment = 2 : i64} : vector<8xi16>, !llvm.ptr")


def test_constants_are_shared_but_not_those_that_only_compare_equal() -> None:
    b = Builder(1)
    assert b.const(3, I64) is b.const(3, I64)
    assert b.const(1, I64).name != b.const(1, torch.bool).name
    zeros = {b.const(value, torch.float32).name for value in (0.0, -0.0, 0)}
    assert len(zeros) == 2
    assert b.const(True, torch.bool).name == b.const(1, torch.bool).name
