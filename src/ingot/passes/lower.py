"""Lowering from pre-dispatch to aten level. Composite ops are decomposed, autocast regions become
casts, and constructs that only autograd sees (grad regions, `carry`) are removed. Writes, and
outputs that are inputs, are preserved.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar

from torch import Tensor
from torch.utils import _pytree as pytree

from ingot.passes.base import Pass, ProgramDraft, run_passes
from ingot.passes.composites import casting_parts, composite_table
from ingot.passes.decompose import decomposition_table
from ingot.passes.decompositions.random_ops import order_random_ops, random_decompositions
from ingot.passes.decompositions.recurrent import dropout_between_layers
from ingot.passes.native import core_passes
from ingot.program.call import call_spec
from ingot.program.from_exported import program_from_exported
from ingot.program.graph import composite_ops
from ingot.program.mode_regions import carry
from ingot.program.program import CallSpec, Level, OutputSpec, Program, Signature
from ingot.program.to_exported import program_to_exported


@dataclass(frozen=True)
class Lower(Pass):
    """Decompose composite ops and dissolve regions."""

    name: ClassVar[str] = "lower"
    leaves: ClassVar[Level | None] = Level.ATEN
    core: bool = False
    """Also decompose ops that do not exist at core level."""

    def rewrite(self, draft: ProgramDraft) -> list[str]:
        given = draft.close(draft.program.journal, Level.PRE_DISPATCH)
        exported = program_to_exported(_returning_all(given))
        order_random_ops(exported.graph_module)
        with dropout_between_layers(), casting_parts(composite_table()) as composites:
            lowered = exported.run_decompositions({**composites, **_table(self.core)})
        program = program_from_exported(lowered, Level.ATEN)
        outputs = _outputs(given, program)
        draft.program = replace(given, calling=_calling(given, program))
        draft.module, draft.signature = (
            program.graph_module,
            Signature(program.signature.inputs, outputs),
        )
        draft.constants, draft.symbols = dict(program.constants), program.symbols
        draft.refresh()
        count = composite_ops(given.graph_module).total()
        return [f"{count} composite ops decomposed"]


def _returning_all(program: Program) -> Program:
    """The program with writes as plain outputs: otherwise PyTorch copies views of a written input
    to fresh memory with the new value."""
    calling = call_spec(program)
    count = len(program.signature.outputs)
    flat = pytree.tree_structure(tuple(range(count)))
    outputs = tuple(OutputSpec("user") for _ in range(count))
    return replace(
        program,
        signature=replace(program.signature, outputs=outputs),
        calling=replace(calling, out_spec=flat),
    )


def _outputs(given: Program, lowered: Program) -> tuple[OutputSpec, ...]:
    """The given program's outputs, with targets renumbered for the new order of inputs."""
    order = _new_places(given, lowered)
    return tuple(
        OutputSpec(spec.kind, order[spec.target])
        if spec.target is not None
        else replace(spec, alias_of=new.alias_of, is_input=_index(order, spec.is_input))
        for spec, new in zip(given.signature.outputs, lowered.signature.outputs, strict=True)
    )


def _index(order: Mapping[int, int], index: int | None) -> int | None:
    return None if index is None else order[index]


def _new_places(given: Program, lowered: Program) -> dict[int, int]:
    targets = {spec.target: i for i, spec in enumerate(lowered.signature.inputs) if spec.target}
    places = {
        i: targets[spec.target]
        for i, spec in enumerate(given.signature.inputs)
        if spec.target in targets
    }
    pairs = zip(call_spec(given).arguments, call_spec(lowered).arguments, strict=True)
    return {**places, **{a: b for a, b in pairs if isinstance(a, int) and isinstance(b, int)}}


def _calling(given: Program, lowered: Program) -> CallSpec:
    """Whether grad is enabled no longer matters: its regions are gone, folded away or not."""
    known = call_spec(given)
    assumes = known.assumes - {"grad"}
    return replace(call_spec(lowered), out_spec=known.out_spec, assumes=assumes, plain=known.plain)


def lower_program(program: Program, level: Level) -> Program:
    """Lower the program to `level`; returns it unchanged if it is there already."""
    passes: list[Pass] = []
    if program.level is Level.PRE_DISPATCH and level is not Level.PRE_DISPATCH:
        passes.append(Lower(core=level is Level.CORE))
    if level is Level.CORE and program.level is not Level.CORE:
        passes += core_passes()
    return run_passes(program, passes) if passes else program


def _table(core: bool) -> Mapping[Any, Any]:
    """Decompositions beside those of composite ops."""
    own = {**random_decompositions, carry: _data_of_carry}
    return MappingProxyType({**(decomposition_table() if core else {}), **own})


def _data_of_carry(old: Tensor, new: Tensor) -> Tensor:
    return new.clone()
