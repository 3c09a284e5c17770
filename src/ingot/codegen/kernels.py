"""Regions to machine code. Comes in: the regions of a Fused; goes out: one Kernel for each, with its address and the order
of its arguments. What holds: regions with the same text share one kernel, in this graph and all others of the process; a
region that cannot be compiled is reported and left to PyTorch, or raises where `strict` is set.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field

import sympy
import torch
from torch import fx

from ingot.codegen.builder import NATIVE_DTYPES, Val
from ingot.codegen.jit import FUNCTION_ATTRIBUTES, Native, compile_module
from ingot.codegen.machine import has_symbol, this_machine
from ingot.codegen.nest import NestWriter
from ingot.codegen.rules import pointwise_rules
from ingot.errors import CompileError, IngotError
from ingot.fuse import index as ix
from ingot.fuse.expr import Apply, Expr, Load, Reduce
from ingot.fuse.index import Var
from ingot.fuse.loops import Nest, make_nest
from ingot.fuse.region import Region
from ingot.options import Options
from ingot.stages import Fused

WORK_PER_THREAD = 65536
"""Instructions, roughly, that are worth waking a thread for."""
VECTOR_BLOCK = 2048
"""Elements of the vector loop that are one parallel unit where there are few outer iterations."""
MANY_ROWS = 64


@dataclass(frozen=True)
class Kernel:
    """A region's native function: `address(buffers …, symbols …) -> error code`."""

    region: Region
    buffers: tuple[fx.Node, ...]
    symbols: tuple[sympy.Symbol, ...]
    address: int
    text: str


@dataclass(frozen=True)
class Kernels:
    by_region: dict[Region, Kernel]
    failures: dict[Region, str]
    """Regions that PyTorch runs, and why."""
    distinct: int


@dataclass
class Draft:
    """A kernel before LLVM."""

    region: Region
    buffers: tuple[fx.Node, ...]
    symbols: tuple[sympy.Symbol, ...]
    text: str
    """Functions with @NAME in place of the name."""
    declarations: dict[str, str] = field(default_factory=dict)


_compiled: dict[str, tuple[int, Native]] = {}
"""Text to (address, what keeps it alive), for the life of the process."""


def build_kernels(fused: Fused, options: Options) -> Kernels:
    drafts: list[Draft] = []
    failures: dict[Region, str] = {}
    for region in fused.regions():
        try:
            drafts.append(draft_kernel(region, options))
        except (IngotError, AssertionError, KeyError, ValueError) as error:
            _give_up(region, error, options, failures)
    missing = {d.text: d for d in drafts if d.text not in _compiled}
    _compile(list(missing.values()), options, failures)
    kernels = {
        d.region: Kernel(d.region, d.buffers, d.symbols, _compiled[d.text][0], d.text)
        for d in drafts
        if d.text in _compiled
    }
    return Kernels(kernels, failures, len({d.text for d in drafts}))


def _give_up(region: Region, error: Exception, options: Options, failures: dict[Region, str]) -> None:
    reason = f"{type(error).__name__}: {error}"
    if options.strict:
        raise CompileError(reason) from error
    failures[region] = reason
    warnings.warn(f"ingot leaves a region to PyTorch: {reason}\n{region.as_text()}", stacklevel=2)


def _compile(drafts: Sequence[Draft], options: Options, failures: dict[Region, str]) -> None:
    """All of them as one module; if LLVM will not have that, one by one."""
    if not drafts:
        return
    try:
        _compile_together(drafts)
    except CompileError as error:
        if len(drafts) == 1:
            _give_up(drafts[0].region, error, options, failures)
            return
        for draft in drafts:
            _compile([draft], options, failures)


def _compile_together(drafts: Sequence[Draft]) -> None:
    names = {f"kernel{len(_compiled) + i}": d for i, d in enumerate(drafts)}
    declarations: dict[str, str] = {}
    for draft in drafts:
        declarations.update(draft.declarations)
    native = compile_module(
        list(declarations.values()), {name: d.text.replace("@NAME", f"@{name}") for name, d in names.items()}
    )
    for name, draft in names.items():
        _compiled[draft.text] = native.addresses[name], native


