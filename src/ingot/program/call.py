"""Call a program like the model it was made from. Returns the model's result in the same pytree;
writes to inputs and buffers are done and, for a training step, gradients are accumulated. Arguments
that the program was not made for are refused before anything runs, and the error names the first
mismatch.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import sympy
import torch
from torch.fx import Node
from torch.utils import _pytree as pytree

from ingot.errors import InputError
from ingot.program.assumptions import (
    check_aliases,
    check_modes,
    check_plain,
    check_writable,
    in_known_layout,
)
from ingot.program.eager_run import run_graph
from ingot.program.graph import memory_root, output_values, placeholders
from ingot.program.program import CallSpec, Fixed, Program
from ingot.program.record import Record, RecordLayout, class_name


def call_program(program: Program, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    calling = call_spec(program)
    values = bind(program, args, kwargs)
    results = run_graph(program.graph_module, values)
    return finish(program, calling, values, results)


def call_spec(program: Program) -> CallSpec:
    if program.calling is None:
        raise InputError("this program was taken out of a larger one and has no signature to call")
    return program.calling


def bind(program: Program, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
    """A value for each placeholder: the module's own tensors and the user's arguments."""
    calling = call_spec(program)
    values, sizes = match(program, args, kwargs)
    check_modes(calling, values)
    check_aliases(program, values)
    check_writable(program, values)
    return in_known_layout(program, calling, values, sizes)


def match(
    program: Program, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[list[Any], dict[Any, int]]:
    """A value for each placeholder, and the sizes that they bind. Only structure, dtypes and sizes
    are compared, which every kind of tensor has."""
    calling = call_spec(program)
    leaves = _flatten(calling, args, kwargs)
    specs, nodes = program.signature.inputs, placeholders(program.graph)
    values = [program.state.get(spec.target) if spec.target else None for spec in specs]
    for i, ((path, leaf), wanted) in enumerate(zip(leaves, calling.arguments)):
        if isinstance(wanted, Fixed):
            _check_fixed(path, leaf, wanted.value)
        else:
            _check_type(path, leaf, nodes[wanted].meta["val"])
            check_plain(calling, i, path, leaf)
            values[wanted] = leaf
    return values, _check_sizes(program, values)


def finish(
    program: Program, calling: CallSpec, values: Sequence[Any], results: Sequence[Any]
) -> Any:
    """Write back what the graph returned beside the user's outputs; return the outputs as a
    pytree."""
    outputs = write_back(program, values, results)
    if shares_objects(program):
        outputs = objects_of(program)(values, outputs)
    return pytree.tree_unflatten(outputs, calling.out_spec)


def shares_objects(program: Program) -> bool:
    """May an output be an input, an earlier output, or a view of one?"""
    count = program.signature.user_outputs()
    specs = program.signature.outputs[:count]
    values = output_values(program.graph)[:count]
    roots = [memory_root(value) for value in values if isinstance(value, Node)]
    given = set(placeholders(program.graph))
    known = any(spec.is_input is not None or spec.is_output is not None for spec in specs)
    return known or len({*roots, *given}) != len(roots) + len(given)


def objects_of(program: Program) -> Callable[[Sequence[Any], Sequence[Any]], list[Any]]:
    """A function of the inputs and the outputs that makes each output the object that it is in
    eager: an input, an earlier output, or an object of its own."""
    specs = program.signature.outputs[: program.signature.user_outputs()]

    def settle(inputs: Sequence[Any], outputs: Sequence[Any]) -> list[Any]:
        settled: list[Any] = []
        taken = {id(value) for value in inputs}
        for spec, output in zip(specs, outputs, strict=True):
            if spec.is_input is not None:
                output = inputs[spec.is_input]
            elif spec.is_output is not None:
                output = settled[spec.is_output]
            elif isinstance(output, torch.Tensor) and id(output) in taken:
                output = torch.ops.aten.alias.default(output)
            taken.add(id(output))
            settled.append(output)
        return settled

    return settle


def write_back(program: Program, values: Sequence[Any], results: Sequence[Any]) -> list[Any]:
    """Do the writes that the graph returned beside the user's outputs; return those outputs."""
    return accumulate(program, values, write_mutations(program, values, results))


