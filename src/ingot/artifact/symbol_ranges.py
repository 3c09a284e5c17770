"""The symbols of a program's sizes: their ranges, their values in the example, and a ShapeEnv that
contains them. The file lists each symbol once, and sizes refer to it by name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import sympy
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.utils._sympy.numbers import int_oo
from torch.utils._sympy.value_ranges import ValueRanges
from torch.utils._traceback import CapturedTraceback

from ingot.document import Part
from ingot.errors import SaveError
from ingot.program.expressions import (
    ASSUMPTIONS,
    ExpressionError,
    expression_text,
    is_condition,
    parse_expression,
)
from ingot.program.program import SymbolRange

MOST_SYMBOLS = 10_000
MOST_EXPRESSIONS = 500_000
"""Characters of all distinct expressions of a file."""
_NAME = re.compile(r"(?P<kind>s|u|zf|zuf)\d{1,9}")


class SymbolWriter:
    """Writes sizes as JSON and records the symbols in them."""

    def __init__(self) -> None:
        self.used: dict[str, sympy.Symbol] = {}
        self._env: Any = None

    def number(self, value: Any) -> Any:
        """A size: an integer, or the text of an expression."""
        if isinstance(value, int):
            return int(value)
        return self.text(value.node.expr, value.node.shape_env)

    def text(self, expr: Any, env: Any = None) -> Any:
        if env is not None:
            self._env = env
        for symbol in expr.free_symbols:
            self.used[symbol.name] = symbol
        try:
            return int(expr) if expr.is_Integer else expression_text(expr)
        except ExpressionError as error:
            raise SaveError(f"the expression {expr}: {error}") from None

    def table(self, ranges: Mapping[str, SymbolRange]) -> list[dict[str, Any]]:
        rows = []
        for name, symbol in sorted(self.used.items()):
            if _NAME.fullmatch(name) is None:
                raise SaveError(f"the symbol {name} is not one of torch.export's")
            known = self._env.var_to_range.get(symbol) if self._env is not None else None
            hint = self._env.backed_var_to_val.get(symbol) if self._env is not None else None
            row: dict[str, Any] = {
                "name": name,
                "assumptions": {k: bool(v) for k, v in symbol._assumptions_orig.items()},
                "range": [None, None]
                if known is None
                else [_bound(known.lower), _bound(known.upper)],
            }
            if hint is not None:
                row["example"] = int(hint) if hint.is_Integer else float(hint)
            if self._env is not None and symbol in self._env.size_like:
                row["size_like"] = True
            if name in ranges:
                row["program"] = [ranges[name].lower, ranges[name].upper]
            rows.append(row)
        return rows


def _bound(number: Any) -> int | None:
    return int(number) if number.is_Integer and abs(int(number)) < 2**63 else None


class SymbolReader:
    """The inverse of SymbolWriter: a ShapeEnv with the symbols of a file, and sizes over them."""

    def __init__(self, table: Part):
        self._start()
        self.symbols: dict[str, sympy.Symbol] = {}
        self.ranges: dict[str, SymbolRange] = {}
        self._parsed: dict[str, Any] = {}
        self._characters = 0
        for row in table.items(most=MOST_SYMBOLS):
            self._add(row)
        self._known = dict(self.env.var_to_range)

    def _start(self) -> None:
        self.env: Any = ShapeEnv(assume_static_by_default=True)
        self.mode: Any = FakeTensorMode(
            allow_fallback_kernels=False, allow_non_fake_inputs=True, shape_env=self.env
        )

    def tensor(self, sizes: Any, strides: Any, offset: Any, **kind: Any) -> Tensor:
        """A FakeTensor at an offset of its memory, as a view is."""
        if isinstance(offset, int) and offset == 0:
            return torch.empty_strided(sizes, strides, **kind)
        count = offset + 1
        for size, stride in zip(sizes, strides):
            count = count + (size - 1) * stride
        memory = torch.empty_strided((count,), (1,), **kind)
        return memory.as_strided(sizes, strides, offset)

    def forget_questions(self) -> None:
        """Drop guards that PyTorch recorded while making tensors: they are not the program's."""
        env = self.env
        env.guards.clear()
        env.deferred_runtime_asserts.clear()
        env.num_deferred_runtime_asserts = 0
        env.replacements.clear()
        env.var_to_range.update(self._known)
        env._update_version_counter()

    @property
    def unbacked(self) -> set[sympy.Symbol]:
        return {symbol for name, symbol in self.symbols.items() if name[0] == "u"}

    def _add(self, row: Part) -> None:
        fields = row.fields(
            "name", "assumptions", "range", optional=("example", "size_like", "program")
        )
        name = fields["name"].name()
        match = _NAME.fullmatch(name)
        if match is None or name in self.symbols:
            fields["name"].fail(f"{name} is {'no symbol' if match is None else 'there twice'}")
        given = fields["assumptions"].fields(optional=ASSUMPTIONS)
        try:
            symbol = sympy.Symbol(name, **{k: v.boolean() for k, v in given.items()})
        except sympy.core.facts.InconsistentAssumptions:
            fields["assumptions"].fail("they contradict each other")
        self.symbols[name] = symbol
        self._declare(row, fields, symbol, match["kind"])
        if "program" in fields:
            low, high = fields["program"].items(2)
            upper = None if high.value is None else high.integer()
            self.ranges[name] = SymbolRange(low.integer(), upper)

    def _declare(self, row: Part, fields: dict[str, Part], symbol: Any, kind: str) -> None:
        backed = kind in ("s", "zf")
        if backed != ("example" in fields):
            row.fail(f"a symbol {symbol} has {'an' if backed else 'no'} example")
        low, high = (None if p.value is None else p.integer() for p in fields["range"].items(2))
        lower = -int_oo if low is None else low
        upper = int_oo if high is None else high
        if kind.endswith("f"):
            lower, upper = -sympy.oo, sympy.oo
        elif low is not None and high is not None and low > high:
            fields["range"].fail(f"{low}..{high} is empty")
        if backed:
            example: int | float | None = _example(fields["example"], kind)
            if isinstance(example, int) and not (
                (low is None or low <= example) and (high is None or example <= high)
            ):
                fields["example"].fail(f"{example} is not in the range {low}..{high}")
        else:
            example = None
        size_like = "size_like" in fields and fields["size_like"].boolean()
        self._enter(symbol, kind, ValueRanges(lower, upper), example, size_like)

    def _enter(
        self, symbol: Any, kind: str, values: Any, example: int | float | None, size_like: bool
    ) -> None:
        env = self.env
        if example is not None:
            env.backed_var_to_val[symbol] = sympy.sympify(example)
        else:
            index = int(symbol.name.removeprefix(kind)) + 1
            counter = "unbacked_symint_counter" if kind == "u" else "unbacked_symfloat_counter"
            setattr(env, counter, max(getattr(env, counter), index))
        if size_like:
            env.size_like.add(symbol)
        env._update_var_to_range(symbol, values)
        env.var_to_stack[symbol] = CapturedTraceback.extract(skip=1)

    def expression(self, part: Part) -> Any:
        """A sympy expression; each distinct text is parsed once."""
        if type(part.value) is int:
            return sympy.Integer(part.integer())
        text = part.text()
        if text not in self._parsed:
            self._characters += len(text)
            if self._characters > MOST_EXPRESSIONS:
                part.fail("the expressions of the file are too long")
            try:
                self._parsed[text] = parse_expression(text, self.symbols)
            except ExpressionError as error:
                part.fail(f"not a size expression: {error}")
        return self._parsed[text]

    def size(self, part: Part, low: int = 0) -> Any:
        """A size or a stride: an int, or a SymInt."""
        if type(part.value) is int:
            return part.integer(low)
        return self.integer(part, low)

    def integer(self, part: Part, low: int = -(2**63)) -> Any:
        expr = self._number(part)
        if expr.is_integer is False:
            part.fail("it is not an integer")
        if expr.is_Integer:
            return Part(int(expr), "", part).integer(low)
        return self.env.create_symintnode(expr, hint=None)

    def real(self, part: Part) -> Any:
        expr = self._number(part)
        return float(expr) if expr.is_Number else self.env.create_symfloatnode(expr, hint=None)

    def _number(self, part: Part) -> Any:
        expr = self.expression(part)
        if is_condition(expr):
            part.fail("it is a condition, not a number")
        return expr

    def condition(self, part: Part) -> Any:
        """A sympy condition."""
        expr = self.expression(part)
        if not is_condition(expr):
            part.fail("it is a number, not a condition")
        return expr

    def boolean(self, part: Part) -> Any:
        expr = self.condition(part)
        if expr in (sympy.true, sympy.false):
            return bool(expr)
        return self.env.create_symboolnode(expr)


def _example(part: Part, kind: str) -> int | float:
    if kind == "s":
        return part.integer()
    if type(part.value) not in (int, float):
        part.fail("expected a number")
    return float(part.value)
