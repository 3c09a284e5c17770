"""The kernels that `kernels.py` measures: a function, its inputs, and the sizes it is measured at.

Sizes range from the first cache level (a few KB) to main memory. `bound` is the limit of an ideal
kernel: "memory" rows are shown relative to a plain copy of as many bytes; "math" rows, which
compute an exp or the like for every element, are not. A function takes tensors and returns a
tensor, a tuple, or None if it works in place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

Shape = tuple[int, ...]
F32, BF16, I32, I64, U8, I8 = (
    torch.float32,
    torch.bfloat16,
    torch.int32,
    torch.int64,
    torch.uint8,
    torch.int8,
)


@dataclass(frozen=True)
class Case:
    """One row of the table."""

    name: str
    dtype: torch.dtype
    shape: Shape
    function: Callable[..., Any]
    inputs: Callable[[Shape, torch.dtype], tuple[Tensor, ...]]
    bound: str

    @property
    def label(self) -> str:
        return f"{self.name} {str(self.dtype).removeprefix('torch.')} {size_text(self.shape)}"


def size_text(shape: Shape) -> str:
    return "×".join(str(size) for size in shape)


def random(shape: Shape, dtype: torch.dtype) -> Tensor:
    if dtype.is_floating_point:
        return torch.randn(shape).to(dtype)
    low, high = (0, 255) if dtype is U8 else (-100, 100)
    return torch.randint(low, high, shape, dtype=dtype)


def operands(count: int) -> Callable[[Shape, torch.dtype], tuple[Tensor, ...]]:
    return lambda shape, dtype: tuple(random(shape, dtype) for _ in range(count))


def with_row_parameters(count: int) -> Callable[[Shape, torch.dtype], tuple[Tensor, ...]]:
    """The tensor and `count` vectors of the length of its last dimension."""
    return lambda s, d: (random(s, d), *(random(s[-1:], d) for _ in range(count)))


def with_channel_parameters(shape: Shape, dtype: torch.dtype) -> tuple[Tensor, ...]:
    return random(shape, dtype), random(shape[1:2], dtype), random(shape[1:2], dtype)


def pointwise_chain(x: Tensor, y: Tensor) -> Tensor:
    z = F.relu(x * 2.0 + y) - 0.5
    z = torch.maximum(z, y * 0.25).clamp(-3.0, 3.0)
    return torch.where(z > 0.1, z * x, z - y)


def rms_norm(x: Tensor, weight: Tensor) -> Tensor:
    scale = torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-6)
    return (x.float() * scale).to(x.dtype) * weight


def batch_norm_training(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return F.batch_norm(x, None, None, weight, bias, training=True)


def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    return (scores * 0.125).masked_fill(mask, float("-inf")).softmax(-1)


def bias_gelu_residual_norm(
    x: Tensor, residual: Tensor, bias: Tensor, weight: Tensor, shift: Tensor
) -> Tensor:
    return F.layer_norm(F.gelu(x + bias) + residual, x.shape[-1:], weight, shift)


def rotary(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat((-second, first), -1) * sin


def rotary_inputs(shape: Shape, dtype: torch.dtype) -> tuple[Tensor, ...]:
    angles = torch.randn(shape[-2:]).to(dtype)
    return random(shape, dtype), angles.cos(), angles.sin()


def adam_step(parameter: Tensor, grad: Tensor, mean: Tensor, square: Tensor) -> None:
    mean.lerp_(grad, 0.1)
    square.mul_(0.999).addcmul_(grad, grad, value=0.001)
    parameter.addcdiv_(mean, square.sqrt() + 1e-8, value=-1e-3)


def adam_inputs(shape: Shape, dtype: torch.dtype) -> tuple[Tensor, ...]:
    return *operands(3)(shape, dtype), random(shape, dtype).square()


def integer_hash(x: Tensor, y: Tensor) -> Tensor:
    z = (x ^ (y << 3)) * 73 + (y >> 1)
    return (z & 1023) + (x % 7)


def image_to_float(image: Tensor) -> Tensor:
    return (image.float() / 255.0 - 0.45) / 0.225


def dequantize(weight: Tensor, scale: Tensor) -> Tensor:
    return weight.float() * scale[:, None]


def mask_for(shape: Shape, dtype: torch.dtype) -> tuple[Tensor, ...]:
    return random(shape, dtype), torch.rand(shape[0], 1, 1, shape[-1]) < 0.2


def row_indices(shape: Shape, dtype: torch.dtype) -> tuple[Tensor, ...]:
    rows = max(shape[0] // 4, 1)
    return random(shape, dtype), torch.randint(0, shape[0], (rows,))


def gather_indices(shape: Shape, dtype: torch.dtype) -> tuple[Tensor, ...]:
    return random(shape, dtype), torch.randint(0, shape[-1], shape)


def class_targets(shape: Shape, dtype: torch.dtype) -> tuple[Tensor, ...]:
    return random(shape, dtype), torch.randint(0, shape[-1], shape[:1])


def probabilities(shape: Shape, dtype: torch.dtype) -> tuple[Tensor, ...]:
    return random(shape, dtype), torch.rand(shape).to(dtype)


L1, L2, CACHE, RAM = (2048,), (65_536,), (1 << 20,), (1 << 24,)

# name, function, inputs, bound, then the (dtype, shape) pairs; the first pair is the quick one.
Row = tuple[str, Callable[..., Any], Callable[..., Any], str, list[tuple[torch.dtype, Shape]]]
TABLE: list[Row] = [
    (
        "mul_add",
        lambda x, y, z: x * y + z,
        operands(3),
        "memory",
        [(F32, CACHE), (F32, L1), (F32, L2), (F32, RAM), (BF16, RAM)],
    ),
    (
        "pointwise_chain",
        pointwise_chain,
        operands(2),
        "memory",
        [(F32, CACHE), (F32, L1), (F32, RAM), (BF16, CACHE)],
    ),
    ("gelu", F.gelu, operands(1), "math", [(F32, CACHE), (F32, L1), (BF16, CACHE)]),
    (
        "gelu_tanh",
        lambda x: F.gelu(x, approximate="tanh"),
        operands(1),
        "math",
        [(F32, CACHE), (BF16, RAM)],
    ),
    (
        "silu_gate",
        lambda x, y: F.silu(x) * y,
        operands(2),
        "math",
        [(F32, (512, 11_008)), (BF16, (512, 11_008))],
    ),
    ("tanh", torch.tanh, operands(1), "math", [(F32, CACHE), (BF16, CACHE)]),
    ("sigmoid", torch.sigmoid, operands(1), "math", [(F32, CACHE), (F32, L2)]),
    ("erf", torch.erf, operands(1), "math", [(F32, CACHE)]),
    ("exp", torch.exp, operands(1), "math", [(F32, CACHE), (BF16, CACHE)]),
    ("log", lambda x: torch.log(x.abs() + 1e-3), operands(1), "math", [(F32, CACHE)]),
    ("pow", lambda x: x.abs() ** 1.7, operands(1), "math", [(F32, CACHE)]),
    ("sin_cos", lambda x: x.sin() * x.cos(), operands(1), "math", [(F32, CACHE)]),
    (
        "softmax",
        lambda x: x.softmax(-1),
        operands(1),
        "math",
        [(F32, (1024, 1024)), (F32, (16, 128)), (F32, (64, 50_257)), (BF16, (1024, 1024))],
    ),
    ("log_softmax", lambda x: x.log_softmax(-1), operands(1), "math", [(F32, (256, 32_000))]),
    (
        "layer_norm",
        lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b),
        with_row_parameters(2),
        "memory",
        [(F32, (128, 768)), (F32, (16_384, 1024)), (BF16, (4096, 768))],
    ),
    (
        "rms_norm",
        rms_norm,
        with_row_parameters(1),
        "memory",
        [(F32, (2048, 2048)), (BF16, (4096, 4096)), (F32, (4, 512))],
    ),
    (
        "group_norm",
        lambda x, w, b: F.group_norm(x, 32, w, b),
        with_channel_parameters,
        "memory",
        [(F32, (8, 64, 56, 56))],
    ),
    (
        "batch_norm_training",
        batch_norm_training,
        with_channel_parameters,
        "memory",
        [(F32, (16, 64, 56, 56))],
    ),
    (
        "cross_entropy",
        F.cross_entropy,
        class_targets,
        "math",
        [(F32, (512, 32_000)), (F32, (64, 1000))],
    ),
    ("mse_loss", F.mse_loss, operands(2), "memory", [(F32, (1 << 22,)), (F32, L2)]),
    ("bce_logits", F.binary_cross_entropy_with_logits, probabilities, "math", [(F32, CACHE)]),
    (
        "sum_inner",
        lambda x: x.sum(-1),
        operands(1),
        "memory",
        [(F32, (4096, 4096)), (F32, (64, 64)), (BF16, (4096, 4096))],
    ),
    ("sum_outer", lambda x: x.sum(0), operands(1), "memory", [(F32, (4096, 4096))]),
    ("sum_middle", lambda x: x.sum(1), operands(1), "memory", [(F32, (64, 512, 512))]),
    ("sum_full", lambda x: x.sum(), operands(1), "memory", [(F32, RAM), (F32, L2), (I64, CACHE)]),
    ("mean_var", lambda x: torch.var_mean(x, -1), operands(1), "memory", [(F32, (4096, 1024))]),
    ("argmax", lambda x: x.argmax(-1), operands(1), "memory", [(F32, (1024, 4096))]),
    ("max_indices", lambda x: x.max(-1), operands(1), "memory", [(F32, (1024, 4096))]),
    ("logsumexp", lambda x: x.logsumexp(-1), operands(1), "math", [(F32, (1024, 4096))]),
    ("cumsum", lambda x: x.cumsum(-1), operands(1), "memory", [(F32, (4096, 1024))]),
    (
        "transpose",
        lambda x: x.t().contiguous(),
        operands(1),
        "memory",
        [(F32, (2048, 2048)), (BF16, (4096, 4096)), (F32, (64, 64))],
    ),
    (
        "heads_permute",
        lambda x: x.permute(0, 2, 1, 3).contiguous() * 1.5,
        operands(1),
        "memory",
        [(F32, (8, 128, 12, 64))],
    ),
    ("gather", lambda x, i: x.gather(-1, i), gather_indices, "memory", [(F32, (1024, 1024))]),
    (
        "embedding",
        lambda w, i: F.embedding(i, w) * 2.0,
        row_indices,
        "memory",
        [(F32, (32_000, 768)), (BF16, (32_000, 768))],
    ),
    (
        "index_select",
        lambda x, i: x.index_select(0, i),
        row_indices,
        "memory",
        [(F32, (65_536, 64))],
    ),
    (
        "cat",
        lambda x, y: torch.cat([x * 2, y + 1], -1),
        operands(2),
        "memory",
        [(F32, (1024, 2048))],
    ),
    (
        "pad",
        lambda x: F.pad(x, (1, 1, 1, 1)),
        operands(1),
        "memory",
        [(F32, (8, 64, 112, 112))],
    ),
    (
        "masked_softmax",
        masked_softmax,
        mask_for,
        "math",
        [(F32, (8, 12, 128, 128)), (BF16, (8, 12, 128, 128))],
    ),
    (
        "bias_gelu_residual_norm",
        bias_gelu_residual_norm,
        lambda s, d: (*operands(2)(s, d), *(random(s[-1:], d) for _ in range(3))),
        "math",
        [(F32, (128, 768)), (F32, (4096, 1024)), (BF16, (4096, 1024))],
    ),
    (
        "rotary",
        rotary,
        rotary_inputs,
        "memory",
        [(F32, (4, 32, 512, 64)), (BF16, (4, 32, 512, 64))],
    ),
    ("adam_step", adam_step, adam_inputs, "memory", [(F32, (1 << 22,)), (F32, L2)]),
    ("integer_hash", integer_hash, operands(2), "math", [(I32, CACHE), (I64, CACHE)]),
    ("image_to_float", image_to_float, operands(1), "memory", [(U8, (8, 3, 512, 512))]),
    (
        "dequantize",
        dequantize,
        lambda s, d: (random(s, d), torch.rand(s[0])),
        "memory",
        [(I8, (4096, 4096))],
    ),
]


def cases(*, quick: bool = False) -> Iterator[Case]:
    for name, function, inputs, bound, sizes in TABLE:
        for dtype, shape in sizes[:1] if quick else sizes:
            yield Case(name, dtype, shape, function, inputs, bound)


def case_named(label: str) -> Case:
    return next(case for case in cases() if case.label == label)
