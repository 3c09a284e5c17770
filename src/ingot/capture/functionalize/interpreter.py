"""Functionalization of a program as it was written: composite ops stay whole, autograd and autocast
states become regions. Converts a graph with writes, views and toggles, as torch.export traces it,
to scopes (the program and the bodies of its regions) without them.

The graph runs once on fake tensors as it stands, so that eager itself determines what shares
memory, what requires grad and what may not be written. The functional graph is built alongside;
each of eager's tensors is a Value there (see cells.py). An op's effects are read from its schema
and checked against what it did; an op that deviates is decomposed.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch._higher_order_ops.wrap import wrap_with_autocast
from torch._ops import HigherOrderOperator, OpOverload
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx import GraphModule, Node
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.node import map_arg
from torch.utils import _pytree as pytree

from ingot.capture.attributes import REBOUND
from ingot.capture.functionalize.cells import Cell, Memories, Value, ViewStep
from ingot.capture.functionalize.layout_dependence import Layouts, decided_by_layout
from ingot.capture.functionalize.leaves import (
    SymbolicNumber,
    fresh_copies,
    map_leaves,
    same_layout,
    tensors_in,
)
from ingot.capture.functionalize.scopes import Scope, made_under, used_in
from ingot.capture.functionalize.states import States, autocast_state, frame_for
from ingot.capture.functionalize.toggles import toggles
from ingot.capture.functionalize.view_steps import put, step_for, through
from ingot.capture.unseen import UNTOLD
from ingot.errors import CaptureError
from ingot.program.graph import output_values
from ingot.program.mode_regions import carry, inference_mode, region_kinds, region_parts
from ingot.program.overlap import overlaps_itself
from ingot.program.program import Assumption
from ingot.program.schema_violations import promises_view, schema_violations, writes_silently
from ingot.program.source import node_place

aten = torch.ops.aten

_UNSAFE_VIEWS = frozenset(
    {
        aten._unsafe_view.default,
        aten.unsafe_split.Tensor,
        aten.unsafe_split_with_sizes.default,
    }
)
"""Views in effect, though their schema only says that the source will not be used again."""

_KEPT_META = ("stack_trace", "nn_module_stack", "source_fn_stack", "torch_fn")


@dataclass(frozen=True)
class Handlers:
    """Handlers of ops that are more than a single call. Each takes the Functionalizer first."""

    write: Callable[[Functionalizer, OpOverload, Any, Any], Any]
    """For ops whose schema declares their writes."""
    silent_write: Callable[[Functionalizer, OpOverload, Any, Any], Any]
    """For ops that write what their schema does not mark."""
    higher_order: Callable[[Functionalizer, Node, Any, Any], Any]
    """For control flow and other operators that take graphs."""


class Functionalizer:
    """Runs a graph on Values and builds the functional graph."""

    def __init__(
        self, mode: FakeTensorMode, handlers: Handlers, keep: frozenset[OpOverload] = frozenset()
    ) -> None:
        self.mode = mode
        self.handlers = handlers
        self.keep = keep
        """Composite ops outside of ATen whose schema the user vouches for."""
        self.states = States()
        self.memories = Memories()
        self.base_scope = Scope()
        self.base_frames = 0
        self.chain: list[Scope] = []
        """The open bodies of regions, outermost first."""
        self.constants: dict[str, Tensor] = {}
        self.inputs: dict[Value, Node] = {}
        """The program's own tensor inputs."""
        self.layouts = Layouts()
        self.assumes: set[Assumption] = set()
        """Properties that a call of the program is assumed to have."""
        self.counts: dict[str, int] = {}
        self.at: Node | None = None
        """The node of the given graph that is running."""

    # Building

    def scope(self) -> Scope:
        """The scope of the current state: bodies that were left are closed, entered ones opened."""
        wanted = self.states.frames[self.base_frames :]
        common = 0
        for scope, frame in zip(self.chain, wanted):
            if scope.frame is not frame:
                break
            common += 1
        while len(self.chain) > common:
            self.chain.pop().close()
        for frame in wanted[common:]:
            parent = self.chain[-1] if self.chain else self.base_scope
            self.chain.append(Scope(parent, frame))
        return self.chain[-1] if self.chain else self.base_scope

    def emit(self, target: Any, *args: Any, **kwargs: Any) -> Node:
        """Emit a call in the current scope."""
        return self.emit_known(None, target, args, kwargs)

    def emit_known(
        self, val: Any, target: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Node:
        """Emit a call whose value is known, or is found by running it."""
        scope = self.scope()
        args, kwargs = used_in(scope, (args, dict(kwargs)))
        if val is None:
            vals = map_arg((args, kwargs), lambda n: n.meta["val"])
            with torch.set_grad_enabled(self.states.grad_enabled()):
                val = target(*vals[0], **vals[1])
        node = scope.graph.call_function(target, args, dict(kwargs))
        given = self.at.meta if self.at is not None else {}
        node.meta = {key: given[key] for key in _KEPT_META if key in given}
        node.meta["val"] = val
        return node

    def note(self, text: str) -> None:
        self.counts[text] = self.counts.get(text, 0) + 1

    # Reading and writing

    def content(self, cell: Cell) -> Node:
        """The content of the cell, with the history eager would find."""
        if cell.data is cell.history or not self.states.grad_enabled():
            return cell.data
        if cell.history.meta["val"].requires_grad or cell.from_inference:
            cell.data = cell.history = self.emit(carry, cell.history, cell.data)
        elif cell.data.meta["val"].requires_grad:
            cell.data = cell.history = self.emit(aten.detach.default, cell.data)
        return cell.data

    def read(self, value: Value) -> Node:
        cell = value.cell
        if not value.steps:
            return self.content(cell)
        grad = self.states.grad_enabled()
        fits = value.seen_version == cell.version and not (grad and value.seen_untracked)
        if fits and value.seen is not None and self.scope().reaches(value.seen):
            if cell.from_inference and self._is_inference_tensor(value.seen):
                value.seen = self.emit(aten.clone.default, value.seen)
            return value.seen
        node = self.content(cell)
        for step in value.steps:
            node = step.forward(node)
        value.seen, value.seen_version, value.seen_untracked = node, cell.version, not grad
        return node

    def _is_inference_tensor(self, node: Node) -> bool:
        """Whether it was made under inference_mode and is used outside of it."""
        return not self.states.inference() and made_under(node, inference_mode)

    def write(self, value: Value, new: Node, over: bool = False) -> None:
        """`over`: `new` does not depend on the previous content."""
        if value.cell.memory.inference and not self.states.inference():
            raise self.error(
                "a tensor made under inference_mode is written to outside of it",
                "make a copy first: y = y.clone()",
            )
        cell = value.cell
        cell.memory.written_at = cell.memory.written_at or self.at
        before = self.content(cell)
        content = put(self, value.steps, before, new)
        lost = self._loses_history(before, content, over)
        content = self._overwritten(before, content) if lost else content
        cell.data = content
        cell.version += 1
        cell.from_inference = self.states.inference() and not cell.memory.inference
        if self.states.grad_enabled():
            cell.history = content
            cell.tracked = True
        value.seen, value.seen_version = (None if lost else new), cell.version
        value.seen_untracked = not self.states.grad_enabled()
        self._tell_others(cell)

    def _rebind(self, value: Value, new: Value) -> None:
        """From here on an attribute is another tensor, with a history of its own; the program ends
        here."""
        cell = value.cell
        cell.data = cell.history = self.read(new)
        cell.version += 1
        cell.tracked = True
        cell.memory.written_at = self.at

    def _loses_history(self, old: Node, new: Node, over: bool) -> bool:
        """Whether eager's tensor still requires grad after the write, though the written value does
        not, or need not when the program is called."""
        if not self.states.grad_enabled() or not old.meta["val"].requires_grad:
            return False
        return not new.meta["val"].requires_grad or (over and old not in new.all_input_nodes)

    def _overwritten(self, old: Node, new: Node) -> Node:
        """`new` with the history of a write over `old`, whose gradient is zero."""
        if new.meta["val"].dim() > 0:
            return self.emit(aten.slice_scatter.default, old, new)
        rows = [self.emit(aten.unsqueeze.default, node, 0) for node in (old, new)]
        both = self.emit(aten.slice_scatter.default, *rows)
        return self.emit(aten.select.int, both, 0, 0)

    def _tell_others(self, cell: Cell) -> None:
        """Give the other cells of the memory the new data; they keep their own history."""
        first = cell.memory.cells[0]
        if cell is not first:
            first.data = put(self, cell.path, first.data, cell.data)
            first.version += 1
        for other in cell.memory.cells[1:]:
            if other is cell:
                continue
            node = first.data
            for step in other.path:
                node = step.forward(node)
            other.data = node
            other.version += 1

    # Running

    def run(self, module: GraphModule, inputs: Sequence[Any]) -> list[Any]:
        """The outputs for these inputs; both are Values, SymbolicNumbers and plain data."""
        env: dict[Node, Any] = {}
        before, start = self.at, iter(inputs)
        for node in module.graph.nodes:
            if node.op == "output":
                break
            if node.op == "placeholder":
                env[node] = next(start)
                continue
            if before is None or "stack_trace" in node.meta:
                self.at = node
            env[node] = self.run_node(module, node, env)
        self.at = before
        return [env[v] if isinstance(v, Node) else v for v in output_values(module.graph)]

    def run_node(self, module: GraphModule, node: Node, env: dict[Node, Any]) -> Any:
        if node.op == "get_attr":
            return self._attribute(module, str(node.target))
        if node.op != "call_function":
            raise self.error(f"a {node.op} node has no place in a traced graph")
        given: Any = map_arg((node.args, node.kwargs), env.__getitem__)
        args, kwargs = given
        if node.target in toggles:
            return toggles[node.target](self.states, node, args)
        if node.target is operator.getitem and not isinstance(args[0], SymbolicNumber):
            return args[0][args[1]]
        if node.target in region_kinds:
            return self._run_region(module, node, env)
        if isinstance(node.target, HigherOrderOperator):
            return self._run_higher_order(node, args, kwargs)
        if REBOUND in node.meta:
            return self._rebind(*args)
        known = node.meta.get("val") if "unbacked_bindings" in node.meta else None
        if not isinstance(node.target, OpOverload):
            return self._compute(node.target, args, kwargs, known)
        return self.call(node.target, args, kwargs, known)

    def _attribute(self, module: GraphModule, name: str) -> Any:
        found: Any = module
        for part in name.split("."):
            found = getattr(found, part)
        return self.constant(found) if isinstance(found, Tensor) else found

    def constant(self, tensor: Tensor) -> Value:
        """A tensor that the graph holds becomes one more input of the program."""
        top = self.base_scope
        while top.parent is not None:
            top = top.parent
        fake = self.mode.from_tensor(tensor, static_shapes=True)
        node = top.add_input(f"c_part_{len(self.constants)}", fake)
        self.constants[node.name] = tensor
        return self.memories.add_fresh(fake.detach().clone(), node, False)

    def _run_region(self, module: GraphModule, node: Node, env: dict[Node, Any]) -> list[Any]:
        """Run the body of a region that torch.export made under its state."""
        state, body, inputs = region_parts(node)
        graph = module.get_submodule(str(body.target))
        assert isinstance(graph, GraphModule)
        if node.target is wrap_with_autocast:
            state = autocast_state(*state)
        self.states.enter(node, frame_for(node.target, state))
        results = self.run(graph, map_arg(inputs, env.__getitem__))
        self.states.leave(node)
        return results

    def _run_higher_order(self, node: Node, args: Any, kwargs: Any) -> Any:
        return self.handlers.higher_order(self, node, args, kwargs)

    def _compute(self, target: Any, args: Any, kwargs: Any, known: Any) -> Any:
        """Python arithmetic on symbolic numbers."""
        node = self.emit_known(known, target, self.nodes(args), self.nodes(kwargs))
        return self.wrap_number(node)

    def wrap_number(self, node: Node) -> Any:
        val = node.meta["val"]
        return SymbolicNumber(node, val)

    # One op

    def call(self, op: OpOverload, args: Any, kwargs: Any, known: Any = None) -> Any:
        if op is aten._reshape_alias.default:  # its meta function ignores the strides
            op = aten.as_strided.default
        if op is aten.detach.default:
            return self._detach(args[0], self.at is not None and UNTOLD in self.at.meta)
        if writes_silently(op, args, kwargs):
            return self.handlers.silent_write(self, op, args, kwargs)
        if is_composite(op) and (
            "fresh" in schema_violations().get(op, ()) or self._is_foreign(op)
        ):
            return self.take_apart(op, args, kwargs)
        if op._schema.is_mutable:
            return self.handlers.write(self, op, args, kwargs)
        out = self.run_eager(op, args, kwargs) if known is None else fresh_copies(known)
        shared = self._shares(out)
        if not shared and not (promises_view(op) and is_composite(op)):
            return self._run_pure(op, args, kwargs, out, known)
        if shared and self._is_plain_view(op, args, out):
            return self._run_view(op, args, kwargs, out)
        if is_composite(op):
            return self.take_apart(op, args, kwargs)
        if not shared:
            return self._run_pure(op, args, kwargs, out, known)
        raise self.error(f"{op} returned a tensor that shares memory, against its schema")

    def run_eager(self, op: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        eager_args, eager_kwargs = self.eager((args, kwargs))
        try:
            with torch.set_grad_enabled(self.states.grad_enabled()):
                return op(*eager_args, **eager_kwargs)
        except (RuntimeError, NotImplementedError, ValueError) as error:
            raise self.error(str(error).split("\n")[0]) from error

    def _is_foreign(self, op: OpOverload) -> bool:
        return op.namespace not in ("aten", "prims") and op not in self.keep

    def _shares(self, out: Any) -> bool:
        """Whether a result lies in existing memory."""
        return any(self.memories.memory_of(t) is not None for t in tensors_in(out))

    def _is_plain_view(self, op: OpOverload, args: Any, out: Any) -> bool:
        if not args or not isinstance(args[0], Value):
            return False
        if not promises_view(op) and op not in _UNSAFE_VIEWS:
            return False
        memory = args[0].cell.memory
        return all(self.memories.memory_of(t) is memory for t in tensors_in(out))

    def _run_pure(self, op: Any, args: Any, kwargs: Any, out: Any, known: Any) -> Any:
        node = self.emit_known(known, op, self.nodes(args), self.nodes(kwargs))
        return self.wrap(out, node)

    def wrap(self, out: Any, node: Node) -> Any:
        """Values for the fresh results of the call `node`."""
        if isinstance(out, tuple | list):
            return [self.wrap(item, self.emit(operator.getitem, node, i)) if item is not None
                    else None for i, item in enumerate(out)]  # fmt: skip
        if isinstance(out, Tensor):
            return self.memories.add_fresh(out, node, self.states.inference())
        if out is None:
            return None
        return self.wrap_number(node)

    def _run_view(self, op: OpOverload, args: Any, kwargs: Any, out: Any) -> Any:
        source: Value = args[0]
        rest, named = self.nodes(tuple(args[1:])), self.nodes(kwargs)
        if isinstance(out, tuple | list):
            call = self.emit(op, self.read(source), *rest, **named)
            items = [self.emit(operator.getitem, call, i) for i in range(len(out))]
            steps = [step_for(self, op, rest, named, i) for i in range(len(out))]
            return [self.add_view(source, *row) for row in zip(out, steps, items)]
        if (same := self.memories.value_of(out)) is not None:
            self.note(f"{op}: replaced by its argument, which it returns")
            self._note_layout(op, args, kwargs, [same])
            return same
        if op is aten.as_strided.default:
            named = self._geometry(source, rest, named)
            rest, source = (), self._whole_memory(source)
        step = step_for(self, op, rest, named, None)
        return self.add_view(source, out, step, step.forward(self.read(source)))

    def add_view(self, source: Value, eager: Tensor, step: ViewStep, node: Node) -> Value:
        cell = source.cell
        return self.memories.add(Value(eager, cell, (*source.steps, step), node, cell.version))

    def _geometry(
        self, source: Value, rest: tuple[Any, ...], named: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The arguments of as_strided, of the whole memory. Without an offset it starts where the
        source does."""
        given = {**dict(zip(("size", "stride", "storage_offset"), rest)), **named}
        if given.get("storage_offset") is None:
            given["storage_offset"] = source.eager.storage_offset()
        if isinstance(given["storage_offset"], torch.SymInt):
            raise self.error("as_strided of a view whose offset depends on sizes")
        return given

    def _whole_memory(self, value: Value) -> Value:
        """The tensor that is all of the memory, to which as_strided refers."""
        first = value.cell.memory.cells[0]
        whole = next(v for v in self.memories.by_tensor.values() if v.cell is first and not v.steps)
        same = value.cell is first
        if not same or not whole.eager.is_contiguous() or whole.eager.storage_offset() != 0:
            raise self.error("as_strided of a tensor whose memory is laid out in another order")
        return whole

    def _detach(self, source: Value, untold: bool) -> Value:
        made = self.run_eager(aten.detach.default, (source,), {})
        eager = source.eager.data if untold else made
        if source.steps and overlaps_itself(eager):
            # A cell has each element once: it is the whole tensor, and the view is a view of it.
            cell = self.memories.add_cell(source.cell, (), self._detached(source.cell))
            node = through(source.steps)(cell.data)
            return self.memories.add(Value(eager, cell, source.steps, node, 0))
        node = self.emit(aten.detach.default, self.read(source))
        return self.memories.add_alias(source, eager, node)

    def _detached(self, cell: Cell) -> Node:
        return self.emit(aten.detach.default, self.content(cell))

    # Decomposition

    def take_apart(self, op: OpOverload, args: Any, kwargs: Any) -> Any:
        """Run a composite op as the ops it is made of."""
        self.note(f"{op}: replaced by its decomposition")
        leaves, spec = pytree.tree_flatten((args, kwargs))
        places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Value | SymbolicNumber)]

        def parts(*given: Any) -> Any:
            filled = list(leaves)
            for i, value in zip(places, given):
                filled[i] = value
            inner_args, inner_kwargs = pytree.tree_unflatten(filled, spec)
            return op.decompose(*inner_args, **inner_kwargs)

        given = [same_layout(leaf.eager) if isinstance(leaf, Value) else leaf.val
                 for leaf in (leaves[i] for i in places)]  # fmt: skip
        with torch.no_grad():
            graph = make_fx(parts)(*given)
        results = self.run(graph, [leaves[i] for i in places])
        self._note_layout(op, args, kwargs, results)
        structure = output_structure(graph)
        return results if structure else results[0]

    def _note_layout(self, op: OpOverload, args: Any, kwargs: Any, results: Sequence[Any]) -> None:
        source = args[0] if args else None
        if isinstance(source, Value) and decided_by_layout(
            op, self.eager(args), self.eager(kwargs)
        ):
            self.layouts.note(source, results)

    # Arguments

    def eager(self, value: Any) -> Any:
        return map_leaves(value, lambda v: v.eager, lambda n: n.val)

    def nodes(self, value: Any) -> Any:
        return map_leaves(value, self.read, lambda n: n.node)

    def error(self, why: str, *hints: str) -> CaptureError:
        place = node_place(self.at) if self.at is not None else None
        return CaptureError(why, place=place, hints=hints)


def output_structure(module: GraphModule) -> bool:
    """Whether the graph returns several values."""
    end = next(iter(reversed(module.graph.nodes)))
    return isinstance(end.args[0], tuple | list)


def is_composite(op: OpOverload) -> bool:
    return op._can_decompose()