class _Symbols(dict[sympy.Symbol, Val]):
    """Names for the symbols a body turns out to need."""

    def __missing__(self, symbol: sympy.Symbol) -> Val:
        self[symbol] = Val(f"%symbol{len(self)}", torch.int64)
        return self[symbol]


def draft_kernel(region: Region, options: Options) -> Draft:
    nest = make_nest(region)
    stored = [s.buffer for s in nest.stores]
    loaded = [e.buffer for e in nest.expressions() if isinstance(e, Load)]
    buffers = tuple(dict.fromkeys([*loaded, *stored]))
    symbols = _Symbols()
    cost = cost_of(nest.expressions())
    names = {node: f"%buffer{i}" for i, node in enumerate(buffers)}
    writer = NestWriter(nest, choose_lanes(nest, cost, options), names, symbols)
    plan = Units(nest, writer)
    plan.write_body()
    text, declarations = _assemble(writer, plan, len(buffers), symbols, cost)
    return Draft(region, buffers, tuple(symbols), text, declarations)


def cost_of(expressions: Sequence[Expr]) -> int:
    """Rough instructions for one element."""
    total = 1
    for expr in expressions:
        if isinstance(expr, Apply):
            total += pointwise_rules[expr.target].cost
        elif isinstance(expr, Load | Reduce):
            total += 1
    return total


