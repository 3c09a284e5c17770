"""Compares compiled results with eager's and reports which output differs, where and by how much.

Metadata (type, dtype, shape, strides, aliasing) must equal eager's. An element passes if it is
within torch.testing's tolerance of eager, or no farther than eager from the f64 truth (the same
program on inputs widened to f64), if there is one. NaN equals NaN; integers and booleans must be
equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

# Defaults of torch.testing.assert_close: (rtol, atol).
DTYPE_TOLERANCE: dict[torch.dtype, tuple[float, float]] = {
    torch.float16: (1e-3, 1e-5),
    torch.bfloat16: (1.6e-2, 1e-5),
    torch.float32: (1.3e-6, 1e-5),
    torch.float64: (1e-7, 1e-7),
    torch.complex32: (1e-3, 1e-5),
    torch.complex64: (1.3e-6, 1e-5),
    torch.complex128: (1e-7, 1e-7),
}
SLACK_IN_EPS = 4.0
WORST = 2.0


def comparable_strides(tensor: Tensor) -> tuple[int, ...]:
    """The observable strides: those of dimensions longer than one."""
    if tensor.numel() == 0:
        return ()
    return tuple(st for st, size in zip(tensor.stride(), tensor.shape, strict=True) if size > 1)


def assert_same_metadata(actual: Any, eager: Any, label: str, *, strides: bool = True) -> None:
    """Type, dtype, shape, layout and, unless disabled, strides equal eager's."""
    assert isinstance(actual, Tensor) == isinstance(eager, Tensor), (
        f"{label}: {type(actual).__name__} where eager gives {type(eager).__name__}"
    )
    if not isinstance(eager, Tensor):
        return
    for name in ("dtype", "shape", "layout"):
        got, want = getattr(actual, name), getattr(eager, name)
        assert got == want, f"{label}: {name} is {got}, eager's is {want}"
    if strides and eager.layout is torch.strided and not eager.is_nested:
        got, want = comparable_strides(actual), comparable_strides(eager)
        assert got == want, (
            f"{label}: strides are {actual.stride()}, eager's are {eager.stride()} "
            f"(shape {tuple(eager.shape)})"
        )


def as_real(tensor: Tensor) -> Tensor:
    """A dense f64 copy; a complex tensor gets a trailing dimension of size two."""
    tensor = tensor.detach()
    if tensor.is_quantized:
        tensor = tensor.dequantize()
    if tensor.layout is not torch.strided:
        tensor = tensor.to_dense()
    tensor = tensor.resolve_conj().resolve_neg()
    if tensor.is_complex():
        return torch.view_as_real(tensor.to(torch.complex128))
    return tensor.to(torch.float64)


def dense(tensor: Tensor) -> Tensor:
    return tensor.detach() if tensor.layout is torch.strided else tensor.detach().to_dense()


def close_to_eager(actual: Tensor, eager: Tensor, dtype: torch.dtype) -> Tensor:
    rtol, atol = DTYPE_TOLERANCE[dtype]
    return torch.isclose(actual, eager, rtol=rtol, atol=atol, equal_nan=True)


def no_farther_than_eager(
    actual: Tensor, eager: Tensor, truth: Tensor, dtype: torch.dtype, normwise: bool
) -> Tensor:
    """Elementwise: the error is at most eager's error at this element, or close to eager's worst
    error in the tensor. A correct infinity passes if eager has a NaN (its gelu of inf, with
    AVX-512).

    Rounding errors fall on other elements than in eager, so only the worst errors are comparable.
    With `normwise`, the slack is relative to the largest element: for chains of sums and matmuls.
    """
    magnitude = truth.abs()
    if normwise and truth.isfinite().any():
        magnitude = truth[truth.isfinite()].abs().max()
    slack = SLACK_IN_EPS * torch.finfo(dtype).eps * magnitude
    error = (actual - truth).abs()
    eager_error = (eager - truth).abs().nan_to_num(nan=torch.inf)
    known = truth.isfinite() & actual.isfinite()
    infinite = truth.isinf() & (actual == truth) & eager.isnan()
    scale = truth.abs().clamp_min(torch.finfo(torch.float64).tiny)
    finite = truth.isfinite() & eager.isfinite()
    if not finite.any():
        return infinite | (known & (error <= eager_error + slack))
    worst = eager_error[finite].max()
    worst_relative = (eager_error[finite] / scale[finite]).max()
    near_worst = (error <= WORST * worst) & (error / scale <= WORST * worst_relative)
    return infinite | (known & ((error <= eager_error + slack) | near_worst))


