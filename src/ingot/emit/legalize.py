"""Rewrites a Program at aten level into a form that torch-mlir's pipelines take: the importer and
the dialect's pipeline know every op, small constants are part of the graph, and all other tensors
are inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, ClassVar

import torch
from torch._decomp import get_decompositions
from torch.fx import Node

from ingot.dispatch.resolve import Resolve
from ingot.emit.assertions import ASSERTIONS
from ingot.emit.branches import Choose
from ingot.emit.declared_calls import with_texts
from ingot.emit.decompositions import own_decompositions
from ingot.emit.dynamic_sizes import Sizes
from ingot.emit.fourier import TRANSFORMS
from ingot.emit.integers import WideSums
from ingot.emit.levels import Dialect
from ingot.emit.pair_rules import BY_PARTS, by_parts
from ingot.emit.pairs import Pairs, is_complex
from ingot.emit.rewrites import early_rules, spelling_rules
from ingot.passes.base import Pass, ProgramDraft, RuleTable, apply_rules, run_passes
from ingot.passes.expand import Expand
from ingot.passes.fold import Fold
from ingot.program.graph import (
    memory_root,
    output_node,
    output_values,
    placeholders,
    views_between,
)
from ingot.program.program import OutputSpec, Program, Signature

aten = torch.ops.aten

SMALL = 64
"""Constants of at most this many elements are written into the text."""

CHECKS: tuple[Any, ...] = (
    *ASSERTIONS,
    aten._assert_tensor_metadata.default,
    aten._linalg_check_errors.default,
    aten.sym_constrain_range.default,
    aten.sym_constrain_range_for_size.default,
)


WELL_KNOWN = (
    aten.t.default, aten.transpose.int, aten.addmm.default, aten.squeeze.default, aten.squeeze.dim,
    aten.squeeze.dims,
)  # fmt: skip
"""Ops that the pipelines lower directly; decomposing them is not worth a trace."""


FROM_PYTORCH = (
    aten.addmv, aten.as_strided_copy,
    aten._batch_norm_with_update_functional, aten.max_pool2d_with_indices_backward, aten.ldexp,
    aten.narrow_copy, aten.view_copy, aten.permute_copy,
    aten.expand_copy, aten.diagonal_copy, aten.select_copy, aten.slice_copy, aten.split_copy,
    aten.squeeze_copy, aten.t_copy, aten.transpose_copy, aten.unbind_copy, aten.unfold_copy,
    aten.unsqueeze_copy, aten.split_with_sizes_copy,
)  # fmt: skip
"""Ops with a good decomposition in PyTorch that torch-mlir's table does not include."""


Expansion = Callable[..., Any] | str
"""A decomposition: a Python function, or the text of a function in the target dialect."""


def legalize(
    program: Program, dialect: Dialect, extra: Mapping[Any, Expansion], checks: bool = False
) -> Program:
    """`extra`: more decompositions. `checks`: keep the program's runtime assertions."""
    texts = {op: how for op, how in extra.items() if isinstance(how, str)}
    functions = {op: how for op, how in extra.items() if not isinstance(how, str)}
    program = with_texts(program, texts)
    steps: list[Pass] = [
        Resolve(),
        *([] if dialect.branches else [Choose()]),
        ValuesOnly(checks),
        Embed(),
        *([] if dialect.complex else [Pairs()]),
        Fold(),
        Respell(early_rules),
        Expand({**_table(program, dialect.name), **functions}),
        Respell(spelling_rules),
        *([] if dialect.sizes else [Sizes(dialect.one_size)]),
        *([WideSums()] if dialect.narrows else []),
        Sweep(),
    ]
    return replace(run_passes(program, steps), calling=None)


def _table(program: Program, dialect: str) -> dict[Any, Any]:
    known = decompositions(dialect)
    if not any(map(is_complex, program.graph.nodes)):
        return known
    return {**known, **{op: by_parts(op, known.get(op)) for op in (*BY_PARTS, *TRANSFORMS)}}


