"""The verifier: what it accepts, and its messages."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from ingot.errors import PlanError
from ingot.plan.ir import Free, Plan
from ingot.plan.text import parse
from ingot.plan.verify import verify
from tests.plan.samples import BRANCHES, EAGER, LINEAR, LOOPS, SAMPLES, STATIC

SIZES = {"s0": 5, "u0": 3}


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_are_valid(name: str) -> None:
    plan = parse(SAMPLES[name])
    verify(plan)
    verify(plan, SIZES)


def test_the_message_shows_the_lines_around() -> None:
    with pytest.raises(PlanError) as caught:
        verify(
            parse(
                STATIC.replace(
                    "launch @pointwise.add.1(%a, %c, 2)", "launch @pointwise.add.1(%a, %d, 2)"
                )
            )
        )
    assert str(caught.value) == (
        "internal error: invalid plan: no buffer %d; known: a, b, c, x, y\n"
        "        %1 -> %b:f32[8, 4](1, 8)\n"
        "      }\n"
        "    }\n"
        ">   launch @pointwise.add.1(%a, %d, 2) {\n"
        "      computes {\n"
        "        %0 = %a+32:f32[3, 8]\n"
        "        %2 = %a:f32[1, 8]"
    )


def _removed(text: str, start: str, end: str) -> str:
    """Remove the lines from the first that begins with `start` to the next that is `end`."""
    lines = text.splitlines(keepends=True)
    first = next(k for k, line in enumerate(lines) if line.startswith(start))
    last = next(k for k, line in enumerate(lines) if k > first and line.rstrip() == end)
    return "".join((*lines[:first], *lines[last + 1 :]))


FIRST_ADD_GONE = _removed(STATIC, "  launch @pointwise.add.1(%x, %a", "  }")
ELSE_GONE = _removed(BRANCHES, "    } else {", "      }")
WRITE_BACK = "aten.copy_.default(%x, %sum) writes(%x) impure\n  "
NAMED = "%first, %pick, %chosen"

WRONG = [
    # flow
    (FIRST_ADD_GONE, "", "", "%a is read, but nothing"),
    (STATIC, "  return %y\n", "  free %y\n  return %y\n", "%y is used after it was freed"),
    (STATIC, "  return %y\n", "  free %x\n  free %x\n  return %y\n", "%x is used after it was"),
    (STATIC, "  return %y\n", "  return %y\n  free %x\n", "it is never reached"),
    (STATIC, "  return %y\n", "", "a path through the plan has no return"),
    (STATIC, "  allocate %y\n", "", "%y is not there yet"),
    (STATIC, "  allocate %y\n", "  allocate %y\n  allocate %y\n", "%y is made a second time"),
    (STATIC, "  allocate %y\n", "  allocate %a\n", "%a is arena memory, which this op does not"),
    (STATIC, "  return %y\n", "  free %a\n  return %y\n", "%a is no tensor or object of its own"),
    (BRANCHES, "    free %big, %big2\n", "    free %big, %y\n", "%y is used after it was freed"),
    (ELSE_GONE, "", "", "%u is read, but nothing"),
    (BRANCHES, "  if %flag {", "  if %x {", "it branches on what is no boolean"),
    (BRANCHES, "  define s0 = size(%x, 0)\n", "", "no value yet"),
    (BRANCHES, "size(%x, 0)", "size(%x, 1)", "s0 is no size of dimension 1 of %x"),
    (LOOPS, "%2 -> %out:f32[4]\n", "%1 -> %t:f32[4]\n", "%out is read, but nothing"),
    (LOOPS, "-> %go:b8[]", "-> %k1:b8[]", "%go is read, but nothing"),
    (LOOPS, "loop count(3)", "loop", "a loop has a count, or a test and its flag"),
    (LOOPS, "in %m0, %m1", "in %m0, %m0", "carried values share memory"),
    (LOOPS, "-> %kn:i64[]", "-> %ko:i64[]", "%ko is a cursor to read through"),
    (LINEAR, "threads(s0 // 2) step 0:1", "step 0:1", "launches that threads can share"),
    (LINEAR, "  free %w\n", "", None),
    (LINEAR, "  segment {\n", "  free %w\n  segment {\n", "%packed is made of %w, which was freed"),
    (EAGER, "  fold %twice\n", "", "%twice is not there yet"),
    (EAGER, "writes(%same) impure", "impure", "aten.fill_.Scalar writes %same"),
    (EAGER, "writes(%same) impure", "writes(%same)", "an op that writes is not pure"),
    (EAGER, "pin_memory=False) impure", "pin_memory=False)", "generates random numbers"),
    (EAGER, "  free %pair\n", "  free %pair, %x\n", "%x is used after it was freed"),
    (EAGER, "%x, %twice)) carried(0)", "%x, %twice)) carried(1)", "a branch has no such parts"),
    (EAGER, "      return %c\n", "", "a path through the plan has no return"),
    (EAGER, "of %same\n", "of %sum\n", "%pick is no view of %sum"),
    (EAGER, NAMED, "%first_1", "no buffer %first_1; did you mean 'first'"),
    # mutation
    (EAGER, "return %first", WRITE_BACK + "return %x, %first", None),
    (EAGER, "%branched =", WRITE_BACK + "%branched =", "%x is read after its content was replaced"),
    # launches
    (
        LINEAR,
        "%scratch, @pointwise.relu.77, s0)",
        "%scratch, @pointwise.relu.77)",
        "5 arguments for 6 parameters",
    ),
    (LINEAR, "%scratch, @pointwise.relu.77, s0)", "%scratch, 0, s0)", None),
    (
        LINEAR,
        "%scratch, @pointwise.relu.77, s0)",
        "%scratch, s0, s0)",
        "epilogue is the address of a kernel",
    ),
    (LINEAR, "launch @matmul.mm.3f2a(%x", "launch @matmul.mm.3f2a(0", "a is a pointer, not 0"),
    (
        LINEAR,
        "launch @matmul.mm.3f2a(%x",
        "launch @pointwise.rel.77(%x",
        "no kernel @pointwise.rel.77; did you mean 'pointwise.relu.77'",
    ),
    (LINEAR, "%h, %scratch", "%bias, %scratch", "out is written, but %bias is constant"),
    (LINEAR, "a: r f32", "a: r bf16", "a is of torch.bfloat16, %x torch.float32"),
    (LINEAR, "%b = %w:f32[32, 64]\n", "%b = %bias:f32[32]\n", "the computation reads %bias"),
    (
        STATIC,
        "launch @pointwise.add.1(%x, %b, 2)",
        "launch @pointwise.add.1(%x, %c, 2)",
        "the computation writes %b",
    ),
    (
        STATIC,
        "launch @pointwise.add.1(%x, %a, 1)",
        "launch @pointwise.add.1(%y, %a, 1)",
        "the computation reads %x",
    ),
    (STATIC, "Tensor(%0, 1, alpha=2)", "Tensor(%5, 1)", "%5 has no value"),
    (STATIC, "in: r f32, out: w f32, k", "in: r f32, out: r f32, k", "the computation writes %a"),
    # memory
    (STATIC, "%0 = %a+32:f32[3, 8]", "%0 = %a+64:f32[3, 8]", "bytes 64 to 160 of %a, which has"),
    (STATIC, "%0 = %a+32:f32[3, 8]", "%0 = %a+30:f32[3, 8]", "an offset of 30 bytes in %a"),
    (STATIC, "%0 = %a+32:f32[3, 8]", "%0 = %a+32:i32[3, 8]", "%a holds torch.float32"),
    (STATIC, "live 1..3 at 0", "live 1..3 at 128", "%b overlaps %a in the arena"),
    (STATIC, "live 1..3 at 0", "live 1..3 at 32", "%a lies at 32 in the arena"),
    (STATIC, "live 1..3 at 0", "live 2..3 at 0", "%a is in use at 1..3"),
    (STATIC, "live 1..3 at 0", "live 1..3", "%a lies at None in the arena"),
    (STATIC, "live 1..3 at 0", "", "it has no lifetime"),
    (STATIC, "input %x: f32[4, 8]", "input %x: f32[4, 7]", "which has 112"),
    (
        STATIC,
        "@pointwise.add.1(%x, %a, 1)",
        "@pointwise.add.1(%x, %a+128, 1)",
        "a pointer to byte 128 of %a",
    ),
    (
        STATIC,
        "@pointwise.sum.2(%b, %c, %y)",
        "@pointwise.sum.2(%b, %c, %c)",
        "the computation writes %y",
    ),
    (LOOPS, "%2 -> %out:", "%2 -> %t:", "%out is read, but nothing"),
    (LOOPS, "by 16 w", "by 32 w", "3 slices of 32 bytes leave %all"),
    (LOOPS, "by 16 w", "by 8 w", "the slices of %all overlap"),
    (LOOPS, "%m1: f32[4]", "%m1: f32[5]", "changes its shape"),
    # records
    (LINEAR, "constant %bias: f32[32]", "constant %bias: f32[32](1, 2)", "1 sizes, but 2 strides"),
    (LINEAR, "plan(%x, %w)", "plan(%x)", "it is no input of the plan"),
    (LINEAR, "plan(%x, %w)", "plan(%x, %w, %x)", "2 inputs are called %x"),
    (LINEAR, "results %1", "results %2", "nothing makes its result %2"),
    (LINEAR, "of (%w) {", "of (%h) {", "%h is neither an input nor a constant"),
    (LINEAR, "recipe %packed of", "recipe %bias of", "no recipe says how it is made"),
    (LINEAR, "2..1024", "2..1", "its range is empty"),
    (LINEAR, "a: r f32", "a: q f32", "unknown access 'q'"),
    (BRANCHES, "object %n", "object %n: f32[]", "an object has no dtype"),
]


@pytest.mark.parametrize("case", range(len(WRONG)))
def test_what_is_wrong(case: int) -> None:
    text, old, new, message = WRONG[case]
    assert old in text
    plan = parse(text.replace(old, new, 1))
    if message is None:
        verify(plan, SIZES)
        return
    with pytest.raises(PlanError, match=message) as caught:
        verify(plan)
    assert "\n>" in str(caught.value)


def test_sizes_tell_more() -> None:
    text = LINEAR.replace("%y:f32[s0, 32]\n", "%y:f32[(2*s0), 32]\n")
    verify(parse(text))
    with pytest.raises(PlanError, match="bytes 0 to 1280 of %y, which has 640"):
        verify(parse(text), {"s0": 5})


MALFORMED: list[tuple[str, Callable[[Plan], Plan], str, str]] = [
    ("live", lambda p: with_buffer(p, "a", lifetime=(1,)), "Buffer.lifetime", "Buffer(name='a'"),
    ("shape", lambda p: with_buffer(p, "x", shape=4), "Buffer.shape", "Buffer(name='x'"),
    ("kind", lambda p: with_buffer(p, "x", kind="input"), "Buffer.kind", "Buffer(name='x'"),
    ("op", lambda p: replace(p, ops=(Free(("x", 3)), *p.ops)), "Free.buffers", "Free(buffers="),
    ("buffers", lambda p: replace(p, buffers=5), "Plan.buffers is not a tuple", "plan(%x)"),
    ("inputs", lambda p: replace(p, inputs=None), "Plan.inputs is not a tuple", "plan()"),
]  # fmt: skip


def with_buffer(plan: Plan, name: str, **changes: Any) -> Plan:
    changed = (replace(b, **changes) if b.name == name else b for b in plan.buffers)
    return replace(plan, buffers=tuple(changed))


@pytest.mark.parametrize("case", MALFORMED, ids=lambda case: case[0])
def test_a_malformed_record_is_shown_among_its_neighbours(case: Any) -> None:
    """It has no text of its own, so Python's is shown."""
    _, change, message, shown = case
    with pytest.raises(PlanError, match=message) as caught:
        verify(change(parse(STATIC)))
    _, *around = str(caught.value).splitlines()
    (culprit,) = [line for line in around if line.startswith(">")]
    assert shown in culprit
    assert len(around) > 2


