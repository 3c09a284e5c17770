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
from ingot.codegen.entry import Frame, Units, assemble, openmp_declarations
from ingot.codegen.jit import Native, compile_module
from ingot.codegen.machine import this_machine
from ingot.codegen.nest import NestWriter
from ingot.codegen.rules import pointwise_rules
from ingot.codegen.split import write_finish
from ingot.errors import CompileError, IngotError
from ingot.fuse.expr import Apply, Expr, Load, Reduce, Scan
from ingot.fuse.loops import Nest, make_nest
from ingot.fuse.region import Region
from ingot.options import Options
from ingot.stages import Fused


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
    units = Units(nest, writer)
    units.write_body()
    finish = None
    if units.cut is not None:
        finish = NestWriter(nest, 1, names, symbols)
        write_finish(finish, units.cut)
    frame = Frame(list(names.values()), symbols)
    text = assemble(frame, writer, units, finish, cost)
    declarations = {**writer.b.declarations, **(finish.b.declarations if finish else {}), **openmp_declarations()}
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
    serial = nest.across is not None or any(isinstance(e, Scan) for e in nest.expressions())
    unroll = 1 if serial else 4 if cost <= 14 else 2 if cost <= 40 else 1
    lanes = max(2, bits // 8 * unroll // max(4, widest))
    size = nest.vector.size
    if isinstance(size, int):
        lanes = min(lanes, 1 << (size - 1).bit_length())
    return max(1, lanes)
