"""The parser of plans: the inverse of `plan.text.plan_to_text`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy

from ingot.errors import Place
from ingot.plan.ir import (
    Allocate,
    AtMost,
    Branch,
    Buffer,
    Carried,
    Check,
    Computation,
    Define,
    Eager,
    Fold,
    Free,
    Kernel,
    Kind,
    Launch,
    Loop,
    Op,
    Parallel,
    Parameter,
    Plan,
    Recipe,
    Require,
    Requirement,
    Return,
    Segment,
    Sliced,
    Steered,
    Symbol,
)
from ingot.plan.value_reader import ValueReader
from ingot.plan.values import NOTHING, OP_WORDS
from ingot.program.expressions import ASSUMPTIONS

_KINDS = {kind.value: kind for kind in Kind}


def parse(text: str) -> Plan:
    """Raises PlanTextError."""
    reader = _PlanReader(text)
    plan = reader.plan()
    if reader.at < len(reader.text):
        reader.fail("expected the end of the text")
    return plan


class _PlanReader(ValueReader):
    def plan(self) -> Plan:
        return self.nested(lambda: self.with_symbols(self._plan))

    def _plan(self) -> Plan:
        self.expect_word("plan")
        self.expect("(")
        inputs = self.several(self.buffer, ")")
        self.expect("{")
        found: dict[str, list[Any]] = {}
        while (word := self.peek_word()) in _DECLARATIONS or word in _KINDS:
            self.accept(word)
            name = "buffer" if word in _KINDS else word
            made = self._buffer(_KINDS[word]) if word in _KINDS else _DECLARATIONS[word](self)
            found.setdefault(name, []).append(made)
        return Plan(
            inputs,
            self.block(),
            tuple(found.get("buffer", ())),
            tuple(found.get("kernel", ())),
            tuple(found.get("recipe", ())),
            tuple(found.get("symbol", ())),
        )

    # -- declarations ------------------------------------------------------------------------------

    def _symbol(self) -> Symbol:
        start, name = self.at, self.word()
        self.expect(":")
        lower = self.integer()
        self.expect("..")
        upper = self.integer() if self.peek(*"-0123456789") else None
        known = self.several(self.word, "}") if self.accept("{") else ()
        symbol = Symbol(name, known, lower, upper)
        if name in self.symbols:
            self.fail(f"a second symbol {name[:60]!a}", start)
        if unknown := sorted(set(known).difference(ASSUMPTIONS)):
            self.fail(f"no assumption {unknown[0][:60]!a}; known: {', '.join(ASSUMPTIONS)}")
        try:
            self.symbols[name] = symbol.expr
        except (sympy.core.facts.InconsistentAssumptions, ValueError, TypeError):
            self.fail("assumptions that contradict each other", start)
        return symbol

    def _buffer(self, kind: Kind) -> Buffer:
        name = self.buffer()
        dtype, shape, strides = self.type() if self.accept(":") else (None, (), ())
        alias = self.buffer() if self.accept_word("of") else None
        lifetime = None
        if self.accept_word("live"):
            first = self.integer()
            self.expect("..")
            lifetime = first, self.integer()
        offset = self.integer() if self.accept_word("at") else None
        return Buffer(name, kind, dtype, shape, strides, alias, lifetime, offset)

    def _kernel(self) -> Kernel:
        name = self.kernel()
        self.expect(":")
        family, digest = self.word(), self.digest()
        self.expect("(")
        return Kernel(name, family, digest, self.several(self._parameter, ")"))

    def _parameter(self) -> Parameter:
        name, access, dtype = self.word(), "", None
        if self.accept(":"):
            access = self.word()
            access = "" if access == "number" else access
            dtype = None if self.peek("?", ",", ")") else self.dtype()
        return Parameter(name, access, dtype, self.accept("?"))

    def _recipe(self) -> Recipe:
        name = self.buffer()
        self.expect_word("of")
        self.expect("(")
        sources = self.several(self.buffer, ")")
        self.expect("{")
        calls = []
        while not self.accept_word("results"):
            calls.append(self._named_call())
        results = self._names()
        packing = self.attributes() if self.accept_word("packing") else None
        self.expect("}")
        return Recipe(name, sources, tuple(calls), results, packing)

    def _named_call(self) -> Any:
        result = ""
        if self.peek("%"):
            result = self.buffer()
            self.expect("=")
        return self.call(result)

    def _names(self) -> tuple[str, ...]:
        return self._list(self.buffer)

    def _list(self, read: Callable[[], Any]) -> tuple[Any, ...]:
        if self.accept_word(NOTHING):
            return ()
        found = [read()]
        while self.accept(","):
            found.append(read())
        return tuple(found)

    # -- ops ---------------------------------------------------------------------------------------

    def block(self) -> tuple[Op, ...]:
        """Up to and with the closing brace."""
        return self.nested(self._block)

    def _block(self) -> tuple[Op, ...]:
        found: list[Op] = []
        while not self.accept("}"):
            found.append(self.op())
        return tuple(found)

    def op(self) -> Op:
        result = ""
        if self.peek("%"):
            result = self.buffer()
            self.expect("=")
        word = self.peek_word()
        if word == "steer":
            self.accept(word)
            return self._steered(result)
        if word not in OP_WORDS:
            return self._eager(result)
        if result:
            self.fail(f"{word} has no result")
        self.accept(word)
        return _OPS[word](self)

    def _eager(self, result: str) -> Eager:
        call = self.call(result)
        writes: tuple[str, ...] = ()
        if self.accept_word("writes"):
            self.expect("(")
            writes = self.several(self.buffer, ")")
        impure = self.accept_word("impure")
        return Eager(call, writes, not impure, self.step())

    def _steered(self, result: str) -> Steered:
        kind = self.word()
        self.expect("(")
        predicate = self.value()
        self.expect(",")
        start, operands = self.at, self.value()
        if not isinstance(operands, tuple):
            self.fail("expected a tuple of operands", start)
        self.expect(")")
        carried, sliced = self._count("carried"), self._count("sliced")
        step = self.step()
        self.expect("{")
        bodies = []
        while not self.accept("}"):
            bodies.append(self.plan())
        return Steered(kind, result, predicate, operands, carried, sliced, tuple(bodies), step)

    def _count(self, word: str) -> int:
        self.expect_word(word)
        self.expect("(")
        found = self.integer()
        self.expect(")")
        return found

    def _sized(self, word: str) -> Any:
        """`word(size)`"""
        self.expect_word(word)
        self.expect("(")
        found = self.open_size()
        self.expect(")")
        return found

    def _launch(self) -> Launch:
        kernel = self.kernel()
        self.expect("(")
        arguments = self.several(self.argument, ")")
        threads = self._sized("threads") if self.peek_word() == "threads" else None
        step = self.step()
        covers: tuple[tuple[int, int], ...] = ()
        if self.accept_word("covers"):
            self.expect("(")
            covers = self.several(self.step_number, ")")
        computes, attributes = Computation((), (), ()), None
        faults: list[tuple[str, Place]] = []
        if self.accept("{"):
            if self.accept_word("computes"):
                self.expect("{")
                computes = self._computes()
            attributes = self.attributes() if self.accept_word("attributes") else None
            while self.accept_word("fault"):
                faults.append((self.word(), self.place()))
            self.expect("}")
        return Launch(kernel, arguments, computes, threads, attributes, tuple(faults), step, covers)

    def _computes(self) -> Computation:
        inputs: list[Any] = []
        calls: list[Any] = []
        outputs: list[Any] = []
        while not self.accept("}"):
            name = self.buffer() if self.peek("%") else ""
            if name and self.accept("->"):
                outputs.append((name, self.operand()))
                continue
            if name:
                self.expect("=")
            if outputs:
                self.fail("results are stored after everything is computed")
            if name and self.peek("%"):
                if calls:
                    self.fail("operands come before calls")
                inputs.append((name, self.ref_or_operand()))
            else:
                calls.append(self.call(name))
        return Computation(tuple(inputs), tuple(calls), tuple(outputs))

    def _parallel(self) -> Parallel:
        threads = self._sized("threads")
        start = self.at
        self.expect("{")
        ops = self.block()
        launches = tuple(op for op in ops if isinstance(op, Launch))
        if len(launches) < len(ops):
            self.fail("a parallel region holds launches only", start)
        return Parallel(launches, threads)

    def _segment(self) -> Segment:
        self.expect("{")
        required = self._requirements()
        return Segment(self.block(), required)

    def _require(self) -> Require:
        self.expect("{")
        required = self._requirements()
        self.expect("}")
        return Require(required)

    def _requirements(self) -> tuple[Requirement, ...]:
        found: list[Requirement] = []
        while self.accept_word("requires"):
            found.append(self.requirement())
        return tuple(found)

    def _branch(self) -> Branch:
        condition: Any
        if self.peek("%"):
            condition = self.pointer()
        elif self.accept_word("sym"):
            condition = self.condition()
        else:
            left = self.side()
            self.expect("<=")
            condition = AtMost(left, self.side())
        step = self.step()
        self.expect("{")
        then = self.block()
        otherwise: tuple[Op, ...] = ()
        if self.accept_word("else"):
            self.expect("{")
            otherwise = self.block()
        return Branch(condition, then, otherwise, step)

    def _loop(self) -> Loop:
        count = self._sized("count") if self.peek_word() == "count" else None
        flag = self.pointer() if self.accept_word("while") else None
        step = self.step()
        self.expect("{")
        carried: list[Carried] = []
        sliced: list[Sliced] = []
        while self.accept_word("carry"):
            carried.append(self._carried())
        while self.accept_word("slice"):
            sliced.append(self._sliced())
        test: tuple[Op, ...] = ()
        if self.accept_word("test"):
            self.expect("{")
            test = self.block()
        self.expect_word("body")
        self.expect("{")
        body = self.block()
        self.expect("}")
        return Loop(tuple(carried), tuple(sliced), body, count, test, flag, step)

    def _carried(self) -> Carried:
        old = self.buffer()
        self.expect(",")
        new = self.buffer()
        self.expect("=")
        start = self.operand()
        self.expect_word("in")
        one = self.buffer()
        self.expect(",")
        memory = one, self.buffer()
        return Carried(start, old, new, memory, self.operand() if self.accept("->") else None)

    def _sliced(self) -> Sliced:
        cursor = self.buffer()
        self.expect("=")
        memory = self.pointer()
        self.expect_word("by")
        return Sliced(cursor, memory, self.size(), self.word())

    def _define(self) -> Define:
        symbol = self.word()
        self.expect("=")
        query = self.word()
        self.expect("(")
        buffer = self.buffer()
        self.expect(",")
        dim = self.integer()
        self.expect(")")
        return Define(symbol, buffer, query, dim)

    def _check(self) -> Check:
        condition = self.value()
        self.expect(",")
        return Check(condition, self.string(), self.step())


_DECLARATIONS: dict[str, Callable[[_PlanReader], Any]] = {
    "symbol": _PlanReader._symbol,
    "kernel": _PlanReader._kernel,
    "recipe": _PlanReader._recipe,
}
_OPS: dict[str, Callable[[_PlanReader], Op]] = {
    "launch": _PlanReader._launch,
    "parallel": _PlanReader._parallel,
    "if": _PlanReader._branch,
    "loop": _PlanReader._loop,
    "segment": _PlanReader._segment,
    "require": _PlanReader._require,
    "define": _PlanReader._define,
    "allocate": lambda reader: Allocate(reader.buffer()),
    "fold": lambda reader: Fold(reader.buffer()),
    "check": _PlanReader._check,
    "free": lambda reader: Free(reader._names()),
    "return": lambda reader: Return(reader._list(reader.value)),
}
