"""The functions of the C interface: they choose the code for the processor, map the weights, check
the arguments and run the plan. They run on any x86-64 processor from x86-64-v2 on.

A model is five words: the address and the size of the mapped weights, the functions `prepare` and
`run` of its instruction set, the number of the set. It is not written after `open`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from ingot.codegen.mlir.blocks import BlockBuilder
from ingot.codegen.mlir.openmp import start_threads
from ingot.deploy.interface import Interface, Status
from ingot.linkage import declared
from ingot.ops.values import POINTER, Ptr, Val, Value

I32, I64 = torch.int32, torch.int64
Cleanup = Callable[[], object] | None
BASE, SIZE, PREPARE, RUN, LEVEL, WORDS = range(6)
BEST = 0
LEVEL_NUMBERS = {"x86-64-v2": 2, "x86-64-v3": 3, "x86-64-v4": 4}
LINE = 64
_O_RDONLY_CLOEXEC, _SEEK_END, _PROT_READ, _MAP_PRIVATE = 0o2000000, 2, 1, 2
_LIBRARY = {
    "open": (f"({POINTER}, i32, ...)", " -> i32"),
    "lseek": ("(i32, i64, i32)", " -> i64"),
    "mmap": (f"({POINTER}, i64, i32, i32, i32, i64)", f" -> {POINTER}"),
    "munmap": (f"({POINTER}, i64)", " -> i32"),
    "close": ("(i32)", " -> i32"),
    "malloc": ("(i64)", f" -> {POINTER}"),
    "free": (f"({POINTER})", ""),
}
_OPENMP = {
    "omp_get_max_threads": ("()", " -> i32"),
    "omp_set_num_threads": ("(i32)", ""),
    "omp_in_parallel": ("()", " -> i32"),
    "GOMP_parallel": (f"({POINTER}, {POINTER}, i32, i32)", ""),
}
ALONE = "alone"
_LEAF_1 = {
    "x86-64-v2": (0, 9, 13, 19, 20, 23),
    "x86-64-v3": (12, 22, 27, 28, 29),
    "x86-64-v4": (),
}  # fmt: skip
"""Bits of ecx: SSE3, SSSE3, CX16, SSE4.1, SSE4.2, POPCNT; FMA, MOVBE, OSXSAVE, AVX, F16C."""
_LEAF_7 = {"x86-64-v2": (), "x86-64-v3": (3, 5, 8), "x86-64-v4": (16, 17, 28, 30, 31)}
"""Bits of ebx: BMI1, AVX2, BMI2; AVX512F, DQ, CD, BW, VL."""
_EXTENDED = {"x86-64-v2": (0,), "x86-64-v3": (5,), "x86-64-v4": ()}
"""Bits of ecx of leaf 0x80000001: LAHF; LZCNT."""
_STATES = {"x86-64-v2": 0, "x86-64-v3": 0x6, "x86-64-v4": 0xE6}


@dataclass(frozen=True)
class Levels:
    """The instruction sets that there is code for, the lowest first."""

    names: Sequence[str]
    words: int
    """Of a context, for the one that needs most."""
    header: Sequence[int]
    """Of the weights file."""
    openmp: bool

    def symbol(self, name: str, level: str, function: str) -> str:
        return f"ingot_{name}_{level.rpartition('-')[2]}_{function}"


def c_functions(interface: Interface, levels: Levels) -> tuple[list[str], dict[str, str]]:
    """(declarations, functions by name)"""
    name = interface.name
    known = dict(_LIBRARY)
    if levels.openmp:
        known |= _OPENMP
    for level in levels.names:
        for function in ("prepare", "run"):
            known[levels.symbol(name, level, function)] = (f"({POINTER})", " -> i64")
    functions = {
        "supported": _Writer(interface, levels).supported(),
        f"{name}_open": _Writer(interface, levels).open_best(),
        f"{name}_open_level": _Writer(interface, levels).open(),
        f"{name}_close": _Writer(interface, levels).close(),
        f"{name}_level": _Writer(interface, levels).level(),
        f"{name}_workspace_size": _Writer(interface, levels).workspace_size(),
        f"{name}_run": _Writer(interface, levels).run(),
    }
    functions |= (
        {ALONE: _Writer(interface, levels).alone()}
        if levels.openmp
        else single_thread_functions(name)
    )
    return [declared(symbol, *types) for symbol, types in known.items()], functions


def exported(name: str) -> list[str]:
    """The functions that users call."""
    calls = ("open", "open_level", "close", "level", "workspace_size", "run")
    return [f"{name}_{each}" for each in calls]


class _Writer:
    def __init__(self, interface: Interface, levels: Levels):
        self.interface, self.levels = interface, levels
        self.b = BlockBuilder()
        self._blocks: dict[str, tuple[Status, Cleanup]] = {}

    def const(self, value: int) -> Val:
        return self.b.const(value, I64)

    def number(self, value: int) -> Val:
        return self.b.const(value, I32)

    def given(self, pointer: Ptr) -> Val:
        return self.b.cmp("ne", self.b.as_number(pointer), self.const(0))

    def require(self, condition: Val, status: Status, cleanup: Cleanup = None) -> None:
        """Returns the status unless the condition holds, after a cleanup."""
        label = f"failed{int(status)}{'_and' if cleanup else ''}"
        self._blocks.setdefault(label, (status, cleanup))
        self.b.require(condition, label)

    def function(self, name: str, arguments: Sequence[Value], last: Val) -> str:
        """The function; each failure has a block that returns its status."""
        b = self.b
        for label, (status, cleanup) in self._blocks.items():
            b.give_back(last)
            b.block(label)
            if cleanup is not None:
                cleanup()
            last = self.number(status)
        return b.function(name, arguments, last)

    def word(self, base: Ptr, number: int) -> Val:
        return self.b.load_word(self.b.word_at(base, number))

    def set_word(self, base: Ptr, number: int, value: Value) -> None:
        self.b.store_register(self.b.word_at(base, number), value)

    # -- the processor -----------------------------------------------------------------------------

    def supported(self) -> str:
        """The number of the highest level that the processor supports; 0 if it is none."""
        b = self.b
        zero = self.number(0)
        highest, *_ = b.identify(zero, zero)
        _, _, first, _ = b.identify(self.number(1), zero)
        b.jump_if(b.cmp("ge", highest, self.number(7)), "some", "old")
        b.block("old")
        b.give_back(zero)
        b.block("some")
        _, seventh, _, _ = b.identify(self.number(7), zero)
        _, _, extended, _ = b.identify(self.number(-0x7FFFFFFF), zero)
        saves = self._has(first, 1 << 27)
        states = b.branch(saves, b.saved_registers, lambda: zero)
        found, all_lower = zero, b.const(1, torch.bool)
        for level, number in LEVEL_NUMBERS.items():
            for register, bits in ((first, _LEAF_1), (seventh, _LEAF_7), (extended, _EXTENDED)):
                mask = sum(1 << bit for bit in bits[level])
                all_lower = b.and_(all_lower, self._has(register, mask))
            all_lower = b.and_(all_lower, self._has(states, _STATES[level]))
            found = b.select(all_lower, self.number(number), found)
        return b.function("supported", [], found)

    def _has(self, register: Val, mask: int) -> Val:
        bits = self.number(mask)
        return self.b.cmp("eq", self.b.and_(register, bits), bits)

    # -- the model ---------------------------------------------------------------------------------

    def open_best(self) -> str:
        b, name, path, out = self.b, self.interface.name, Ptr("%path"), Ptr("%out")
        status = b.invoke_value(f"{name}_open_level", [path, self.number(BEST), out], I32)
        return b.function(f"{name}_open", [path, out], status)

    def open(self) -> str:
        b, path, wanted, out = self.b, Ptr("%path"), Val("%wanted", I32), Ptr("%out")
        zero = self.const(0)
        self.require(b.and_(self.given(path), self.given(out)), Status.ARGUMENT)
        self.set_word(out, 0, zero)
        prepare, run, level = self._chosen(wanted)
        self.require(b.cmp("ne", level, zero), Status.CPU)
        mode, kind = self.number(_O_RDONLY_CLOEXEC), f"i32 ({POINTER}, i32, ...)"
        file = b.invoke_value("open", [path, mode], I32, kind)
        self.require(b.cmp("ge", file, self.number(0)), Status.FILE)
        size = self.const(self.levels.header[-1])
        found = b.invoke_value("lseek", [file, zero, self.number(_SEEK_END)], I64)
        flags = [self.number(_PROT_READ), self.number(_MAP_PRIVATE)]
        self.require(
            b.cmp("eq", found, size), Status.WEIGHTS, lambda: b.invoke_value("close", [file], I32)
        )
        base = b.invoke_pointer("mmap", [b.null(), size, *flags, file, zero])
        b.invoke_value("close", [file], I32)
        self.require(b.cmp("ne", b.as_number(base), self.const(-1)), Status.FILE)
        model = b.invoke_pointer("malloc", [self.const(8 * WORDS)])

        def unmap() -> None:
            b.invoke_value("munmap", [base, size], I32)

        self.require(self.given(model), Status.MEMORY, unmap)
        for number, word in ((BASE, base), (SIZE, size), (PREPARE, prepare), (RUN, run)):
            self.set_word(model, number, word)
        self.set_word(model, LEVEL, level)
        same = b.const(1, torch.bool)
        for number, value in enumerate(self.levels.header):
            same = b.and_(same, b.cmp("eq", self.word(base, number), self.const(value)))
        b.jump_if(same, "done", "foreign")
        b.block("foreign")
        b.invoke(f"{self.interface.name}_close", [model])
        b.give_back(self.number(Status.WEIGHTS))
        b.block("done")
        b.store_register(out, model)
        name = f"{self.interface.name}_open_level"
        return self.function(name, [path, wanted, out], self.number(Status.OK))

    def _chosen(self, wanted: Val) -> tuple[Val, Val, Val]:
        """`prepare`, `run` and the number of the best level that is wanted and supported; 0 if
        there is none."""
        b, name = self.b, self.interface.name
        most = b.invoke_value("supported", [], I32)
        chosen = self.const(0), self.const(0), self.const(0)
        for level in self.levels.names:
            number = LEVEL_NUMBERS[level]
            any_will_do = b.cmp("eq", wanted, self.number(BEST))
            right = b.or_(any_will_do, b.cmp("eq", wanted, self.number(number)))
            fits = b.and_(right, b.cmp("ge", most, self.number(number)))
            symbols = (self.levels.symbol(name, level, each) for each in ("prepare", "run"))
            these = [*(b.as_number(b.address_of(each)) for each in symbols), self.const(number)]
            chosen = tuple(b.select(fits, x, y) for x, y in zip(these, chosen, strict=True))  # type: ignore[assignment]
        return chosen

    def close(self) -> str:
        b, model = self.b, Ptr("%model")
        with b.when(self.given(model)):
            base = b.load_pointer(b.word_at(model, BASE))
            b.invoke_value("munmap", [base, self.word(model, SIZE)], I32)
            b.invoke("free", [model])
        return b.function(f"{self.interface.name}_close", [model])

    def level(self) -> str:
        b, model = self.b, Ptr("%model")
        number = b.branch(
            self.given(model),
            lambda: b.cast(self.word(model, LEVEL), I32),
            lambda: self.number(0),
        )
        return b.function(f"{self.interface.name}_level", [model], number)

    # -- calls -------------------------------------------------------------------------------------

    def _sizes(self) -> list[Val]:
        return [Val(f"%size_{size.name}", I64) for size in self.interface.sizes]

    def _context(self, model: Ptr, sizes: Sequence[Val]) -> Ptr:
        context = self.b.slot(I64, count=self.levels.words)
        first = 2 + len(self.interface.pointers())
        for number, size in enumerate(sizes, first):
            self.set_word(context, number, size)
        self.set_word(context, 0, self.word(model, BASE))
        return context

    def _prepared(self, model: Ptr, context: Ptr) -> Val:
        """The bytes of the workspace."""
        prepare = self.b.load_pointer(self.b.word_at(model, PREPARE))
        needed = self.b.invoke_value(prepare, [context], I64)
        self.require(self.b.cmp("ge", needed, self.const(0)), Status.SIZE)
        return needed

    def workspace_size(self) -> str:
        b, model, out, sizes = self.b, Ptr("%model"), Ptr("%bytes"), self._sizes()
        self.require(b.and_(self.given(model), self.given(out)), Status.ARGUMENT)
        needed = self._prepared(model, self._context(model, sizes))
        self.set_word(out, 0, needed)
        name = f"{self.interface.name}_workspace_size"
        return self.function(name, [model, *sizes, out], self.number(Status.OK))

    def run(self) -> str:
        b, model, sizes = self.b, Ptr("%model"), self._sizes()
        pointers = [Ptr(f"%at_{each.name}") for each in self.interface.pointers()]
        workspace, room, threads = Ptr("%workspace"), Val("%room", I64), Val("%threads", I32)
        arguments: list[Value] = [model, *sizes, *pointers, workspace, room, threads]
        self.require(self.given(model), Status.ARGUMENT)
        for tensor, pointer in zip(self.interface.pointers(), pointers, strict=True):
            if tensor.nbytes != 0:
                self.require(self.given(pointer), Status.ARGUMENT)
        context = self._context(model, sizes)
        needed = self._prepared(model, context)
        self.require(b.cmp("ge", room, needed), Status.WORKSPACE)
        none = b.cmp("eq", needed, self.const(0))
        beside = b.and_(b.as_number(workspace), self.const(LINE - 1))
        aligned = b.and_(self.given(workspace), b.cmp("eq", beside, self.const(0)))
        self.require(b.or_(none, aligned), Status.ARGUMENT)
        self.set_word(context, 1, workspace)
        for number, pointer in enumerate(pointers, 2):
            self.set_word(context, number, pointer)
        status = b.cast(self._run(model, context, threads), I32)
        return self.function(f"{self.interface.name}_run", arguments, status)

    def _run(self, model: Ptr, context: Ptr, threads: Val) -> Val:
        b = self.b
        run = b.load_pointer(b.word_at(model, RUN))
        if not self.levels.openmp:
            return b.invoke_value(run, [context], I64)
        before = b.invoke_value("omp_get_max_threads", [], I32)
        some = b.cmp("gt", threads, self.number(0))
        with b.when(some):
            b.invoke("omp_set_num_threads", [threads])
        inside = b.cmp("ne", b.invoke_value("omp_in_parallel", [], I32), self.number(0))
        status = b.branch(
            inside,
            lambda: self._in_a_team_of_one(run, context),
            lambda: b.invoke_value(run, [context], I64),
        )
        with b.when(some):
            b.invoke("omp_set_num_threads", [before])
        return status

    def _in_a_team_of_one(self, run: Ptr, context: Ptr) -> Val:
        """The caller is a thread of a team of its program's: kernels would take that for theirs."""
        b = self.b
        call = b.slot(I64, count=3)
        self.set_word(call, 0, run)
        self.set_word(call, 1, context)
        start_threads(b, ALONE, call, self.const(1))
        return self.word(call, 2)

    def alone(self) -> str:
        """The task of a team: runs a plan and stores its status."""
        b, call = self.b, Ptr("%call")
        run, context = (b.load_pointer(b.word_at(call, k)) for k in range(2))
        self.set_word(call, 2, b.invoke_value(run, [context], I64))
        return b.function(ALONE, [call])


def single_thread_functions(name: str) -> dict[str, str]:
    """Stand-ins for the functions of OpenMP, for one thread."""

    def constant(function: str, value: int) -> str:
        b = BlockBuilder()
        return b.function(function, [], b.const(value, I32))

    start, task, data = BlockBuilder(), Ptr("%task"), Ptr("%data")
    start.invoke(task, [data])
    names = single_thread_names(name)
    unused: list[Value] = [Val("%threads", I32), Val("%flags", I32)]
    parallel, barrier = names["GOMP_parallel"], names["GOMP_barrier"]
    return {
        parallel: start.function(parallel, [task, data, *unused]),
        barrier: BlockBuilder().function(barrier, []),
        **{
            names[each]: constant(names[each], value)
            for each, value in (
                ("omp_get_thread_num", 0), ("omp_get_num_threads", 1), ("omp_get_max_threads", 1)
            )
        },
    }  # fmt: skip


def single_thread_names(name: str) -> dict[str, str]:
    functions = (
        "GOMP_parallel", "GOMP_barrier", "omp_get_thread_num", "omp_get_num_threads",
        "omp_get_max_threads",
    )  # fmt: skip
    return {each: f"ingot_{name}_{each.lower()}" for each in functions}
