"""The parser of the ops in a plan's text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ingot.errors import Place
from ingot.plan.ir import (
    Allocate,
    AtMost,
    Branch,
    Carried,
    Check,
    Computation,
    Define,
    Eager,
    EagerControlFlow,
    Fold,
    Free,
    Launch,
    Loop,
    Op,
    Parallel,
    Plan,
    Require,
    Requirement,
    Return,
    Segment,
    Sliced,
)
from ingot.plan.value_reader import ValueReader
from ingot.plan.values import NOTHING, OP_WORDS


class OpReader(ValueReader):
    def plan(self) -> Plan:
        raise NotImplementedError

    def named_call(self) -> Any:
        result = ""
        if self.peek("%"):
            result = self.buffer()
            self.expect("=")
        return self.call(result)

    def names(self) -> tuple[str, ...]:
        return self.list_of(self.buffer)

    def list_of(self, read: Callable[[], Any]) -> tuple[Any, ...]:
        if self.accept_word(NOTHING):
            return ()
        found = [read()]
        while self.accept(","):
            found.append(read())
        return tuple(found)

    # -- ops ---------------------------------------------------------------------------------------

    def block(self) -> tuple[Op, ...]:
        """Reads up to and including the closing brace."""
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
        if word == "control":
            self.accept(word)
            return self._eager_control_flow(result)
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

    def _eager_control_flow(self, result: str) -> EagerControlFlow:
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
        return EagerControlFlow(
            kind, result, predicate, operands, carried, sliced, tuple(bodies), step
        )

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
                self.fail("results must come after all calls")
            if name and self.peek("%"):
                if calls:
                    self.fail("operands must come before calls")
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


_OPS: dict[str, Callable[[OpReader], Op]] = {
    "launch": OpReader._launch,
    "parallel": OpReader._parallel,
    "if": OpReader._branch,
    "loop": OpReader._loop,
    "segment": OpReader._segment,
    "require": OpReader._require,
    "define": OpReader._define,
    "allocate": lambda reader: Allocate(reader.buffer()),
    "fold": lambda reader: Fold(reader.buffer()),
    "check": OpReader._check,
    "free": lambda reader: Free(reader.names()),
    "return": lambda reader: Return(reader.list_of(reader.value)),
}
