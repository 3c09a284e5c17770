"""The edge inputs and core ops that test_edges.py combines.

`INPUTS` maps a name to a function dtype -> tensor: shapes (zero-size, size-1, 0-dim, odd lengths),
layouts (transposed, sliced, expanded, offset by one element) and values (NaN, infinities, signed
zero, denormals, huge). The op tables define the call and the accepted inputs of each op: `UNARY`
and `ROWS` accept any input, `BINARY` any pair of equal shapes, `VIEWS` a matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

Unary = Callable[[Tensor], Tensor]
Binary = Callable[[Tensor, Tensor], Tensor]
Make = Callable[[torch.dtype], Tensor]

ODD_SIZES = (1, 7, 8, 9, 15, 16, 17, 31, 33)
INF = float("inf")
NAN = float("nan")


def numbers(*shape: int, dtype: torch.dtype) -> Tensor:
    """Deterministic, varied values that are exact in every dtype used here."""
    count = torch.Size(shape).numel()
    values = (torch.arange(count) * 37 % 101 - 50).reshape(shape)
    if dtype.is_floating_point:
        return (values / 16).to(dtype)
    if dtype is torch.bool:
        return values % 3 == 0
    return values.abs().to(dtype) if dtype is torch.uint8 else values.to(dtype)


def offset_by_one(dtype: torch.dtype) -> Tensor:
    return numbers(4 * 33 + 1, dtype=dtype)[1:].view(4, 33)


def every_other_row_and_column(dtype: torch.dtype) -> Tensor:
    return numbers(8, 34, dtype=dtype)[1::2, ::2]


def overlapping_windows(dtype: torch.dtype) -> Tensor:
    return numbers(40, dtype=dtype).unfold(0, 17, 3)


SHAPES: dict[str, Make] = {
    "empty_rows": lambda d: numbers(0, 5, dtype=d),
    "empty_columns": lambda d: numbers(5, 0, dtype=d),
    "one": lambda d: numbers(1, 1, dtype=d),
    "scalar": lambda d: numbers(1, dtype=d)[0],
    "channels_last": lambda d: numbers(2, 3, 5, 7, dtype=d).to(memory_format=torch.channels_last),
}
LAYOUTS: dict[str, Make] = {
    "transposed": lambda d: numbers(17, 9, dtype=d).t(),
    "sliced": every_other_row_and_column,
    "expanded_rows": lambda d: numbers(1, 19, dtype=d).expand(6, 19),
    "expanded_columns": lambda d: numbers(6, 1, dtype=d).expand(6, 19),
    "overlapping": overlapping_windows,
    "offset": offset_by_one,
    "permuted": lambda d: numbers(3, 5, 17, dtype=d).permute(2, 0, 1),
}
FLOAT_VALUES: dict[str, Make] = {
    "nan": lambda d: torch.tensor([[NAN, 1.0, -2.0, NAN], [0.5, 3.0, NAN, 4.0]], dtype=d),
    "infinite": lambda d: torch.tensor([[INF, 1.0, -INF, 2.0], [-INF, -1.0, 3.0, -INF]], dtype=d),
    "all_minus_inf": lambda d: torch.full((2, 5), -INF, dtype=d),
    "zeros": lambda d: torch.tensor([[0.0, -0.0, 0.0, -0.0], [-0.0, 1.0, -1.0, 0.0]], dtype=d),
    "tiny": lambda d: (
        torch.tensor([[1.0, 2.0, -3.0, 0.5], [-1.0, 7.0, 0.25, -9.0]], dtype=d)
        * (torch.finfo(d).tiny / 4)
    ),
    "huge": lambda d: (
        torch.tensor([[1.0, -1.0, 0.5, 0.25], [-0.5, 0.75, 1.0, -1.0]], dtype=d)
        * (torch.finfo(d).max / 4)
    ),
    "halves": lambda d: torch.tensor([[0.5, 1.5, 2.5, -0.5], [-1.5, -2.5, 3.5, -3.5]], dtype=d),
    "moderate": lambda d: torch.tensor(
        [[88.0, 89.0, -88.0, -104.0], [20.0, -20.0, 10.5, 710.0]], dtype=d
    ),
}


def _three_rows(columns: int, dtype: torch.dtype) -> Tensor:
    return numbers(3, columns, dtype=dtype)


INPUTS: dict[str, Make] = {
    **SHAPES,
    **LAYOUTS,
    **{f"odd_{n}": partial(_three_rows, n) for n in ODD_SIZES},
}

UNARY: dict[str, Unary] = {
    "abs": torch.abs,
    "neg": torch.neg,
    "exp": torch.exp,
    "expm1": torch.expm1,
    "log": torch.log,
    "log1p": torch.log1p,
    "log2": torch.log2,
    "sqrt": torch.sqrt,
    "rsqrt": torch.rsqrt,
    "reciprocal": torch.reciprocal,
    "sin": torch.sin,
    "cos": torch.cos,
    "tan": torch.tan,
    "atan": torch.atan,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "erf": torch.erf,
    "floor": torch.floor,
    "ceil": torch.ceil,
    "round": torch.round,
    "trunc": torch.trunc,
    "sign": torch.sign,
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
    "softplus": F.softplus,
    "leaky_relu": F.leaky_relu,
    "hardswish": F.hardswish,
    "clamp": lambda x: x.clamp(-1, 2),
    "pow2": lambda x: x**2,
    "pow_half": lambda x: x**0.5,
    "pow_negative": lambda x: x**-1.0,
    "isnan": torch.isnan,
    "isinf": torch.isinf,
    "signbit": torch.signbit,
    "logical_not": torch.logical_not,
    "nan_to_num": torch.nan_to_num,
    "to_int": lambda x: x.clamp(-100, 100).nan_to_num().to(torch.int32),
    "to_bool": lambda x: x.to(torch.bool),
}
BINARY: dict[str, Binary] = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "div": torch.div,
    "floor_divide": torch.floor_divide,
    "trunc_divide": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
    "remainder": torch.remainder,
    "fmod": torch.fmod,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "fmax": torch.fmax,
    "fmin": torch.fmin,
    "atan2": torch.atan2,
    "copysign": torch.copysign,
    "hypot": torch.hypot,
    "pow": torch.pow,
    "eq": torch.eq,
    "lt": torch.lt,
    "where": lambda x, y: torch.where(x > y, x, y),
    "lerp": lambda x, y: torch.lerp(x, y, 0.3),
    "addcmul": lambda x, y: torch.addcmul(x, x, y, value=0.5),
}
# Reductions and row-wise ops over the last dimension, or over everything.
ROWS: dict[str, Callable[[Tensor], object]] = {
    "sum": lambda x: x.sum(-1),
    "sum_all": lambda x: x.sum(),
    "sum_first": lambda x: x.sum(0),
    "mean": lambda x: x.mean(-1),
    "prod": lambda x: x.prod(-1),
    "var": lambda x: x.var(-1),
    "std_biased": lambda x: x.std(-1, correction=0),
    "amax": lambda x: x.amax(-1),
    "amin_all": lambda x: x.amin(),
    "max": lambda x: x.max(-1),
    "argmax": lambda x: x.argmax(-1),
    "argmin_all": lambda x: x.argmin(),
    "any": lambda x: x.any(-1),
    "all": lambda x: x.all(0),
    "norm": lambda x: torch.linalg.vector_norm(x, dim=-1),
    "logsumexp": lambda x: x.logsumexp(-1),
    "softmax": lambda x: x.softmax(-1),
    "softmax_first": lambda x: x.softmax(0),
    "log_softmax": lambda x: x.log_softmax(-1),
    "cumsum": lambda x: x.cumsum(-1),
    "layer_norm": lambda x: F.layer_norm(x, x.shape[-1:]),
    "rms_norm": lambda x: F.rms_norm(x, x.shape[-1:]),
    "sort": lambda x: x.sort(-1, stable=True),
    "l1": lambda x: F.normalize(x, p=1.0, dim=-1),
}
VIEWS: dict[str, Callable[[Tensor], object]] = {
    "flip": lambda x: x.flip(0, 1) + 1,
    "roll": lambda x: x.roll(2, -1),
    "pad": lambda x: F.pad(x, (1, 2, 0, 1), value=3),
    "cat": lambda x: torch.cat([x, x + 1, x[:0]], 0),
    "stack": lambda x: torch.stack([x, x.flip(0)], 1),
    "reshape": lambda x: (x + 1).reshape(-1),
    "transpose_add": lambda x: x.t().contiguous() + 1,
    "select": lambda x: x[:, -1:] - x[:1],
    "narrow": lambda x: x[1:, ::2].clone(),
    "expand": lambda x: x.unsqueeze(1).expand(-1, 3, -1) + x.unsqueeze(0)[:, :1],
    "tril": lambda x: x.tril(),
    "diagonal": lambda x: x.diagonal() + 1,
    "view_out": lambda x: x.t()[:, 1:],
    "repeat": lambda x: x.repeat(2, 3),
    "slice_scatter": lambda x: torch.slice_scatter(x, x[:1] + 1, 0, 0, 1),
}
