"""Functional control flow. The bodies of cond, while_loop, map and scan may write to captured
tensors. A captured tensor that a body writes to becomes one more result of a branch, or one more
carried value of a loop; `map` with such writes becomes a `scan`. After a body only its results and
these writes remain; all other state is restored.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch._higher_order_ops.cond import cond_op
from torch._higher_order_ops.map import map_impl
from torch._higher_order_ops.scan import scan_op
from torch._higher_order_ops.while_loop import while_loop_op
from torch.fx import GraphModule, Node
from torch.utils import _pytree as pytree

from ingot.capture.functionalize.cells import Cell, CellState, Value, cell_state, restore_cell
from ingot.capture.functionalize.fake_values import fresh_result, like, with_history
from ingot.capture.functionalize.interpreter import Functionalizer
from ingot.capture.functionalize.leaves import SymbolicNumber
from ingot.capture.functionalize.scopes import Scope
from ingot.program.custom_gradient import custom_gradient
from ingot.program.graph import output_node, placeholders

aten = torch.ops.aten
Rule = Callable[[Functionalizer, Node, Any, Any], Any]


@dataclass(frozen=True, eq=False)
class FunctionalBody:
    """A branch that was run: its scope, its results, and the final states of the cells."""

    scope: Scope
    results: list[Any]
    after: dict[Cell, CellState]
    written: list[Cell]
    """Outer cells that it wrote to."""
    fresh: list[Node]
    """Its inputs that are not captured."""


def run_cond(run: Functionalizer, node: Node, args: Any, kwargs: Any) -> list[Any]:
    chosen, yes, no, operands = args
    bodies = [_run_body(run, module, [], operands, []) for module in (yes, no)]
    written = _union(body.written for body in bodies)
    captures = _union(body.scope.captures for body in bodies)
    modules = [_finish(run, body, written, captures) for body in bodies]
    names = [_add(run, word, made) for word, made in zip(("true", "false"), modules)]
    vals = _result_vals(modules[0])
    return _results(run, cond_op, (run.nodes(chosen), *names, captures), vals, written, first=False)


def run_while_loop(run: Functionalizer, node: Node, args: Any, kwargs: Any) -> list[Any]:
    goes_on, loop, carried, fixed = args
    written = _run_body(run, loop, carried, fixed, []).written
    test = _run_body(run, goes_on, carried, fixed, written)
    body = _run_body(run, loop, carried, fixed, written)
    if set(test.written) - set(written):
        raise run.error("the condition of a while_loop writes to a tensor")
    captures = _union([test.scope.captures, body.scope.captures])
    modules = [_finish(run, test, [], captures), _finish(run, body, written, captures)]
    end = output_node(modules[0].graph)
    end.args = (end.args[0][0],)  # type: ignore[index]  # a condition is not a tuple
    modules[0].recompile()
    names = [_add(run, word, made) for word, made in zip(("test", "loop"), modules)]
    start = (*run.nodes(tuple(carried)), *(run.content(cell) for cell in written))
    vals = _result_vals(modules[1])
    return _results(run, while_loop_op, (*names, start, captures), vals, written, first=False)


def run_map(run: Functionalizer, node: Node, args: Any, kwargs: Any) -> list[Any]:
    """With writes, each row sees the writes of the rows before it: a scan."""
    module, rows, fixed = args
    places = [_row(run, value) for value in rows]
    written = _run_body(run, module, places, fixed, []).written
    body = _run_body(run, module, places, fixed, written, written_first=True)
    captures = tuple(body.scope.captures)
    made = _finish(run, body, written, captures, written_first=True)
    given = run.nodes(tuple(rows))
    vals = [*(like(c.data.meta["val"]) for c in written), *fresh_result(node.meta["val"])]
    if not written:
        return _results(run, map_impl, (_add(run, "map", made), given, captures), vals, [])
    start = tuple(run.content(cell) for cell in written)
    name = _add(run, "scan", made)
    return _results(run, scan_op, (name, start, given, captures), vals, written)


def run_scan(run: Functionalizer, node: Node, args: Any, kwargs: Any) -> list[Any]:
    module, start, rows, fixed = args
    places = [*start, *(_row(run, value) for value in rows)]
    body = _run_body(run, module, places, fixed, [])
    if body.written:
        raise run.error("the body of a scan writes to a tensor that it does not carry")
    captures = tuple(body.scope.captures)
    name = _add(run, "scan", _finish(run, body, [], captures))
    arguments = (name, run.nodes(tuple(start)), run.nodes(tuple(rows)), captures)
    return _results(run, scan_op, arguments, fresh_result(list(node.meta["val"])), [])


def run_custom_gradient(run: Functionalizer, node: Node, args: Any, kwargs: Any) -> list[Any]:
    """The results stay in the same memory and get a history of their own."""
    module, places, inputs, outs, saved, captured = args
    if not run.states.grad_enabled():
        return list(outs)
    body = _run_body(run, module, [*saved, *outs], captured, [])
    if body.written:
        raise run.error("the backward of an autograd function writes to a tensor")
    captures = list(body.scope.captures)
    name = _add(run, "backward", _finish(run, body, [], captures))
    given = (run.nodes(list(group)) for group in (inputs, outs, saved))
    make = with_history if any(value.eager.requires_grad for value in inputs) else like
    vals = tuple(make(out.eager) for out in outs)
    call = run.emit_known(vals, custom_gradient, (name, list(places), *given, captures), {})
    results = []
    for i, (out, val) in enumerate(zip(outs, vals)):
        item = run.emit(operator.getitem, call, i)
        results.append(run.memories.add_alias(out, make(val), item))
    return results


control_rules: dict[Any, Rule] = {
    cond_op: run_cond,
    while_loop_op: run_while_loop,
    map_impl: run_map,
    scan_op: run_scan,
    custom_gradient: run_custom_gradient,
}


def run_higher_order(run: Functionalizer, node: Node, args: Any, kwargs: Any) -> Any:
    rule = control_rules.get(node.target, run_opaque)
    return rule(run, node, args, kwargs)


def run_opaque(run: Functionalizer, node: Node, args: Any, kwargs: Any) -> Any:
    """An operator whose bodies are kept unchanged; they may not write."""

    def reference(leaf: Any) -> Any:
        if not isinstance(leaf, GraphModule):
            return leaf
        for inner in leaf.modules():
            for n in inner.graph.nodes if isinstance(inner, GraphModule) else ():
                schema = getattr(n.target, "_schema", None)
                if schema is not None and schema.is_mutable:
                    raise run.error(f"a body of {node.target.name()} writes to a tensor")  # type: ignore[union-attr]
        return _add(run, "body", leaf)

    given = pytree.tree_map(reference, run.nodes((args, kwargs)), is_leaf=_is_leaf)
    val = fresh_result(node.meta.get("val"))
    call = run.emit_known(val, node.target, given[0], given[1])
    return run.wrap(fresh_result(val), call)


def _is_leaf(value: Any) -> bool:
    return isinstance(value, Node | GraphModule)


def _row(run: Functionalizer, value: Value) -> Value:
    """A row of a mapped tensor: only its type matters."""
    row = like(value.eager[0])
    return Value(row, value.cell)


@contextmanager
def _inside(run: Functionalizer, scope: Scope) -> Iterator[None]:
    """Emit into `scope`; the outer state is restored on exit."""
    outside = run.base_scope, run.base_frames, run.chain
    cells = {cell: cell_state(cell) for cell in run.memories.cells()}
    members = [(cell.memory, list(cell.memory.cells)) for cell in cells]
    views = [
        (v, v.cell, v.steps, v.seen, v.seen_version, v.seen_untracked)
        for v in run.memories.by_tensor.values()
    ]
    run.base_scope, run.base_frames, run.chain = scope, len(run.states.frames), []
    try:
        yield
    finally:
        while len(run.states.frames) > run.base_frames:
            run.states.pop()
        run.scope()
        run.base_scope, run.base_frames, run.chain = outside
        for cell, state in cells.items():
            restore_cell(cell, state)
        for memory, kept in members:
            memory.cells[:] = kept
        for view, cell, steps, seen, version, untracked in views:
            view.cell, view.steps = cell, steps
            view.seen, view.seen_version, view.seen_untracked = seen, version, untracked


def _run_body(
    run: Functionalizer,
    module: GraphModule,
    fresh: Sequence[Any],
    captured: Sequence[Any],
    carried: Sequence[Cell],
    written_first: bool = False,
) -> FunctionalBody:
    """Run a body whose first inputs are `fresh` values of these types; `carried` cells are passed
    after them, or before."""
    scope = Scope(run.scope())
    before = {cell: cell.version for cell in run.memories.cells()}
    types = placeholders(module.graph)
    with _inside(run, scope):
        if written_first:
            extra = [_carry_in(scope, cell) for cell in carried]
        values = [_input(run, scope, value, t) for value, t in zip(fresh, types)]
        if not written_first:
            extra = [_carry_in(scope, cell) for cell in carried]
        results = run.run(module, [*values, *captured])
        for value in values:
            if isinstance(value, Value) and value.cell.version > 0:
                raise run.error("a loop writes to a value that it carries; return the new value")
        after = {cell: cell_state(cell) for cell in run.memories.cells()}
        written = [cell for cell, version in before.items() if cell.version != version]
        nodes = [v.cell.data if isinstance(v, Value) else v.node for v in values]
        nodes = [*extra, *nodes] if written_first else [*nodes, *extra]
        return FunctionalBody(scope, results, after, written, nodes)


def _carry_in(scope: Scope, cell: Cell) -> Node:
    node = scope.add_input("written", like(cell.data.meta["val"]))
    if cell.data.meta["val"].requires_grad or cell.history.meta["val"].requires_grad:
        node.meta["val"] = fresh_result(cell.history.meta["val"])
    cell.data = cell.history = node
    return node


def _input(run: Functionalizer, scope: Scope, value: Any, place: Node) -> Any:
    if isinstance(value, Value):
        node = scope.add_input(place.name, fresh_result(value.eager))
        return run.memories.add_fresh(fresh_result(value.eager), node, run.states.inference())
    val = place.meta.get("val", value)
    return SymbolicNumber(scope.add_input(place.name, val), val)


def _finish(
    run: Functionalizer,
    body: FunctionalBody,
    written: Sequence[Cell],
    captures: Sequence[Node],
    written_first: bool = False,
) -> GraphModule:
    """The body as a module that takes its fresh inputs and `captures`, and returns its results and
    the final contents of the `written` cells."""
    for outer in captures:
        if outer not in body.scope.captures:
            made = body.scope.add_input(outer.name, outer.meta["val"], outer.meta)
            body.scope.captures[outer] = made
    with _inside(run, body.scope):
        for cell, state in body.after.items():
            restore_cell(cell, state)
        results = [_returned(run, body, result) for result in body.results]
        contents = [_own(run, body, run.content(cell)) for cell in written]
        outputs = [*contents, *results] if written_first else [*results, *contents]
    _order_inputs(body, [body.scope.captures[outer] for outer in captures])
    return body.scope.finish(outputs)


def _returned(run: Functionalizer, body: FunctionalBody, result: Any) -> Any:
    if isinstance(result, Value):
        return _own(run, body, run.read(result))
    return run.scope().use(result.node) if isinstance(result, SymbolicNumber) else result


def _own(run: Functionalizer, body: FunctionalBody, node: Node) -> Node:
    """A copy if it shares memory with an input: results of control flow alias nothing."""
    node = run.scope().use(node)
    storage = node.meta["val"].untyped_storage()._cdata
    inputs = [n.meta["val"] for n in placeholders(body.scope.graph)]
    shared = {t.untyped_storage()._cdata for t in inputs if isinstance(t, Tensor)}
    return run.emit(aten.clone.default, node) if storage in shared else node


def _order_inputs(body: FunctionalBody, captured: Sequence[Node]) -> None:
    graph = body.scope.graph
    first = next(iter(graph.nodes))
    for node in (*body.fresh, *captured):
        first.prepend(node) if node is not first else None
        first = node.next


def _add(run: Functionalizer, word: str, module: GraphModule) -> Node:
    scope = run.scope()
    return scope.graph.get_attr(scope.add_body(word, module))


def _result_vals(module: GraphModule) -> list[Any]:
    (outputs,) = output_node(module.graph).args
    return [
        fresh_result(v.meta["val"]) if isinstance(v, Node) else v
        for v in outputs  # type: ignore[union-attr]
    ]


def _results(
    run: Functionalizer,
    op: Any,
    args: tuple[Any, ...],
    vals: Sequence[Any],
    written: Sequence[Cell],
    first: bool = True,
) -> list[Any]:
    """Emit the op, record what it wrote, and return its other results as Values. With `first`, the
    written contents are the first results, not the last."""
    call = run.emit_known(tuple(vals), op, args, {})
    items = [run.emit(operator.getitem, call, i) for i in range(len(vals))]
    count = len(written)
    if first:
        contents, items = items[:count], items[count:]
    else:
        contents, items = items[len(items) - count :], items[: len(items) - count]
    for cell, content in zip(written, contents):
        cell.data = content
        cell.version += 1
        if run.states.grad_enabled():
            cell.history, cell.tracked = content, True
    return [_wrap(run, item) for item in items]


def _wrap(run: Functionalizer, item: Node) -> Any:
    val = item.meta["val"]
    if isinstance(val, Tensor):
        return run.memories.add_fresh(fresh_result(val), item, run.states.inference())
    return SymbolicNumber(item, val)


def _union(groups: Any) -> Any:
    return tuple(dict.fromkeys(item for group in groups for item in group))
