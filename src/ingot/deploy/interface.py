"""The C interface of a program: sizes, tensors and error codes. It is the same for all instruction
sets; how a plan's buffers and symbols correspond to it is a `Binding`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ingot.errors import SaveError
from ingot.plan.ir import Buffer, Define, Kind, Plan, Ref, Return, walk
from ingot.program.call import call_spec
from ingot.program.program import Program
from ingot.program.shapes import Size

MOST_SIZE = (1 << 31) - 1
C_TYPES = {
    torch.float32: "float", torch.float64: "double", torch.int64: "int64_t",
    torch.int32: "int32_t", torch.int16: "int16_t", torch.int8: "int8_t", torch.uint8: "uint8_t",
    torch.bool: "uint8_t", torch.float16: "uint16_t", torch.bfloat16: "uint16_t",
}  # fmt: skip
_RESERVED = frozenset({
    "auto", "bool", "break", "case", "catch", "char", "class", "const", "continue", "default",
    "delete", "do", "double", "else", "enum", "extern", "false", "float", "for", "goto", "if",
    "inline", "int", "long", "namespace", "new", "operator", "private", "protected", "public",
    "register", "restrict", "return", "short", "signed", "sizeof", "static", "struct", "switch",
    "template", "this", "throw", "true", "try", "typedef", "union", "unsigned", "using", "virtual",
    "void", "volatile", "while",
    "argc", "argv", "bytes", "check", "main", "memory", "model", "threads", "workspace",
    "workspace_bytes", "written",
})  # fmt: skip
"""Words of C and C++, and names in the header and the example."""
_OWN = ("parameter", "buffer", "constant")


class Status(IntEnum):
    """What a function of the interface returns."""

    OK = 0
    ARGUMENT = 1
    FILE = 2
    WEIGHTS = 3
    MEMORY = 4
    CPU = 5
    SIZE = 6
    WORKSPACE = 7
    DIVISION = 8
    INDEX = 9


MEANINGS = {
    Status.OK: "no error",
    Status.ARGUMENT: "a pointer is null, or the workspace is not aligned to 64 bytes",
    Status.FILE: "the weights file cannot be opened or mapped",
    Status.WEIGHTS: "the file does not hold this program's weights",
    Status.MEMORY: "out of memory",
    Status.CPU: "the processor lacks the instructions that the program was compiled for",
    Status.SIZE: "a size is outside its range, or the sizes do not go together",
    Status.WORKSPACE: "the workspace is too small for these sizes",
    Status.DIVISION: "integer division by zero",
    Status.INDEX: "an index is out of range",
}


@dataclass(frozen=True)
class SizeArgument:
    name: str
    symbol: str
    least: int
    most: int
    meaning: str


@dataclass(frozen=True)
class TensorArgument:
    name: str
    dtype: torch.dtype
    shape: tuple[Size, ...]
    strides: tuple[Size, ...]
    nbytes: Size
    """Of the memory that the pointer refers to."""
    written: bool
    offset: Size = 0
    """Of the first element from the pointer, in elements."""
    memory_of: str | None = None
    """The argument whose memory an output lies in; it has no pointer of its own then."""

    @property
    def c_type(self) -> str:
        return C_TYPES[self.dtype]


@dataclass(frozen=True)
class Interface:
    name: str
    sizes: tuple[SizeArgument, ...]
    inputs: tuple[TensorArgument, ...]
    outputs: tuple[TensorArgument, ...]

    def pointers(self) -> list[TensorArgument]:
        """In the order of the call."""
        return [*self.inputs, *(each for each in self.outputs if each.memory_of is None)]


@dataclass(frozen=True)
class Binding:
    """How a plan's names correspond to the interface."""

    interface: Interface
    inputs: Mapping[str, int]
    """Buffers of the user's inputs, by their number among the inputs."""
    weights: Mapping[str, str]
    """Buffers of the model's own tensors, and their names in the program's state."""
    results: Mapping[str, int]
    """Buffers that outputs lie in, by the number of the pointer's argument."""
    copied: Mapping[str, int]
    """The same for buffers that are copied to the argument: weights that are returned."""
    offsets: Mapping[str, Size]
    """Of views, from the start of their memory, in elements."""


def bound(name: str, program: Program, plan: Plan, offsets: Mapping[str, Size]) -> Binding:
    """`offsets`: of the views in the plan, from the start of their memory, in elements."""
    return _Binder(name, program, plan, offsets).bound()


