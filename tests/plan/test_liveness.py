"""Lifetimes of buffers: rules for loops by example, and properties on traces of random plans."""

from __future__ import annotations

import random
from collections.abc import Iterator

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ingot.plan import ir
from ingot.plan.liveness import lifetimes, uses

F32 = torch.float32


def operand(name: str) -> ir.Operand:
    return ir.Operand(name, 0, F32, (4,), (1,))


def launch(out: str, *inputs: str, scratch: str | None = None) -> ir.Launch:
    named = [(f"v{k}", operand(name)) for k, name in enumerate(inputs)]
    pointers = [ir.Pointer(name) for name in (*inputs, out, *([scratch] if scratch else []))]
    return ir.Launch("k", tuple(pointers), ir.Computation(tuple(named), (), (("o", operand(out)),)))


def flag(name: str) -> ir.Pointer:
    return ir.Pointer(name)


def test_straight_line() -> None:
    ops = (launch("a", "x"), launch("b", "a", scratch="s"), ir.Free(("a",)), launch("c", "b"))
    found = lifetimes(ops)
    assert found == {"x": (0, 0), "a": (0, 1), "b": (1, 3), "s": (1, 1), "c": (3, 3)}


def test_branches_follow_each_other() -> None:
    ops = (
        launch("a", "x"),
        ir.Branch(flag("f"), (launch("t", "x"), launch("b", "t")), (launch("b", "a"),)),
        launch("c", "b"),
    )
    found = lifetimes(ops)
    assert found["f"] == (1, 1)
    assert found["t"] == (2, 3)
    assert found["a"] == (0, 4)
    assert found["b"] == (3, 5)


def test_a_loop_keeps_what_it_shares_with_its_surroundings() -> None:
    body = (launch("t", "a"), launch("new", "t", "old"))
    carried = ir.Carried(operand("x"), "old", "new", ("m0", "m1"), operand("r"))
    test = (launch("flag", "old", "b"),)
    loop = ir.Loop((carried,), (), body, test=test, flag=flag("flag"))
    ops = (launch("a", "x"), launch("b", "x"), loop, launch("c", "r"))
    found = lifetimes(ops)
    assert found["a"] == (0, 5) and found["b"] == (1, 5)  # read in every iteration
    assert found["t"] == (4, 5)  # used only inside the loop
    assert found["m0"] == found["m1"] == found["flag"] == found["old"] == found["new"] == (2, 5)
    assert found["r"] == (5, 6)  # copied at the end of the loop
    assert found["x"] == (0, 2)


def test_what_a_loop_makes_for_later_lives_through_it() -> None:
    inner = ir.Loop((), (), (launch("t", "x"), launch("a", "t")), count=3)
    ops = (ir.Loop((), (), (inner, launch("b", "a")), count=2), launch("c", "b"))
    found = lifetimes(ops)
    assert found["t"] == (2, 3)
    assert found["a"] == (1, 4)  # through the inner loop
    assert found["b"] == (0, 5)  # through the outer loop


def test_slices_and_empty_loops() -> None:
    sliced = ir.Sliced("row", ir.Pointer("stack"), 16, "w")
    ops = (ir.Loop((), (sliced,), (launch("row", "x"),), count=3), ir.Loop((), (), (), count=1))
    found = lifetimes(ops)
    assert found["stack"] == found["row"] == (0, 1)
    assert list(uses(ops[0])) == [("stack", "w"), ("row", "make")]


def test_eager_writes() -> None:
    def call(target: str, *args: ir.Ref) -> ir.Eager:
        return ir.Eager(ir.Call("", target, args), ("a",), pure=False)

    copied = call("aten.copy_.default", ir.Ref("a"), ir.Ref("b"))
    added = call("aten.add_.Tensor", ir.Ref("a"), ir.Ref("b"))
    assert list(uses(copied)) == [("b", "r"), ("a", "w")]
    assert list(uses(added)) == [("b", "r"), ("a", "rw")]


def test_arguments_of_any_structure() -> None:
    values = (ir.Items((ir.Ref("a"), 1)), ir.Entries((("k", ir.Ref("b")),)), operand("c"))
    assert [name for name, _ in uses(ir.Return(values))] == ["a", "b", "c"]


# -- traces of random plans ------------------------------------------------------------------------


def random_block(rng: random.Random, known: list[str], depth: int) -> tuple[ir.Op, ...]:
    """Ops that read only values written on every path before them; extends `known`."""
    found: list[ir.Op] = []
    for _ in range(rng.randint(1, 4)):
        kind = rng.choice(["launch", "launch", "launch", "branch", "loop"]) if depth else "launch"
        if kind == "launch":
            name = rng.choice([f"b{rng.randint(0, 9)}", *known])
            found.append(launch(name, *rng.sample(known, min(2, len(known)))))
            known.append(name)
        elif kind == "branch":
            one, other = list(known), list(known)
            sides = random_block(rng, one, depth - 1), random_block(rng, other, depth - 1)
            found.append(ir.Branch(flag(rng.choice(known)), *sides))
            known.extend(name for name in one if name in other and name not in known)
        else:
            found.append(ir.Loop((), (), random_block(rng, list(known), depth - 1), count=2))
    return tuple(found)


def trace(rng: random.Random, ops: tuple[ir.Op, ...], at: int = 0) -> Iterator[tuple[int, ir.Op]]:
    """One possible execution: (position, op)."""
    for op in ops:
        size = sum(1 for _ in ir.walk((op,)))
        yield at, op
        if isinstance(op, ir.Branch):
            if rng.random() < 0.5:
                yield from trace(rng, op.then, at + 1)
            else:
                yield from trace(rng, op.otherwise, at + 1 + sum(1 for _ in ir.walk(op.then)))
        elif isinstance(op, ir.Loop):
            for _ in range(rng.randint(0, 3)):
                yield from trace(rng, op.body, at + 1)
        at += size


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32))
def test_nothing_is_overwritten_before_it_is_read(seed: int) -> None:
    """A buffer's lifetime includes every position at which its value is still needed."""
    rng = random.Random(seed)
    ops = (launch("x0"), launch("x1"), *random_block(rng, ["x0", "x1"], 3))
    found = lifetimes(ops)
    for _ in range(4):
        run = list(trace(rng, ops))
        needed: set[str] = set()
        for at, op in reversed(run):
            named = list(uses(op))
            needed |= {name for name, _ in named}
            assert all(found[name][0] <= at <= found[name][1] for name in needed), (at, needed)
            needed -= {name for name, access in named if access == "w"}
            needed |= {name for name, access in named if access == "r"}