def choose_lanes(nest: Nest, cost: int, options: Options) -> int:
    if nest.vector is None or options.vector_bits == 1:
        return 1
    bits = options.vector_bits or this_machine().vector_bits
    widest = max([e.dtype.itemsize for e in nest.expressions() if e.dtype in NATIVE_DTYPES], default=4)
    unroll = 4 if cost <= 14 else 2 if cost <= 40 else 1
    lanes = max(2, bits // 8 * unroll // max(4, widest))
    size = nest.vector.size
    if isinstance(size, int):
        lanes = min(lanes, 1 << (size - 1).bit_length())
    return max(1, lanes)


class Units:
    """How the outer loops are cut into units that threads share."""

    def __init__(self, nest: Nest, writer: NestWriter):
        self.nest = nest
        self.writer = writer
        along = nest.vector is not None and nest.vector in nest.outer
        self.along: Var | None = nest.vector if along else None
        self.lead = nest.outer[:-1] if along else nest.outer
        rows = ix.product([v.size for v in self.lead])
        few = isinstance(rows, int) and rows < MANY_ROWS
        self.blocked = self.along is not None and few and (not self.lead or _longer(self.along, VECTOR_BLOCK))

    def count(self) -> ix.Size:
        """Units, as a size; blocks of the vector loop are counted by `count_value`."""
        return ix.product([v.size for v in self.lead])

    def count_value(self) -> Val:
        w = self.writer
        rows = w.size(self.count())
        return w.b.mul(rows, self._blocks()) if self.blocked else rows

    def _blocks(self) -> Val:
        assert self.along is not None
        w = self.writer
        return w.b.div(w.b.add(w.size(self.along.size), w.const(VECTOR_BLOCK - 1)), w.const(VECTOR_BLOCK))

    def write_body(self) -> None:
        w = self.writer
        roots = [s.value for s in self.nest.stores]
        begin, end = Val("%begin", torch.int64), Val("%end", torch.int64)
        if self.blocked and not self.lead:
            assert self.along is not None
            block = w.const(VECTOR_BLOCK)
            low = w.b.mul(begin, block)
            high = w.b.minimum(w.b.mul(end, block), w.size(self.along.size))
            w.over(self.along, roots, w.row, low, high)
            return
        unit = Var("unit", 0)
        w.loop(unit, begin, end, lambda: self._unit(unit, roots))

    def _unit(self, unit: Var, roots: list[Expr]) -> None:
        w = self.writer
        rest = w.at[unit]
        low = high = None
        if self.blocked:
            assert self.along is not None
            blocks = self._blocks()
            block = w.const(VECTOR_BLOCK)
            low = w.b.mul(w.b.op("arith.remsi", rest, blocks), block)
            high = w.b.minimum(w.b.add(low, block), w.size(self.along.size))
            rest = w.b.op("arith.divsi", rest, blocks)
        for k, var in reversed(list(enumerate(self.lead))):
            size = w.size(var.size)
            w.at[var] = w.b.op("arith.remsi", rest, size) if k else rest
            if k:
                rest = w.b.op("arith.divsi", rest, size)
        w.hoist(roots)
        if self.along is not None:
            w.over(self.along, roots, w.row, low, high)
        else:
            w.row()
        for var in self.lead:
            del w.at[var]


def _longer(var: Var, size: int) -> bool:
    return not isinstance(var.size, int) or var.size > size


def _assemble(
    writer: NestWriter, plan: Units, buffers: int, symbols: _Symbols, cost: int
) -> tuple[str, dict[str, str]]:
    """Entry, task and body around what the writer wrote."""
    declarations = dict(writer.b.declarations)
    body_lines = list(writer.b.lines)
    writer.b.lines.clear()
    elements = ix.product([v.size for v in (*plan.nest.outer, *plan.nest.inner)])
    units = plan.count_value()
    work = writer.size(elements)
    sizing = list(writer.b.lines)
    slots = [f"%buffer{i}" for i in range(buffers)]
    names = [v.name for v in symbols.values()]
    error = len(slots) + len(names)
    text = "\n".join(
        [
            _body(writer, slots, names, error, body_lines),
            _task(slots, names, sizing, writer, units),
            _entry(slots, names, error, sizing, writer, units, work, cost),
        ]
    )
    if _parallel():
        declarations["GOMP_parallel"] = "  llvm.func @GOMP_parallel(!llvm.ptr, !llvm.ptr, i32, i32)"
        declarations["omp_get_thread_num"] = "  llvm.func @omp_get_thread_num() -> i32"
        declarations["omp_get_num_threads"] = "  llvm.func @omp_get_num_threads() -> i32"
        declarations["omp_get_max_threads"] = "  llvm.func @omp_get_max_threads() -> i32"
    return text, declarations


def _parallel() -> bool:
    return has_symbol("GOMP_parallel") and has_symbol("omp_get_max_threads")


def _frame_loads(slots: Sequence[str], names: Sequence[str]) -> list[str]:
    lines = []
    for i, name in enumerate([*slots, *names]):
        kind = "!llvm.ptr" if i < len(slots) else "i64"
        lines.append(f"    {name}at = llvm.getelementptr %frame[{i}] : (!llvm.ptr) -> !llvm.ptr, i64")
        lines.append(f"    {name} = llvm.load {name}at : !llvm.ptr -> {kind}")
    return lines


def _body(writer: NestWriter, slots: list[str], names: list[str], error: int, lines: list[str]) -> str:
    start, end = [], []
    for code, slot in sorted(writer.failed.items()):
        start += [f"    {slot}z = arith.constant 0 : i32", f"    llvm.store {slot}z, {slot} : i32, !llvm.ptr"]
        end += [
            f"    {slot}v = llvm.load {slot} : !llvm.ptr -> i32",
            f"    {slot}c = arith.cmpi ne, {slot}v, {slot}z : i32",
            f"    scf.if {slot}c {{",
            f"      {slot}e = arith.constant {code} : i64",
            f"      {slot}p = llvm.getelementptr %frame[{error}] : (!llvm.ptr) -> !llvm.ptr, i64",
            f"      llvm.store {slot}e, {slot}p : i64, !llvm.ptr",
            "    }",
        ]
    return "\n".join(
        [
            f"  llvm.func internal @NAME_body(%frame: !llvm.ptr, %begin: i64, %end: i64) "
            f"attributes {{{FUNCTION_ATTRIBUTES}}} {{",
            *writer.b.constant_lines(), *writer.entry, *_frame_loads(slots, names), *start, *lines, *end,
            "    llvm.return", "  }",
        ]
    )  # fmt: skip


def _task(slots: list[str], names: list[str], sizing: list[str], writer: NestWriter, units: Val) -> str:
    if not _parallel():
        return ""
    return "\n".join(
        [
            "  llvm.func internal @NAME_task(%frame: !llvm.ptr) {",
            *writer.b.constant_lines(), *_frame_loads(slots, names)[2 * len(slots) :], *sizing,
            "    %thread32 = llvm.call @omp_get_thread_num() : () -> i32",
            "    %threads32 = llvm.call @omp_get_num_threads() : () -> i32",
            "    %thread = arith.extsi %thread32 : i32 to i64",
            "    %threads = arith.extsi %threads32 : i32 to i64",
            "    %one = arith.constant 1 : i64",
            f"    %rounded = arith.addi {units.name}, %threads : i64",
            "    %upper = arith.subi %rounded, %one : i64",
            "    %share = arith.divsi %upper, %threads : i64",
            "    %begin = arith.muli %thread, %share : i64",
            "    %stop = arith.addi %begin, %share : i64",
            f"    %end = arith.minsi %stop, {units.name} : i64",
            "    %some = arith.cmpi slt, %begin, %end : i64",
            "    scf.if %some {",
            "      llvm.call @NAME_body(%frame, %begin, %end) : (!llvm.ptr, i64, i64) -> ()",
            "    }",
            "    llvm.return", "  }",
        ]
    )  # fmt: skip


def _entry(
    slots: list[str], names: list[str], error: int, sizing: list[str], writer: NestWriter, units: Val, work: Val, cost: int
) -> str:
    arguments = ", ".join([f"{s}: !llvm.ptr" for s in slots] + [f"{n}: i64" for n in names])
    lines = [
        f"  llvm.func internal @NAME({arguments}) -> i64 attributes {{{FUNCTION_ATTRIBUTES}}} {{",
        *writer.b.constant_lines(), *sizing,
        f"    %framesize = llvm.mlir.constant({error + 1} : i64) : i64",
        "    %frame = llvm.alloca %framesize x i64 : (i64) -> !llvm.ptr",
    ]  # fmt: skip
    for i, name in enumerate([*slots, *names]):
        kind = "!llvm.ptr" if i < len(slots) else "i64"
        lines.append(f"    %f{i} = llvm.getelementptr %frame[{i}] : (!llvm.ptr) -> !llvm.ptr, i64")
        lines.append(f"    llvm.store {name}, %f{i} : {kind}, !llvm.ptr")
    lines += [
        "    %nothing = arith.constant 0 : i64",
        f"    %errorat = llvm.getelementptr %frame[{error}] : (!llvm.ptr) -> !llvm.ptr, i64",
        "    llvm.store %nothing, %errorat : i64, !llvm.ptr",
    ]
    call = f"llvm.call @NAME_body(%frame, %nothing, {units.name}) : (!llvm.ptr, i64, i64) -> ()"
    if _parallel():
        grain = max(1, WORK_PER_THREAD // cost)
        lines += [
            "    %one = arith.constant 1 : i64",
            f"    %grain = arith.constant {grain} : i64",
            f"    %wanted = arith.divsi {work.name}, %grain : i64",
            f"    %useful = arith.minsi %wanted, {units.name} : i64",
            "    %several = arith.cmpi sgt, %useful, %one : i64",
            "    scf.if %several {",
            "      %most32 = llvm.call @omp_get_max_threads() : () -> i32",
            "      %most = arith.extsi %most32 : i32 to i64",
            "      %threads = arith.minsi %useful, %most : i64",
            "      %alone = arith.cmpi sle, %threads, %one : i64",
            "      scf.if %alone {",
            f"        {call}",
            "      } else {",
            "        %task = llvm.mlir.addressof @NAME_task : !llvm.ptr",
            "        %threads32 = arith.trunci %threads : i64 to i32",
            "        %flags = arith.constant 0 : i32",
            "        llvm.call @GOMP_parallel(%task, %frame, %threads32, %flags) : "
            "(!llvm.ptr, !llvm.ptr, i32, i32) -> ()",
            "      }",
            "    } else {",
            f"      {call}",
            "    }",
        ]
    else:
        lines.append(f"    {call}")
    lines += ["    %error = llvm.load %errorat : !llvm.ptr -> i64", "    llvm.return %error : i64", "  }"]
    return "\n".join(lines)
