"""A program's assumptions about a call, beyond the types of its arguments. Inputs are copied to the
layout that the program was made for if that suffices; otherwise InputError is raised. A call to
which eager would give another result is refused before anything runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sympy
import torch
from torch import Tensor
from torch.fx import Node

from ingot.errors import InputError
from ingot.program.graph import output_values, placeholders
from ingot.program.overlap import overlap, overlaps_itself
from ingot.program.program import CallSpec, Level, Program
from ingot.program.source import node_place


def check_modes(calling: CallSpec, values: Sequence[Any]) -> None:
    """Regions that changed nothing when the program was made are no longer in it."""
    with_grad = any(isinstance(value, Tensor) and value.requires_grad for value in values)
    if "grad" in calling.assumes and with_grad and not torch.is_grad_enabled():
        raise InputError(
            "grad is disabled; the program was made with grad enabled, and a region of it that "
            "enables grad was folded away",
            hints=["call it with grad enabled and detach the results"],
        )
    if "autocast" in calling.assumes and torch.is_autocast_enabled("cpu"):
        raise InputError(
            "autocast is enabled; the program was made without, and has parts that eager would "
            "not run under autocast",
            hints=["export a model that enters autocast itself"],
        )


def check_aliases(program: Program, values: Sequence[Any]) -> None:
    """A written input shares memory with no other tensor that the program uses."""
    specs, nodes = program.signature.inputs, placeholders(program.graph)
    written = {s.target for s in program.signature.outputs if s.kind == "mutation"}
    for i in written:
        assert i is not None
        for j, other in enumerate(values):
            if j == i or not isinstance(other, Tensor) or not (nodes[j].users or j in written):
                continue
            both_own = specs[i].target is not None and specs[j].target is not None
            if not both_own and overlap(values[i], other):  # the module's own were known at capture
                raise InputError(
                    f"{specs[i].name} is written to and shares memory with {specs[j].name}; the "
                    "program was made for inputs that do not",
                    hints=["give it a copy: x.clone()"],
                )


def check_writable(program: Program, values: Sequence[Any]) -> None:
    """Every written input is one that eager could write to."""
    for i, spec in enumerate(program.signature.outputs):
        if spec.kind != "mutation" or spec.target is None:
            continue
        known = program.signature.inputs[spec.target]
        rule = _forbidden(values[spec.target], spec.tracked and known.target is None)
        if rule is not None:
            result = output_values(program.graph)[i]
            place = node_place(result) if isinstance(result, Node) else None
            why = f"{known.name} is written to, and {rule}"
            raise InputError(why, place=place, hints=["give it a copy: x.clone()"])


def _forbidden(value: Tensor, tracked: bool) -> str | None:
    if value.is_inference() and not torch.is_inference_mode_enabled():
        return "was made under inference_mode"
    if value.layout is torch.strided and overlaps_itself(value):
        return "more than one element of it refers to a single memory location"
    if tracked and torch.is_grad_enabled() and value.is_leaf and value.requires_grad:
        return "is a leaf that requires grad"
    return None


def check_plain(calling: CallSpec, leaf: int, path: str, value: Any) -> None:
    if leaf in calling.plain and torch.is_grad_enabled() and value.requires_grad:
        raise InputError(
            f"{path} requires grad; eager would refuse what the program writes, which was made "
            "for one that does not"
        )


def in_known_layout(
    program: Program, calling: CallSpec, values: Sequence[Any], sizes: Mapping[Any, int]
) -> list[Any]:
    """Inputs with other strides than the example's are copied to its layout, if that is
    unobservable."""
    if not calling.assumes & {"layout", "sharing"}:
        return list(values)
    known = {
        i
        for spec in program.signature.outputs
        for i in (spec.target, spec.alias_of)
        if i is not None
    }
    made = []
    for i, (spec, node, value) in enumerate(
        zip(program.signature.inputs, placeholders(program.graph), values)
    ):
        wanted = node.meta["val"]
        if spec.kind != "user" or not isinstance(value, Tensor) or _fits(value, wanted, sizes):
            made.append(value)
        elif "sharing" in calling.assumes or i in known:
            raise InputError(
                f"{spec.name} has strides {list(value.stride())}, with which other tensors would "
                f"share memory than with those the program was made for: {list(wanted.stride())}"
            )
        else:
            made.append(_laid_out(value, wanted, sizes) if _is_early(program) else value)
    return made


def _is_early(program: Program) -> bool:
    """Lower levels handle layouts themselves."""
    return program.level is Level.PRE_DISPATCH


def _fits(value: Tensor, wanted: Tensor, sizes: Mapping[Any, int]) -> bool:
    if value.layout is not torch.strided or wanted.layout is not torch.strided:
        return value.layout == wanted.layout
    if value.is_conj() != wanted.is_conj() or value.is_neg() != wanted.is_neg():
        return False
    rows = zip(value.shape, value.stride(), _strides(wanted, sizes))
    return value.numel() < 2 or all(
        size == 1 or expected is None or stride == expected for size, stride, expected in rows
    )


def _strides(wanted: Tensor, sizes: Mapping[Any, int]) -> list[int | None]:
    return [_number(stride, sizes) for stride in wanted.stride()]


def _number(stride: Any, sizes: Mapping[Any, int]) -> int | None:
    if not isinstance(stride, torch.SymInt):
        return int(stride)
    found = stride.node.expr.xreplace({s: sympy.Integer(v) for s, v in sizes.items()})
    return int(found) if found.is_Integer else None


def _laid_out(value: Tensor, wanted: Tensor, sizes: Mapping[Any, int]) -> Tensor:
    strides = _strides(wanted, sizes)
    if value.layout is not torch.strided or any(stride is None for stride in strides):
        return value
    made = torch.empty_strided(value.shape, strides, dtype=value.dtype, device=value.device)  # type: ignore[arg-type]
    return made.copy_(value)
