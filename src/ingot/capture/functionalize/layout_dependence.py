"""Dependence of aliasing on the strides of inputs. Composite ops such as `reshape` and `contiguous`
return a view or a copy, as the layout of their argument allows. Decides whether a program made for
one layout agrees with eager for another. A write to either side is observable, and so is a result
that is returned beside its source.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch._ops import OpOverload
from torch.utils import _pytree as pytree

from ingot.capture.functionalize.cells import CellStorage, Value
from ingot.program.program import Assumption


@dataclass
class Layouts:
    decisions: list[tuple[CellStorage, CellStorage]] = field(default_factory=list)
    """The memories of the argument and of the result."""

    def note(self, source: Value, results: Sequence[Any]) -> None:
        for leaf in pytree.tree_leaves(results):
            if isinstance(leaf, Value):
                self.decisions.append((source.cell.memory, leaf.cell.memory))

    def assumed(
        self, inputs: Collection[CellStorage], returned: Sequence[CellStorage]
    ) -> set[Assumption]:
        """`inputs`: the memories that the caller has; `returned`: one per output."""
        if not self.decisions:
            return set()
        seen = any(_is_seen(*pair, inputs, returned) for pair in self.decisions)
        return {"sharing"} if seen else {"layout"}


def _is_seen(
    source: CellStorage,
    made: CellStorage,
    inputs: Collection[CellStorage],
    returned: Sequence[CellStorage],
) -> bool:
    if source.written_at is not None or made.written_at is not None:
        return True
    outside = sum(memory is source or memory is made for memory in returned)
    return made in returned and (source in inputs or outside > 1)


def decided_by_layout(op: OpOverload, args: Any, kwargs: Any) -> bool:
    """Whether another layout of the first argument would turn a copy into a view, or the
    reverse."""
    source, *rest = args
    if source.layout is not torch.strided or source.dim() == 0:
        return False
    if not all(type(size) is int for size in (*source.shape, *source.stride())):
        return True
    with torch.no_grad():
        found = {_shares(op, other, rest, kwargs) for other in _layouts(source)}
    return len(found) > 1


def _layouts(source: Tensor) -> Iterator[Tensor]:
    """Its own layout, row-major, column-major, with gaps, and as a view that negates or
    conjugates."""
    shape = list(source.shape)
    yield torch.empty_strided(shape, source.stride(), dtype=source.dtype, device=source.device)
    rows = source.new_empty(shape)
    yield rows
    yield source.new_empty(shape[::-1]).permute(*reversed(range(len(shape))))
    yield source.new_empty([*shape, 2]).select(-1, 0)
    if source.is_floating_point() or source.is_complex():
        yield torch._neg_view(rows)
    if source.is_complex():
        yield rows.conj()


def _shares(op: OpOverload, source: Tensor, rest: Sequence[Any], kwargs: Any) -> bool | None:
    """None if the op does not accept this layout."""
    try:
        results = pytree.tree_leaves(op(source, *rest, **kwargs))
    except RuntimeError:
        return None
    storage = source.untyped_storage()._cdata
    tensors = [t for t in results if isinstance(t, Tensor) and t.layout is torch.strided]
    return any(t.untyped_storage()._cdata == storage for t in tensors)
