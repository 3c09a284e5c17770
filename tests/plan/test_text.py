"""The text form of plans: its appearance, round trips, and invalid text."""

from __future__ import annotations

import math
import random
import time
from dataclasses import fields, is_dataclass
from typing import Any

import pytest
import sympy
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils._sympy.functions import CeilDiv, FloorDiv, Max, Mod

from ingot.errors import Place, PlanTextError
from ingot.plan import ir
from ingot.plan.text import parse, register
from tests.plan.samples import SAMPLES, SampleGeometry, SampleTile

S0 = ir.Symbol("s0", ("integer", "positive"), 2, 64)
U1 = ir.Symbol("u1", ("integer",), 0)
F32 = torch.float32


def same(a: Any, b: Any) -> bool:
    """Equality, including types at any depth, NaN and signed zeros."""
    if type(a) is not type(b):
        return bool(isinstance(a, sympy.Basic) and isinstance(b, sympy.Basic) and a == b)
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, slice):
        return same((a.start, a.stop, a.step), (b.start, b.stop, b.step))
    if is_dataclass(a):
        return all(same(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))
    if isinstance(a, float | complex):
        return repr(a) == repr(b)
    return bool(a == b)


def plan_of(*ops: ir.Op, buffers: tuple[ir.Buffer, ...] = ()) -> ir.Plan:
    return ir.Plan((), ops, buffers, symbols=(S0, U1))


def comes_back(plan: ir.Plan) -> str:
    text = plan.as_text()
    assert same(parse(text), plan), text
    assert parse(text).as_text() == text
    return text


@pytest.mark.parametrize("name", SAMPLES)
def test_samples(name: str) -> None:
    plan = parse(SAMPLES[name])
    assert plan.as_text() == SAMPLES[name]
    assert parse(plan.as_text()) == plan
    assert str(plan) == plan.as_text()


def test_spaces_and_comments_do_not_matter() -> None:
    text = SAMPLES["static"]
    spread = text.replace(" {\n", "\n ; opens %x \n{ ").replace(", ", " , ; next\n ")
    assert parse(spread) == parse(text)


def test_an_empty_plan() -> None:
    assert comes_back(ir.Plan((), ())) == "plan() {\n}\n"


def test_buffers() -> None:
    s0, u1 = S0.expr, U1.expr
    buffers = (
        ir.Buffer("a", ir.Kind.ARENA, F32, (s0, 64), (64, 1), None, (3, 17), 128),
        ir.Buffer("b", ir.Kind.EAGER, torch.bfloat16, (4, s0), (1, 4), "a"),
        ir.Buffer("c.d", ir.Kind.INPUT, torch.uint8, (), ()),
        ir.Buffer("e", ir.Kind.OBJECT),
        ir.Buffer("f", ir.Kind.RESULT, torch.float8_e4m3fn, (u1 * s0 + 1, 0, 2), (2, 2, 1)),
        ir.Buffer("odd name", ir.Kind.PACKED, None, (2,), (1,)),
        ir.Buffer("wrong", ir.Kind.CONSTANT, torch.bool, (2, 3), (1,)),
    )
    lines = [line.strip() for line in comes_back(plan_of(buffers=buffers)).splitlines()]
    assert lines[1:-1] == [
        "symbol s0: 2..64 {integer, positive}",
        "symbol u1: 0.. {integer}",
        "arena %a: f32[s0, 64] live 3..17 at 128",
        "eager %b: bf16[4, s0](1, 4) of %a",
        "input %c.d: u8[]",
        "object %e",
        "result %f: float8_e4m3fn[1 + u1*s0, 0, 2]",
        'packed %"odd name": ?[2]',
        "constant %wrong: b8[2, 3](1)",
    ]


def test_ops() -> None:
    s0 = S0.expr
    view = ir.Operand("a", 8 * s0, F32, (s0, 4), (1, s0))
    ops = (
        ir.Define("s0", "x", "size", 1),
        ir.Allocate("a"),
        ir.Fold("w"),
        ir.Eager(
            ir.Call("b", "aten.add.Tensor", (ir.Ref("a"), 1.5), (("alpha", 2),)), step=(0, 3)
        ),
        ir.Eager(ir.Call("", "aten.zero_.default", (ir.Ref("a"),)), ("a",), False),
        ir.Check(sympy.Ne(s0, 3), 'not "3"', (1, 2)),
        ir.Launch("k", (), ir.Computation((), (), ())),
        ir.Free(("a", "b")),
        ir.Free(()),
        ir.Return((ir.Ref("b"), view, None, s0)),
        ir.Return(()),
    )  # fmt: skip
    assert [line.strip() for line in comes_back(plan_of(*ops)).splitlines()[4:-1]] == [
        "define s0 = size(%x, 1)",
        "allocate %a",
        "fold %w",
        "%b = aten.add.Tensor(%a, 1.5, alpha=2) step 0:3",
        "aten.zero_.default(%a) writes(%a) impure",
        r'check sym(s0 != 3), "not \"3\"" step 1:2',
        "launch @k()",
        "free %a, %b",
        "free nothing",
        "return %b, %a+(8*s0):f32[s0, 4](1, s0), None, s0",
        "return nothing",
    ]