class _Binder:
    def __init__(self, name: str, program: Program, plan: Plan, offsets: Mapping[str, Size]):
        self.name, self.program, self.plan, self.offsets = name, program, plan, offsets
        self.buffers = plan.by_name()
        self.taken: set[str] = set()
        kinds = [spec.kind for spec in program.signature.inputs]
        pairs = list(zip(plan.inputs, kinds, strict=True))
        self.user = [name for name, kind in pairs if kind not in _OWN]
        self.own = {
            buffer: str(spec.target)
            for buffer, spec in zip(plan.inputs, program.signature.inputs, strict=True)
            if spec.kind in _OWN
        }

    def bound(self) -> Binding:
        tensors = [name for name in self.user if self.buffers[name].kind is Kind.INPUT]
        tensors = [name for name in tensors if self.buffers[name].dtype is not None]
        names = {name: self._named(name) for name in tensors}
        written = self._written()
        inputs = {name: k for k, name in enumerate(tensors)}
        given = tuple(self._tensor(names[name], name, name in written) for name in tensors)
        sizes = tuple(self._sizes(names))
        outputs, results, copied = self._outputs(names, len(tensors))
        interface = Interface(self.name, sizes, given, outputs)
        return Binding(interface, inputs, self.own, results, copied, self.offsets)

    def _named(self, wanted: str) -> str:
        """An identifier of C that is not taken."""
        plain = re.sub(r"\W", "_", wanted, flags=re.ASCII).strip("_") or "x"
        if plain in _RESERVED or plain[0].isdigit():
            plain = f"x_{plain}"
        name, number = plain, 1
        while name in self.taken:
            number += 1
            name = f"{plain}_{number}"
        self.taken.add(name)
        return name

    def _written(self) -> set[str]:
        inputs = self.plan.inputs
        written = set()
        for spec in self.program.signature.outputs:
            if spec.kind == "gradient":
                raise SaveError("it is a training step")
            if spec.kind == "mutation":
                assert spec.target is not None
                name = inputs[spec.target]
                if name in self.own:
                    raise SaveError(
                        f"it writes to {self.own[name]!r}, a tensor of the model",
                        hints=["pass it as an argument, and give it to the next call"],
                    )
                written.add(name)
        return written

    def _tensor(self, name: str, buffer: str, written: bool) -> TensorArgument:
        found = self.buffers[buffer]
        return TensorArgument(
            name, self._dtype(found, name), found.shape, found.strides, found.nbytes, written
        )

    def _dtype(self, buffer: Buffer, name: str) -> torch.dtype:
        if buffer.dtype not in C_TYPES:
            raise SaveError(f"{name} is {buffer.dtype}, which has no type in C")
        return buffer.dtype

    # -- sizes -------------------------------------------------------------------------------------

    def _sizes(self, names: Mapping[str, str]) -> Iterator[SizeArgument]:
        ranges = {symbol.name: symbol for symbol in self.plan.symbols}
        for op in self.plan.ops:
            if not isinstance(op, Define):
                continue
            if op.query not in ("size", "value") or op.buffer not in self.user:
                raise SaveError(f"it depends on the {op.query} of {op.buffer}")
            tensor = names.get(op.buffer)
            if tensor is None:
                wanted, meaning = op.buffer, f"the number {op.buffer}"
            else:
                wanted, meaning = f"{tensor}_size{op.dim}", f"size {op.dim} of {tensor}"
            known = ranges[op.symbol]
            least = known.lower if op.query == "value" else max(known.lower, 1)
            most = MOST_SIZE if known.upper is None else min(known.upper, MOST_SIZE)
            yield SizeArgument(self._named(wanted), op.symbol, least, most, meaning)

    # -- outputs -----------------------------------------------------------------------------------

    def _outputs(
        self, names: Mapping[str, str], first: int
    ) -> tuple[tuple[TensorArgument, ...], dict[str, int], dict[str, int]]:
        wanted = self._output_names()
        found: list[tuple[TensorArgument, ...]] = []
        results: dict[str, int] = {}
        copied: dict[str, int] = {}
        for op in walk(self.plan.ops):
            if isinstance(op, Return):
                found.append(tuple(self._returned(op, wanted, names, first, results, copied)))
        if any(each != found[0] for each in found):
            raise SaveError("its outputs have other layouts for other sizes")
        return found[0], results, copied

    def _output_names(self) -> list[str]:
        count = self.program.signature.user_outputs()
        try:
            tree = pytree.tree_unflatten(list(range(count)), call_spec(self.program).out_spec)
            paths = [path for path, _ in pytree.tree_flatten_with_path(tree)[0]]
            keys = ["_".join(map(_key, path)) for path in paths]
        except Exception:  # the class of the result cannot be made of numbers
            keys = ["" for _ in range(count)]
        if len(keys) != count:
            keys = [""] * count
        if count == 1 and not keys[0]:
            return [self._named("output")]
        return [
            self._named(f"output{k}" if not key or key.isdigit() else key)
            for k, key in enumerate(keys)
        ]

    def _returned(
        self, op: Return, wanted: Sequence[str], names: Mapping[str, str], first: int,
        results: dict[str, int], copied: dict[str, int],
    ) -> Iterator[TensorArgument]:  # fmt: skip
        roots: dict[str, str] = {}
        pointers = first
        for name, value in zip(wanted, op.values, strict=False):
            if value is None or isinstance(value, int | float | str):
                continue
            if not isinstance(value, Ref) or self.buffers[value.name].dtype is None:
                raise SaveError(f"its result {name} is not a tensor")
            buffer, root = self.buffers[value.name], value.name
            while (alias := self.buffers[root].alias) is not None:
                root = alias
            memory = roots.get(root) or names.get(root)
            if memory is None:
                roots[root] = name
                given = copied if root in self.own or self._is_constant(root) else results
                given[root] = pointers
                pointers += 1
            yield TensorArgument(
                name, self._dtype(buffer, name), buffer.shape, buffer.strides,
                self.buffers[root].nbytes, True, self.offsets.get(value.name, 0), memory,
            )  # fmt: skip

    def _is_constant(self, name: str) -> bool:
        return self.buffers[name].kind in (Kind.CONSTANT, Kind.FOLDED)


def _key(entry: Any) -> str:
    for attribute in ("key", "name", "idx"):
        if hasattr(entry, attribute):
            return str(getattr(entry, attribute))
    return ""
