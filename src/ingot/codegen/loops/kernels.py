"""Compiles the regions of a Fused: one Kernel per region, with its address and the order of its
arguments. Regions with the same text share one kernel across all graphs of the process. A region
that fails to compile is reported and left to PyTorch, or raises under `strict`.
"""

from __future__ import annotations

import contextvars
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any
from weakref import WeakValueDictionary

import sympy
import torch
from torch import fx

from ingot.codegen.jit.code_store import text_digest
from ingot.codegen.jit.jit import compile_module, keep_kernel, module_with
from ingot.codegen.jit.native import Native, used
from ingot.codegen.loops.columns import columns_of, wants_split
from ingot.codegen.loops.entry import (
    WORK_PER_THREAD,
    Frame,
    Units,
    assemble,
)
from ingot.codegen.loops.epilogue import EpilogueNest, write_epilogue
from ingot.codegen.loops.lanes import choose_lanes, in_pairs, register_bytes
from ingot.codegen.loops.rows import RowWriter
from ingot.codegen.loops.split import write_finish
from ingot.codegen.mlir.builder import CACHE_LINE
from ingot.codegen.mlir.openmp import has_openmp, openmp_declarations
from ingot.errors import UnsupportedError
from ingot.fuse import index as ix
from ingot.fuse.expr import Apply, Expr, Load, Reduce
from ingot.fuse.fused import Fused
from ingot.fuse.loops import Nest, Store, make_nest
from ingot.fuse.region import Region
from ingot.fuse.structural_key import Key, structural_key
from ingot.machine import Machine, this_machine
from ingot.ops.rules import instructions
from ingot.ops.values import Ptr, Val
from ingot.options import Options
from ingot.program.shapes import Size, shape_of, tensor_of


@dataclass(frozen=True, eq=False)
class KernelCode:
    """A kernel's machine code, alive as long as this object."""

    address: int
    share: int
    """The address of the function for one thread's share; 0 if threads cannot share the kernel."""
    native: Native


@dataclass(frozen=True)
class CompiledKernel:
    """A region's native function: `address(buffers …, symbols …) -> error code`."""

    region: Region
    buffers: tuple[fx.Node, ...]
    symbols: tuple[sympy.Symbol, ...]
    text: str
    code: KernelCode
    work: Size
    """Instructions, roughly."""
    is_epilogue: bool
    """Whether a matmul calls it for each part of its result."""
    whole: CompiledKernel | None = None
    """If this kernel splits a reduction into chunks: the kernel that does not, if some sizes need
    it."""

    @property
    def address(self) -> int:
        return self.code.address

    @property
    def share(self) -> int:
        return self.code.share


@dataclass(frozen=True)
class Kernels:
    by_region: dict[Region, CompiledKernel]
    failures: dict[Region, str]
    """Regions that PyTorch runs → why."""
    distinct: int
    refused_epilogues: Mapping[Region, str] = field(default_factory=dict)
    """Regions that no matmul can call → why."""

    def code(self) -> list[KernelCode]:
        """The code of all kernels."""
        kernels = self.by_region.values()
        return [kernel.code for each in kernels for kernel in (each, each.whole) if kernel]


def all_kernels(parts: Sequence[Kernels]) -> Kernels:
    regions = {region: kernel for part in parts for region, kernel in part.by_region.items()}
    failures = {region: why for part in parts for region, why in part.failures.items()}
    refused = {region: why for part in parts for region, why in part.refused_epilogues.items()}
    distinct = len({kernel.text for kernel in regions.values()})
    return Kernels(regions, failures, distinct, refused)


@dataclass(frozen=True)
class KernelDraft:
    """A kernel before LLVM compiles it."""

    buffers: tuple[fx.Node, ...]
    symbols: tuple[sympy.Symbol, ...]
    text: str
    """Functions, with @NAME for the kernel's name."""
    declarations: dict[str, str]
    has_share: bool
    work: Size
    is_epilogue: bool = False


