"""Checks of each record of a plan by itself: types of fields, names, symbols, buffers and
recipes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

import sympy

from ingot.errors import did_you_mean
from ingot.plan.ir import (
    LOOPS,
    NOWHERE,
    Buffer,
    Call,
    Kernel,
    Kind,
    Loop,
    Opaque,
    Plan,
    Recipe,
    Ref,
    walk,
)
from ingot.plan.liveness import uses
from ingot.plan.record_fields import named_in, symbols_in, type_fault
from ingot.plan.schemas import verify_schema
from ingot.plan.values import NAME, TARGET, WORD
from ingot.plan.verify_context import Fault, result_of
from ingot.program.expressions import ASSUMPTIONS

DIGEST = re.compile(r"[0-9a-f]*")
_ACCESS = frozenset({"r", "w", "rw", "", "call"})
_WITH_LAYOUT = frozenset({Kind.INPUT, Kind.FOLDED, Kind.ARENA, Kind.RESULT, Kind.CURSOR})


def verify_records(plan: Plan) -> None:
    _verify_types(plan)
    _verify_names(plan)
    for buffer in plan.buffers:
        _verify_buffer(plan, buffer)
    for kernel in plan.kernels:
        _verify_kernel(kernel)
        for parameter in kernel.parameters:
            if parameter.access not in _ACCESS:
                raise Fault(f"@{kernel.name}", f"unknown access {parameter.access!r}")
            if parameter.dtype is not None and parameter.access in ("", "call"):
                raise Fault(f"@{kernel.name}", f"{parameter.name} has a dtype but is no pointer")
            if parameter.optional and not parameter.access:
                raise Fault(f"@{kernel.name}", f"the number {parameter.name} cannot be null")
        if kernel.family == LOOPS:
            _verify_loops(kernel)
    _verify_recipes(plan)
    _verify_symbols(plan)
    _verify_uses(plan)


# -- types of fields -------------------------------------------------------------------------------


def _verify_types(plan: Plan) -> None:
    for kind in ("inputs", "ops", "buffers", "kernels", "recipes", "symbols"):
        if not isinstance(getattr(plan, kind), tuple):
            raise Fault(None, f"Plan.{kind} is not a tuple")
    for record in (*plan.symbols, *plan.buffers, *plan.kernels, *plan.recipes):
        if wrong := type_fault(record):
            raise Fault(_subject(record), wrong)
    for position, op in enumerate(walk(plan.ops)):
        if wrong := type_fault(op) or _step_fault(op) or _set_fault(op):
            raise Fault(position, wrong)


def _step_fault(op: Any) -> str | None:
    for step in (getattr(op, "step", NOWHERE), *getattr(op, "covers", ())):
        if step != NOWHERE and min(step) < 0:
            return f"{step} is not a step of a version"
    return None


def _set_fault(op: Any) -> str | None:
    """Lists without repeated elements."""
    for name in ("writes", "requires", "requirements", "covers", "faults"):
        several = getattr(op, name, ())
        if len(several) > 1 and len(set(several)) < len(several):
            return f"{type(op).__name__}.{name} names something twice"
    return None


def _subject(record: Any) -> str:
    name = getattr(record, "name", None) or getattr(record, "buffer", "")
    sign = {"Buffer": "%", "Kernel": "@", "Recipe": "recipe %"}.get(type(record).__name__, "")
    return f"{sign}{name}"


# -- names -----------------------------------------------------------------------------------------


def _verify_names(plan: Plan) -> None:
    _unique(("%" + buffer.name for buffer in plan.buffers), "buffers")
    _unique(("@" + kernel.name for kernel in plan.kernels), "kernels")
    _unique((symbol.name for symbol in plan.symbols), "symbols")
    _unique(("recipe %" + recipe.buffer for recipe in plan.recipes), "recipes")
    _unique(("%" + name for name in plan.inputs), "inputs")
    named: list[Any] = [*plan.buffers, *plan.kernels]
    for record in named:
        if not NAME.fullmatch(record.name):
            raise Fault(_subject(record), f"not a name: {record.name!r}")


def _unique(names: Iterable[str], what: str) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            raise Fault(name, f"{count} {what} are called {name}")


def _verify_buffer(plan: Plan, buffer: Buffer) -> None:
    def fail(why: str) -> None:
        raise Fault(f"%{buffer.name}", why)

    if buffer.kind is Kind.OBJECT and (buffer.dtype is not None or buffer.shape):
        fail("an object has no dtype and no shape")
    if buffer.kind in _WITH_LAYOUT and buffer.dtype is None:
        fail(f"memory of kind {buffer.kind.value} needs a dtype")
    if any(isinstance(n, int) and n < 0 for n in (*buffer.shape, *buffer.strides)):
        fail("sizes and strides must not be negative")
    if buffer.alias is not None and buffer.kind not in (Kind.EAGER, Kind.OBJECT):
        fail("only the result of an eager op may be an alias")
    if buffer.kind is not Kind.ARENA and (buffer.lifetime, buffer.offset) != (None, None):
        fail("only arena memory may have a lifetime and an offset")
    if (buffer.kind is Kind.INPUT) and buffer.name not in plan.inputs:
        fail("it is no input of the plan")


def _verify_kernel(kernel: Kernel) -> None:
    """Machine code is named by family and content."""
    family, _, rest = kernel.name.partition(".")
    if not DIGEST.fullmatch(kernel.digest):
        raise Fault(f"@{kernel.name}", f"not a digest: {kernel.digest!r}")
    if family != kernel.family or kernel.digest not in rest.split("."):
        named = f"{kernel.family} and {kernel.digest}"
        raise Fault(f"@{kernel.name}", f"its name does not consist of {named}")


def _verify_loops(kernel: Kernel) -> None:
    """Generated loops: typed buffers b0, b1, …, then symbols n0, n1, …"""
    buffers = [p for p in kernel.parameters if p.access]
    symbols = [p for p in kernel.parameters if not p.access]
    names = [f"b{k}" for k in range(len(buffers))] + [f"n{k}" for k in range(len(symbols))]
    if [parameter.name for parameter in kernel.parameters] != names:
        raise Fault(f"@{kernel.name}", "generated loops take b0, b1, …, then n0, n1, …")
    for parameter in buffers:
        if parameter.access not in ("r", "w") or parameter.dtype is None or parameter.optional:
            raise Fault(f"@{kernel.name}", f"{parameter.name} is no buffer of generated loops")


# -- recipes ---------------------------------------------------------------------------------------


def _verify_recipes(plan: Plan) -> None:
    buffers = plan.by_name()
    made = {recipe.buffer for recipe in plan.recipes}
    for buffer in plan.buffers:
        if buffer.kind in (Kind.PACKED, Kind.FOLDED) and buffer.name not in made:
            raise Fault(f"%{buffer.name}", "no recipe says how it is made")
    for recipe in plan.recipes:
        subject = f"recipe %{recipe.buffer}"
        target = buffers.get(recipe.buffer)
        if target is None or target.kind not in (Kind.PACKED, Kind.FOLDED):
            raise Fault(subject, f"%{recipe.buffer} is neither packed nor folded")
        for name in recipe.sources:
            source = buffers.get(name)
            if source is None or source.kind not in (Kind.INPUT, Kind.CONSTANT):
                raise Fault(subject, f"%{name} is neither an input nor a constant")
        _verify_recipe(recipe, target, subject)


def _verify_recipe(recipe: Recipe, target: Buffer, subject: str) -> None:
    known = {f"s{k}" for k in range(len(recipe.sources))}
    for call in recipe.calls:
        verify_call(call, known, subject)
    used = {*named_refs(recipe.calls), *recipe.results}
    if unread := [name for k, name in enumerate(recipe.sources) if f"s{k}" not in used]:
        raise Fault(subject, f"its source %{unread[0]} is not read")
    for name in recipe.results:
        if name not in known:
            raise Fault(subject, f"nothing makes its result %{name}")
    if target.kind is Kind.PACKED:
        if recipe.packing is None or not recipe.results:
            raise Fault(subject, "a packed buffer needs results and a packing")
        if symbols_in(recipe.packing):
            raise Fault(subject, "weights are packed once for all sizes: no symbols allowed")
        if getattr(recipe.packing, "dtype", target.dtype) is not target.dtype:
            raise Fault(subject, f"it packs {recipe.packing.dtype}, not {target.dtype}")
    elif recipe.packing is not None or len(recipe.results) != 1:
        raise Fault(subject, "a folded buffer needs exactly one result and no packing")


def named_refs(value: Any) -> Iterable[str]:
    return (named.name for named in named_in(value) if isinstance(named, Ref))


def verify_call(call: Call, known: set[str], subject: Any) -> None:
    """Checks a call of a recipe or computation, then adds its result to `known`."""
    verify_target(call, subject)
    verify_schema(call, subject)
    for named in named_in((call.args, call.kwargs)):
        if isinstance(named, Ref) and named.name not in known:
            guess = did_you_mean(named.name, known)
            raise Fault(subject, f"%{named.name} has no value at this point; {guess}")
    if not call.result or call.result in known:
        raise Fault(subject, f"the result of {call.target} needs a unique name")
    known.add(call.result)


def verify_target(call: Call, subject: Any) -> None:
    if not TARGET.match(call.target) or "." not in call.target:
        raise Fault(subject, f"{call.target!r} is not the name of an op")
    if len(dict(call.kwargs)) < len(call.kwargs):
        raise Fault(subject, f"{call.target} is given an argument twice")
    for key, _ in call.kwargs:
        if not WORD.fullmatch(key):
            raise Fault(subject, f"{key!r} is not the name of an argument")
    for named in named_in((call.args, call.kwargs)):
        if isinstance(named, Opaque) and not NAME.fullmatch(named.name):
            raise Fault(subject, f"opaque({named.name!r}) is not a name")


# -- symbols ---------------------------------------------------------------------------------------


def _verify_symbols(plan: Plan) -> None:
    declared = {}
    for symbol in plan.symbols:
        if not WORD.fullmatch(symbol.name):
            raise Fault(symbol.name, f"not the name of a symbol: {symbol.name!r}")
        if unknown := set(symbol.assumptions).difference(ASSUMPTIONS):
            raise Fault(symbol.name, f"unknown assumptions: {', '.join(sorted(unknown))}")
        if len(set(symbol.assumptions)) < len(symbol.assumptions):
            raise Fault(symbol.name, "it has an assumption twice")
        if symbol.upper is not None and symbol.upper < symbol.lower:
            raise Fault(symbol.name, "its range is empty")
        declared[symbol.name] = symbol.expr
    for record in (*plan.buffers, *plan.recipes):
        _known_symbols(record, declared, _subject(record))
    for position, op in enumerate(walk(plan.ops)):
        _known_symbols(op, declared, position)


def _known_symbols(record: Any, declared: dict[str, sympy.Symbol], subject: Any) -> None:
    for symbol in symbols_in(record):
        known = declared.get(symbol.name)
        if known is None:
            raise Fault(subject, f"the symbol {symbol} is not declared")
        if known is not symbol and known != symbol:
            raise Fault(subject, f"the symbol {symbol} is declared with other assumptions")


# -- uses ------------------------------------------------------------------------------------------


def _verify_uses(plan: Plan) -> None:
    buffers = plan.by_name()
    for name in plan.inputs:
        known = buffers.get(name)
        if known is None or known.kind not in (Kind.INPUT, Kind.OBJECT):
            raise Fault(f"%{name}", f"the input %{name} is not a buffer of kind input or object")
    loops: dict[str, int] = {}
    for position, op in enumerate(walk(plan.ops)):
        for name, _ in uses(op):
            if name not in buffers:
                raise Fault(position, f"no buffer %{name}; {did_you_mean(name, buffers)}")
        if isinstance(op, Loop):
            for name in [n for c in op.carried for n in (c.old, c.new)] + [
                piece.cursor for piece in op.sliced
            ]:
                if buffers[name].kind is not Kind.CURSOR or name in loops:
                    raise Fault(position, f"%{name} is not a cursor of this loop alone")
                loops[name] = position
        result = result_of(op)
        if result and buffers[result].kind not in (Kind.EAGER, Kind.OBJECT):
            kind = buffers[result].kind.value
            raise Fault(position, f"an eager op cannot return memory of kind {kind}: %{result}")
