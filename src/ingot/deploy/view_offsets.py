"""Where the views among a plan's results begin: the offset of each from the start of its memory."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from ingot.errors import SaveError
from ingot.plan.ir import Buffer, Call, Eager, Plan, Ref, walk
from ingot.plan.recipes import evaluate
from ingot.plan.resources import Resources
from ingot.program.shapes import Size

_SAME_START = frozenset(
    f"aten.{name}"
    for name in (
        "view.default", "_unsafe_view.default", "reshape.default", "permute.default", "t.default",
        "transpose.int", "unsqueeze.default", "squeeze.default", "squeeze.dim", "squeeze.dims",
        "expand.default", "alias.default", "detach.default",
    )
)  # fmt: skip
_FROM_INDEX = frozenset({"aten.select.int", "aten.slice.Tensor"})


def view_offsets(plan: Plan, resources: Resources) -> Mapping[str, Size]:
    """By buffer, in elements."""
    buffers = plan.by_name()
    found: dict[str, Size] = {}
    for op in walk(plan.ops):
        result = buffers.get(op.call.result) if isinstance(op, Eager) else None
        if not isinstance(op, Eager) or result is None or result.alias is None:
            continue
        source = _source(op.call, buffers)
        found[result.name] = found.get(source.name, 0) + _start(op.call, source, resources)
    return found


def _source(call: Call, buffers: Mapping[str, Buffer]) -> Buffer:
    """What the call makes a view of: possibly a view itself."""
    given = call.args[0]
    assert isinstance(given, Ref), "a view of nothing"
    return buffers[given.name]


def _start(call: Call, source: Buffer, resources: Resources) -> Size:
    """The element of the source at which a view begins."""
    if call.target in _SAME_START:
        return 0
    if call.target in _FROM_INDEX:
        dim, index = (*call.args[1:3], 0, 0)[:2]
        first = 0 if index is None else index
        if isinstance(first, int):
            return (first if first >= 0 else source.shape[dim] + first) * source.strides[dim]
    return _evaluated(call, source, resources)


def _evaluated(call: Call, source: Buffer, resources: Resources) -> int:
    """Computed by PyTorch, for static sizes."""
    if not all(isinstance(size, int) for size in (*source.shape, *source.strides)):
        raise SaveError(
            f"its result {call.result} is a view of dynamic size",
            hints=["return a copy: .clone() or .contiguous()"],
        )
    shape, strides = ([int(n) for n in each] for each in (source.shape, source.strides))
    base = torch.empty_strided(shape, strides, dtype=source.dtype, device="meta")
    target = resources.target(call.target)
    view = evaluate(call, target, {source.name: base}, resources.objects)
    return int(view.storage_offset())
