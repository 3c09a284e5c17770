"""Select native attention: replace PyTorch's attention op in a core program by our op where a
kernel exists. A mask whose values are known at compile time is dropped if it hides nothing or is
exactly causal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch.fx import Node

from ingot.ops.kernel_shapes import attends
from ingot.passes.base import Pass, ProgramDraft
from ingot.passes.fold import evaluated
from ingot.passes.normalize import val
from ingot.program.graph import is_item
from ingot.program.native_ops import attention
from ingot.program.shapes import arguments_of

FLASH = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default
MOST_ELEMENTS = 1 << 22
"""Size limit of a mask that is evaluated at compile time."""


@dataclass(frozen=True)
class Attention(Pass):
    name: ClassVar[str] = "attention"

    def rewrite(self, draft: ProgramDraft) -> list[str]:
        draft.refresh()
        found = [node for node in draft.graph.nodes if node.target is FLASH]
        taken = sum(_take(draft, node) for node in found)
        return [f"attention as native code: {taken}"] if taken else []


def _take(draft: ProgramDraft, node: Node) -> bool:
    given = arguments_of(node)
    items = [user for user in node.users if user.users]
    if len(items) != 1 or not is_item(items[0]) or items[0].args[1] != 0:
        return False
    query, key, value, mask = (given[n] for n in ("query", "key", "value", "attn_mask"))
    if given["dropout_p"] or not _fits(query, key, value) or not _mask_fits(query, key, mask):
        return False
    causal = bool(given["is_causal"])
    scale = given["scale"]
    if scale is None:
        scale = 1 / math.sqrt(val(query).shape[-1])
    if not isinstance(scale, int | float):
        return False
    if mask is not None and not causal:
        hides = _hides(draft, mask, val(query).shape[-2], val(key).shape[-2])
        mask, causal = (mask, False) if hides is None else (None, hides == "ahead")
    args = (query, key, value, mask, causal, float(scale))
    made = draft.call(items[0], attention, args, val(items[0]))
    draft.swap(items[0], made)
    for unused in [*node.users, node]:
        draft.graph.erase_node(unused)
    return True


def _fits(query: Node, key: Node, value: Node) -> bool:
    tensors = [val(n) for n in (query, key, value)]
    width = tensors[0].shape[-1]
    return (
        attends(tensors[0].dtype, width)
        and all(t.dtype is tensors[0].dtype and t.ndim == 4 and not t.is_neg() for t in tensors)
        and all(isinstance(t.shape[-1], int) and t.shape[-1] == width for t in tensors)
        and all(isinstance(t.stride(-1), int) and t.stride(-1) == 1 for t in tensors)
        and all(_same(t.shape[0], tensors[0].shape[0]) for t in tensors)
        and _same(tensors[1].shape[1], tensors[2].shape[1])
        and _share(tensors[0].shape[1], tensors[1].shape[1])
    )


def _share(queries: Any, keys: Any) -> bool:
    """Whether each key and value head serves a whole number of query heads."""
    if isinstance(queries, int) and isinstance(keys, int):
        return keys > 0 and queries % keys == 0
    return _same(queries, keys)


def _mask_fits(query: Node, key: Node, mask: Node | None) -> bool:
    if mask is None:
        return True
    wanted = (*val(query).shape[:3], val(key).shape[2])
    shape = val(mask).shape
    if val(mask).dtype is not val(query).dtype or not 2 <= len(shape) <= 4 or val(mask).is_neg():
        return False
    return all(
        _same(have, want) or _same(have, 1)
        for have, want in zip(reversed(shape), reversed(wanted), strict=False)
    )


def _same(x: Any, y: Any) -> bool:
    if isinstance(x, int) and isinstance(y, int):
        return x == y
    sizes = [n.node.expr if isinstance(n, torch.SymInt) else n for n in (x, y)]
    return bool(sizes[0] == sizes[1])


def _hides(draft: ProgramDraft, mask: Node, queries: Any, keys: Any) -> str | None:
    """The kind of a mask with known values, "nothing" or "ahead" (causal); None for any other."""
    value = evaluated(draft, mask, MOST_ELEMENTS)
    if value is None or value.numel() == 0:
        return None
    if not value.any():
        return "nothing"
    if tuple(value.shape[-2:]) != (queries, keys) or queries != keys:
        return None
    ahead = torch.ones(queries, keys, dtype=torch.bool).triu(1).expand(value.shape)
    lowest = torch.finfo(value.dtype).min / 2
    hidden = bool((value[ahead] <= lowest).all())
    return "ahead" if hidden and not value[~ahead].any() else None