GENERATED = """
plan(%x) {
  symbol s0: 1..64 {integer, positive}
  symbol s1: 1..64 {integer, positive}
  input %x: f32[s0, s1]
  result %y: f32[s0, s1]
  kernel @loops.ab: loops #ab (b0: r f32, b1: w f32, n0, n1)

  define s0 = size(%x, 0)
  define s1 = size(%x, 1)
  allocate %y
  segment {
    parallel threads(max(s0, s1)) {
      launch @loops.ab(%x, %y, s0, s1) threads(s0) {
        computes {
          %0 = %x:f32[s0, s1]
          %1 = aten.exp.default(%0)
          %1 -> %y:f32[s0, s1]
        }
      }
      launch @loops.ab(%x, %y, s0, s1) threads(s1) {
        computes {
          %0 = %x:f32[s0, s1]
          %1 = aten.sin.default(%0)
          %1 -> %y:f32[s0, s1]
        }
      }
    }
  }
  free %x
  return %y
}
"""
FIRST = "launch @loops.ab(%x, %y, s0, s1) threads(s0)"


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("b0: r f32, b1", "b1: r f32, b0", "generated loops take b0, b1, …, then n0, n1, …"),
        ("b1: w f32, n0", "n0, b1: w f32", "generated loops take b0, b1, …, then n0, n1, …"),
        ("b0: r f32", "b0: r", "b0 is no buffer of generated loops"),
        ("b0: r f32", "b0: r f32?", "b0 is no buffer of generated loops"),
        (FIRST, FIRST.replace("s0, s1", "2*s0, s1"), "generated loops take symbols"),
        (FIRST, FIRST.replace("s0, s1", "4, s1"), "generated loops take symbols"),
        (FIRST, FIRST.replace("s0, s1", "s1, s1"), "generated loops take a symbol twice"),
        ("parallel threads(max(s0, s1))", "parallel threads(s0)", "are not the most that a launch"),
        ("s1) threads(s1) {", "s1) {", "launches that threads can share"),
    ],
)
def test_generated_loops(before: str, after: str, message: str) -> None:
    verify(parse(GENERATED), {"s0": 3, "s1": 4})
    assert before in GENERATED
    with pytest.raises(PlanError, match=re.escape(message)):
        verify(parse(GENERATED.replace(before, after, 1)))
