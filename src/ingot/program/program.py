"""Program, the first IR: a frozen record of a functional ATen graph, as AOTAutograd hands it to a
compiler, with its signature, constants and symbols. The given module is never changed. Writes to
inputs are outputs after the user's own, named in the signature. Every tensor that the graph refers
to is in `constants`. Writes without a functional form stay in the graph and run in eager, in
program order.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Any, Literal

import sympy
import torch
from torch._ops import OpOverload
from torch.export import ExportedProgram
from torch.fx import Graph, GraphModule, Node
from torch.utils import _pytree as pytree

from ingot.extensions import extension
from ingot.journal import Journal
from ingot.program.graph import copy_module, fake_mode, memory_root, output_values, placeholders
from ingot.program.mlir import MlirComparison, MlirText
from ingot.program.mutation import lift_mutations

InputKind = Literal["user", "parameter", "buffer", "constant", "symbol"]
OutputKind = Literal["user", "mutation", "gradient"]
Assumption = Literal["layout", "sharing", "grad", "autocast"]


class Level(Enum):
    """How far a program has been lowered."""

    PRE_DISPATCH = "pre-dispatch"
    ATEN = "aten"
    CORE = "core"


@dataclass(frozen=True)
class InputSpec:
    name: str
    """The placeholder's name."""
    kind: InputKind
    target: str | None = None
    """For the module's own tensors: the name in the program's state."""


@dataclass(frozen=True)
class OutputSpec:
    kind: OutputKind
    target: int | None = None
    """For a mutation, the index of the input to be overwritten; for a gradient, of the input it
    belongs to."""
    alias_of: int | None = None
    """The index of the input whose memory this output shares in the captured graph."""
    is_input: int | None = None
    """The index of the input that this output is: the same object, not a view of it."""
    is_output: int | None = None
    """The index of the earlier output that this output is."""
    tracked: bool = False
    """For a mutation: whether autograd sees it, as it sees eager's write."""


@dataclass(frozen=True)
class Signature:
    inputs: tuple[InputSpec, ...]
    """One for each placeholder, in order."""
    outputs: tuple[OutputSpec, ...]
    """One for each element of the output tuple: the user's outputs, mutations, gradients."""

    def user_outputs(self) -> int:
        return sum(spec.kind == "user" for spec in self.outputs)


@dataclass(frozen=True)
class SymbolRange:
    lower: int
    upper: int | None
    """None if no bound is known."""


@dataclass(frozen=True)
class SizeGuard:
    """A condition on the sizes of inputs that the tracer assumed."""

    condition: sympy.Basic
    """Over the program's symbols."""


@dataclass(frozen=True)
class Fixed:
    """An argument that became part of the program: it must have this value in every call."""

    value: Any


@dataclass(frozen=True)
class CallSpec:
    """How the user calls the program, and the structure of its result."""

    in_spec: pytree.TreeSpec
    """The structure of (args, kwargs)."""
    out_spec: pytree.TreeSpec
    """The structure of the result; its leaves are the user's outputs."""
    arguments: tuple[int | Fixed, ...]
    """For each leaf of the arguments: the index of its input, or its fixed value."""
    assumes: frozenset[Assumption] = frozenset()
    """Requirements on a call, which is refused otherwise. "layout": the example's strides, or
    inputs that can be copied to them; "sharing": the example's strides, which decide what shares
    memory; "grad": grad enabled; "autocast": autocast disabled."""
    plain: frozenset[int] = frozenset()
    """Leaves of the arguments that must not require grad."""


