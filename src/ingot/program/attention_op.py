"""The attention that a pass writes for the native road: no user's program has it. It means what
PyTorch's own kernel does, and that runs where no native code claims it.
"""

from __future__ import annotations

import torch
from torch import Tensor

_library = torch.library.Library("ingot_native", "FRAGMENT")
_library.define(
    "attention(Tensor query, Tensor key, Tensor value, Tensor? mask, bool causal, float scale)"
    " -> Tensor",
    tags=(torch.Tag.pt2_compliant_tag,),
)


def _attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, causal: bool, scale: float
) -> Tensor:
    result: Tensor = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default(
        query, key, value, 0.0, causal, attn_mask=mask, scale=scale
    )[0]
    return result


_library.impl("attention", _attention, "CompositeExplicitAutograd")

attention = torch.ops.ingot_native.attention.default