@dataclass(frozen=True)
class KernelForm:
    """The choices between variants of a kernel."""

    work: int = WORK_PER_THREAD
    """Instructions, roughly, that are worth a thread."""
    whole: bool = False
    """Threads share whole rows only."""


USUAL = KernelForm()


@dataclass(frozen=True)
class SharedDraft:
    """The draft of all regions with one structural key."""

    draft: KernelDraft
    """Without buffers: a node would keep its whole graph alive."""
    numbers: tuple[int, ...]
    """The buffers, as numbers of the key's nodes."""

    def draft_of(self, nodes: Sequence[fx.Node]) -> KernelDraft:
        """The draft for the region with these nodes."""
        return replace(self.draft, buffers=tuple(nodes[k] for k in self.numbers))


_compiled: WeakValueDictionary[tuple[str, str], KernelCode] = WeakValueDictionary()
"""(instruction set, text) → code, for all programs."""
MOST_MODULES = 16
_recent: deque[list[KernelCode]] = deque(maxlen=MOST_MODULES)
"""The code of the last compiled modules, kept after its programs are gone: the same kernels may be
requested again. A module takes 1–2 MB."""
MOST_DRAFTS = 256
"""Cached drafts, some tens of kilobytes each."""
_known: dict[tuple[Key, Machine, int, KernelForm], SharedDraft] = {}
"""(key, machine, vector width, form) → draft."""
Loops = tuple[tuple[str, str], ...]
"""Names and sizes of loops."""
_known_epilogues: dict[tuple[Key, Machine, int, Loops, int], SharedDraft | str] = {}
"""(key, machine, the matmul's number, loops, lanes) → draft, or the reason against one."""


NO_EPILOGUES: Mapping[Region, EpilogueNest] = MappingProxyType({})


GiveUp = Callable[[Region, Exception], str]
"""Returns why PyTorch runs a region that has no kernel, or raises."""


def refuse(region: Region, error: Exception) -> str:
    raise error


def build_kernels(
    fused: Fused,
    options: Options,
    epilogues: Mapping[Region, EpilogueNest] = NO_EPILOGUES,
    work: int = WORK_PER_THREAD,
    cuts: Callable[[Region], Sequence[str]] = lambda region: ("split",),
    give_up: GiveUp = refuse,
) -> Kernels:
    """Regions in `epilogues` become functions that matmuls call, if possible. `work`: instructions
    that are worth a thread. `cuts`: the kernels wanted for a reduction that can be split into
    chunks for the threads: "split", "whole" or both."""
    drafts: dict[Region, list[KernelDraft]] = {}
    failures: dict[Region, str] = {}
    refused: dict[Region, str] = {}
    for region in fused.regions():
        try:
            row_cuts = cuts(region) if region.needs_split else ("split",)
            if region in epilogues:
                epilogue = _epilogue_draft(region, epilogues[region])
                if isinstance(epilogue, KernelDraft):
                    drafts[region] = [epilogue]
                    continue
                refused[region] = epilogue
            forms = [KernelForm(work, way == "whole") for way in row_cuts]
            drafts[region] = [_draft_once(region, options, form) for form in forms]
        except Exception as error:
            failures[region] = give_up(region, error)
    texts = {draft.text: (region, draft) for region, each in drafts.items() for draft in each}
    codes = {
        text: code for text, (_, draft) in texts.items() if (code := _known_code(draft)) is not None
    }
    missing = [pair for text, pair in texts.items() if text not in codes]
    codes |= _compile(missing, give_up, failures)
    for code in codes.values():
        used(code.native)
    kernels = {
        region: _kernel(region, each, codes)
        for region, each in drafts.items()
        if all(draft.text in codes for draft in each)
    }
    distinct = len({each[0].text for each in drafts.values()})
    return Kernels(kernels, failures, distinct, refused)


def _kernel(
    region: Region, drafts: Sequence[KernelDraft], codes: Mapping[str, KernelCode]
) -> CompiledKernel:
    made = [
        CompiledKernel(region, d.buffers, d.symbols, d.text, codes[d.text], d.work, d.is_epilogue)
        for d in drafts
    ]
    return replace(made[0], whole=made[1]) if len(made) > 1 else made[0]


