"""Means, variances, softmax and layer norm, as sums and pointwise ops. As in eager, half-precision
inputs are widened to f32, everything is computed there, and the result is rounded once. NaN and
empty reductions match eager.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.fx.experimental.symbolic_shapes import statically_known_true

from ingot.passes.decompositions import decomposes
from ingot.passes.decompositions.layouts import dense, in_the_format_of
from ingot.program.native_ops import spread

aten = torch.ops.aten
HALF = (torch.float16, torch.bfloat16)
WIDE_RANGE = (torch.float32, torch.bfloat16)
"""Dtypes whose squares may overflow f32."""


def widen(x: Tensor) -> Tensor:
    """x in eager's compute dtype."""
    return aten._to_copy(x, dtype=torch.float32) if x.dtype in HALF else x


def narrow(x: Tensor, dtype: torch.dtype) -> Tensor:
    return x if x.dtype == dtype else aten._to_copy(x, dtype=dtype)


def all_dims(x: Tensor, dim: Sequence[int] | int | None) -> list[int]:
    """The dims to reduce, non-negative; none given means all."""
    if dim is None:
        return list(range(x.dim()))
    given = [dim] if isinstance(dim, int) else list(dim)
    return sorted(d % x.dim() if x.dim() else 0 for d in given) or list(range(x.dim()))


def count(x: Tensor, dims: Sequence[int]) -> Any:
    """The number of elements in a reduction over `dims`; an int or a SymInt."""
    number: Any = 1
    for d in dims if x.dim() else ():
        number = number * x.shape[d]
    return number


@decomposes("mean")
def mean(x: Tensor, *, dtype: torch.dtype | None = None) -> Tensor:
    return mean_dim(x, None, False, dtype=dtype)


@decomposes("mean.dim")
def mean_dim(
    x: Tensor,
    dim: Sequence[int] | None,
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
) -> Tensor:
    result = dtype or x.dtype
    if result.is_complex or not result.is_floating_point:
        return NotImplemented
    inner = torch.float32 if result in HALF else result
    dims = all_dims(x, dim)
    total = aten.sum.dim_IntList(narrow(x, inner), dims, keepdim)
    return narrow(aten.div.Tensor(total, count(x, dims)), result)


def moments(
    x: Tensor, dims: list[int], correction: Any, keepdim: bool, dtype: torch.dtype | None = None
) -> tuple[Tensor, Tensor]:
    """(variance, mean) of a tensor in its compute dtype, in two passes. `dtype` is that of the
    variance; it may be wider, so that the sum of squares does not overflow. Only kernels for our
    own op may sum f32 first: a program that widens its distances itself wants sums in f64."""
    number = count(x, dims)
    mean = aten.div.Tensor(aten.sum.dim_IntList(x, dims, True), number)
    centered = aten.sub.Tensor(x, mean)
    if dtype is None or dtype == x.dtype:
        squares = aten.sum.dim_IntList(aten.mul.Tensor(centered, centered), dims, keepdim)
    else:
        squares = spread(narrow(centered, dtype), dims, keepdim)
    divisor = number - correction if correction else number
    if not statically_known_true(divisor >= 0):
        divisor = torch.sym_max(0, divisor)
    if not keepdim and x.dim():
        mean = aten.squeeze.dims(mean, dims)
    return aten.div.Tensor(squares, divisor), mean


def unless_overflown(variance: Tensor) -> Tensor:
    """The variance, or NaN if it is infinite: finite values whose squares overflowed would be
    divided by infinity, and a norm would return zeros. A norm's kernels return NaN there, or keep
    the variance in f64. Costs two ops per row, none per element."""
    return aten.add.Tensor(variance, aten.sub.Tensor(variance, variance))


def _moments(
    x: Tensor, dim: Sequence[int] | None, correction: Any, keepdim: bool
) -> tuple[Tensor, Tensor] | None:
    """The CPU kernels sum in f64: a variance may fit in f32 where the sum of squares does not."""
    if not x.dtype.is_floating_point:
        return None
    by = 1 if correction is None else correction
    wide = torch.float64 if x.dtype in WIDE_RANGE else None
    return moments(widen(x), all_dims(x, dim), by, keepdim, wide)


@decomposes("var.correction")
def var(
    x: Tensor,
    dim: Sequence[int] | None = None,
    *,
    correction: Any = None,
    keepdim: bool = False,
) -> Tensor:
    both = _moments(x, dim, correction, keepdim)
    return NotImplemented if both is None else narrow(both[0], x.dtype)


@decomposes("std.correction")
def std(
    x: Tensor,
    dim: Sequence[int] | None = None,
    *,
    correction: Any = None,
    keepdim: bool = False,
) -> Tensor:
    both = _moments(_doubled(x), dim, correction, keepdim)
    return NotImplemented if both is None else narrow(aten.sqrt(both[0]), x.dtype)