@dataclass(frozen=True)
class Program:
    graph_module: GraphModule
    """A functional ATen graph; every node that makes a value has meta["val"]."""
    signature: Signature
    constants: Mapping[str, torch.Tensor]
    """By get_attr target; of any dtype, never text."""
    symbols: Mapping[str, SymbolRange]
    """The symbols that occur in the sizes of inputs and in symbolic numbers."""
    level: Level
    journal: Journal = field(default=Journal(), compare=False)
    state: Mapping[str, torch.Tensor] = field(default_factory=dict)
    """The module's own parameters, buffers and constants, by the `target` of their inputs."""
    calling: CallSpec | None = None
    """None for a graph that torch.compile calls, not a user."""
    guards: tuple[SizeGuard, ...] = ()
    """Conditions on sizes besides their ranges. torch.compile checks its own."""

    @property
    def graph(self) -> Graph:
        return self.graph_module.graph

    def frozen_inputs(self) -> set[Node]:
        """Inputs that are the same memory in every call: the module's own tensors that are not
        written here, and constants."""
        written = {spec.target for spec in self.signature.outputs if spec.target is not None}
        pairs = zip(placeholders(self.graph), self.signature.inputs, strict=True)
        stay = {
            node
            for i, (node, spec) in enumerate(pairs)
            if spec.kind in ("parameter", "buffer", "constant") and i not in written
        }
        return stay | {n for n in self.graph.nodes if n.op == "get_attr"}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The model's result for these arguments, its writes included."""
        return extension("Program.__call__")(self, args, kwargs)

    def to_mlir(
        self,
        dialect: str,
        *,
        decompositions: Mapping[Any, Callable[..., Any] | str] | None = None,
        partial: bool = False,
        checks: bool = False,
    ) -> MlirText:
        """The program in `dialect`: "torch", "linalg", "tosa" or "stablehlo". `decompositions` maps
        further ops, the user's own above all, to a Python function or to MLIR text with one
        function in the dialect. With `partial`, an op that the dialect does not support stays a
        call of a function that is only declared. With `checks`, runtime assertions of the program
        are kept."""
        return extension("Program.to_mlir")(
            self, dialect, decompositions=decompositions, partial=partial, checks=checks
        )

    def verify(
        self,
        dialect: str,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        *,
        lockstep: bool = False,
        decompositions: Mapping[Any, Callable[..., Any] | str] | None = None,
        checks: bool = False,
    ) -> MlirComparison:
        """Emit the program in `dialect`, run it natively and compare with eager. A difference
        raises MismatchError; with `lockstep` it names the first operation that differs. The other
        options are those of `to_mlir`."""
        return extension("Program.verify")(
            self, dialect, args, kwargs,
            lockstep=lockstep, decompositions=decompositions, checks=checks,
        )  # fmt: skip

    @staticmethod
    def from_exported(exported: ExportedProgram, keep: Iterable[OpOverload] = ()) -> Program:
        """torch.export's program at pre-dispatch level. `keep`: composite ops outside of ATen whose
        schema the caller vouches for."""
        return extension("Program.from_exported")(exported, keep)

    def to_exported(self) -> ExportedProgram:
        """For PyTorch's own tools; regions become PyTorch's own operators."""
        return extension("Program.to_exported")(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Graph, signature and tensors in one file, without pickles."""
        extension("Program.save")(self, path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Program:
        """A program that `save` wrote. The file need not be trusted: nothing in it is evaluated,
        imported or unpickled, and any defect is a FileError."""
        return extension("Program.load")(path)

    def lowered(self, level: str) -> Program:
        """The same program at a lower level; itself if it is there already."""
        return extension("Program.lowered")(self, Level(level))

    def as_text(self) -> str:
        return extension("Program.as_text")(self)

    def __str__(self) -> str:
        return self.as_text()


def program_from_fx(
    gm: GraphModule, *, static_input_indices: Iterable[int] = (), level: Level = Level.ATEN
) -> Program:
    """A Program from the graph that AOTAutograd hands to a compiler. Inputs in
    `static_input_indices` keep their address across calls, so they are the module's own tensors."""
    module = copy_module(gm)
    graph = module.graph
    constants = tensor_attributes(module)
    _fill_attribute_meta(graph, constants)
    mutations = lift_mutations(graph)
    inputs = _input_specs(graph, frozenset(static_input_indices))
    outputs = _output_specs(graph, mutations)
    return Program(
        graph_module=module,
        signature=Signature(inputs, outputs),
        constants=MappingProxyType(constants),
        symbols=MappingProxyType(graph_symbols(graph)),
        level=level,
    )


def tensor_attributes(module: GraphModule) -> dict[str, torch.Tensor]:
    """The tensors that get_attr nodes refer to, by target."""
    found: dict[str, torch.Tensor] = {}
    for node in module.graph.nodes:
        if node.op != "get_attr" or node.target in found:
            continue
        value: Any = module
        for part in node.target.split("."):
            value = getattr(value, part)
        if isinstance(value, torch.Tensor):
            found[node.target] = value
    return found


def graph_symbols(graph: Graph) -> dict[str, SymbolRange]:
    """The symbols in the sizes of inputs and in symbolic numbers, with their ranges from the
    ShapeEnv."""
    ranges: dict[str, SymbolRange] = {}
    for node in graph.nodes:
        val = node.meta.get("val")
        if node.op == "placeholder" and isinstance(val, torch.Tensor):
            numbers: Iterable[Any] = (*val.shape, *_strides(val))
        else:
            numbers = (val,)
        for number in numbers:
            if isinstance(number, torch.SymInt):
                _add_symbols(number, ranges)
    return dict(sorted(ranges.items()))


def least_of(symbol: sympy.Symbol, lower: Any = None) -> int:
    """The least value of a symbol, given the lower end of its range. A size has no sign; a number
    whose range has no lower end may have one."""
    if lower is not None and lower.is_Integer:
        return int(lower)
    return 0 if lower is None or symbol.is_nonnegative else torch.iinfo(torch.int64).min


def _add_symbols(number: torch.SymInt, ranges: dict[str, SymbolRange]) -> None:
    shape_env = number.node.shape_env
    for symbol in number.node.expr.free_symbols:
        if symbol.name in ranges:
            continue
        known = shape_env.var_to_range.get(symbol)
        lower = least_of(symbol) if known is None else least_of(symbol, known.lower)
        upper = int(known.upper) if known is not None and known.upper.is_Integer else None
        ranges[symbol.name] = SymbolRange(lower, upper)


def _strides(val: torch.Tensor) -> tuple[Any, ...]:
    return tuple(val.stride()) if val.layout is torch.strided else ()


def _fill_attribute_meta(graph: Graph, constants: Mapping[str, torch.Tensor]) -> None:
    """Give get_attr nodes of tensors a meta["val"] if the tracer left none."""
    bare = [
        node
        for node in graph.nodes
        if node.op == "get_attr" and node.target in constants and "val" not in node.meta
    ]
    if not bare:
        return
    mode = fake_mode(graph)
    for node in bare:
        tensor = constants[node.target]
        node.meta["val"] = mode.from_tensor(tensor, static_shapes=True) if mode else tensor


def _input_specs(graph: Graph, static: frozenset[int]) -> tuple[InputSpec, ...]:
    return tuple(
        InputSpec(node.name, _input_kind(node, i in static))
        for i, node in enumerate(placeholders(graph))
    )


def _input_kind(node: Node, static: bool) -> InputKind:
    val = node.meta.get("val")
    if not isinstance(val, torch.Tensor):
        return "symbol"
    described = type(node.meta.get("desc")).__name__
    if described == "ParamAOTInput":
        return "parameter"
    if described == "BufferAOTInput":
        return "buffer"
    if static:
        return "parameter" if isinstance(val, torch.nn.Parameter) else "buffer"
    return "user"


def _output_specs(graph: Graph, mutations: list[int]) -> tuple[OutputSpec, ...]:
    index = {node: i for i, node in enumerate(placeholders(graph))}
    values = output_values(graph)
    count = len(values) - len(mutations)
    user = [OutputSpec("user", alias_of=_alias(value, index)) for value in values[:count]]
    return (*user, *(OutputSpec("mutation", target=i) for i in mutations))


def _alias(value: Any, index: Mapping[Node, int]) -> int | None:
    return index.get(memory_root(value)) if isinstance(value, Node) else None
