"""Range checks in generated code. Rewrites the MLIR text of a module so that every load and store
first checks that its bytes lie in a buffer of the running step. Works on the text that all kernels
become, so no kernel family can be left out. An unknown op on memory is an error.

An address belongs to the pointer it was derived from (a base pointer, an argument, stack memory):
the access has to lie in the same buffer. An access that fails is recorded and redirected to spare
memory, so that the kernel finishes without damage.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import ClassVar

from ingot.errors import CompileError

FIRST, WITHIN = "@bounds_check", "@bounds_within"
HEAP = {"aligned_alloc": "bounds_alloc", "free": "bounds_free"}
"""Allocation functions, and their replacements that also record the block."""
_VALUE = r"%[\w#]+"
_ATTRIBUTES = r"(?: \{[^}]*\})?"
_TOUCHES = re.compile(
    r"llvm\.load|llvm\.store|llvm\.intr\.m(?:asked|em)|llvm\.atomicrmw|llvm\.cmpx"
)
_LOAD = re.compile(
    rf"{_VALUE} = llvm\.load (?:volatile )?(?P<p>{_VALUE}){_ATTRIBUTES} : "
    r"!llvm\.ptr -> (?P<type>.+)"
)
_STORE = re.compile(
    rf"llvm\.store {_VALUE}, (?P<p>{_VALUE}){_ATTRIBUTES} : (?P<type>.+), !llvm\.ptr"
)
_MASKED_LOAD = re.compile(
    rf"{_VALUE} = llvm\.intr\.masked\.load (?P<p>{_VALUE}), (?P<mask>{_VALUE}), {_VALUE}"
    rf"{_ATTRIBUTES} : \(!llvm\.ptr, (?P<lanes>[^,]+), [^)]+\) -> (?P<type>.+)"
)
_MASKED_STORE = re.compile(
    rf"llvm\.intr\.masked\.store {_VALUE}, (?P<p>{_VALUE}), (?P<mask>{_VALUE}){_ATTRIBUTES} : "
    r"(?P<type>[^,]+), (?P<lanes>.+) into !llvm\.ptr"
)
_GATHER = re.compile(
    rf"{_VALUE} = llvm\.intr\.masked\.gather (?P<p>{_VALUE}), (?P<mask>{_VALUE}), {_VALUE}"
    rf"{_ATTRIBUTES} : \((?P<pointers>[^,]+), (?P<lanes>[^,]+), [^)]+\) -> (?P<type>.+)"
)
_SCATTER = re.compile(
    rf"llvm\.intr\.masked\.scatter {_VALUE}, (?P<p>{_VALUE}), (?P<mask>{_VALUE}){_ATTRIBUTES} : "
    r"(?P<type>[^,]+), (?P<lanes>.+) into (?P<pointers>.+)"
)
_COPY = re.compile(
    rf'"llvm\.intr\.memcpy"\((?P<to>{_VALUE}), (?P<p>{_VALUE}), (?P<bytes>{_VALUE})\)'
)
_FILL = re.compile(rf'"llvm\.intr\.memset"\((?P<p>{_VALUE}), {_VALUE}, (?P<bytes>{_VALUE})\)')
_PRODUCT = re.compile(r"llvm\.call @(?P<kind>[sd])gemm_\((?P<args>[^)]*)\)")
_STEP = re.compile(rf"(?P<to>{_VALUE}) = llvm\.getelementptr (?P<base>{_VALUE})\[(?P<at>[^\]]+)\]")
_STACK = re.compile(rf"(?P<to>{_VALUE}) = llvm\.alloca (?P<count>{_VALUE}) x (?P<type>[^ ]+)")
_HEAP = re.compile(rf"(?P<to>{_VALUE}) = llvm\.call @bounds_alloc\({_VALUE}, (?P<bytes>{_VALUE})\)")
_NUMBER = re.compile(rf"(?P<to>{_VALUE}) = arith\.constant (?P<value>\d+) : i64")
_OTHER = re.compile(r"@(?P<symbol>ingot_[0-9a-f]{32}_\w+)")
_BITS = {"bf16": 16, "f16": 16, "f32": 32, "f64": 64, "!llvm.ptr": 64}


def bytes_of_type(kind: str) -> int:
    """Size in memory of a value of an MLIR type."""
    kind = kind.strip()
    if kind.startswith("vector<"):
        *counts, element = kind[len("vector<") : -1].split("x")
        return -(-prod(map(int, counts)) * _bits(element) // 8)
    return -(-_bits(kind) // 8)


def _bits(element: str) -> int:
    return _BITS[element] if element in _BITS else int(element.removeprefix("i"))


@dataclass(frozen=True)
class Block:
    """Memory that a function allocates itself. `bytes` is a constant or the name of a value."""

    bytes: int | str


@dataclass
class _Function:
    """Facts about the values of one function."""

    name: str
    roots: dict[str, str] = field(default_factory=dict)
    """Pointers → the pointers they were derived from."""
    fixed: set[str] = field(default_factory=set)
    """Pointers to a constant offset in the call frame."""
    blocks: dict[str, Block] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)

    def root(self, pointer: str) -> str:
        return self.roots.get(pointer, pointer)


_Write = Callable[["Checker", str, re.Match[str]], None]


class Checker:
    """Rewrites the functions of one module. `site` numbers a checked access, given the function and
    the op; `replace` maps the symbols of functions of other modules to those of their checked
    versions."""

    def __init__(self, site: Callable[[str, str], int], replace: Callable[[str], str]):
        self._site = site
        self._replace = replace
        self._count = 0
        self._lines: list[str] = []
        self._at = _Function("")

    def checked(self, functions: Mapping[str, str]) -> dict[str, str]:
        return {name: self._text(text) for name, text in functions.items()}

    def _text(self, text: str) -> str:
        self._lines = []
        for line in text.splitlines():
            head = re.match(r"\s*llvm\.func [^@]*@(\w+)\(", line)
            if head:
                self._at = _Function(head[1])
            for name, other in HEAP.items():
                line = line.replace(f"llvm.call @{name}(", f"llvm.call @{other}(")
            self._line(self.renamed(line))
        return "\n".join(self._lines)

    def renamed(self, line: str) -> str:
        return _OTHER.sub(lambda found: f"@{self._replace(found['symbol'])}", line)

    def _line(self, line: str) -> None:
        self._learn(line)
        for pattern, write in self._WRITERS.items():
            found = pattern.search(line)
            if found:
                write(self, line, found)
                return
        if _TOUCHES.search(line):
            raise CompileError(f"no range check is implemented for: {line.strip()}")
        self._lines.append(line)

    def _learn(self, line: str) -> None:
        at = self._at
        if found := _STEP.search(line):
            root = at.root(found["base"])
            at.roots[found["to"]] = root
            if root == "%frame" and found["at"].isdigit():
                at.fixed.add(found["to"])
        elif found := _NUMBER.search(line):
            at.numbers[found["to"]] = int(found["value"])
        elif found := _STACK.search(line):
            at.blocks[found["to"]] = Block(
                at.numbers[found["count"]] * bytes_of_type(found["type"])
            )
        elif found := _HEAP.search(line):
            at.blocks[found["to"]] = Block(found["bytes"])

    # -- accesses ----------------------------------------------------------------------------------

    def _plain(self, line: str, found: re.Match[str]) -> None:
        pointer, size = found["p"], bytes_of_type(found["type"])
        block = self._at.blocks.get(pointer)
        inside = block is not None and isinstance(block.bytes, int) and size <= block.bytes
        if inside or pointer in self._at.fixed or pointer == "%frame":
            self._lines.append(line)
            return
        self._put(line, found, self._checked(line, pointer, "0", str(size)))

    def _masked(self, line: str, found: re.Match[str]) -> None:
        """Checks the range from the first active lane to the last."""
        lanes, size = _lanes(found["lanes"]), bytes_of_type(found["type"])
        each, kind = size // lanes, f"i{lanes}"
        bits, low, high, after, first, count = (self._fresh() for _ in range(6))
        none = self._fresh()
        self._add(
            f"{bits} = llvm.bitcast {found['mask']} : {found['lanes']} to {kind}",
            f'{low} = "llvm.intr.cttz"({bits}) <{{is_zero_poison = false}}> : ({kind}) -> {kind}',
            f'{high} = "llvm.intr.ctlz"({bits}) <{{is_zero_poison = false}}> : ({kind}) -> {kind}',
        )
        low, high = self._as_i64(low, kind), self._as_i64(high, kind)
        self._add(
            f"{none} = llvm.mlir.constant({lanes} : i64) : i64",
            f"{after} = llvm.sub {none}, {high} : i64",
        )
        self._add(f"{count} = llvm.sub {after}, {low} : i64")
        by = self._number(each)
        length = self._fresh()
        self._add(
            f"{first} = llvm.mul {low}, {by} : i64", f"{length} = llvm.mul {count}, {by} : i64"
        )
        self._put(line, found, self._checked(line, found["p"], first, length))

    def _as_i64(self, value: str, kind: str) -> str:
        """A number of lanes, of which a mask of bytes in a wide register has more than 64."""
        bits = _bits(kind)
        if bits == 64:
            return value
        name = self._fresh()
        self._add(f"{name} = llvm.{'zext' if bits < 64 else 'trunc'} {value} : {kind} to i64")
        return name

    def _spread(self, line: str, found: re.Match[str]) -> None:
        """Checks lane by lane."""
        lanes, size = _lanes(found["lanes"]), bytes_of_type(found["type"])
        pointers, kind = found["p"], found["pointers"].strip()
        zero, each = self._number(0), self._number(size // lanes)
        for k in range(lanes):
            one, on, bytes_, after = (self._fresh() for _ in range(4))
            at = self._number(k)
            self._add(
                f"{one} = llvm.extractelement {pointers}[{at} : i64] : {kind}",
                f"{on} = llvm.extractelement {found['mask']}[{at} : i64] : {found['lanes']}",
                f"{bytes_} = llvm.select {on}, {each}, {zero} : i1, i64",
            )
            safe = self._checked(line, one, "0", bytes_, self._at.root(found["p"]))
            self._add(f"{after} = llvm.insertelement {safe}, {pointers}[{at} : i64] : {kind}")
            pointers = after
        self._put(line, found, pointers)

    def _copy(self, line: str, found: re.Match[str]) -> None:
        """Copies everything or nothing: the spare memory is small."""
        ends = [found[name] for name in ("to", "p") if name in found.re.groupindex]
        length = found["bytes"]
        for pointer in ends:
            safe, same, after = self._checked(line, pointer, "0", length), *self._two()
            self._add(
                f'{same} = llvm.icmp "eq" {safe}, {pointer} : !llvm.ptr',
                f"{after} = llvm.select {same}, {length}, {self._number(0)} : i1, i64",
            )
            length = after
        start, end = found.span("bytes")
        self._lines.append(line[:start] + length + line[end:])

    def _product(self, line: str, found: re.Match[str]) -> None:
        """A BLAS matmul: its sizes give the ranges that it reads and writes."""
        size = 4 if found["kind"] == "s" else 8
        turned, _, n, m, k, _, b, ldb, a, lda, _, c, ldc = found["args"].split(", ")
        fine = self._fresh()
        values = [turned, n, m, k, ldb, lda, ldc, b, a, c]
        roots = [self._at.root(x) for x in (b, a, c)]
        numbers = [self._number(size), self._number(self._site(self._at.name, line.strip()))]
        kinds = ", ".join(["!llvm.ptr"] * 13 + ["i64"] * 2)
        self._add(
            f"{fine} = llvm.call @bounds_product({', '.join([*values, *roots, *numbers])}) : "
            f"({kinds}) -> i1",
            f"scf.if {fine} {{",
        )
        self._lines += [line, "    }"]

    # -- lines -------------------------------------------------------------------------------------

    def _checked(
        self, line: str, pointer: str, first: str, size: str, root: str | None = None
    ) -> str:
        """The pointer, or one to spare memory if the check fails."""
        root = root or self._at.root(pointer)
        site = self._number(self._site(self._at.name, line.strip()))
        first, size = (x if x.startswith("%") else self._number(int(x)) for x in (first, size))
        name, block = self._fresh(), self._at.blocks.get(root)
        if block is None:
            self._add(
                f"{name} = llvm.call {FIRST}({root}, {pointer}, {first}, {size}, {site}) : "
                "(!llvm.ptr, !llvm.ptr, i64, i64, i64) -> !llvm.ptr"
            )
            return name
        length = self._number(block.bytes) if isinstance(block.bytes, int) else block.bytes
        self._add(
            f"{name} = llvm.call {WITHIN}({root}, {length}, {pointer}, {first}, {size}, {site}) : "
            "(!llvm.ptr, i64, !llvm.ptr, i64, i64, i64) -> !llvm.ptr"
        )
        return name

    def _put(self, line: str, found: re.Match[str], pointer: str) -> None:
        """Appends the op with another pointer."""
        start, end = found.span("p")
        self._lines.append(line[:start] + pointer + line[end:])

    def _number(self, value: int) -> str:
        name = self._fresh()
        self._add(f"{name} = llvm.mlir.constant({value} : i64) : i64")
        return name

    def _add(self, *lines: str) -> None:
        self._lines += [f"    {line}" for line in lines]

    def _fresh(self) -> str:
        self._count += 1
        return f"%checked{self._count}"

    def _two(self) -> tuple[str, str]:
        return self._fresh(), self._fresh()

    _WRITERS: ClassVar[dict[re.Pattern[str], _Write]] = {
        _LOAD: _plain, _STORE: _plain, _MASKED_LOAD: _masked, _MASKED_STORE: _masked,
        _GATHER: _spread, _SCATTER: _spread, _COPY: _copy, _FILL: _copy, _PRODUCT: _product,
    }  # fmt: skip


def _lanes(kind: str) -> int:
    """The number of lanes of a mask."""
    return int(kind.strip()[len("vector<") :].split("x")[0])