def _epilogue_draft(region: Region, epilogue: EpilogueNest) -> KernelDraft | str:
    """The draft of an epilogue, cached by structure, or why it cannot be an epilogue."""
    key, nodes = structural_key(region)
    loops = tuple((v.name, str(v.size)) for v in epilogue.nest.outer)
    asked = (key, this_machine(), nodes.index(epilogue.matmul), loops, epilogue.lanes)
    known = _known_epilogues.get(asked)
    if known is None:
        written = _written_epilogue(epilogue)
        known = written if isinstance(written, str) else _structure_of(written, nodes)
        _remember(_known_epilogues, asked, known)
    return known if isinstance(known, str) else known.draft_of(nodes)


def _written_epilogue(epilogue: EpilogueNest) -> KernelDraft | str:
    names, symbols = _buffers(epilogue.nest), _Symbols()
    try:
        text, declarations = write_epilogue(epilogue, names, symbols)
    except UnsupportedError as error:
        return error.why
    return KernelDraft(tuple(names), tuple(symbols), text, declarations, False, 0, is_epilogue=True)


def _structure_of(draft: KernelDraft, nodes: Sequence[fx.Node]) -> SharedDraft:
    numbers = {node: k for k, node in enumerate(nodes)}
    return SharedDraft(replace(draft, buffers=()), tuple(numbers[b] for b in draft.buffers))


def _buffers(nest: Nest) -> dict[fx.Node, Ptr]:
    """The buffers that a nest reads and writes, with names for their addresses."""
    loaded = [e.buffer for e in nest.expressions() if isinstance(e, Load)]
    found = dict.fromkeys([*loaded, *(s.buffer for s in nest.stores)])
    return {node: Ptr(f"%buffer{i}") for i, node in enumerate(found)}


def _draft_once(region: Region, options: Options, form: KernelForm) -> KernelDraft:
    """The draft for a region's structural key, written on first request, with this region's
    buffers."""
    key, nodes = structural_key(region)
    asked = (key, this_machine(), options.vector_bits, form)
    known = _known.get(asked)
    if known is None:
        known = _structure_of(draft_kernel(region, options, form), nodes)
        _remember(_known, asked, known)
    return known.draft_of(nodes)


def _remember(known: dict[Any, Any], key: object, value: object) -> None:
    known[key] = value
    for old in list(known)[:-MOST_DRAFTS]:
        known.pop(old, None)


FEW_KERNELS = 4


def _compile(
    drafts: Sequence[tuple[Region, KernelDraft]], give_up: GiveUp, failures: dict[Region, str]
) -> dict[str, KernelCode]:
    """Compiles all drafts as one module; if LLVM rejects it, one by one."""
    if not drafts:
        return {}
    try:
        return _compile_together([draft for _, draft in drafts])
    except Exception as error:
        if len(drafts) == 1:
            failures[drafts[0][0]] = give_up(drafts[0][0], error)
            return {}
        codes: dict[str, KernelCode] = {}
        for pair in drafts:
            codes |= _compile([pair], give_up, failures)
        return codes


def _compile_together(drafts: Sequence[KernelDraft]) -> dict[str, KernelCode]:
    """Compiles two modules in parallel if that is worth a thread."""
    if len(drafts) < FEW_KERNELS:
        return _compile_module(drafts)
    drafts = sorted(drafts, key=lambda draft: len(draft.text))
    run = contextvars.copy_context().run  # carries the machine to the thread
    with ThreadPoolExecutor(1) as beside:
        other = beside.submit(run, _compile_module, drafts[::2])
        return _compile_module(drafts[1::2]) | other.result()


