"""A plan under construction during kernel selection: the memory of each value and the ops so far.
Kernel families build launches with it: pointers, packed weights, scratch memory, computations.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import sympy
import torch
from torch import fx

from ingot.dispatch.variants import Variants
from ingot.errors import Place as SourceLine
from ingot.fuse.accesses import Condition
from ingot.fuse.views import base_of, is_view
from ingot.journal import JournalEntry
from ingot.plan.calls import ComputationBuilder, recipe_calls, size_expr
from ingot.plan.conditions import requirement
from ingot.plan.decisions import Decisions
from ingot.plan.derived import derived, is_derived
from ingot.plan.host_ops import plain
from ingot.plan.ir import (
    NOWHERE,
    Argument,
    Buffer,
    Call,
    Computation,
    Eager,
    Fold,
    Kernel,
    Kind,
    Launch,
    Op,
    Operand,
    Packing,
    Parameter,
    Pointer,
    Recipe,
    Ref,
    Require,
    Step,
    Symbol,
)
from ingot.plan.places import native_view
from ingot.plan.resources import KernelEntry as Code
from ingot.plan.resources import Resources, content
from ingot.program.graph import memory_root
from ingot.program.program import SymbolRange
from ingot.program.shapes import Size, shape_of, size_of, strides_of, tensor_of
from ingot.program.source import node_place

Place = tuple[str, Size]
"""A buffer and an offset in bytes."""


class Names:
    """Unique names of buffers."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def fresh(self, stem: str) -> str:
        plain = "".join(c if c.isascii() and c.isalnum() else "_" for c in stem) or "value"
        name, count = plain, 1
        while name in self._taken:
            name, count = f"{plain}_{count}", count + 1
        self._taken.add(name)
        return name


