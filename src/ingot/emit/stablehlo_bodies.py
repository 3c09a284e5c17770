"""Bodies of calls in StableHLO. A size is a `tensor<i32>`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ingot.emit.body_writer import BodyWriter, literal, shape_and_element
from ingot.emit.dynamic_sizes import Size, Sized


class StablehloBody(BodyWriter):
    def number(self, value: int) -> str:
        return self.add(f"stablehlo.constant dense<{value}> : tensor<i32>")

    def dimension(self, operand: int, axis: int) -> str:
        kind = self.inputs[operand]
        return self.add(
            f"stablehlo.get_dimension_size %a{operand}, dim = {axis} : ({kind}) -> tensor<i32>"
        )

    def apply(self, name: str, x: str, y: str) -> str:
        return self.add(f"stablehlo.{_NAMES[name]} {x}, {y} : tensor<i32>")

    def shape(self, sizes: Sequence[Size], body: Sized) -> tuple[str, str]:
        kind = f"tensor<{len(sizes)}xi32>"
        parts = [
            self.add(f"stablehlo.reshape {self.size(s, body)} : (tensor<i32>) -> tensor<1xi32>")
            for s in sizes
        ]
        if len(parts) == 1:
            return parts[0], kind
        ones = ", ".join(["tensor<1xi32>"] * len(parts))
        text = f"stablehlo.concatenate {', '.join(parts)}, dim = 0 : ({ones}) -> {kind}"
        return self.add(text), kind

    def reshape(self, body: Sized) -> str:
        return self._dynamic_reshape("%a0", self.inputs[0], body.sizes, self.result, body)

    def _dynamic_reshape(
        self, value: str, kind: str, sizes: Sequence[Size], result: str, body: Sized
    ) -> str:
        shape, wide = self.shape(sizes, body)
        return self.add(
            f"stablehlo.dynamic_reshape {value}, {shape} : ({kind}, {wide}) -> {result}"
        )

    def expand(self, body: Sized) -> str:
        sizes, _ = shape_and_element(self.inputs[0])
        missing = len(body.sizes) - len(sizes)
        dims = ", ".join(str(missing + i) for i in range(len(sizes)))
        return self._broadcast("%a0", self.inputs[0], dims, body)

    def choose(self, body: Sized) -> str:
        sizes, _ = shape_and_element(self.result)
        values = []
        for i in range(3):
            own, element = shape_and_element(self.inputs[i])
            dims = ", ".join(str(len(sizes) - len(own) + d) for d in range(len(own)))
            result = f"tensor<{'x'.join([*sizes, element])}>"
            kind = self.inputs[i]
            values.append(self._spread(f"%a{i}", kind, dims, body.sizes, result, body))
        kinds = f"tensor<{'x'.join([*sizes, 'i1'])}>, {self.result}"
        return self.add(f"stablehlo.select {', '.join(values)} : {kinds}")

    def _broadcast(self, value: str, kind: str, dims: str, body: Sized) -> str:
        return self._spread(value, kind, dims, body.sizes, self.result, body)

    def _spread(
        self, value: str, kind: str, dims: str, sizes: Sequence[Size], result: str, body: Sized
    ) -> str:
        shape, wide = self.shape(sizes, body)
        return self.add(
            f"stablehlo.dynamic_broadcast_in_dim {value}, {shape}, dims = [{dims}] : "
            f"({kind}, {wide}) -> {result}"
        )

    def full(self, body: Sized) -> str:
        kind = f"tensor<{shape_and_element(self.result)[1]}>"
        value = self.constant(body.fill, kind)
        return self._broadcast(value, kind, "", body)

    def constant(self, number: Any, kind: str) -> str:
        value = literal(number, shape_and_element(kind)[1])
        return self.add(f"stablehlo.constant dense<{value}> : {kind}")

    def arange(self, body: Sized) -> str:
        start, step, _ = body.fill
        value = self._iota(0, body.sizes, self.result, body)
        scalar = f"tensor<{shape_and_element(self.result)[1]}>"
        for op, number, nothing in (("multiply", step, 1), ("add", start, 0)):
            if number != nothing:
                other = self._broadcast(self.constant(number, scalar), scalar, "", body)
                value = self.add(f"stablehlo.{op} {value}, {other} : {self.result}")
        return value

    def slice(self, body: Sized) -> str:
        starts, kind = self.shape(body.sizes, body)
        ends, _ = self.shape([a + b for a, b in zip(body.sizes, body.fill)], body)
        steps, _ = self.shape([1] * len(body.sizes), body)
        kinds = ", ".join([self.inputs[0], kind, kind, kind])
        return self.add(
            f"stablehlo.real_dynamic_slice %a0, {starts}, {ends}, {steps} : "
            f"({kinds}) -> {self.result}"
        )

    def pick(self, body: Sized) -> str:
        """Gathers single elements of the flattened source: a gather's slices have static sizes."""
        _, before, rows, behind, count = body.fill
        _, integer = shape_and_element(self.inputs[1])
        cube, shape = f"tensor<?x?x?x{integer}>", [before, count, behind]
        place = self._iota(0, shape, cube, body)
        place = self._times(place, rows, shape, cube, body)
        index = self._spread("%a1", self.inputs[1], "1", shape, cube, body)
        place = self.add(f"stablehlo.add {place}, {index} : {cube}")
        place = self._times(place, behind, shape, cube, body)
        column = self._iota(2, shape, cube, body)
        place = self.add(f"stablehlo.add {place}, {column} : {cube}")
        return self._numbers_at(place, cube, before * rows * behind, body)

    def gather(self, body: Sized) -> str:
        rows, size, count = body.fill
        _, integer = shape_and_element(self.inputs[1])
        plane, shape = f"tensor<?x?x{integer}>", [rows, count]
        place = self._iota(0, shape, plane, body)
        place = self._times(place, size, shape, plane, body)
        index = self._dynamic_reshape("%a1", self.inputs[1], shape, plane, body)
        place = self.add(f"stablehlo.add {place}, {index} : {plane}")
        return self._numbers_at(place, plane, rows * size, body)

    def _numbers_at(self, places: str, kind: str, long: Size, body: Sized) -> str:
        """The elements of the first argument, flattened, at these indices."""
        sizes, _ = shape_and_element(kind)
        _, element = shape_and_element(self.inputs[0])
        row, made = f"tensor<?x{element}>", f"tensor<{'x'.join([*sizes, element])}>"
        source = self._dynamic_reshape("%a0", self.inputs[0], [long], row, body)
        value = self.add(
            f'"stablehlo.gather"({source}, {places}) <{{dimension_numbers = #stablehlo.gather<'
            "collapsed_slice_dims = [0], start_index_map = [0], "
            f"index_vector_dim = {len(sizes)}>, "
            f"slice_sizes = array<i64: 1>}}> : ({row}, {kind}) -> {made}"
        )
        return self._dynamic_reshape(value, made, body.sizes, self.result, body)

    def _iota(self, dim: int, sizes: Sequence[Size], kind: str, body: Sized) -> str:
        shape, wide = self.shape(sizes, body)
        return self.add(f"stablehlo.dynamic_iota {shape}, dim = {dim} : ({wide}) -> {kind}")

    def _times(self, value: str, size: Size, sizes: Sequence[Size], kind: str, body: Sized) -> str:
        one = f"tensor<{shape_and_element(kind)[1]}>"
        number = self.add(f"stablehlo.convert {self.size(size, body)} : (tensor<i32>) -> {one}")
        other = self._spread(number, one, "", sizes, kind, body)
        return self.add(f"stablehlo.multiply {value}, {other} : {kind}")

    def rows(self, body: Sized) -> str:
        rank = len(shape_and_element(self.inputs[1])[0])
        (width,) = shape_and_element(self.inputs[0])[0][1:]
        return self.add(
            f'"stablehlo.gather"(%a0, %a1) <{{dimension_numbers = #stablehlo.gather<'
            f"offset_dims = [{rank}], collapsed_slice_dims = [0], start_index_map = [0], "
            f"index_vector_dim = {rank}>, slice_sizes = array<i64: 1, {width}>}}> : "
            f"({self.inputs[0]}, {self.inputs[1]}) -> {self.result}"
        )

    def scalar(self, body: Sized) -> str:
        value = self.size(body.sizes[0], body)
        return self.add(f"stablehlo.convert {value} : (tensor<i32>) -> {self.result}")


_NAMES = {
    "add": "add", "sub": "subtract", "mul": "multiply", "div": "divide", "mod": "remainder",
    "max": "maximum", "min": "minimum",
}  # fmt: skip
