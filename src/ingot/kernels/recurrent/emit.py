"""LSTM: all steps of a layer in one call. The gates' inputs are the matmul of the whole sequence
with the input weights; the recurrent weights are packed in panels, gate by gate. The result holds
the hidden states of all steps, then the last cell state. A thread has some units with all four
gates, so that a step waits for other threads only once, for the hidden state it starts from. Sizes
are arguments. Results do not depend on the number of threads.
"""

from __future__ import annotations

import torch

from ingot.codegen.jit.jit import compile_module
from ingot.codegen.jit.lazy import OnceStored
from ingot.codegen.jit.native import Native
from ingot.codegen.loops.gemm import DEPTH, WORK_PER_THREAD, call_tile
from ingot.codegen.mlir.functions import Writer
from ingot.codegen.mlir.openmp import barrier, has_openmp, openmp_declarations
from ingot.ops import polynomials
from ingot.ops.kernel_shapes import GATES, matmul_shape
from ingot.ops.values import Ptr, Val

FIELDS = (
    "gates", "weight", "hidden", "cell", "out",
    "steps", "batch", "units", "hidden_step", "cell_step", "backward",
)  # fmt: skip
"""The frame. `gates` is (steps, batch, 4 · units, each gate padded to whole panels); `out` is
(steps + 1, batch, units); `hidden_step` and `cell_step` are row strides."""
_POINTERS = FIELDS[:5]
ROWS = 24
"""Rows of the batch in one block."""


def lstm_function(dtype: torch.dtype) -> int:
    """The address of the kernel, in the executor's calling convention."""
    return _compiled(dtype).addresses["lstm"]


@OnceStored
def _compiled(dtype: torch.dtype) -> Native:
    task = _Task(dtype)
    functions = {"task": task.text(), "lstm": _entry()}
    declared = {**openmp_declarations(), **task.b.declarations}
    return compile_module(list(declared.values()), functions)