class PlanDraft:
    def __init__(
        self,
        resources: Resources,
        variants: Variants,
        symbols: dict[str, SymbolRange],
        names: Names,
    ):
        self.decisions = Decisions()
        self.resources, self.variants, self.names = resources, variants, names
        self.ranges = symbols
        self.buffers: dict[str, Buffer] = {}
        self.kernels: dict[str, Kernel] = {}
        self.recipes: dict[str, Recipe] = {}
        self.symbols: dict[str, Symbol] = {}
        """Symbols that ops define."""
        self.known: set[str] = set()
        """Symbols that are defined before the next op."""
        self.ops: list[Op] = []
        """Ops of the current block."""
        self.prologue: list[Op] = []
        """Eager ops to insert before the current native op, or before all ops."""
        self.folds: list[Op] = []
        self.step: Step = NOWHERE
        """The step that is being written."""
        self.covers: list[Step] = []
        """Other steps that the next launch computes."""
        self.bodies: list[JournalEntry] = []
        """The journals of plans of control-flow bodies."""
        self._places: dict[fx.Node, Place] = {}
        self._lazy: set[str] = set()
        """Buffers that may be lazily negated."""
        self.handles: dict[fx.Node, str] = {}
        self._packed: dict[Any, str] = {}
        self.plain: dict[str, str] = {}
        """Buffers to their materialised copies."""
        self._parameters: dict[tuple[int, tuple[Parameter, ...]], str] = {}

    # -- values ------------------------------------------------------------------------------------

    def add(self, stem: str, kind: Kind, node: fx.Node | None = None, **fields: Any) -> str:
        """Adds a buffer, with the dtype and layout of the node if one is given."""
        name = self.names.fresh(stem)
        buffer = Buffer(name, kind, **fields)
        value = None if node is None else node.meta.get("val")
        if node is not None and isinstance(value, torch.Tensor) and is_memory(value):
            shape, strides = shape_of(node), strides_of(node)
            buffer = replace(buffer, dtype=value.dtype, shape=shape, strides=strides)
        self.buffers[name] = buffer
        return name

    def put(self, node: fx.Node, place: Place) -> None:
        """Records where a node's memory is."""
        self._places[node] = place

    def make(self, node: fx.Node) -> None:
        """Gives the node memory of its own, which a launch writes."""
        if node not in self._places:
            self.own(node, self.add(node.name, Kind.ARENA, node))

    def add_raw(self, name: str) -> None:
        """Adds an eager op's result before it is copied to the layout that the program expects."""
        self.buffers[name] = Buffer(name, Kind.OBJECT)

    def own(self, node: fx.Node, name: str) -> None:
        """The node occupies a whole buffer."""
        self._places[node] = name, 0
        self.handles[node] = name
        if self.buffers[name].kind in (Kind.INPUT, Kind.EAGER) and _may_be_negated(node):
            self._lazy.add(name)

    def name_as(self, node: fx.Node, name: str) -> None:
        """Sets the name under which eager ops see the node."""
        self.handles[node] = name

    def place(self, node: fx.Node) -> Place | None:
        known = self._places.get(node)
        if known is None and native_view(node) and not is_derived(node):
            base = self.place(base_of(node))
            if base is None:
                return None
            moved = _elements_in(node) - _elements_in(base_of(node))
            known = base[0], base[1] + moved * tensor_of(node).dtype.itemsize
            self._places[node] = known
        return known

    def handle(self, node: fx.Node) -> str:
        """The name of the tensor or other object that eager ops see."""
        known = self.handles.get(node)
        if known is not None:
            return known
        raise AssertionError(f"an eager op reads {node}, which has no tensor of its own")

    def refer(self, node: fx.Node) -> Any:
        """A node as an argument of an eager call."""
        size = size_expr(node, self.known)
        return Ref(self.handle(node)) if size is None else size

    def is_known(self, node: fx.Node) -> bool:
        """Does it have memory or a Python object?"""
        return node in self.handles or self.place(node) is not None

    # -- arguments of launches ---------------------------------------------------------------------

    def pointer(self, node: fx.Node, behind: Size = 0) -> Pointer:
        place = self.place(node)
        assert place is not None, f"{node} has no memory"
        buffer, offset = place
        return Pointer(self._readable(buffer), offset + behind)

    def operand(self, node: fx.Node) -> Operand | None:
        value = node.meta.get("val")
        if not isinstance(value, torch.Tensor) or not is_memory(value):
            return None
        place = self.place(node)
        if place is None:
            return None
        shape, strides = shape_of(node), strides_of(node)
        buffer = self.plain.get(place[0], place[0])
        return Operand(buffer, place[1], value.dtype, shape, strides)

    def _eager_name(self, node: fx.Node) -> str | None:
        return None if is_memory(node.meta.get("val")) else self.handles.get(node)

    def _readable(self, buffer: str) -> str:
        """Materialises a tensor that may be lazily negated before native code reads it."""
        if buffer not in self._lazy:
            return buffer
        if buffer not in self.plain:
            known = self.buffers[buffer]
            name = self.names.fresh(f"{buffer}_plain")
            self.buffers[name] = replace(known, name=name, kind=Kind.EAGER, alias=None)
            call = Call(name, self.resources.target_name(plain), (Ref(buffer),))
            self.prologue.append(Eager(call, step=self.step))
            self.plain[buffer] = name
        return self.plain[buffer]

    def scratch(self, nbytes: int) -> Pointer:
        name = self.names.fresh("scratch")
        self.buffers[name] = Buffer(name, Kind.ARENA, torch.uint8, (nbytes,), (1,))
        return Pointer(name)

    def packed(self, packing: Packing, *wanted: fx.Node) -> Pointer:
        """A pointer to packed weights; `wanted` may themselves be computed from weights."""
        made = derived(*wanted)
        calls, names = recipe_calls(made.roots, made.steps, self.resources)
        sources = tuple(self.handle(root) for root in made.roots)
        results = tuple(names[node] for node in wanted)
        key = (sources, calls, results, packing)
        name = self._packed.get(key)
        if name is None:
            name = self._packed[key] = self.add("packed", Kind.PACKED, dtype=packing.dtype)
            self.recipes[name] = Recipe(name, sources, calls, results, packing)
        return Pointer(name)

    def folded(self, node: fx.Node) -> None:
        """Folds a value that is computed from weights and read unpacked."""
        made = derived(node)
        calls, names = recipe_calls(made.roots, made.steps, self.resources)
        sources = tuple(self.handle(root) for root in made.roots)
        name = self.add(node.name, Kind.FOLDED, node)
        self.recipes[name] = Recipe(name, sources, calls, (names[node],))
        self.own(node, name)
        self.folds.append(Fold(name))

    # -- launches ----------------------------------------------------------------------------------

    def kernel(
        self,
        family: str,
        address: int,
        parameters: Sequence[Parameter],
        share: int = 0,
        owner: Any = None,
        digest: str = "",
    ) -> str:
        """The name of a kernel: machine code with these parameters."""
        key = (address, tuple(parameters))
        name = self._parameters.get(key)
        if name is None:
            function, found, native = content(address)
            stem = f"{family}.{digest or found}" if digest else f"{family}.{function}.{found}"
            name = stem
            count = 1
            while name in self.kernels:
                name, count = f"{stem}.{count}", count + 1
            self._parameters[key] = name
            self.kernels[name] = Kernel(name, family, digest or found, tuple(parameters))
            self.resources.kernels[name] = Code(address, share, owner or native)
        return name

    def computes(
        self,
        outputs: Sequence[fx.Node],
        members: Iterable[fx.Node],
        read: Iterable[fx.Node] | None = None,
    ) -> Computation:
        """`read`: the nodes that the kernel reads, if it skips some operands of its ops."""
        buffers = None if read is None else {each.buffer for n in read if (each := self.operand(n))}
        written = {self.operand(node) for node in outputs}

        def operand(node: fx.Node) -> Operand | None:
            found = self.operand(node)
            if (
                found not in written
                and is_view(node)
                and self.operand(memory_root(node)) in written
            ):
                return None  # computed in place through a view: the operand is what it writes
            return None if buffers is not None and found and found.buffer not in buffers else found

        builder = ComputationBuilder(members, operand, self._eager_name, self.resources)
        found = []
        for node in outputs:
            target = self.operand(node)
            assert target is not None
            found.append((node, target))
        return builder.built(found)

    def launch(
        self, kernel: str, arguments: Sequence[Argument], computes: Computation, **fields: Any
    ) -> Launch:
        covers = tuple(self.covers)
        return Launch(kernel, tuple(arguments), computes, step=self.step, covers=covers, **fields)

    def require(self, conditions: Iterable[Condition]) -> None:
        """Records the conditions that the following ops assume."""
        found = tuple(map(requirement, conditions))
        if found:
            self.ops.append(Require(found))

    def lookups(self, node: fx.Node) -> tuple[tuple[str, SourceLine], ...]:
        """The faults of a call that may meet an index out of range."""
        place = node_place(node)
        return () if place is None else (("lookup", place),)

    def define(self, symbol: sympy.Symbol) -> None:
        known = self.ranges.get(symbol.name)
        assumptions = tuple(sorted(k for k, v in symbol._assumptions_orig.items() if v))
        lower, upper = (0, None) if known is None else (known.lower, known.upper)
        self.known.add(symbol.name)
        self.symbols[symbol.name] = Symbol(symbol.name, assumptions, lower, upper)


def _may_be_negated(node: fx.Node) -> bool:
    values = (operand.meta.get("val") for operand in node.all_input_nodes)
    reads_complex = any(isinstance(v, torch.Tensor) and v.is_complex() for v in values)
    return reads_complex or tensor_of(node).is_neg()


def is_memory(value: Any) -> bool:
    """Is it a tensor that a pointer and strides describe?"""
    return isinstance(value, torch.Tensor) and value.layout is torch.strided


def _elements_in(node: fx.Node) -> Size:
    return size_of(tensor_of(node).storage_offset())