def assert_same_values(
    actual: Tensor,
    eager: Tensor,
    truth: Tensor | None,
    label: str,
    *,
    exact: bool = False,
    normwise: bool = False,
) -> None:
    """The values equal eager's within the tolerance stated in this module's docstring."""
    if eager.numel() == 0:
        return
    got, want = as_real(actual), as_real(eager)
    if exact or not (eager.is_floating_point() or eager.is_complex()):
        same = (got == want) | (got.isnan() & want.isnan())
        if eager.dtype in (torch.int64, torch.uint64):
            same = dense(actual) == dense(eager)
    else:
        same = close_to_eager(got, want, eager.dtype)
        if truth is not None and not bool(same.all()):
            same |= no_farther_than_eager(got, want, as_real(truth), eager.dtype, normwise)
    if bool(same.all()):
        return
    raise AssertionError(describe(got, want, truth, same, eager, label))


def describe(
    got: Tensor, want: Tensor, truth: Tensor | None, same: Tensor, eager: Tensor, label: str
) -> str:
    """The first few differing elements, with the truth."""
    wrong = (~same).nonzero()
    lines = [
        f"{label}: {len(wrong)} of {same.numel()} elements differ "
        f"({eager.dtype}, shape {tuple(eager.shape)})"
    ]
    for index in wrong[:5]:
        place = tuple(index.tolist())
        text = f"  at {place}: got {got[place].item()!r}, eager {want[place].item()!r}"
        if truth is not None:
            text += f", truth {as_real(truth)[place].item()!r}"
        lines.append(text)
    return "\n".join(lines)


def usable_truth(truth: Any, eager: Tensor) -> Tensor | None:
    """The truth is used only if it is wider than eager's result and has its shape."""
    if not isinstance(truth, Tensor) or truth.shape != eager.shape:
        return None
    if eager.is_complex():
        return truth if truth.dtype is torch.complex128 else None
    return truth if truth.dtype is torch.float64 else None


def assert_same_outputs(
    actual: Sequence[Any],
    eager: Sequence[Any],
    truth: Sequence[Any] | None = None,
    *,
    label: str,
    exact: bool = False,
    metadata_only: bool = False,
    strides: bool = True,
    normwise: bool = False,
) -> None:
    """Every output matches; `truth` is ignored if it is absent or of another length."""
    assert len(actual) == len(eager), (
        f"{label}: {len(actual)} results where eager gives {len(eager)}"
    )
    truths = truth if truth is not None and len(truth) == len(eager) else [None] * len(eager)
    for position, (got, want, true) in enumerate(zip(actual, eager, truths, strict=True)):
        name = f"{label}[{position}]"
        assert_same_metadata(got, want, name, strides=strides)
        if metadata_only:
            continue
        if isinstance(want, Tensor):
            assert_same_values(
                got, want, usable_truth(true, want), name, exact=exact, normwise=normwise
            )
        else:
            equal = got == want or (got != got and want != want)
            assert equal, f"{name}: {got!r}, eager gives {want!r}"


def alias_map(outputs: Sequence[Any], inputs: Sequence[Tensor]) -> list[int | None]:
    """For each output, the first input whose storage it shares."""
    owners: dict[int, int] = {}
    for position, tensor in enumerate(inputs):
        if tensor.layout is torch.strided and tensor.numel():
            owners.setdefault(tensor.untyped_storage()._cdata, position)
    return [
        owners.get(out.untyped_storage()._cdata)
        if isinstance(out, Tensor) and out.layout is torch.strided
        else None
        for out in outputs
    ]