def test_names_that_are_words_of_the_language() -> None:
    calls = [ir.Eager(ir.Call("", name, ())) for name in ("if", "step", "return", "input", "a-b")]
    call = ir.Call("nothing", "aten.f.default", (), (("two words", 1), ("x", 2)))
    ops = (*calls, ir.Eager(call), ir.Launch("a b", (), ir.Computation((), (), ())), ir.Free(()))
    comes_back(plan_of(*ops))


def test_every_sort_of_value() -> None:
    s0 = S0.expr
    values = (
        None, True, False, 0, -1, 2**70, 1.0, -0.0, 1e-300, math.inf, -math.inf, math.nan,
        "a\n\"é\u2028\ud800", complex(1, -0.0), complex(math.inf, math.nan), (), (1,), (1, (2,)),
        slice(None, 3, None), slice(s0, ir.Ref("x"), 1), torch.float16, torch.strided,
        torch.sparse_csr, torch.channels_last, torch.preserve_format, torch.device("cpu"),
        torch.device("cuda:1"), ir.Items((1, ir.Items(()))),
        ir.Entries((("k", 1), (ir.Ref("y"), ir.Ref("y")))),
        ir.Opaque("object 1"), ir.Ref("x"), ir.Ref("1 2"), ir.Pointer("x", s0 + 1), ir.Pointer("x"),
        ir.Operand("x", 0, F32, (), ()), ir.Function("k"), ir.AtMost(s0, 4),
        ir.AtMost(sympy.Ne(s0, 3), 0), s0, s0 + 1, sympy.Le(s0, 4), sympy.true, sympy.Float(0.5),
        SampleTile(1, math.nan),
        SampleGeometry((1, s0, 2 * s0), F32, None, SampleTile(2, 0.1), True),
    )  # fmt: skip
    for value in values:
        comes_back(plan_of(ir.Return((value,))))
    comes_back(plan_of(ir.Return(values)))


def test_sizes_of_every_sort() -> None:
    s0, u1 = S0.expr, U1.expr
    sizes = (
        2 * (s0 + 1), sympy.factor(2 * s0 + 2), s0 * (s0 + 1), 6 * u1 * (s0 + 1), -s0, -2 * s0 + 3,
        FloorDiv(s0 + 3, 4), Mod(u1, s0), Max(1, s0 + u1), CeilDiv(u1, 8), s0**2,
        sympy.Rational(1, 3), FloorDiv(sympy.factor(2 * s0 + 2), s0), s0 - u1,
    )  # fmt: skip
    for size in sizes:
        operand = ir.Operand("x", size, F32, (size, 1), (size, size))
        launch = ir.Launch("k", (size, ir.Pointer("x", size)), ir.Computation((), (), ()), size)
        index = ir.Affine(size, ((size, ir.Iteration(size)), (-1, ir.Quotient(ir.Affine(0), size))))
        required = ir.Requirement(index, size, "op", Place("f.py", 1))
        comes_back(plan_of(ir.Return((operand, size)), launch, ir.Segment((), (required,))))


def test_registering_attributes() -> None:
    with pytest.raises(ValueError, match="registered twice"):
        register(SampleTile)
    with pytest.raises(TypeError, match="no record of attributes"):
        register(ir.Ref)  # type: ignore[type-var]


# -- invalid text ----------------------------------------------------------------------------------

