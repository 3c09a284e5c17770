"""The table of ops that are decomposed while AOTAutograd traces: PyTorch's own decompositions where
they are good, ours elsewhere. Decompositions produce ops that the native engine knows (pointwise,
views, reductions, gathers, cat, pad, full) or one whole op that ATen runs. Results match eager,
including NaN and half-precision rounding. Nothing random is decomposed, so the random numbers match
eager's too.
"""

from __future__ import annotations

from functools import cache, partial

import torch
from torch._decomp import get_decompositions
from torch._ops import OpOverload

import ingot.passes.decompositions.dropout
import ingot.passes.decompositions.factories
import ingot.passes.decompositions.foreach
import ingot.passes.decompositions.layouts
import ingot.passes.decompositions.losses
import ingot.passes.decompositions.mixed_gradients
import ingot.passes.decompositions.norms
import ingot.passes.decompositions.random_ops
import ingot.passes.decompositions.splits
import ingot.passes.decompositions.trained_norms
import ingot.passes.decompositions.transformer  # noqa: F401
from ingot.passes.decompositions import Decomposition, overload, own_decompositions
from ingot.passes.decompositions.layouts import unless_as_described

# PyTorch's decompositions, by family. Excluded on purpose:
#  * pointwise ops with a native rule (gelu, silu, hardswish, lerp, their backwards ...): one node
#    is cheaper to carry than ten;
#  * bernoulli, native_dropout, rrelu_with_noise: they would sample other numbers than eager;
#  * baddbmm, addmv, mv, dot: they would turn a BLAS call into a sum of products;
#  * embedding_dense_backward, index_add, index_copy, *_pad*_backward, col2im, max_unpool: they
#    become index_put with accumulate, which is slower than their own kernels;
#  * linspace, logspace: they round in another order than the CPU kernel; constants are folded;
#  * addr, linalg_cross, soft_margin_loss: they round to half precision midway, the kernels do not;
#  * binary_cross_entropy: its kernel raises for inputs outside of 0 and 1;
#  * take: it reads the value of an index.
from_pytorch: dict[str, tuple[str, ...]] = {
    "norms": (
        "_log_softmax_backward_data",
        "_safe_softmax",
        "native_layer_norm_backward",
        "native_group_norm",
        "native_group_norm_backward",
        "_fused_rms_norm",
        "_fused_rms_norm_backward",
        "native_batch_norm",
        "native_batch_norm_backward",
        "_native_batch_norm_legit",
        "_native_batch_norm_legit_functional",
        "_batch_norm_with_update_functional",
        "_batch_norm_no_update",
        "batch_norm_backward",
        "_weight_norm_interface",
    ),
    "losses": (
        "mse_loss_backward",
        "smooth_l1_loss",
        "smooth_l1_loss_backward",
        "huber_loss",
        "huber_loss_backward",
        "binary_cross_entropy_backward",
        "binary_cross_entropy_with_logits",
        "nll_loss_forward",
        "nll_loss2d_forward",
    ),
    "reductions": (
        "aminmax",
        "count_nonzero",
        "logsumexp",
        "nansum",
        "linalg_vector_norm",
        "norm",
        "dist",
        "trace",
    ),
    "shapes": (
        "pixel_shuffle",
        "pixel_unshuffle",
        "channel_shuffle",
        "reflection_pad1d",
        "reflection_pad2d",
        "reflection_pad3d",
        "replication_pad1d",
        "replication_pad2d",
        "replication_pad3d",
        "diagonal_backward",
        "diag_embed",
        "block_diag",
        "tril",
        "triu",
        "eye",
        "_unsafe_masked_index",
        "expand_copy",
        "view_copy",
        "permute_copy",
        "transpose_copy",
        "t_copy",
        "squeeze_copy",
        "unsqueeze_copy",
        "alias_copy",
        "diagonal_copy",
    ),
    "pointwise": (
        "_prelu_kernel_backward",
        "log_sigmoid_forward",
        "glu",
        "glu_backward",
        "rrelu_with_noise_backward",
    ),
}


# Layers that networks repeat. In inference with static sizes these stay whole until the `expand`
# pass, which traces each distinct call once; AOTAutograd would trace every occurrence.
late = ("native_layer_norm", "_native_batch_norm_legit_no_training", "_softmax")


@cache
def late_table() -> dict[OpOverload, Decomposition]:
    """The decompositions that `early_table` omits."""
    ops = [overload(name) for name in late]
    return {op: decomposition_table()[op] for op in ops}


@cache
def early_table() -> dict[OpOverload, Decomposition]:
    """decomposition_table() without the ops that may be decomposed late. A batch norm may be only
    if PyTorch predicts its result's layout correctly, because later ops are traced with it."""
    ready = {op: made for op, made in decomposition_table().items() if op not in late_table()}
    norm = overload("_native_batch_norm_legit_no_training")
    return {**ready, norm: partial(unless_as_described, late_table()[norm])}


@cache
def decomposition_table() -> dict[OpOverload, Decomposition]:
    """For aot_autograd(decompositions=...). Cached: do not mutate it."""
    packets = [
        getattr(torch.ops.aten, name)
        for names in from_pytorch.values()
        for name in names
        if hasattr(torch.ops.aten, name)
    ]
    table = {
        op: function
        for op, function in get_decompositions(packets).items()
        if isinstance(op, OpOverload) and not op._schema.is_mutable
    }
    return {**table, **own_decompositions}
