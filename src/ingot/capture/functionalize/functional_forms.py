"""Functional forms of ops that write to their arguments. The op that computes the written content
is found by schema (`add_` and `add.out` become `add`), with a short table for ops without such a
partner. The functional op takes the same arguments in the same order, except `out`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch._C import Argument
from torch._ops import OpOverload

aten = torch.ops.aten


@dataclass(frozen=True)
class FunctionalForm:
    """How to compute what a writing op writes."""

    op: OpOverload
    outs: tuple[str, ...] = ()
    """Arguments of the writing op that the functional one does not have."""
    fresh: bool = False
    """The previous content does not matter, only its shape: random ops."""
    along_memory: bool = False
    """It samples in the order of the memory that it writes; the functional op in that of the
    shape."""
    results: tuple[tuple[str, int], ...] = ()
    """Which result is the new content of which argument; empty: in order."""
    drop: int = 0
    """The number of last results of the functional op that the writing op does not return."""


_STATS = (("running_mean", 3), ("running_var", 4))
_STATS_BEHIND = (("running_mean", 4), ("running_var", 5))

_PARTNERS: dict[OpOverload, FunctionalForm] = {
    aten.normal_.default: FunctionalForm(aten.normal_functional.default, fresh=True),
    aten.uniform_.default: FunctionalForm(aten.uniform.default, fresh=True),
    aten.exponential_.default: FunctionalForm(aten.exponential.default, fresh=True),
    aten.geometric_.default: FunctionalForm(aten.geometric.default, fresh=True),
    aten.cauchy_.default: FunctionalForm(aten.cauchy.default, fresh=True),
    aten.log_normal_.default: FunctionalForm(aten.log_normal.default, fresh=True),
    aten.random_.default: FunctionalForm(aten.random.default, fresh=True),
    aten.random_.to: FunctionalForm(aten.random.to, fresh=True),
    getattr(aten.random_, "from"): FunctionalForm(getattr(aten.random, "from"), fresh=True),
    aten.bernoulli_.float: FunctionalForm(aten.bernoulli.p, fresh=True, along_memory=True),
    aten.bernoulli_.Tensor: FunctionalForm(aten.bernoulli.Tensor, fresh=True),
    aten._native_batch_norm_legit.default: FunctionalForm(
        aten._native_batch_norm_legit_functional.default, results=_STATS, drop=2
    ),
    aten._batch_norm_with_update.default: FunctionalForm(
        aten._batch_norm_with_update_functional.default, results=_STATS_BEHIND, drop=2
    ),
}


@cache
def functional_form(op: OpOverload) -> FunctionalForm | None:
    """None if the op has no functional partner."""
    if op in _PARTNERS:
        return _PARTNERS[op]
    outs = tuple(a.name for a in op._schema.arguments if a.is_out)
    if outs:
        partner = _same_arguments(op, _plain(op), outs)
        return FunctionalForm(partner, outs) if partner is not None else None
    partner = _same_arguments(op, _without_underscore(op), ())
    return FunctionalForm(partner) if partner is not None else None


def written_arguments(op: OpOverload) -> list[Argument]:
    """The arguments that the schema marks as written."""
    return [a for a in op._schema.arguments if a.alias_info is not None and a.alias_info.is_write]


def _plain(op: OpOverload) -> Any:
    return op.overloadpacket


def _without_underscore(op: OpOverload) -> Any:
    """The packet of `add` for `add_`, of `__and__` for `__iand__`."""
    space, name = op._schema.name.split("::")
    if name.startswith("__i") and name.endswith("__"):
        plain = f"__{name[3:]}"
    elif name.endswith("_"):
        plain = name[:-1]
    else:
        plain = f"{name}_functional"
    return getattr(getattr(torch.ops, space), plain, None)


def _same_arguments(op: OpOverload, packet: Any, outs: tuple[str, ...]) -> OpOverload | None:
    """The overload of `packet` that takes the same arguments and writes to none."""
    if packet is None:
        return None
    wanted = [_signature(a) for a in op._schema.arguments if a.name not in outs]
    for name in sorted(packet.overloads(), key=lambda n: n != op._overloadname):
        found: OpOverload = getattr(packet, name)
        schema = found._schema
        if not schema.is_mutable and [_signature(a) for a in schema.arguments] == wanted:
            return found
    return None


def _signature(argument: Argument) -> tuple[str, str]:
    return argument.name, str(argument.type)
