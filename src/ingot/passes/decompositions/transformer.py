"""PyTorch's transformer encoder layer, a single op in inference, as matmuls, attention, norms and
sums. A query whose keys are all masked gives NaN, as in the op. Half-precision layers stay whole,
because the op rounds at points where its parts would not.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ingot.passes.decompositions import decomposes

aten = torch.ops.aten
KEYS = 1
"""The type of a (batch, keys) mask; others are (queries, keys) or have all four dimensions."""


@decomposes("_transformer_encoder_layer_fwd")
def encoder_layer(
    src: Tensor, embed_dim: int, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor,
    proj_weight: Tensor, proj_bias: Tensor, use_gelu: bool, norm_first: bool, eps: float,
    norm_weight_1: Tensor, norm_bias_1: Tensor, norm_weight_2: Tensor, norm_bias_2: Tensor,
    ffn_weight_1: Tensor, ffn_bias_1: Tensor, ffn_weight_2: Tensor, ffn_bias_2: Tensor,
    mask: Tensor | None = None, mask_type: int | None = None,
) -> Tensor:  # fmt: skip
    known = not src.is_nested and src.dtype in (torch.float32, torch.float64)
    if not known or any(isinstance(size, int) and size == 0 for size in src.shape):
        return NotImplemented

    def norm(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        result: Tensor = aten.native_layer_norm(x, [embed_dim], weight, bias, eps)[0]
        return result

    x = norm(src, norm_weight_1, norm_bias_1) if norm_first else src
    seen = attended(aten.linear(x, qkv_weight, qkv_bias), num_heads, mask, mask_type)
    x = aten.add.Tensor(aten.linear(seen, proj_weight, proj_bias), src)
    x = x if norm_first else norm(x, norm_weight_1, norm_bias_1)
    y = norm(x, norm_weight_2, norm_bias_2) if norm_first else x
    y = aten.linear(y, ffn_weight_1, ffn_bias_1)
    y = aten.linear(aten.gelu(y) if use_gelu else aten.relu(y), ffn_weight_2, ffn_bias_2)
    y = aten.add.Tensor(y, x)
    return y if norm_first else norm(y, norm_weight_2, norm_bias_2)


def attended(qkv: Tensor, heads: int, mask: Tensor | None, mask_type: int | None) -> Tensor:
    """Self-attention on packed QKV: (batch, length, 3 · width) to (…, width)."""
    batch, length, width = qkv.shape[0], qkv.shape[1], qkv.shape[2] // 3
    parts = aten.view(qkv, [batch, length, 3, heads, width // heads])
    query, key, value = (aten.transpose(parts[:, :, k], 1, 2) for k in range(3))
    if mask is None:
        result = aten._scaled_dot_product_flash_attention_for_cpu(query, key, value)[0]
    else:
        scores = aten.matmul(query * (1 / math.sqrt(width // heads)), aten.transpose(key, 2, 3))
        hidden = aten._to_copy(mask, dtype=torch.bool)
        hidden = hidden[:, None, None, :] if mask_type == KEYS else hidden
        weights = aten._softmax(aten.masked_fill(scores, hidden, -math.inf), -1, False)
        result = aten.matmul(weights, value)
    return aten.reshape(aten.transpose(result, 1, 2), [batch, length, width])
