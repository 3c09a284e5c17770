"""Matrix products of our own: C = A · B + addend, f32 and f64. Comes in: A by rows, B packed into
panels; goes out: C by rows. What holds: sizes are arguments, so one piece of code serves all; a
panel's part of B stays in the first cache level while A's rows pass by it, in tiles that fill the
registers; sums run over at most DEPTH terms before they are added up, which keeps the error of long
ones low; results do not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

import torch

from ingot.codegen.builder import Builder
from ingot.codegen.entry import has_openmp, openmp_declarations
from ingot.codegen.jit import FUNCTION_ATTRIBUTES, Native, compile_module
from ingot.codegen.machine import this_machine
from ingot.codegen.values import Val

I64 = torch.int64
DEPTH = 256
"""Terms of a sum that one accumulator takes."""
BLOCK_BYTES = 1 << 17
"""Of A's rows that are worked on at a time: they stay in the second cache level."""
CHAINS = 8
"""Sums that must be under way at a time to keep the multipliers busy."""
WORK_PER_THREAD = 1 << 17
"""Multiplications that are worth waking a thread for."""
FIELDS = ("a", "lda", "b", "addend", "c", "ldc", "m", "n", "k", "ldadd")
"""The frame. `addend` may be null; `ldadd` is 0 for one row that is added to all."""
_POINTERS = ("a", "b", "addend", "c")


@dataclass(frozen=True)
class Shape:
    """A tile of C in registers: `rows` by `vectors` of `lanes`."""

    dtype: torch.dtype
    rows: int
    vectors: int
    lanes: int

    @property
    def columns(self) -> int:
        return self.vectors * self.lanes


