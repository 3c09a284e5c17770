"""Random small PyTorch programs, as Python source.

A `Source`, drawn by hypothesis, holds the text of a function, of its inputs, and of a script that
reproduces a failure. Every statement is run on eager tensors while it is written, so shapes and
dtypes are known, and a statement that eager refuses is left out. `exact` marks values that any
correct compiler computes bit for bit; only those feed comparisons, casts to integers and argmax,
where a rounding difference would change the program.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from hypothesis import strategies as st
from torch import Tensor

Draw = Callable[..., Any]

SIZES = (1, 2, 3, 5, 8, 17, 33)
MULTIPLIERS = (37, 29, 23)
DTYPES = ("float32",) * 5 + ("bfloat16", "bfloat16", "float64", "int64", "int32", "bool", "float16")
LAYOUTS = ("", "", "", "transposed", "sliced", "offset")
MOST_ELEMENTS = 4096


@dataclass
class Value:
    """A variable of the program with its eager tensor."""

    name: str
    tensor: Tensor
    exact: bool
    windowed: bool = False
    """A view that may alias one element twice; functionalization refuses writes to it."""

    @property
    def floating(self) -> bool:
        return self.tensor.is_floating_point()

    @property
    def half(self) -> bool:
        return self.tensor.dtype in (torch.bfloat16, torch.float16)

    @property
    def rank(self) -> int:
        return self.tensor.dim()


@dataclass(frozen=True)
class Source:
    """A generated program."""

    parameters: tuple[str, ...]
    """Names of the parameters."""
    inputs: tuple[str, ...]
    """One expression for each input."""
    body: tuple[str, ...]
    """The statements."""
    returned: tuple[str, ...]
    """Returned names, as a tuple."""

    def function_text(self) -> str:
        lines = [f"def program({', '.join(self.parameters)}):"]
        lines += [f"    {statement}" for statement in self.body]
        lines.append(f"    return ({', '.join(self.returned)},)")
        return "\n".join(lines)

    def script(self, options: dict[str, Any]) -> str:
        """A script that shows the difference when run."""
        made = "\n".join(f"{n} = {e}" for n, e in zip(self.parameters, self.inputs, strict=True))
        names = ", ".join(self.parameters)
        return (
            "import torch\nimport torch.nn.functional as F\n\n"
            f"{self.function_text()}\n\n"
            f"def inputs():\n    {made.replace(chr(10), chr(10) + '    ')}\n"
            f"    return [{names}]\n\n"
            "eager_inputs, compiled_inputs = inputs(), inputs()\n"
            "with torch.no_grad():\n"
            "    eager = program(*eager_inputs)\n"
            f'    compile = torch.compile(program, backend="ingot", options={options!r})\n'
            "    compiled = compile(*compiled_inputs)\n"
            "for e, c in zip([*eager, *eager_inputs], [*compiled, *compiled_inputs]):\n"
            "    torch.testing.assert_close(c, e, equal_nan=True, check_stride=True)\n"
        )

    def build(self) -> Callable[..., tuple[Tensor, ...]]:
        return self._define(self.function_text())

    def build_in_f64(self) -> Callable[..., tuple[Tensor, ...]]:
        text = self.function_text()
        for narrow in ("torch.float32", "torch.bfloat16", "torch.float16"):
            text = text.replace(narrow, "torch.float64")
        return self._define(text)

    def make_inputs(self) -> list[Tensor]:
        return [eval(expression, {"torch": torch}) for expression in self.inputs]

    @staticmethod
    def _define(text: str) -> Callable[..., tuple[Tensor, ...]]:
        space: dict[str, Any] = {"torch": torch, "F": F}
        exec(compile(text, "<fuzz>", "exec"), space)
        return space["program"]


@dataclass
class Writer:
    """A program under construction."""

    draw: Draw
    values: list[Value] = field(default_factory=list)
    body: list[str] = field(default_factory=list)

    def pick(self, wanted: Callable[[Value], bool] = lambda _: True) -> Value | None:
        """A random matching value; newer ones are more likely."""
        fitting = [value for value in self.values if wanted(value)]
        if not fitting:
            return None
        back = self.draw(st.integers(0, min(len(fitting) - 1, 3)))
        return fitting[-1 - back]

    def choose(self, options: Any) -> Any:
        return self.draw(st.sampled_from(list(options)))

    def dim(self, value: Value) -> int:
        return self.draw(st.integers(-value.rank, value.rank - 1)) if value.rank else 0

    def assign(self, expression: str, *, exact: bool) -> None:
        """Add `name = expression` unless eager refuses it or the result is too big."""
        name = f"t{len(self.body)}"
        try:
            result = eval(expression, self.namespace())
        except (RuntimeError, IndexError, ValueError):
            return
        if isinstance(result, Tensor) and result.numel() <= MOST_ELEMENTS:
            self.body.append(f"{name} = {expression}")
            self.values.append(Value(name, result, exact, self.windowed(expression, result)))

    def windowed(self, expression: str, result: Tensor) -> bool:
        storage = result.untyped_storage()._cdata
        seen = [v for v in self.values if v.tensor.untyped_storage()._cdata == storage]
        makes = ".unfold(" in expression or ".expand(" in expression
        return bool(seen) and (makes or any(v.windowed and v.name in expression for v in seen))

    def mutate(self, target: Value, statement: str, *, exact: bool) -> None:
        """Add a statement that writes to a value; if it is inexact, all values become inexact,
        since any may alias."""
        if target.windowed:
            return
        try:
            exec(statement, self.namespace())
        except (RuntimeError, IndexError, ValueError):
            return
        self.body.append(statement)
        if not exact:
            for value in self.values:
                value.exact = False

    def namespace(self) -> dict[str, Any]:
        return {"torch": torch, "F": F, **{value.name: value.tensor for value in self.values}}


def input_expression(draw: Draw, shape: tuple[int, ...], dtype: str, position: int) -> str:
    """Small multiples of 1/8, exact in every dtype, in one of several layouts."""
    layout = draw(st.sampled_from(LAYOUTS))
    if not shape:
        layout = ""
    stored = list(shape)
    if layout == "transposed":
        stored.reverse()
    elif layout == "sliced":
        stored[-1] = stored[-1] * 2
    elif layout == "offset":
        stored[0] += 1
    count = torch.Size(stored).numel()
    text = f"(torch.arange({count}) * {MULTIPLIERS[position]} % 41 - 20).reshape({tuple(stored)})"
    if dtype == "bool":
        text = f"({text} % 3 == 0)"
    elif dtype.startswith("int"):
        text = f"{text}.to(torch.{dtype})"
    else:
        text = f"({text} / 8).to(torch.{dtype})"
    reverse = tuple(reversed(range(len(shape))))
    suffix = {"transposed": f".permute({reverse})", "sliced": "[..., ::2]", "offset": "[1:]"}
    return text + suffix.get(layout, "")


def write_inputs(writer: Writer) -> tuple[list[str], list[str]]:
    """One to three inputs whose shapes broadcast together."""
    draw = writer.draw
    base = tuple(draw(st.lists(st.sampled_from(SIZES), min_size=0, max_size=4)))
    while torch.Size(base).numel() > MOST_ELEMENTS // 2:
        base = base[1:]
    if draw(st.integers(0, 19)) == 0:
        base = (*base, 0)
    names, expressions = [], []
    for position in range(draw(st.integers(1, 3))):
        shape = base
        if position:
            shape = tuple(1 if draw(st.integers(0, 5)) == 0 else size for size in shape)
            shape = shape[draw(st.integers(0, 1)) if len(shape) > 1 else 0 :]
        expression = input_expression(draw, shape, draw(st.sampled_from(DTYPES)), position)
        name = "abc"[position]
        names.append(name)
        expressions.append(expression)
        writer.values.append(Value(name, eval(expression, {"torch": torch}), exact=True))
    return names, expressions
