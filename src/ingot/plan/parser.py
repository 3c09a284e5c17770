"""The parser of plans: the inverse of `plan.text.plan_to_text`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy

from ingot.plan.ir import Buffer, Kernel, Kind, Parameter, Plan, Recipe, Symbol
from ingot.plan.op_reader import OpReader
from ingot.program.expressions import ASSUMPTIONS

_KINDS = {kind.value: kind for kind in Kind}


def parse(text: str) -> Plan:
    """Raises PlanTextError."""
    reader = _PlanReader(text)
    plan = reader.plan()
    if reader.at < len(reader.text):
        reader.fail("expected the end of the text")
    return plan


class _PlanReader(OpReader):
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
            self.fail("contradictory assumptions", start)
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
            calls.append(self.named_call())
        results = self.names()
        packing = self.attributes() if self.accept_word("packing") else None
        self.expect("}")
        return Recipe(name, sources, tuple(calls), results, packing)


_DECLARATIONS: dict[str, Callable[[_PlanReader], Any]] = {
    "symbol": _PlanReader._symbol,
    "kernel": _PlanReader._kernel,
    "recipe": _PlanReader._recipe,
}