BAD = {
    "plan( {": "line 1, column 7: expected the name of a buffer",
    "plan() {": "expected the name of an op",
    "plan() { return (1) }": r"a tuple of one value ends with a comma",
    "plan() { return s0 }": "unknown name 's0'",
    "plan() { input %x: f31[] }": "'f31' is no dtype; did you mean 'f32'",
    "plan() { input %x: f32[s9] }": "not a size expression: unknown symbol 's9'",
    "plan() { symbol s0: 0.. {evil} }": "no assumption 'evil'",
    "plan() { symbol s0: 0.. {integer} symbol s0: 0.. }": "a second symbol 's0'",
    "plan() { allocate x }": "expected the name of a buffer or value: %name",
    "plan() { %a = free %b }": "free has no result",
    "plan() { return sample_tiles{rows=1} }": "no record 'sample_tiles'; did you mean 'sample_t",
    "plan() { return sample_tile{size=1} }": "sample_tile has no field 'size'",
    "plan() { return sample_tile{rows=1.5} }": "SampleTile.rows cannot be 1.5",
    "plan() { return sample_tile{scale=1.5} }": "missing 1 required positional argument",
    "plan() { return sample_tile{rows=1, rows=2} }": "a field is given twice",
    "plan() { return device(\"tpu\") }": "'tpu' is no device",
    "plan() { return 1" + "0" * 50 + " }": "a number of too many digits",
    "plan() { return \"\\x\" }": "a string that is not well formed",
    "plan() { launch @k(1, x=2) }": "not a size expression",
    "plan() { aten.f.x(a=1, 2) }": "a positional argument follows one with a name",
    "plan() { return " + "[" * 500 + "]" * 500 + " }": "nested too deeply",
    "plan() { " + "segment { " * 500 + "}" * 501: "nested too deeply",
    "plan() { input %x: f32[" + "(" * 500 + "1" + ")" * 500 + "] }": "nested too deeply",
    "plan() { input %x: f32[(1 + 2] }": "a parenthesis that is not closed|unexpected",
    "plan() { } plan() { }": "expected the end of the text",
    "plan() { parallel threads(2) { free %x } }": "a parallel region holds launches only",
    "plan() { return sym(9**9**9) }": "not a size expression",
    "": "line 1, column 1: expected 'plan'",
}  # fmt: skip


@pytest.mark.parametrize("text", BAD, ids=[each[:40] for each in BAD])
def test_bad_text(text: str) -> None:
    with pytest.raises(PlanTextError, match=BAD[text]) as caught:
        parse(text)
    assert len(str(caught.value)) < 2000


def test_an_error_shows_the_line() -> None:
    text = SAMPLES["static"].replace("f32[8, 4](1, 8) live", "f32[8, 4](1, 8 live")
    with pytest.raises(PlanTextError) as caught:
        parse(text)
    assert str(caught.value) == (
        "the text of the plan cannot be read: line 4, column 26: not a size expression: "
        "unexpected '.'\n"
        "    arena %b: f32[8, 4](1, 8 live 2..4 at 128\n"
        "                           ^"
    )


_BITS = ["%", "@", "(", ")", "{", "}", "[", "]", ",", ":", "+", "-", '"', ".", "..", "s0", "f32",
         " ", "\n", "1", "999999999999", "e", "step", "return", "#", "\\", "\x00", "é", ";",
         "sym(", "**", "//", "nan", "->", "inf"]  # fmt: skip


def mutant(rng: random.Random, text: str) -> str:
    for _ in range(rng.randint(1, 3)):
        at, length = rng.randrange(len(text) + 1), rng.choice([0, 1, 1, 2, 8, 40])
        kind = rng.choice(["insert", "delete", "copy", "swap"])
        if kind == "insert":
            text = text[:at] + rng.choice(_BITS) + text[at + rng.choice([0, 1]) :]
        elif kind == "delete":
            text = text[:at] + text[at + length :]
        elif kind == "copy":
            start = rng.randrange(len(text) + 1)
            text = text[:at] + text[start : start + length] + text[at:]
        else:
            text = text[:at] + text[at + length : at + 2 * length] + text[at + 2 * length :]
    return text


@pytest.mark.parametrize("name", SAMPLES)
def test_mutants(name: str) -> None:
    """Mutated text gives an error of ingot or a plan that round-trips, and is never slow."""
    rng = random.Random(name)
    plans = 0
    for _ in range(400):
        text = mutant(rng, SAMPLES[name])
        start = time.process_time()
        try:
            plan = parse(text)
        except PlanTextError:
            assert time.process_time() - start < 2
            continue
        plans += 1
        assert parse(plan.as_text()).as_text() == plan.as_text()
    assert plans > 10


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**64), 2**64) | st.text() | st.complex_numbers()
    | st.floats() | st.builds(ir.Ref, st.text(min_size=1)) | st.builds(ir.Opaque, st.text())
    | st.sampled_from([torch.int8, torch.strided, torch.contiguous_format, torch.device("cpu")]),
    lambda inner: st.lists(inner, max_size=3).map(tuple)
    | st.lists(inner, max_size=3).map(lambda found: ir.Items(tuple(found)))
    | st.lists(st.tuples(inner, inner), max_size=2).map(lambda found: ir.Entries(tuple(found)))
    | st.builds(slice, inner, inner, inner),
    max_leaves=8,
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(values, st.text(), st.dictionaries(st.text(min_size=1), values, max_size=2))
def test_calls_with_any_arguments(value: Any, target: str, kwargs: dict[str, Any]) -> None:
    call = ir.Call("r", target, (value,), tuple(kwargs.items()))
    comes_back(plan_of(ir.Eager(call), ir.Return((value, value))))