def tile_shape(dtype: torch.dtype) -> Shape:
    """As many accumulators as leave room for a row of B and an element of A."""
    bits = this_machine().vector_bits
    rows = {512: 12, 256: 6, 128: 6}[bits]
    return Shape(dtype, rows, 2, bits // 8 // dtype.itemsize)


@cache
def product_function(dtype: torch.dtype) -> int:
    """The address of the product for `dtype`, in the convention of the executor."""
    native = _compiled(dtype)
    return native.addresses["product"]


@cache
def _compiled(dtype: torch.dtype) -> Native:
    shape = tile_shape(dtype)
    functions = {f"tile{rows}": _tile(shape, rows) for rows in range(1, shape.rows + 1)}
    functions["task"] = _task(shape)
    functions["product"] = _entry()
    return compile_module(list(openmp_declarations().values()), functions)


def tile_addresses(dtype: torch.dtype) -> list[int]:
    """Of the tiles with 1, 2, … rows."""
    addresses = _compiled(dtype).addresses
    return [addresses[f"tile{rows}"] for rows in range(1, tile_shape(dtype).rows + 1)]


class Writer:
    """A function's body, with pointers."""

    def __init__(self) -> None:
        self.b = Builder(1)
        self.slots = 0

    def const(self, value: int) -> Val:
        return self.b.const(value, I64)

    def moved(self, pointer: str, by: Val, dtype: torch.dtype) -> str:
        return self.b.pointer_at(pointer, by, dtype)

    @contextmanager
    def loop(self, low: Val, high: Val, step: Val) -> Iterator[Val]:
        name = self.b.fresh()
        self.b.line(f"scf.for {name} = {low.name} to {high.name} step {step.name} : i64 {{")
        with self.b.indented():
            yield Val(name, I64)
        self.b.line("}")

    @contextmanager
    def when(self, condition: Val) -> Iterator[None]:
        self.b.line(f"scf.if {condition.name} {{")
        with self.b.indented():
            yield
        self.b.line("}")

    def either(self, condition: Val, x: str, y: str) -> str:
        name = self.b.fresh()
        self.b.line(f"{name} = arith.select {condition.name}, {x}, {y} : !llvm.ptr")
        return name

    def stack(self, count: int, dtype: torch.dtype) -> str:
        self.slots += 1
        name, kind = f"%slot{self.slots}", Val("", dtype).type
        self.b.line(f"{name}n = llvm.mlir.constant({count} : i64) : i64")
        self.b.line(
            f"{name} = llvm.alloca {name}n x {kind} {{alignment = 64 : i64}} : (i64) -> !llvm.ptr"
        )
        return name

    def fields(self) -> dict[str, Val | str]:
        found: dict[str, Val | str] = {}
        for position, name in enumerate(FIELDS):
            at = self.b.fresh()
            self.b.line(
                f"{at} = llvm.getelementptr %frame[{position}] : (!llvm.ptr) -> !llvm.ptr, i64"
            )
            value = self.b.fresh()
            kind = "!llvm.ptr" if name in _POINTERS else "i64"
            self.b.line(f"{value} = llvm.load {at} : !llvm.ptr -> {kind}")
            found[name] = value if name in _POINTERS else Val(value, I64)
        return found

    def function(self, head: str, result: str = "") -> str:
        lines = [*self.b.constant_lines(), *self.b.lines]
        return "\n".join(
            [f"  llvm.func internal {head} {{", *lines, f"    llvm.return{result}", "  }"]
        )


_TILE_ARGUMENTS = (
    "%a: !llvm.ptr, %lda: i64, %b: !llvm.ptr, %addend: !llvm.ptr, %ldadd: i64, "
    "%c: !llvm.ptr, %ldc: i64, %k: i64"
)
_TILE_TYPE = "(!llvm.ptr, i64, !llvm.ptr, !llvm.ptr, i64, !llvm.ptr, i64, i64) -> ()"


def _tile(shape: Shape, rows: int) -> str:
    """c[rows, columns] = addend + a[rows, k] · b[k, columns]"""
    w = Writer()
    b, dtype = w.b, shape.dtype
    starts = ["%a"]
    for _ in range(1, rows):
        starts.append(w.moved(starts[-1], Val("%lda", I64), dtype))
    width = rows * shape.vectors
    several = max(1, CHAINS // width)
    """Steps with sums of their own: where there are few, each would wait for the one before."""

    def step(at: Val, sums: Sequence[Val]) -> list[Val]:
        panel = w.moved("%b", b.mul(at, w.const(shape.columns)), dtype)
        right = [
            b.load(w.moved(panel, w.const(j * shape.lanes), dtype), dtype, shape.lanes)
            for j in range(shape.vectors)
        ]
        result = []
        for i, start in enumerate(starts):
            left = b.broadcast(b.load(w.moved(start, at, dtype), dtype, 1), shape.lanes)
            result += [b.fma(left, r, sums[i * shape.vectors + j]) for j, r in enumerate(right)]
        return result

    def steps(at: Val, sums: Sequence[Val]) -> list[Val]:
        groups = [sums[k * width : (k + 1) * width] for k in range(several)]
        return [s for k, group in enumerate(groups) for s in step(b.add(at, w.const(k)), group)]

    zero, k = w.const(0), Val("%k", I64)
    sums = [b.const(0, dtype, shape.lanes)] * (several * width)
    whole = b.mul(b.div(k, w.const(several)), w.const(several)) if several > 1 else k
    sums = _summed(w, (zero, whole, several), sums, steps)
    if several > 1:
        for group in range(1, several):
            both = zip(sums[:width], sums[group * width : (group + 1) * width], strict=True)
            sums[:width] = [b.add(x, y) for x, y in both]
        sums = _summed(w, (whole, k, 1), sums[:width], step)
    addend, c = "%addend", "%c"
    for i in range(rows):
        if i:
            addend = w.moved(addend, Val("%ldadd", I64), dtype)
            c = w.moved(c, Val("%ldc", I64), dtype)
        for j in range(shape.vectors):
            at = w.const(j * shape.lanes)
            more = b.load(w.moved(addend, at, dtype), dtype, shape.lanes)
            b.store(w.moved(c, at, dtype), b.add(sums[i * shape.vectors + j], more))
    attributes = FUNCTION_ATTRIBUTES.replace("[[", '["noinline", [')
    return w.function(f"@tile{rows}({_TILE_ARGUMENTS}) attributes {{{attributes}}}")


def _summed(
    w: Writer,
    extent: tuple[Val, Val, int],
    start: Sequence[Val],
    step: Callable[[Val, Sequence[Val]], list[Val]],
) -> list[Val]:
    """A loop (from, to, by) that carries `start`."""
    b = w.b
    names = [b.fresh() for _ in start]
    result, at = b.fresh(), b.fresh()
    carried = ", ".join(f"{n} = {v.name}" for n, v in zip(names, start, strict=True))
    kinds = ", ".join(v.type for v in start)
    low, high, by = extent
    b.line(
        f"{result}:{len(start)} = scf.for {at} = {low.name} to {high.name} step {w.const(by).name} "
        f"iter_args({carried}) -> ({kinds}) : i64 {{"
    )
    with b.indented():
        inside = [Val(n, v.dtype, v.lanes) for n, v in zip(names, start, strict=True)]
        sums = step(Val(at, I64), inside)
        b.line(f"scf.yield {', '.join(v.name for v in sums)} : {kinds}")
    b.line("}")
    return [Val(f"{result}#{i}", v.dtype, v.lanes) for i, v in enumerate(start)]


class _Task(Writer):
    """What one thread does: its share of the panels, or of the rows where there are few panels."""

    def __init__(self, shape: Shape):
        super().__init__()
        self.shape = shape
        b = self.b
        self.whole = self.stack(shape.rows * shape.columns, shape.dtype)
        """A tile that hangs over C's edge."""
        self.row = self.stack(shape.columns, shape.dtype)
        """The addend where there is none, or where reading it would go beyond its end."""
        given = self.fields()
        self.pointer = {name: str(given[name]) for name in _POINTERS}
        self.size = {n: v for n, v in given.items() if isinstance(v, Val)}
        self.width = self.const(shape.columns)
        zero = b.const(0, shape.dtype, shape.lanes)
        for j in range(shape.vectors):
            b.store(self.moved(self.row, self.const(j * shape.lanes), shape.dtype), zero)
        self.panels = b.div(b.add(self.size["n"], self.const(shape.columns - 1)), self.width)

    def write(self) -> None:
        b = self.b
        low_panel, high_panel, low_row, high_row = self._share()
        room = self.const(BLOCK_BYTES // self.shape.dtype.itemsize)
        tall = self.const(self.shape.rows)
        rows = b.mul(b.add(b.div(b.div(room, self.size["k"]), tall), self.const(1)), tall)
        with self.loop(low_row, high_row, rows) as top:
            bottom = b.minimum(b.add(top, rows), high_row)
            with self.loop(low_panel, high_panel, self.const(1)) as panel:
                left = b.mul(panel, self.width)
                right = b.add(left, self.width)
                inside = b.cmp("le", right, self.size["n"])
                with self.when(inside):
                    self._panel(panel, left, top, bottom)
                with self.when(b.not_(inside)):
                    self._edge(panel, left, top, bottom)

    def _share(self) -> tuple[Val, Val, Val, Val]:
        b, one, zero = self.b, self.const(1), self.const(0)
        if not has_openmp():
            return zero, self.panels, zero, self.size["m"]
        ends = []
        for name in ("omp_get_thread_num", "omp_get_num_threads"):
            narrow = b.fresh()
            b.line(f"{narrow} = llvm.call @{name}() : () -> i32")
            ends.append(b.cast(Val(narrow, torch.int32), I64))
        thread, threads = ends
        by_panels = b.cmp("ge", self.panels, b.mul(threads, self.const(4)))
        tall = self.const(self.shape.rows)
        strips = b.div(b.add(self.size["m"], self.const(self.shape.rows - 1)), tall)

        def part(count: Val, number: Val) -> Val:
            return b.div(b.mul(count, number), threads)

        following = b.add(thread, one)
        low_strip, high_strip = part(strips, thread), part(strips, following)
        return (
            b.select(by_panels, part(self.panels, thread), zero),
            b.select(by_panels, part(self.panels, following), self.panels),
            b.select(by_panels, zero, b.mul(low_strip, tall)),
            b.select(by_panels, self.size["m"], b.minimum(b.mul(high_strip, tall), self.size["m"])),
        )

    def _addend(self, left: Val) -> tuple[Val, str, Val]:
        """(is there one, its row at `left`, its row stride)"""
        b = self.b
        address = b.fresh()
        b.line(f"{address} = llvm.ptrtoint {self.pointer['addend']} : !llvm.ptr to i64")
        some = b.cmp("ne", Val(address, I64), self.const(0))
        at = self.moved(self.pointer["addend"], left, self.shape.dtype)
        return some, at, b.select(some, self.size["ldadd"], self.const(0))

    def _panel(self, panel: Val, left: Val, top: Val, bottom: Val) -> None:
        b, dtype = self.b, self.shape.dtype
        some, given, stride = self._addend(left)
        c = self.moved(self.pointer["c"], left, dtype)
        with self.loop(self.const(0), self.size["k"], self.const(DEPTH)) as deep:
            depth = b.minimum(self.const(DEPTH), b.sub(self.size["k"], deep))
            first = b.cmp("eq", deep, self.const(0))
            addend = self.either(first, self.either(some, given, self.row), c)
            step = b.select(first, stride, self.size["ldc"])
            right = self._packed(panel, deep)

            def tile(rows: Val, at: Val, right: str = right, deep: Val = deep, depth: Val = depth,
                     addend: str = addend, step: Val = step) -> None:  # fmt: skip
                self._call(
                    rows, self._left(at, deep), right,
                    self.moved(addend, b.mul(at, step), dtype), step,
                    self.moved(c, b.mul(at, self.size["ldc"]), dtype), self.size["ldc"], depth,
                )  # fmt: skip

            self._strips(top, bottom, tile)

    def _edge(self, panel: Val, left: Val, top: Val, bottom: Val) -> None:
        """The last panel, of which only some columns are C's: tile by tile by way of the stack."""
        b, dtype = self.b, self.shape.dtype
        some, given, stride = self._addend(left)
        used = b.sub(self.size["n"], left)
        c = self.moved(self.pointer["c"], left, dtype)

        def tile(rows: Val, at: Val) -> None:
            with self.loop(self.const(0), rows, self.const(1)) as i:
                row = self.moved(self.whole, b.mul(i, self.width), dtype)
                theirs = self.moved(given, b.mul(b.add(at, i), stride), dtype)
                with self.loop(self.const(0), used, self.const(1)) as j, self.when(some):
                    b.store(
                        self.moved(row, j, dtype), b.load(self.moved(theirs, j, dtype), dtype, 1)
                    )
                with self.loop(self.const(0), used, self.const(1)) as j, self.when(b.not_(some)):
                    b.store(self.moved(row, j, dtype), b.const(0, dtype))
            with self.loop(self.const(0), self.size["k"], self.const(DEPTH)) as deep:
                depth = b.minimum(self.const(DEPTH), b.sub(self.size["k"], deep))
                self._call(
                    rows, self._left(at, deep), self._packed(panel, deep), self.whole, self.width,
                    self.whole, self.width, depth,
                )  # fmt: skip
            with self.loop(self.const(0), rows, self.const(1)) as i:
                row = self.moved(self.whole, b.mul(i, self.width), dtype)
                ours = self.moved(c, b.mul(b.add(at, i), self.size["ldc"]), dtype)
                with self.loop(self.const(0), used, self.const(1)) as j:
                    b.store(self.moved(ours, j, dtype), b.load(self.moved(row, j, dtype), dtype, 1))

        self._strips(top, bottom, tile)

    def _strips(self, top: Val, bottom: Val, tile: Callable[[Val, Val], None]) -> None:
        """Tiles from `top` to `bottom`, as tall as can be; the last two share what they have."""
        b, tall, zero, one = self.b, self.const(self.shape.rows), self.const(0), self.const(1)
        count = b.div(b.add(b.sub(bottom, top), b.sub(tall, one)), tall)
        whole = b.maximum(b.sub(count, self.const(2)), zero)
        end = b.add(top, b.mul(whole, tall))
        rest = b.sub(bottom, end)
        first = b.select(b.cmp("gt", rest, tall), b.div(b.add(rest, one), self.const(2)), rest)
        with self.loop(zero, count, one) as strip:
            last, early = b.cmp("gt", strip, whole), b.cmp("lt", strip, whole)
            rows = b.select(early, tall, b.select(last, b.sub(rest, first), first))
            at = b.select(last, b.add(end, first), b.add(top, b.mul(strip, tall)))
            tile(rows, at)

    def _left(self, row: Val, deep: Val) -> str:
        offset = self.b.add(self.b.mul(row, self.size["lda"]), deep)
        return self.moved(self.pointer["a"], offset, self.shape.dtype)

    def _packed(self, panel: Val, deep: Val) -> str:
        row = self.b.add(self.b.mul(panel, self.size["k"]), deep)
        return self.moved(self.pointer["b"], self.b.mul(row, self.width), self.shape.dtype)

    def _call(
        self, rows: Val, a: str, right: str, addend: str, step: Val, c: str, ldc: Val, depth: Val
    ) -> None:
        values = (a, self.size["lda"].name, right, addend, step.name, c, ldc.name, depth.name)
        target = self._tile(self.shape.rows)
        for height in range(1, self.shape.rows):
            same = self.b.cmp("eq", rows, self.const(height))
            target = self.either(same, self._tile(height), target)
        self.b.line(f"llvm.call {target}({', '.join(values)}) : !llvm.ptr, {_TILE_TYPE}")

    def _tile(self, rows: int) -> str:
        name = self.b.fresh()
        self.b.line(f"{name} = llvm.mlir.addressof @tile{rows} : !llvm.ptr")
        return name


def _task(shape: Shape) -> str:
    task = _Task(shape)
    task.write()
    return task.function("@task(%frame: !llvm.ptr)")


def _entry() -> str:
    w = Writer()
    b = w.b
    alone = "llvm.call @task(%frame) : (!llvm.ptr) -> ()"
    if not has_openmp():
        b.line(alone)
    else:
        size = {n: v for n, v in w.fields().items() if isinstance(v, Val)}
        work = b.mul(b.mul(size["m"], size["n"]), size["k"])
        useful = b.div(work, w.const(WORK_PER_THREAD))
        most = b.fresh()
        b.line(f"{most} = llvm.call @omp_get_max_threads() : () -> i32")
        threads = b.minimum(useful, b.cast(Val(most, torch.int32), I64))
        several = b.cmp("gt", threads, w.const(1))
        with w.when(several):
            count = b.cast(threads, torch.int32)
            flags = b.const(0, torch.int32)
            b.line("%task = llvm.mlir.addressof @task : !llvm.ptr")
            b.line(
                f"llvm.call @GOMP_parallel(%task, %frame, {count.name}, {flags.name}) : "
                "(!llvm.ptr, !llvm.ptr, i32, i32) -> ()"
            )
        with w.when(b.not_(several)):
            b.line(alone)
    zero = w.const(0)
    return w.function("@product(%frame: !llvm.ptr) -> i64", f" {zero.name} : i64")


def packed(matrix: torch.Tensor) -> torch.Tensor:
    """B, of shape (k, n) and any strides, as panels: (panels, k, columns), padded with zeros."""
    width = tile_shape(matrix.dtype).columns
    k, n = matrix.shape
    panels = -(-n // width)
    if n % width:
        padded = matrix.new_zeros(k, panels * width)
        padded[:, :n] = matrix
        matrix = padded
    return matrix.reshape(k, panels, width).permute(1, 0, 2).contiguous()