def _compile_module(drafts: Sequence[KernelDraft]) -> dict[str, KernelCode]:
    names = {kernel_name(draft.text): draft for draft in drafts}
    declarations: dict[str, str] = {}
    for draft in drafts:
        declarations.update(draft.declarations)
    native = compile_module(
        list(declarations.values()),
        {name: d.text.replace("@NAME", f"@{name}") for name, d in names.items()},
        [f"{name}_task" for name, d in names.items() if d.has_share],
    )
    for draft in drafts:
        keep_kernel(draft.text, native)
    return _codes(drafts, native)


def _codes(drafts: Sequence[KernelDraft], native: Native) -> dict[str, KernelCode]:
    codes = {}
    for draft in drafts:
        name = kernel_name(draft.text)
        share = native.addresses[f"{name}_task"] if draft.has_share else 0
        codes[draft.text] = KernelCode(native.addresses[name], share, native)
    isa = this_machine().isa
    _compiled.update({(isa, text): code for text, code in codes.items()})
    _recent.append(list(codes.values()))
    return codes


def _known_code(draft: KernelDraft) -> KernelCode | None:
    """The code of a kernel that this process or an earlier one compiled."""
    code = _compiled.get((this_machine().isa, draft.text))
    if code is not None:
        return code
    native = module_with(draft.text, kernel_name(draft.text))
    return None if native is None else _codes([draft], native)[draft.text]


def kernel_name(text: str) -> str:
    return f"kernel_{text_digest(text)}"


class _Symbols(dict[sympy.Symbol, Val]):
    """Names the symbols that a body needs, on first use."""

    def __missing__(self, symbol: sympy.Symbol) -> Val:
        self[symbol] = Val(f"%symbol{len(self)}", torch.int64)
        return self[symbol]


def draft_kernel(region: Region, options: Options, form: KernelForm = USUAL) -> KernelDraft:
    nest = make_nest(region)
    cost = cost_of(nest.expressions())
    nest = replace(nest, split=(nest.split or wants_split(nest, cost)) and not form.whole)
    names, symbols = _buffers(nest), _Symbols()
    writer = RowWriter(nest, choose_lanes(nest, cost, options), names, symbols)
    writer.b.register_bytes = register_bytes(options)
    writer.b.in_pairs = in_pairs(nest, writer.lanes, options)
    writer.past_cache = frozenset(s.buffer for s in nest.stores if goes_past_cache(s, writer))
    units = Units(nest, writer, columns_of(writer, cost))
    units.write_body()
    finish = None
    if units.cut is not None:
        lanes = writer.lanes if nest.vector in nest.outer else 1
        finish = RowWriter(nest, lanes, names, symbols)
        finish.b.register_bytes = register_bytes(options)
        finish.b.in_pairs = writer.b.in_pairs
        write_finish(finish, units.cut)
    frame = Frame(list(names.values()), symbols)
    text = assemble(frame, writer, units, finish, max(1, form.work // cost))
    declarations = {
        **writer.b.declarations,
        **(finish.b.declarations if finish else {}),
        **openmp_declarations(),
    }
    has_share = has_openmp() and finish is None and not writer.failed
    work = ix.product([v.size for v in (*nest.outer, *nest.inner)]) * cost
    return KernelDraft(tuple(names), tuple(symbols), text, declarations, has_share, work)


def cost_of(expressions: Sequence[Expr]) -> int:
    """Instructions for one element, roughly."""
    total = 1
    for expr in expressions:
        if isinstance(expr, Apply):
            total += instructions(expr.target, expr.dtype)
        elif isinstance(expr, Load | Reduce):
            total += 1
    return total


def goes_past_cache(store: Store, writer: RowWriter) -> bool:
    """Whether it writes more than the last-level cache holds. A transposition returns to a cache
    line much later, so it stores whole lines past the cache or none."""
    size = ix.product(shape_of(store.buffer))
    width = tensor_of(store.buffer).dtype.itemsize
    least = CACHE_LINE if writer.nest.across is not None else 2 * width
    return (
        "sse2" in this_machine().features
        and isinstance(size, int)
        and size * width >= this_machine().l3_bytes
        and writer.lanes * width >= least
    )
