"""Built-in variants: the compiler's own choices between implementations of native code, declared
like a user's dispatched ops. Each choice has its variants, an op that all of them compute, and the
size that decides. A candidate is that op compiled with one variant, so measuring, tuning files,
ranges and reports are those of any dispatched op.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode

from ingot.codegen.jit.lazy import Once
from ingot.dispatch.candidates import Candidate
from ingot.dispatch.declare import Dispatch
from ingot.dispatch.ranges import Range, RangeTable, Row

BUILT_IN = "built in"
Form = tuple[torch.dtype, tuple[int, ...], tuple[int, ...]]
"""Dtype, sizes and strides of an argument."""


@dataclass(frozen=True)
class Choice:
    """A choice between variants that compute the same result."""

    name: str
    variants: tuple[str, ...]
    reference: Callable[..., Any]
    on: tuple[str, int]
    """The size that decides."""
    bounds: tuple[int, ...]
    """Upper bounds of the measured ranges."""
    code: tuple[str, ...]
    """The modules under measurement; a result holds for their source."""
    frozen: tuple[str, ...] = ()
    """Arguments that are weights."""

    @property
    def operation(self) -> Dispatch:
        return _operation(self)


@Once
def _operation(choice: Choice) -> Dispatch:
    made = Dispatch(
        choice.reference, choice.on, list(choice.bounds), span=(1, 1), budget=0.0, tolerance=None
    )
    made.candidates = {
        variant: Candidate(variant, choice.reference, variants=f"{choice.name}={variant}")
        for variant in choice.variants
    }
    made.frozen = choice.frozen
    made.code = tuple(inspect.getsource(importlib.import_module(name)) for name in choice.code)
    return made


def up_to(bound: int, first: str, second: str) -> RangeTable:
    """The first variant for sizes up to `bound`, the second above."""
    return RangeTable(
        (
            Row((Range(0, bound),), first, why=BUILT_IN),
            Row((Range(bound + 1, None),), second, why=BUILT_IN),
        )
    )


def always(variant: str, why: str = BUILT_IN) -> RangeTable:
    return RangeTable((Row((Range(0, None),), variant, why=why),))


def tensors(**forms: Form) -> Mapping[str, Any]:
    """Fake arguments of the given dtypes, sizes and strides."""
    return _tensors(tuple(forms.items()))


@cache
def _tensors(forms: tuple[tuple[str, Form], ...]) -> Mapping[str, Any]:
    with FakeTensorMode():
        return {
            name: torch.empty_strided(sizes, strides, dtype=dtype)
            for name, (dtype, sizes, strides) in forms
        }


# -- the choices -----------------------------------------------------------------------------------


def matmul(a: Tensor, w: Tensor) -> Tensor:
    return a @ w


def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return torch.nn.functional.scaled_dot_product_attention(q, k, v)


def reduction(x: Tensor) -> Tensor:
    return x.sum(1)


def kernel_threads(x: Tensor) -> Tensor:
    return x.exp()


def matmul_threads(a: Tensor, w: Tensor) -> Tensor:
    return a @ w


def attention_threads(q: Tensor, kv: Tensor) -> Tensor:
    return torch.nn.functional.scaled_dot_product_attention(q, kv, kv)


_MATMUL, _ATTENTION = (
    ("ingot.codegen.loops.gemm", "ingot.kernels.matmul.emit"),
    "ingot.kernels.attention.emit",
)
THREADS = ("serial", "parallel")
FORMER_CHOICES = {"product": "matmul", "product_threads": "matmul_threads"}
"""Deprecated names of choices, which the option `variants` still accepts."""
CHOICES = {
    choice.name: choice
    for choice in (
        Choice(
            "matmul", ("packed", "library"), matmul, ("a", 0), (1, 4, 16, 64, 256, 1024),
            (*_MATMUL, "ingot.kernels.matmul.blas"), ("w",),
        ),
        Choice(
            "attention", ("few", "many"), attention, ("q", 2), (1, 2, 4, 8, 16, 32), (_ATTENTION,)
        ),
        Choice(
            "reduction", ("whole", "split"), reduction, ("x", 1),
            (1 << 10, 1 << 12, 1 << 13, 1 << 14, 1 << 15, 1 << 16, 1 << 18),
            ("ingot.codegen.loops.split", "ingot.codegen.loops.rows"),
        ),
        Choice(
            "kernel_threads", THREADS, kernel_threads, ("x", 0),
            tuple(1 << k for k in range(8, 18)), ("ingot.codegen.loops.entry",),
        ),
        Choice(
            "matmul_threads", THREADS, matmul_threads, ("a", 0), (4, 8, 16, 32, 64, 128, 256),
            _MATMUL, ("w",),
        ),
        Choice(
            "attention_threads", THREADS, attention_threads, ("kv", 2),
            (8, 16, 32, 64, 128, 256, 512), (_ATTENTION,),
        ),
    )
}  # fmt: skip
