"""The ops that programs are drawn from: every ATen overload whose arguments can be drawn by type.

Ops are excluded by name. Each reason is about eager, never about ingot.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from random import Random

import torch

DRAWN_TYPES = frozenset({
    "Tensor", "int", "bool", "float", "number", "str", "complex", "ScalarType", "Layout", "Device",
    "MemoryFormat", "List[int]", "List[bool]", "List[float]", "List[number]", "List[Tensor]",
    "List[Optional[Tensor]]",
})  # fmt: skip
"""Schema types that `arguments` can draw, also as `Optional[...]`."""

EXCLUDED: dict[str, str] = {
    r"empty.*|new_empty.*|_empty_.*|.*resize.*|set_?|_efficientzerotensor|lift.*|set_data": (
        "uninitialised memory, or another storage under the same tensor"
    ),
    r".*cudnn.*|.*miopen.*|.*mkldnn.*|.*mps.*|cuda|.*_cuda.*|.*triton.*|.*_overrideable.*|"
    r"_efficient_attention.*|_flash_attention.*|_scaled_dot_product_(efficient|flash)_attention|"
    r"_scaled_dot_product_(efficient|flash)_attention_backward|.*cslt.*|_fused_dropout|"
    r"_grouped_mm|_scaled_.*mm.*|_fill_mem_eff.*|_nnpack.*|.*pin_memory|is_pinned|"
    r"_propagate_xla.*|batch_norm_(elemt|stats|gather|backward_).*|_thnn_.*": (
        "kernels of another device or library"
    ),
    r".*sparse.*|.*coalesce.*|c?(col|row)_indices.*|_?indices.*|_?values.*|_nnz|hspmm|s?smm|"
    r"sspaddmm|_spdiags|_spsolve|.*nested.*|.*jagged.*|to_padded_tensor|crow_indices.*|"
    r"_dim[IV]|_validate_.*|_convert_indices.*": "layouts other than strided",
    r".*quant.*|fbgemm.*|q_.*|qscheme|int_repr|_weight_int.*|_convert_weight.*|_wrapped_.*|"
    r"_dyn_.*|_choose_qparams.*|choose_qparams.*|_saturate.*|_rowwise_prune|.*_fake_.*|"
    r"_fused_moving.*|_int_mm|.*_int8pack.*": "quantized internals",
    r"_test_.*|_foobar|_make_dep_token|__interpolate|__upsample.*|_?debug.*|_list_to_tensor|"
    r"_tensor_to_list|_amp_.*|from_file|as_tensor|tensor|_no_grad_.*|_ncf.*|_pad_enum|get_gradients"
    r"|_dim_arange|count|sorted|remove|len|dict|__contains__|grad|_reshape_from_tensor|backward|"
    r"_backward|output_nr|_version|retain.*|is_leaf|requires_grad_|is_inference|is_distributed|"
    r"data|_has_.*|_unpack_dual.*|_make_dual.*|_fw_primal.*|.*_batch_dim|_autocast_.*|"
    r"_assert_tensor_metadata|.*sym_constrain.*|sym_.*|_lazy_clone|is_set_to|get_device|cpu|"
    r"_to_cpu|_philox.*|_linalg_check_errors|_new_zeros_with_same_feature_meta|_copy_from.*|"
    r"is_strides_like_format|is_non_overlapping_and_dense|element_size|storage_offset|dense_dim": (
        "not an op of user programs: TorchScript, autograd or dispatcher internals"
    ),
    r"hash_tensor|_cummax_helper|_cummin_helper|_compute_linear_combination|_histogramdd.*|"
    r"_sobol.*|_native_multi_head_attention|_transformer_encoder_layer_fwd|"
    r"_segment_reduce_backward|_embedding_bag_.*backward|embedding_bag_.*|"
    r"native_batch_norm.*|batch_norm_backward|native_group_norm.*|_slow_conv.*|slow_conv.*|_fft_.*|"
    r"unsafe_split_with_sizes|_transform_bias.*|_native_batch_norm.*|_batch_norm.*|"
    r"_conv_depthwise2d|conv_depthwise3d|_ctc_loss.*|_pad_packed_sequence|"
    r"_pack_padded_sequence.*|lstm|gru|rnn_tanh|rnn_relu": (
        "unchecked by eager: wrong operands crash it or read foreign memory"
    ),
}
"""Reason → regular expressions; an op whose whole name matches is excluded."""


@dataclass(frozen=True)
class Op:
    """One overload of an op."""

    name: str
    """Without `aten::`."""
    overload: str
    """`default` if the schema names none."""
    arguments: tuple[tuple[str, str, bool, bool], ...]
    """(name, type, keyword only, has a default)."""
    writes: bool
    views: bool
    """A result aliases an argument that is not written."""
    weight: float

    @property
    def qualified(self) -> str:
        return f"{self.name}.{self.overload}"

    @property
    def out(self) -> bool:
        """Whether it writes to keyword arguments."""
        return self.writes and "out" in self.overload


def is_drawn(kind: str) -> bool:
    if kind.startswith("Optional["):
        kind = kind[len("Optional[") : -1]
    return kind in DRAWN_TYPES or kind == "Generator"


def excluded(name: str) -> str | None:
    """The reason for excluding an op, or None."""
    for pattern, reason in EXCLUDED.items():
        if re.fullmatch(pattern, name):
            return reason
    return None


def weight(name: str, views: bool) -> float:
    """Views are drawn more often, internal ops and large families less."""
    if views:
        return 4.0
    if name.startswith("_foreach"):
        return 0.1
    if name.startswith("_"):
        return 0.25
    if "backward" in name:
        return 0.15  # most operands drawn for it cannot come from a forward op
    if name.startswith(("fft_", "linalg_", "special_")):
        return 0.4
    return 1.0


def describe(schema: torch.FunctionSchema) -> Op | None:
    """The op of a schema, or None if it cannot be drawn."""
    name = schema.name.removeprefix("aten::")
    overload = schema.overload_name or "default"
    kinds = [str(argument.real_type) for argument in schema.arguments]
    returns = [str(result.type) for result in schema.returns]
    if not any("Tensor" in kind for kind in (*kinds, *returns)) or overload.startswith("prim_"):
        return None
    if not all(is_drawn(kind) for kind in kinds) or "Dimname" in str(schema):
        return None
    if excluded(name) or not hasattr(getattr(torch.ops.aten, name, None), overload):
        return None
    arguments = tuple(
        (a.name, kind, a.kwarg_only, a.has_default_value())
        for a, kind in zip(schema.arguments, kinds)
    )
    infos = [a.alias_info for a in schema.arguments if a.alias_info is not None]
    writes = any(info.is_write for info in infos)
    views = bool(infos) and not writes
    if not returns and not writes:
        return None
    return Op(name, overload, arguments, writes, views, weight(name, views))


@cache
def catalogue() -> dict[str, tuple[Op, ...]]:
    """Name → overloads."""
    found: dict[str, list[Op]] = {}
    for schema in torch._C._jit_get_all_schemas():
        op = describe(schema) if schema.name.startswith("aten::") else None
        if op is not None:
            found.setdefault(op.name, []).append(op)
    return {name: tuple(found[name]) for name in sorted(found)}


def draw_op(rng: Random) -> Op:
    names, sums = _weighted()
    return rng.choice(catalogue()[rng.choices(names, cum_weights=sums)[0]])


@cache
def _weighted() -> tuple[list[str], list[float]]:
    """Names and their cumulative weights."""
    weights = (max(op.weight for op in overloads) for overloads in catalogue().values())
    return list(catalogue()), list(accumulate(weights))