def write_mutations(program: Program, values: Sequence[Any], results: Sequence[Any]) -> list[Any]:
    """Do the writes to inputs; return the other results: the user's outputs and gradients."""
    pending, others = [], []
    for spec, result in zip(program.signature.outputs, results, strict=True):
        if spec.kind == "user":
            others.append(result)
            continue
        kept = _kept(result, values)
        if spec.kind == "gradient":
            others.append(kept)
            continue
        assert spec.target is not None
        own = program.signature.inputs[spec.target].target is not None
        tracked = spec.tracked and torch.is_grad_enabled()
        pending.append((values[spec.target], kept, tracked, own))
    for target, result, tracked, own in pending:
        if tracked and own and not target._is_view():
            target.detach_()  # the result has its history
        with torch.set_grad_enabled(tracked):
            target.copy_(result)
    return others


def trains(program: Program) -> bool:
    return any(spec.kind == "gradient" for spec in program.signature.outputs)


def accumulate(program: Program, values: Sequence[Any], results: Sequence[Any]) -> list[Any]:
    """Add gradients to those of the inputs, as backward() does; return the user's outputs, which
    have no history then: there is no second backward."""
    if not trains(program):
        return list(results)
    count = program.signature.user_outputs()
    targets = [spec.target for spec in program.signature.outputs if spec.kind == "gradient"]
    with torch.no_grad():
        for target, result in zip(targets, results[count:], strict=True):
            assert target is not None
            value = values[target]
            if value.grad is None:
                value.grad = torch.empty_like(value).copy_(result)
            else:
                value.grad.add_(result)
    return [o.detach() if isinstance(o, torch.Tensor) else o for o in results[:count]]


def _kept(result: torch.Tensor, values: Sequence[Any]) -> torch.Tensor:
    """`result`, safe from the writes that precede its own."""
    storage = result.untyped_storage().data_ptr()
    shared = any(
        isinstance(v, torch.Tensor) and v.untyped_storage().data_ptr() == storage for v in values
    )
    return result.clone() if shared else result