@cache
def decompositions(dialect: str) -> dict[Any, Any]:
    from torch_mlir.extras.fx_decomp_util import get_decomposition_table

    import ingot.emit.bessel
    import ingot.emit.elementwise
    import ingot.emit.matrices
    import ingot.emit.orders
    import ingot.emit.sampling
    import ingot.emit.scatters
    import ingot.emit.special_functions
    import ingot.emit.sums
    import ingot.emit.tosa_functions
    import ingot.emit.windows  # noqa: F401

    chosen = get_decompositions(FROM_PYTORCH)
    own = {**own_decompositions[""], **own_decompositions.get(dialect, {})}
    table = {**get_decomposition_table(), **chosen, **own}
    return {op: how for op, how in table.items() if op not in WELL_KNOWN}


@dataclass(frozen=True)
class ValuesOnly(Pass):
    """Replace outputs that are mutated inputs, or views of them, by the values written. Drop all
    checks, or with `checks` only those that compute nothing, such as checks of ranges."""

    name: ClassVar[str] = "values-only"
    checks: bool = False

    def rewrite(self, draft: ProgramDraft) -> list[str]:
        values = list(output_values(draft.graph))
        inputs = placeholders(draft.graph)
        specs = draft.signature.outputs
        written = {
            inputs[spec.target]: value
            for spec, value in zip(specs, values)
            if spec.kind == "mutation" and spec.target is not None
        }
        user = draft.signature.user_outputs()
        values[:user] = [self._of_written(draft, value, written) for value in values[:user]]
        output_node(draft.graph).args = (tuple(values),)
        draft.signature = replace(
            draft.signature, outputs=tuple(OutputSpec(s.kind, s.target) for s in specs)
        )
        kept = ASSERTIONS if self.checks else ()
        dropped = [n for n in draft.graph.nodes if n.target in CHECKS and n.target not in kept]
        for node in dropped:
            draft.graph.erase_node(node)
        return [f"dropped {len(dropped)} checks"] if dropped else []

    def _of_written(self, draft: ProgramDraft, value: Any, written: Mapping[Node, Any]) -> Any:
        if not isinstance(value, Node) or memory_root(value) not in written:
            return value
        source = written[memory_root(value)]
        for view in views_between(value):
            args = (source, *view.args[1:])
            source = draft.call(output_node(draft.graph), view.target, args, view.meta["val"],
                                **view.kwargs)  # fmt: skip
        return source


@dataclass(frozen=True)
class Embed(Pass):
    """Move small constants, which nothing mutates, into the graph."""

    name: ClassVar[str] = "embed"

    def rewrite(self, draft: ProgramDraft) -> list[str]:
        inputs = draft.signature.inputs
        kept = []
        for spec, node in zip(inputs, placeholders(draft.graph)):
            tensor = draft.program.state.get(spec.target or "")
            if spec.kind == "constant" and tensor is not None and _is_small(tensor):
                draft.swap(node, draft.add_constant(node, tensor))
            else:
                kept.append(spec)
        if len(kept) == len(inputs):
            return []
        draft.signature = _renumbered(draft.signature, [inputs.index(spec) for spec in kept])
        return [f"embedded {len(inputs) - len(kept)} constants"]


def _is_small(tensor: torch.Tensor) -> bool:
    """Few elements, of a dtype for which all dialects have literals."""
    kinds = (torch.uint8, torch.uint16, torch.uint32, torch.uint64)
    plain = not tensor.dtype.is_complex and tensor.dtype not in kinds
    return plain and tensor.numel() <= SMALL


def _renumbered(signature: Signature, kept: list[int]) -> Signature:
    places = {old: new for new, old in enumerate(kept)}
    outputs = tuple(
        replace(spec, target=None if spec.target is None else places[spec.target])
        for spec in signature.outputs
    )
    return Signature(tuple(signature.inputs[i] for i in kept), outputs)


@dataclass(frozen=True)
class Respell(Pass):
    name: ClassVar[str] = "respell"
    rules: RuleTable = field(default_factory=RuleTable, repr=False)

    def rewrite(self, draft: ProgramDraft) -> list[str]:
        return apply_rules(draft, self.rules)


@dataclass(frozen=True)
class Sweep(Pass):
    """Eliminate dead code."""

    name: ClassVar[str] = "sweep"

    def rewrite(self, draft: ProgramDraft) -> list[str]:
        before = len(draft.graph.nodes)
        draft.graph.eliminate_dead_code()
        return [f"dropped {before - len(draft.graph.nodes)} nodes"]
