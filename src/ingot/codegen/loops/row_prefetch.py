"""Prefetches gathered rows, such as those of an embedding, a few rows ahead: the hardware cannot
predict them. Reads only indices that the loop reads as well. An invalid row is no failure here.
"""

from __future__ import annotations

from ingot.codegen.loops.loop_sizes import I64
from ingot.codegen.loops.nest import NestWriter
from ingot.fuse.expr import Checked, Guarded, Load, Reduce, Scan, ordered
from ingot.fuse.index import Var

AHEAD = 6
"""Rows between a prefetch and its use."""
BEGINNING = 512
"""Bytes to prefetch of a row: the hardware prefetches the rest."""


def gathered_rows(w: NestWriter, var: Var) -> list[Load]:
    """Loads along the vector from rows that are gathered anew at each step of `var`."""
    roots = [store.value for store in w.nest.stores]
    certain = ordered(roots, stop=lambda e: isinstance(e, Guarded))
    return [e for e in certain if isinstance(e, Load) and w.is_far(e) and _is_gathered(e, w, var)]


def _is_gathered(load: Load, w: NestWriter, var: Var) -> bool:
    named = [gathered.value for gathered in load.index.gathered()]
    if not named or not w.is_contiguous(load.index):
        return False
    return all(
        isinstance(each, Checked)
        and var in each.variables() <= set(w.nest.outer)
        and not any(isinstance(e, Reduce | Scan) for e in ordered([each]))
        for each in named
    )


def prefetch_rows(w: NestWriter, var: Var) -> None:
    """Prefetches the row of a few steps of `var` later, or the last one."""
    if w.lanes == 1 or w.nest.vector is None:
        return
    picked = gathered_rows(w, var)
    if not picked:
        return
    here, memo = w.at, w.memo
    last = w.b.sub(w.size(var.size), w.const(1))
    w.at = {**here, **dict.fromkeys((*w.nest.inner, w.nest.vector), w.const(0))}
    w.at[var] = w.b.minimum(w.b.add(here[var], w.const(AHEAD)), last)
    w.memo = [{}]
    for load in picked:
        for gathered in load.index.gathered():
            w.memo[0][gathered.value] = w.b.cast(w.value(gathered.value.value), I64)
        start = w.b.pointer_at(
            w.buffers[load.buffer], w.index(load.index, first_lane=True), load.dtype
        )
        length = w.nest.vector.size
        whole = length * load.dtype.itemsize if isinstance(length, int) else BEGINNING
        w.b.fetch(start, min(whole, BEGINNING))
    w.at, w.memo = here, memo