def _flatten(
    calling: CallSpec, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> list[tuple[str, Any]]:
    names = calling.in_spec.child(1).context
    if set(kwargs) != set(names):
        raise InputError(
            f"keyword arguments {sorted(kwargs)}, the program was made with {sorted(names)}"
        )
    leaves, spec = pytree.tree_flatten_with_path((tuple(args), dict(kwargs)))
    order = leaf_order(spec, calling.in_spec)
    if order is None:
        raise InputError(
            "the arguments have another structure than those the program was made with",
            hints=[f"made with: {calling.in_spec}", f"given: {spec}"],
        )
    return [(_path_text(path), leaf) for path, leaf in (leaves[k] for k in order)]


def in_order(
    calling: CallSpec, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The same arguments with the keys of dicts in the order in which the program has them. Other
    arguments are returned as they are."""
    leaves, spec = pytree.tree_flatten((args, kwargs))
    order = leaf_order(spec, calling.in_spec)
    if order is None or order == list(range(len(leaves))):
        return args, kwargs
    made: Any = pytree.tree_unflatten([leaves[k] for k in order], calling.in_spec)
    return made


def leaf_order(given: pytree.TreeSpec, wanted: pytree.TreeSpec) -> list[int] | None:
    """For each leaf of `wanted` its number in `given`, in which dicts may have their keys in
    another order and a torch.Size may be a tuple. None if the structures differ otherwise."""
    if given.is_leaf() or wanted.is_leaf():
        return [0] if given.is_leaf() and wanted.is_leaf() else None
    if not _is_same_container(given, wanted):
        return None
    starts, end = [], 0
    for child in given.children():
        starts.append(end)
        end += child.num_leaves
    pairs = list(zip(given.children(), starts))
    if given.type is dict:
        known = dict(zip(given.context, pairs))
        pairs = [known[key] for key in wanted.context]
    order: list[int] = []
    for (child, start), other in zip(pairs, wanted.children()):
        inner = leaf_order(child, other)
        if inner is None:
            return None
        order += [start + k for k in inner]
    return order


def _is_same_container(given: pytree.TreeSpec, wanted: pytree.TreeSpec) -> bool:
    if given.num_children != wanted.num_children:
        return False
    if given.type is dict and wanted.type is dict:
        return set(given.context) == set(wanted.context)
    if wanted.type is Record and given.type is not Record:
        layout: RecordLayout = wanted.context
        return class_name(given.type) == layout.class_name and given.context == layout.context
    if given.type is namedtuple and wanted.type is namedtuple:
        return _namedtuple_name(given.context) == _namedtuple_name(wanted.context)
    kinds = [tuple if kind is torch.Size else kind for kind in (given.type, wanted.type)]
    return kinds[0] is kinds[1] and given.context == wanted.context


def _namedtuple_name(kind: Any) -> tuple[str, tuple[str, ...]]:
    return kind.__name__, kind._fields


def _path_text(path: Sequence[Any]) -> str:
    """`args[0]` or `kwargs['mask']`."""
    return ("args", "kwargs")[path[0].idx] + pytree.keystr(tuple(path[1:]))


def _check_fixed(path: str, leaf: Any, value: Any) -> None:
    same = leaf is value or (type(leaf) is type(value) and leaf == value)
    if not same:
        raise InputError(f"{path} is {leaf!r}; the program was made for {value!r}")


def _check_type(path: str, leaf: Any, wanted: Any) -> None:
    if isinstance(wanted, torch.Tensor) != isinstance(leaf, torch.Tensor):
        raise InputError(f"{path} is a {type(leaf).__name__}, not a {_kind_name(wanted)}")
    if not isinstance(leaf, torch.Tensor):
        return
    if leaf.dtype != wanted.dtype:
        raise InputError(f"{path} is {leaf.dtype}; the program was made for {wanted.dtype}")
    if leaf.dim() != wanted.dim():
        raise InputError(
            f"{path} has shape {list(leaf.shape)}; the program was made for {wanted.dim()} dims"
        )


def _kind_name(wanted: Any) -> str:
    return "tensor" if isinstance(wanted, torch.Tensor) else "number"


def _check_sizes(program: Program, values: Sequence[Any]) -> dict[Any, int]:
    """Check sizes against the graph: one value per symbol, each in its range. Returns the
    values."""
    bound: dict[Any, int] = {}
    pairs = [
        (spec.name, dim, wanted, given)
        for spec, node, value in zip(
            program.signature.inputs, placeholders(program.graph), values, strict=True
        )
        for dim, wanted, given in _sizes(node.meta["val"], value)
    ]
    for name, dim, wanted, given in pairs:
        if isinstance(wanted, torch.SymInt) and wanted.node.expr.is_Symbol:
            known = bound.setdefault(wanted.node.expr, given)
            _check_range(program, name, dim, wanted.node.expr.name, given)
            _check_size(name, dim, known, given)
    for name, dim, wanted, given in pairs:
        if isinstance(wanted, int):
            _check_size(name, dim, wanted, given)
        else:
            expected = wanted.node.expr.xreplace({s: sympy.Integer(v) for s, v in bound.items()})
            if expected.is_Integer:
                _check_size(name, dim, int(expected), given)
    _check_guards(program, pairs, bound)
    return bound


def _check_guards(
    program: Program, pairs: Sequence[tuple[str, int, Any, int]], bound: Mapping[Any, int]
) -> None:
    values = {symbol: sympy.Integer(value) for symbol, value in bound.items()}
    for guard in program.guards:
        if guard.condition.xreplace(values) not in (False, sympy.false):
            continue
        texts = {
            wanted.node.expr: sympy.Symbol(_where(name, dim))
            for name, dim, wanted, _ in reversed(pairs)
            if isinstance(wanted, torch.SymInt) and wanted.node.expr.is_Symbol
        }
        used = sorted(guard.condition.free_symbols, key=str)
        given = ", ".join(f"{texts[s]} is {bound[s]}" for s in used)
        raise InputError(
            f"{given}; the program was made for {guard.condition.xreplace(texts)}",
            hints=["compile it with arguments like these as well"],
        )


def _where(name: str, dim: int) -> str:
    return f"dim {dim} of {name}" if dim >= 0 else name


def _sizes(wanted: Any, value: Any) -> list[tuple[int, Any, int]]:
    if isinstance(wanted, torch.Tensor):
        return [(i, w, g) for i, (w, g) in enumerate(zip(wanted.shape, value.shape))]
    return [(-1, wanted, value)] if isinstance(wanted, torch.SymInt) else []


def _check_size(name: str, dim: int, wanted: int, given: int) -> None:
    if wanted != given:
        raise InputError(f"{_where(name, dim)} is {given}; the program was made for {wanted}")


def _check_range(program: Program, name: str, dim: int, symbol: str, given: int) -> None:
    known = program.symbols.get(symbol)
    if known is None:
        return
    if given < known.lower or (known.upper is not None and given > known.upper):
        limit = "" if known.upper is None else known.upper
        raise InputError(
            f"{_where(name, dim)} is {given}; the program takes {known.lower}..{limit}"
        )
