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

from ingot.ops.kernel_shapes import attends, why_not_dtype
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
    if why_not_native(node) is not None:
        return False
    given = arguments_of(node)
    (item,) = _items_read(node)
    query, key, value, mask = (given[n] for n in ("query", "key", "value", "attn_mask"))
    causal = bool(given["is_causal"])
    scale = given["scale"]
    if scale is None:
        scale = 1 / math.sqrt(val(query).shape[-1])
    if mask is not None and not causal:
        hides = _hides(draft, mask, val(query).shape[-2], val(key).shape[-2])
        mask, causal = (mask, False) if hides is None else (None, hides == "ahead")
    args = (query, key, value, mask, causal, float(scale))
    made = draft.call(item, attention, args, val(item))
    draft.swap(item, made)
    for unused in [*node.users, node]:
        draft.graph.erase_node(unused)
    return True


def _items_read(node: Node) -> list[Node]:
    return [user for user in node.users if user.users]


def why_not_native(node: Node) -> str | None:
    """Why the pass leaves a call of PyTorch's attention op; None if it would not."""
    given = arguments_of(node)
    items = _items_read(node)
    if len(items) != 1 or not is_item(items[0]) or items[0].args[1] != 0:
        return "its log-sum-exp is read, as a backward does"
    if given["dropout_p"]:
        return "it has dropout"
    if not isinstance(given["scale"], int | float | None):
        return "its scale is symbolic"
    query, key, value, mask = (given[n] for n in ("query", "key", "value", "attn_mask"))
    return _why_not_operands(query, key, value) or _why_not_mask(query, key, mask)


def _why_not_operands(query: Node, key: Node, value: Node) -> str | None:
    tensors = [val(n) for n in (query, key, value)]
    dtype, width = tensors[0].dtype, tensors[0].shape[-1]
    refusal = why_not_dtype(dtype)
    if refusal is not None:
        return refusal
    if not isinstance(width, int):
        return "its head width is symbolic"
    if not attends(dtype, width):
        return f"no kernel for heads of width {width}"
    if any(t.dtype is not dtype for t in tensors):
        return "query, key and value differ in dtype"
    if any(t.ndim != 4 for t in tensors):
        return "query, key and value do not all have 4 dimensions"
    if any(t.is_neg() for t in tensors):
        return "an operand is a lazily negated view"
    if any(not isinstance(t.shape[-1], int) or t.shape[-1] != width for t in tensors):
        return "query, key and value differ in head width"
    if any(not isinstance(t.stride(-1), int) or t.stride(-1) != 1 for t in tensors):
        return "the rows of query, key or value are not contiguous"
    if not all(_same(t.shape[0], tensors[0].shape[0]) for t in tensors):
        return "query, key and value differ in batch size"
    if not _same(tensors[1].shape[1], tensors[2].shape[1]):
        return "key and value differ in their number of heads"
    if not _share(tensors[0].shape[1], tensors[1].shape[1]):
        return "the heads of the query are no multiple of those of the key"
    return None


def _share(queries: Any, keys: Any) -> bool:
    """Whether each key and value head serves a whole number of query heads."""
    if isinstance(queries, int) and isinstance(keys, int):
        return keys > 0 and queries % keys == 0
    return _same(queries, keys)


def _why_not_mask(query: Node, key: Node, mask: Node | None) -> str | None:
    if mask is None:
        return None
    wanted = (*val(query).shape[:3], val(key).shape[2])
    shape, dtype = val(mask).shape, val(mask).dtype
    if dtype is not val(query).dtype:
        return f"its mask is {dtype}, its query {val(query).dtype}"
    if not 2 <= len(shape) <= 4:
        return f"its mask has {len(shape)} dimensions, not 2 to 4"
    if val(mask).is_neg():
        return "its mask is a lazily negated view"
    sizes = zip(reversed(shape), reversed(wanted), strict=False)
    if not all(_same(have, want) or _same(have, 1) for have, want in sizes):
        return "its mask does not broadcast to the scores by sizes that are known"
    return None


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