def _doubled(x: Tensor) -> Tensor:
    """The CPU kernel keeps the variance in f64: its root may fit in f32 where it does not."""
    return aten._to_copy(x, dtype=torch.float64) if x.dtype in WIDE_RANGE else x


@decomposes("var_mean.correction")
def var_mean(
    x: Tensor,
    dim: Sequence[int] | None = None,
    *,
    correction: Any = None,
    keepdim: bool = False,
) -> tuple[Tensor, Tensor]:
    both = _moments(x, dim, correction, keepdim)
    if both is None:
        return NotImplemented
    return narrow(both[0], x.dtype), narrow(both[1], x.dtype)


@decomposes("std_mean.correction")
def std_mean(
    x: Tensor,
    dim: Sequence[int] | None = None,
    *,
    correction: Any = None,
    keepdim: bool = False,
) -> tuple[Tensor, Tensor]:
    both = _moments(_doubled(x), dim, correction, keepdim)
    if both is None:
        return NotImplemented
    return narrow(aten.sqrt(both[0]), x.dtype), narrow(both[1], x.dtype)


@decomposes("_softmax")
def softmax(x: Tensor, dim: int, half_to_float: bool) -> Tensor:
    if not x.dtype.is_floating_point:
        return NotImplemented  # eager raises
    wide = widen(x)
    result = wide.dtype if half_to_float else x.dtype
    if _is_empty(x):
        return aten.full(x.shape, 0, dtype=result)
    exponent = aten.exp(aten.sub.Tensor(wide, aten.amax(wide, [dim], True)))
    total = aten.sum.dim_IntList(exponent, [dim], True)
    return dense(narrow(aten.div.Tensor(exponent, total), result))


@decomposes("_log_softmax")
def log_softmax(x: Tensor, dim: int, half_to_float: bool) -> Tensor:
    if not x.dtype.is_floating_point:
        return NotImplemented  # eager raises
    wide = widen(x)
    result = wide.dtype if half_to_float else x.dtype
    if _is_empty(x):
        return aten.full(x.shape, 0, dtype=result)
    shifted = aten.sub.Tensor(wide, aten.amax(wide, [dim], True))
    total = aten.sum.dim_IntList(aten.exp(shifted), [dim], True)
    return dense(narrow(aten.sub.Tensor(shifted, aten.log(total)), result))


@decomposes("_softmax_backward_data")
def softmax_backward(grad: Tensor, output: Tensor, dim: int, input_dtype: torch.dtype) -> Tensor:
    """Subtract first, then multiply, as the CPU kernel does: the other order loses precision."""
    wide, out = widen(grad), widen(output)
    total = aten.sum.dim_IntList(aten.mul.Tensor(wide, out), [dim], True)
    return narrow(aten.mul.Tensor(out, aten.sub.Tensor(wide, total)), input_dtype)


def _is_empty(x: Tensor) -> bool:
    """Whether a size is a plain 0, for which amax has no initial value. Symbolic sizes add no guard
    here: AOTAutograd's symbols start at 2."""
    return any(isinstance(size, int) and size == 0 for size in x.shape)


@decomposes("native_layer_norm")
def layer_norm(
    x: Tensor, shape: Sequence[int], weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    wide = widen(x)
    dims = list(range(x.dim() - len(shape), x.dim()))
    variance, mean = moments(wide, dims, 0, True)
    rstd = aten.rsqrt(aten.add.Tensor(unless_overflown(variance), eps))
    out = aten.mul.Tensor(aten.sub.Tensor(wide, mean), rstd)
    if weight is not None:
        out = aten.mul.Tensor(out, weight)
    if bias is not None:
        out = aten.add.Tensor(out, bias)
    # The CPU kernel keeps its statistics in f32 only if the weights are f32 (mixed precision).
    stats = weight.dtype if weight is not None else x.dtype
    return dense(narrow(out, x.dtype)), narrow(mean, stats), narrow(rstd, stats)


@decomposes("_native_batch_norm_legit_no_training")
def batch_norm_inference(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """One factor and one addend per channel, as in the CPU kernel, which leaves one multiply and
    one add per element."""
    factor = aten.rsqrt(aten.add.Tensor(widen(running_var), eps))
    if weight is not None:
        factor = aten.mul.Tensor(factor, weight)
    summand = aten.neg(aten.mul.Tensor(widen(running_mean), factor))
    if bias is not None:
        summand = aten.add.Tensor(summand, bias)
    channels = [1] * x.dim()
    channels[1] = x.shape[1]
    scaled = aten.mul.Tensor(widen(x), aten.view(factor, channels))
    out = aten.add.Tensor(scaled, aten.view(summand, channels))
    empty = aten.full([0], 0, dtype=running_mean.dtype, device=x.device)
    return in_the_format_of(x, narrow(out, x.dtype)), empty, empty


@decomposes("_native_batch_norm_legit")
def batch_norm(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    """Decomposed only without training: with it, the op writes to its running statistics."""
    if training:
        return NotImplemented
    return batch_norm_inference(x, weight, bias, running_mean, running_var, momentum, eps)
