"""Bodies of calls in TOSA. A size is a `!tosa.shape<1>`; several are concatenated to one shape."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from ingot.emit.body_writer import BodyWriter, literal, shape_and_element
from ingot.emit.dynamic_sizes import Size, Sized


class TosaBody(BodyWriter):
    def number(self, value: int) -> str:
        return self.add(
            f"tosa.const_shape {{values = dense<{value}> : tensor<1xindex>}} : () -> !tosa.shape<1>"
        )

    def dimension(self, operand: int, axis: int) -> str:
        kind = self.inputs[operand]
        return self.add(
            f"tosa.dim %a{operand} {{axis = {axis} : i32}} : ({kind}) -> !tosa.shape<1>"
        )

    def apply(self, name: str, x: str, y: str) -> str:
        op = "div_floor" if name == "div" else name
        one = "!tosa.shape<1>"
        return self.add(f"tosa.{op}_shape {x}, {y} : ({one}, {one}) -> {one}")

    def shape(self, sizes: Sequence[Size], body: Sized) -> tuple[str, str]:
        """The sizes as one shape, and its type."""
        kind = f"!tosa.shape<{len(sizes)}>"
        parts = [self.size(size, body) for size in sizes]
        if len(parts) == 1:
            return parts[0], kind
        ones = ", ".join(["!tosa.shape<1>"] * len(parts))
        return self.add(f"tosa.concat_shape {', '.join(parts)} : ({ones}) -> {kind}"), kind

    def reshape(self, body: Sized) -> str:
        return self.reshaped("%a0", self.inputs[0], body.sizes, self.result, body)

    def tiled(self, value: str, sizes: Sequence[str], element: str, body: Sized) -> str:
        """`value` of these sizes, broadcast to the sizes of the result by `tosa.tile`."""
        wanted, _ = shape_and_element(self.result)
        times = [
            size if have == "1" and want != "1" else 1
            for have, want, size in zip(sizes, wanted, body.sizes)
        ]
        count, kind = self.shape(times, body)
        source = f"tensor<{'x'.join([*sizes, element])}>"
        return self.add(f"tosa.tile {value}, {count} : ({source}, {kind}) -> {self.result}")

    def expand(self, body: Sized) -> str:
        sizes, element = shape_and_element(self.inputs[0])
        missing = len(body.sizes) - len(sizes)
        value = "%a0"
        if missing:
            own = [1 if n == "1" else body.sizes[missing + i] for i, n in enumerate(sizes)]
            sizes = ["1"] * missing + sizes
            wide = f"tensor<{'x'.join([*sizes, element])}>"
            value = self.reshaped(value, self.inputs[0], [*[1] * missing, *own], wide, body)
        return self.tiled(value, sizes, element, body)

    def full(self, body: Sized) -> str:
        ones, element = ["1"] * len(body.sizes), shape_and_element(self.result)[1]
        return self.tiled(self.constant(body.fill, ones, element), ones, element, body)

    def constant(self, number: Any, sizes: Sequence[str], element: str) -> str:
        kind = f"tensor<{'x'.join([*sizes, element])}>"
        value = literal(number, element)
        return self.add(f'"tosa.const"() <{{values = dense<{value}> : {kind}}}> : () -> {kind}')

    def arange(self, body: Sized) -> str:
        start, step, largest = body.fill
        element = shape_and_element(self.result)[1]
        kind = f"tensor<{largest}x{element}>"
        values = ", ".join(literal(start + i * step, element) for i in range(largest))
        every = self.add(f'"tosa.const"() <{{values = dense<[{values}]> : {kind}}}> : () -> {kind}')
        return self._sliced(every, kind, [0], body.sizes, body)

    def slice(self, body: Sized) -> str:
        return self._sliced("%a0", self.inputs[0], body.sizes, body.fill, body)

    def _sliced(
        self, value: str, kind: str, starts: Sequence[Size], sizes: Sequence[Size], body: Sized
    ) -> str:
        first, rank = self.shape(starts, body)
        count, _ = self.shape(sizes, body)
        return self.add(
            f"tosa.slice {value}, {first}, {count} : ({kind}, {rank}, {rank}) -> {self.result}"
        )

    def pick(self, body: Sized) -> str:
        """`tosa.gather` reads rows of (batch, rows, elements) at 32-bit indices, but not of i1."""
        _, before, rows, behind, count = body.fill
        _, element = shape_and_element(self.inputs[0])
        plain = "i8" if element == "i1" else element
        value = self.cast("%a0", self.inputs[0], plain)
        kind = self.inputs[0].replace("i1>", "i8>") if element == "i1" else self.inputs[0]
        table = f"tensor<?x?x?x{plain}>"
        value = self.reshaped(value, kind, [before, rows, behind], table, body)
        index = self.cast("%a1", self.inputs[1], "i32")
        index_kind = re.sub(r"xi\d+>", "xi32>", self.inputs[1])
        index = self.reshaped(index, index_kind, [1, count], "tensor<1x?xi32>", body)
        times, shape = self.shape([before, 1], body)
        index = self.add(
            f"tosa.tile {index}, {times} : (tensor<1x?xi32>, {shape}) -> tensor<?x?xi32>"
        )
        value = self.add(f"tosa.gather {value}, {index} : ({table}, tensor<?x?xi32>) -> {table}")
        made = self.result.replace("i1>", "i8>") if element == "i1" else self.result
        value = self.reshaped(value, table, body.sizes, made, body)
        return self.cast(value, made, element)

    def wide_sum(self, body: Sized) -> str:
        name, rank, *sizes = body.fill
        values, kinds = [], []
        for i, own in enumerate((sizes[:rank], sizes[rank:])):
            missing = len(body.sizes) - len(own)
            known, element = shape_and_element(self.inputs[i])
            kinds.append(f"tensor<{'x'.join([*['1'] * missing, *known, element])}>")
            whole = [*[1] * missing, *own]
            value = f"%a{i}"
            if missing:
                value = self.reshaped(value, self.inputs[i], whole, kinds[i], body)
            values.append(value)
        return self.add(f"tosa.{name} {', '.join(values)} : ({', '.join(kinds)}) -> {self.result}")

    def join(self, body: Sized) -> str:
        dim, *order = body.fill
        values = ", ".join(f"%a{i}" for i in order)
        kinds = ", ".join(self.inputs[i] for i in order)
        axis = f"{{axis = {dim} : i32}}"
        return self.add(f"tosa.concat {values} {axis} : ({kinds}) -> {self.result}")

    def convert(self, body: Sized) -> str:
        """`tosa.cast` rounds, and PyTorch truncates."""
        kind, value = self.inputs[0], "%a0"
        sizes, element = shape_and_element(kind)
        _, wanted = shape_and_element(self.result)
        if "f" in element and "f" not in wanted:
            truth = f"tensor<{'x'.join([*sizes, 'i1'])}>"
            ones = ["1"] * len(sizes)
            zero = self.constant(0, ones, element)
            zeros = f"tensor<{'x'.join([*ones, element])}>"
            below = self.add(f"tosa.greater {zero}, %a0 : ({zeros}, {kind}) -> {truth}")
            up = self.add(f"tosa.ceil %a0 : ({kind}) -> {kind}")
            down = self.add(f"tosa.floor %a0 : ({kind}) -> {kind}")
            kinds = f"({truth}, {kind}, {kind}) -> {kind}"
            value = self.add(f"tosa.select {below}, {up}, {down} : {kinds}")
        return self.cast(value, kind, wanted)

    def gather(self, body: Sized) -> str:
        rows, size, count = body.fill
        _, element = shape_and_element(self.inputs[0])
        table, places = f"tensor<?x?x1x{element}>", "tensor<?x?xi32>"
        value = self.reshaped("%a0", self.inputs[0], [rows, size, 1], table, body)
        index = self.cast("%a1", self.inputs[1], "i32")
        kind = re.sub(r"xi\d+>", "xi32>", self.inputs[1])
        index = self.reshaped(index, kind, [rows, count], places, body)
        value = self.add(f"tosa.gather {value}, {index} : ({table}, {places}) -> {table}")
        return self.reshaped(value, table, body.sizes, self.result, body)

    def rows(self, body: Sized) -> str:
        (count, width), element = shape_and_element(self.inputs[0])
        table = f"tensor<1x{count}x{width}x{element}>"
        value = self.reshaped("%a0", self.inputs[0], [1, int(count), int(width)], table, body)
        index = self.cast("%a1", self.inputs[1], "i32")
        kind = re.sub(r"xi\d+>", "xi32>", self.inputs[1])
        many = math.prod(body.sizes[:-1])
        index = self.reshaped(index, kind, [1, many], "tensor<1x?xi32>", body)
        made = f"tensor<1x?x{width}x{element}>"
        value = self.add(f"tosa.gather {value}, {index} : ({table}, tensor<1x?xi32>) -> {made}")
        return self.reshaped(value, made, body.sizes, self.result, body)

    def reshaped(
        self, value: str, kind: str, sizes: Sequence[Size], result: str, body: Sized
    ) -> str:
        shape, rank = self.shape(sizes, body)
        return self.add(f"tosa.reshape {value}, {shape} : ({kind}, {rank}) -> {result}")

    def cast(self, value: str, kind: str, element: str) -> str:
        sizes, own = shape_and_element(kind)
        if own == element:
            return value
        made = f"tensor<{'x'.join([*sizes, element])}>"
        return self.add(f"tosa.cast {value} : ({kind}) -> {made}")

    def scalar(self, body: Sized) -> str:
        """TOSA cannot convert a shape to a tensor: sum a vector of ones of that size."""
        element = shape_and_element(self.result)[1]
        count = self.size(body.sizes[0], body)
        one, many = f"tensor<1x{element}>", f"tensor<?x{element}>"
        value = self.constant(1, ["1"], element)
        value = self.add(f"tosa.tile {value}, {count} : ({one}, !tosa.shape<1>) -> {many}")
        value = self.add(f"tosa.reduce_sum {value} {{axis = 0 : i32}} : ({many}) -> {one}")
        none = self.add(
            "tosa.const_shape {values = dense<> : tensor<0xindex>} : () -> !tosa.shape<0>"
        )
        return self.add(f"tosa.reshape {value}, {none} : ({one}, !tosa.shape<0>) -> {self.result}")