class _Task(Writer):
    """The function of each thread."""

    def __init__(self, dtype: torch.dtype):
        super().__init__()
        self.dtype, self.shape = dtype, matmul_shape(dtype)
        b = self.b
        self.sums = self.stack(GATES * ROWS * self.shape.columns, dtype)
        self.read_frame(FIELDS, _POINTERS)
        self.width = self.const(self.shape.columns)
        units = self.size["units"]
        self.blocks = b.div(b.add(units, self.const(self.shape.columns - 1)), self.width)
        self.gate_columns = b.mul(self.blocks, self.width)
        self.row = b.mul(self.gate_columns, self.const(GATES))
        self.state = b.mul(self.size["batch"], units)

    def text(self) -> str:
        b, zero, one = self.b, self.const(0), self.const(1)
        low, high = self.share(self.blocks, *self.team())
        last = b.sub(self.size["steps"], one)
        backward = b.cmp("ne", self.size["backward"], zero)
        with self.loop(zero, self.size["steps"], one) as count:
            first = b.cmp("eq", count, zero)
            step = b.select(backward, b.sub(last, count), count)
            before = b.select(backward, b.add(step, one), b.sub(step, one))
            hidden = self.either(first, self.pointer["hidden"], self._out(before))
            stride = b.select(first, self.size["hidden_step"], self.size["units"])
            with self.loop(zero, self.size["batch"], self.const(ROWS)) as top:
                rows = b.minimum(self.const(ROWS), b.sub(self.size["batch"], top))
                at = self.moved(hidden, b.mul(top, stride), self.dtype)
                with self.loop(low, high, one) as block:
                    for gate in range(GATES):
                        self._gate(gate, block, step, top, rows, at, stride)
                    self._units(block, step, first, top, rows)
            if has_openmp():
                barrier(b)
        return self.function("task")

    def _out(self, step: Val) -> Ptr:
        return self.moved(self.pointer["out"], self.b.mul(step, self.state), self.dtype)

    def _gate(
        self, gate: int, block: Val, step: Val, top: Val, rows: Val, hidden: Ptr, stride: Val
    ) -> None:
        """sums[gate] = gates + hidden · weight, for the units of the block."""
        b, dtype, k = self.b, self.dtype, self.size["units"]
        left = b.add(b.mul(self.gate_columns, self.const(gate)), b.mul(block, self.width))
        row = b.add(b.mul(step, self.size["batch"]), top)
        given = self.moved(self.pointer["gates"], b.add(b.mul(row, self.row), left), dtype)
        sums = self.moved(self.sums, self.const(gate * ROWS * self.shape.columns), dtype)
        panel = self.moved(self.pointer["weight"], b.mul(left, k), dtype)
        with self.loop(self.const(0), k, self.const(DEPTH)) as deep:
            depth = b.minimum(self.const(DEPTH), b.sub(k, deep))
            first = b.cmp("eq", deep, self.const(0))
            addend = self.either(first, given, sums)
            between = b.select(first, self.row, self.width)
            right = self.moved(panel, b.mul(deep, self.width), dtype)
            with self.strips(self.shape.rows, rows) as (height, at):
                a = self.moved(hidden, b.add(b.mul(at, stride), deep), dtype)
                call_tile(
                    self, self.shape, height, a, stride, right, self.width,
                    self.moved(addend, b.mul(at, between), dtype), between,
                    self.moved(sums, b.mul(at, self.width), dtype), self.width, depth,
                )  # fmt: skip

    def _units(self, block: Val, step: Val, first: Val, top: Val, rows: Val) -> None:
        """Computes the states of the block's units after the step."""
        b, dtype, lanes = self.b, self.dtype, self.shape.lanes
        left = b.mul(block, self.width)
        cells = self._out(self.size["steps"])
        before = self.either(first, self.pointer["cell"], cells)
        stride = b.select(first, self.size["cell_step"], self.size["units"])
        with self.loop(self.const(0), rows, self.const(1)) as i:
            row = b.add(top, i)
            own = b.add(b.mul(row, self.size["units"]), left)
            old = self.moved(before, b.add(b.mul(row, stride), left), dtype)
            for j in range(self.shape.vectors):
                at = self.const(j * lanes)
                rest = b.sub(b.sub(self.size["units"], left), at)
                mask = b.cmp("lt", b.iota(lanes), b.broadcast(rest, lanes))
                sums = [self._sum(gate, i, at) for gate in range(GATES)]
                cell = b.load(self.moved(old, at, dtype), dtype, lanes, mask)
                cell, hidden = self._step(sums, cell)
                place = b.add(own, at)
                b.store(self.moved(cells, place, dtype), cell, mask)
                b.store(self.moved(self._out(step), place, dtype), hidden, mask)

    def _sum(self, gate: int, row: Val, at: Val) -> Val:
        b = self.b
        start = b.add(b.mul(row, self.width), self.const(gate * ROWS * self.shape.columns))
        return b.load(
            self.moved(self.sums, b.add(start, at), self.dtype), self.dtype, self.shape.lanes
        )

    def _step(self, sums: list[Val], cell: Val) -> tuple[Val, Val]:
        """(cell, hidden)"""
        b = self.b
        into, kept, new, seen = sums
        into, kept, seen = (polynomials.sigmoid(b, x) for x in (into, kept, seen))
        cell = b.fma(kept, cell, b.mul(into, polynomials.tanh(b, new)))
        return cell, b.mul(seen, polynomials.tanh(b, cell))


def _entry() -> str:
    w = Writer()
    w.read_frame(FIELDS, _POINTERS)
    b, units = w.b, w.size["units"]
    work = b.mul(b.mul(w.size["batch"], units), b.mul(units, w.const(GATES)))
    w.in_parallel(b.div(work, w.const(WORK_PER_THREAD)))
    return w.function("lstm", result=w.const(0))
