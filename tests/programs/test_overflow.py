"""Rows whose squares overflow or underflow, and rows with infinities: NaN and infinity as in eager
or as in f64, but never a different finite value."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import ingot

SCALES = (1e38, 1e30, 3e19, 1e19, 1e15, 1.0, 1e-15, 1e-19, 1e-22, 1e-30, 1e-38, 1e-42)


def rows(length: int, dtype: torch.dtype) -> Tensor:
    spread = torch.randn(length, dtype=torch.float64).clamp(-3, 3)
    found = [(spread + shift) * scale for scale in SCALES for shift in (0, 3)]
    for places, value in (([0], math.inf), ([1], -math.inf), ([2], math.nan), ([0], 1e30),
                          ([0], 3e38)):  # fmt: skip
        odd = spread.clone()
        odd[places] = value
        found.append(odd)
    found += [torch.full_like(spread, value) for value in (0.0, 1e30, math.inf, -math.inf)]
    largest = torch.finfo(dtype).max
    return torch.stack([r.where(r.isinf(), r.clamp(-largest, largest)) for r in found]).to(dtype)


NORMS: dict[str, Callable[[Tensor], Tensor]] = {
    "layer_norm": lambda x: F.layer_norm(x, x.shape[-1:]),
    "its mean": lambda x: torch.native_layer_norm(x, x.shape[-1:], None, None, 1e-5)[1],
    "its root": lambda x: torch.native_layer_norm(x, x.shape[-1:], None, None, 1e-5)[2],
    "with weights": lambda x: F.layer_norm(x, x.shape[-1:], x.new_ones(x.shape[-1]),
                                           x.new_ones(x.shape[-1])),
    "group_norm": lambda x: F.group_norm(x.reshape(len(x), 4, -1), 1),
    "rms_norm": lambda x: F.rms_norm(x, x.shape[-1:]),
    "normalize": lambda x: F.normalize(x, dim=-1),
    "vector_norm": lambda x: torch.linalg.vector_norm(x, dim=-1),
    "softmax": lambda x: x.softmax(-1),
    "log_softmax": lambda x: x.log_softmax(-1),
    "logsumexp": lambda x: x.logsumexp(-1),
    "cosine_similarity": lambda x: F.cosine_similarity(x, x.flip(-1), dim=-1),
    "hypot": lambda x: torch.hypot(x, x.flip(-1)),
    "std": lambda x: x.std(-1),
    "batch_norm": lambda x: F.batch_norm(x.t(), None, None, training=True),
    "batch_norm of images": lambda x: F.batch_norm(x[None], None, None, training=True),
    "instance_norm": lambda x: F.instance_norm(x[None]),
    "var": lambda x: x.var(-1),
    "var_mean": lambda x: torch.var_mean(x, -1)[1],
    "var of columns": lambda x: x.t().contiguous().var(0),
}  # fmt: skip


def is_wrong(actual: Tensor, eager: Tensor, truth: Tensor, step: float) -> Tensor:
    """Finite elements that differ from both eager and the truth by more than `step` times the
    largest."""
    actual, eager = actual.double(), eager.double()
    scale = truth.abs().where(truth.isfinite(), 0.0)
    scale = torch.maximum(scale, scale.amax(-1, keepdim=True)) if scale.dim() > 1 else scale
    near = (actual - truth).abs() <= step * scale + 1e-43
    near |= (actual - eager).abs() <= step * scale + 2 * (eager - truth).abs() + 1e-43
    return actual.isfinite() & ~near


@torch.no_grad()
@pytest.mark.parametrize("length", [pytest.param(40, marks=pytest.mark.slow), 512])
@pytest.mark.parametrize("name", NORMS)
@pytest.mark.filterwarnings("ignore:var.*degrees of freedom")
def test_no_other_finite_number(name: str, length: int) -> None:
    function, x = NORMS[name], rows(length, torch.float32)
    # Sums that cancel to the last bit depend on the order of summation.
    compared = x if name != "its mean" else x[:-5]
    actual = ingot.compile(function, (compared,))(compared)
    eager, truth = function(compared), function(compared.double())
    wrong = is_wrong(actual, eager, truth, 1e-4)
    assert not wrong.any(), (wrong.nonzero()[:3], actual[wrong][:3], eager[wrong][:3])


@torch.no_grad()
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("name", ["layer_norm", "group_norm", "batch_norm"])
def test_half_types(name: str, dtype: torch.dtype) -> None:
    function, x = NORMS[name], rows(64, dtype)
    actual = ingot.compile(function, (x,))(x)
    wrong = is_wrong(actual, function(x), function(x.double()), 8 * torch.finfo(dtype).eps)
    assert not wrong.any(), wrong.nonzero()[:3]


@torch.no_grad()
@pytest.mark.parametrize("name", ["layer_norm", "with weights"])
def test_eagers_nans(name: str) -> None:
    """NaN wherever eager has NaN."""
    x = torch.randn(6, 512)
    x[1] *= 1e30
    x[2, 5], x[3, 7] = math.inf, math.nan
    x[4] = x[4] * 1e25 + 1e27
    actual, eager = ingot.compile(NORMS[name], (x,))(x), NORMS[name](x)
    torch.testing.assert_close(actual, eager, equal_nan=True)


@torch.no_grad()
def test_threads_that_share_a_row() -> None:
    x = torch.randn(2, 1 << 18) * torch.tensor([[1.0], [1e30]])
    norm = NORMS["layer_norm"]
    torch.testing.assert_close(ingot.compile(norm, (x,))(x), norm(x), equal_nan=True)


VARIANCES: dict[str, Callable[[Tensor], Tensor]] = {
    "rows": lambda x: x.var(-1),
    "rows, all elements": lambda x: x.var(-1, correction=0),
    "rows, float correction": lambda x: x.var(-1, correction=2.5),
    "columns": lambda x: x.var(0),
    "everything": lambda x: x.var(),
    "var_mean": lambda x: torch.var_mean(x, -1)[0],
    "std": lambda x: x.std(-1),
    "beside a norm": lambda x: (
        x.var(-1, correction=0) * F.layer_norm(x, x.shape[-1:])[..., 0].sign()
    ),
    "vector_norm": lambda x: torch.linalg.vector_norm(x, dim=-1),
    "vector_norm of columns": lambda x: torch.linalg.vector_norm(x, dim=0),
    "rms_norm": lambda x: F.rms_norm(x, x.shape[-1:]),
}


@torch.no_grad()
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64], ids=str)
@pytest.mark.parametrize("name", VARIANCES)
def test_results_that_fit_though_the_sum_of_squares_does_not(name: str, dtype: torch.dtype) -> None:
    """No farther from f64 than eager: at 1e19 a variance is 1e38, and the sum is infinite."""
    if name == "beside a norm" and dtype is not torch.float64:
        pytest.skip("eager's norm is 0 or NaN there")
    function, eps = VARIANCES[name], torch.finfo(dtype).eps
    for shape in ((5, 24), (16, 512)):
        plain = torch.randn(shape, dtype=torch.float64)
        rows = plain * 10.0 ** torch.tensor([-25.0, 0, 19, 18, 30]).repeat(4)[: shape[0], None]
        inputs = [rows, plain * 1e19, (plain + 3) * 3e18, plain * 1e30, plain * 1e-25]
        program = ingot.compile(function, (plain.to(dtype),))
        for x in (each.to(dtype) for each in inputs):
            actual, eager = program(x).double(), function(x).double()
            truth = function(x.double())
            assert torch.equal(actual.isfinite(), eager.isfinite())
            own, eagers = ((found - truth).abs() / truth.abs() for found in (actual, eager))
            # In f64 eager is the truth, and has rounding errors of its own.
            enough = own <= 2 * eagers + 16 * eps + 1e-12
            assert (enough | ~eager.isfinite()).all()


@torch.no_grad()
@pytest.mark.parametrize("shape", [(2, 1 << 18), (1 << 14, 3)], ids=str)
def test_variances_of_threads_that_share_work(shape: tuple[int, int]) -> None:
    x = torch.randn(shape) * 1e19
    x[0] *= 1e-19
    for function in (VARIANCES["rows"], VARIANCES["columns"], VARIANCES["everything"]):
        torch.testing.assert_close(ingot.compile(function, (x,))(x), function(x), equal_nan=True)


@torch.no_grad()
def test_variances_of_dynamic_sizes() -> None:
    sizes = ({0: torch.export.Dim.AUTO, 1: torch.export.Dim.AUTO},)
    program = ingot.compile(VARIANCES["rows"], (torch.randn(4, 40),), dynamic_shapes=sizes)
    for shape in ((4, 40), (7, 300), (3, 5)):
        x = torch.randn(shape) * torch.tensor(1e19)
        torch.testing.assert_close(program(x), x.var(-1))


@torch.no_grad()
@pytest.mark.parametrize("scale", [1.0, 2.0**63])
def test_programs_that_widen_their_distances_themselves(scale: float) -> None:
    """Their sums are in f64 from the start: f32 would leave half of the digits."""

    def rows(x: Tensor) -> Tensor:
        return (x - x.mean(-1, keepdim=True)).double().square().sum(-1)

    def columns(x: Tensor) -> Tensor:
        return ((x - x.mean(0, keepdim=True)).double() ** 2).mean(0)

    x = torch.randint(-1000, 1000, (32, 512)) * scale  # the distances are exact
    for function in (rows, columns):
        actual = ingot.compile(function, (x,))(x)
        torch.testing.assert_close(actual, function(x), rtol=1e-14, atol=0)
