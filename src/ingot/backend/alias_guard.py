"""A guard for inputs whose memory overlaps differently than at compile time. AOTAutograd compiles
for the aliasing of the example inputs, and Dynamo guards neither on it, unless two inputs are the
same tensor, nor on storage offsets. A graph that writes inputs checks in every call; with other
aliases it runs as Dynamo captured it, in eager.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx
from torch._guards import TracingContext

from ingot.runtime.apart import apart, written_first


def guard_aliases(
    compiled: Callable[..., Any], gm: fx.GraphModule, inputs: Sequence[Any]
) -> Callable[..., Any]:
    """`compiled`, behind a check if the graph writes inputs."""
    written = _written(len(inputs))
    tensors = [k for k, value in enumerate(inputs) if _is_strided(value)]
    written = [k for k in written if k in tensors]
    static = _static() - {*written}
    order = written_first(written, [k for k in tensors if k not in static])
    if not written or len(order) < 2:
        return compiled
    known = _shared([inputs[k] for k in order], len(written))
    check = apart(len(written), len(order))

    def guarded(*values: Any) -> Any:
        given = [values[k] for k in order]
        if (known or check(*given)) and _shared(given, len(written)) != known:
            return gm(*values)
        return compiled(*values)

    return guarded


def _written(count: int) -> list[int]:
    """Inputs that the graph writes; all of them if some share memory already, because AOTAutograd's
    metadata then describes their common bases."""
    context = TracingContext.try_get()
    meta = context.fw_metadata if context is not None else None
    if meta is None:
        return []
    if len(meta.input_info) != count:
        return list(range(count))
    return [k for k, info in enumerate(meta.input_info) if info.mutates_data]


def _static() -> set[int]:
    """Parameters and buffers: their memory stays the same from call to call."""
    context = TracingContext.try_get()
    meta = context.fw_metadata if context is not None else None
    return set(meta.static_input_indices) if meta is not None else set()


def _is_strided(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.layout is torch.strided


def _shared(tensors: Sequence[torch.Tensor], written: int) -> dict[tuple[int, ...], Any]:
    """Groups of tensors in one storage with a written one, and the geometry of each."""
    groups: dict[int, list[int]] = {}
    for k, tensor in enumerate(tensors):
        groups.setdefault(tensor.untyped_storage()._cdata, []).append(k)
    return {
        tuple(group): [_geometry(tensors[k]) for k in group]
        for group in groups.values()
        if len(group) > 1 and group[0] < written
    }


def _geometry(tensor: torch.Tensor) -> tuple[Any, ...]:
    numbers = (*tensor.shape, *tensor.stride(), tensor.storage_offset())
    return (tensor.dtype, *(n if isinstance(n, int) else n.node.hint for n in numbers))
