"""Why a kernel family refuses a call of its kind, as `ingot.explain` reports it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import ingot
from ingot.explain.report import CallRow
from tests.plans import plan_of

Call = Callable[..., Any]
Case = tuple[Call, tuple[Any, ...], str]
aten = torch.ops.aten
HALF = torch.bfloat16
ONLY = "only for float32 and float64"
INPUT = "the second operand is an input that may change, not a frozen weight"


@pytest.fixture(autouse=True)
def _separate_compilations() -> Iterator[None]:
    """Sizes are static: no case is compiled again for the sizes of another."""
    with torch._dynamo.config.patch(automatic_dynamic_shapes=False, allow_rnn=True):
        yield


def calls_of(f: Call, args: tuple[Any, ...]) -> list[CallRow]:
    with torch.no_grad():
        report = ingot.explain(f, args)
    return [row for row in report.call_rows if row.kind != "view"]


def assert_refused(op: str, case: Case) -> None:
    f, args, reason = case
    rows = [row for row in calls_of(f, args) if op in row.op]
    assert [(row.kind != "native", row.reason) for row in rows] == [(True, reason)]


class Weighted(nn.Module):
    """`call` of the arguments and a weight of the module."""

    def __init__(self, call: Call, weight: Tensor):
        super().__init__()
        self.call = call
        self.register_buffer("weight", weight)

    def forward(self, *args: Tensor) -> Any:
        return self.call(*args, self.weight)


def with_weight(call: Call, *shape: int, dtype: torch.dtype = torch.float32) -> Weighted:
    return Weighted(call, torch.ones(shape, dtype=dtype))


def x(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.ones(shape, dtype=dtype)


FEW = "more than 16777216 multiplications: BLAS is faster"

MATMULS: list[Case] = [
    (with_weight(torch.mm, 8, 8, dtype=torch.int64), (x(4, 8, dtype=torch.int64),),
     f"no kernel for int64, {ONLY}"),
    (with_weight(torch.mm, 8, 8, dtype=torch.complex64), (x(4, 8, dtype=torch.complex64),),
     f"no kernel for complex64, {ONLY}"),
    (torch.mm, (x(512, 512), x(512, 512)), f"{INPUT}; {FEW}"),
    (lambda a, b: a @ (b + 1).contiguous(), (x(512, 512), x(512, 512)),
     f"the second operand is computed in every call, so that packing it does not pay; {FEW}"),
    (with_weight(lambda a, w: a.t() @ w, 8, 8), (x(8, 4),),
     "the rows of the first operand are not contiguous"),
    (with_weight(torch.mm, 8, 0), (x(4, 8),), "the weight is empty; an operand is empty"),
]  # fmt: skip


@pytest.mark.parametrize("case", MATMULS, ids=lambda case: case[2])
def test_matmul(case: Case) -> None:
    assert_refused("mm", case)


def test_scaled_matmul() -> None:
    """A float matmul is scaled by loops."""
    whole = torch.int64
    call = with_weight(lambda b, a, w: torch.addmm(b, a, w, alpha=2), 8, 8, dtype=whole)
    args = (x(8, dtype=whole), x(4, 8, dtype=whole))
    assert_refused("addmm", (call, args, "alpha or beta is not 1"))


BATCHES: list[Case] = [
    (torch.bmm, (x(2, 4, 8, dtype=torch.int32), x(2, 8, 4, dtype=torch.int32)),
     f"no kernel for int32, {ONLY}"),
    (torch.bmm, (x(2, 300, 300), x(2, 300, 300)), FEW),
    (lambda a, b: torch.bmm(a.mT, b), (x(2, 8, 4), x(2, 8, 4)),
     "the rows of the first operand are not contiguous"),
    (torch.bmm, (x(2, 0, 8), x(2, 8, 4)), "an operand is empty"),
]  # fmt: skip


@pytest.mark.parametrize("case", BATCHES, ids=lambda case: case[2])
def test_batched_matmul(case: Case) -> None:
    assert_refused("bmm", case)


CONVOLUTIONS: list[Case] = [
    (with_weight(F.conv2d, 8, 8, 3, 3, dtype=HALF), (x(1, 8, 8, 8, dtype=HALF),),
     f"no kernel for bfloat16, {ONLY}"),
    (F.conv2d, (x(1, 8, 8, 8), x(8, 8, 3, 3)), "its weight is not frozen"),
    (with_weight(lambda i, w: F.conv2d(i, w, groups=4), 8, 2, 3, 3), (x(1, 8, 8, 8),),
     "groups of 2 output channels, fewer than 8, are too narrow for a matmul"),
    (with_weight(lambda i, w: F.conv_transpose2d(i, w, stride=2), 8, 8, 3, 3), (x(1, 8, 8, 8),),
     "a transposed convolution that equals no plain one"),
    (with_weight(lambda i, b, w: F.conv2d(i, w, b), 8, 8, 3, 3), (x(1, 8, 8, 8), x(8)),
     "its bias is not frozen"),
]  # fmt: skip


@pytest.mark.parametrize("case", CONVOLUTIONS, ids=lambda case: case[2])
def test_convolution(case: Case) -> None:
    assert_refused("convolution", case)


def heads(width: int = 16, dtype: torch.dtype = torch.float32) -> Tensor:
    return x(1, 2, 8, width, dtype=dtype)


def attention(q: Tensor, k: Tensor, v: Tensor, **others: Any) -> Tensor:
    """PyTorch's op for CPUs, which scaled_dot_product_attention calls."""
    return aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, **others)[0]  # type: ignore[no-any-return]


ATTENTION: list[Case] = [
    (attention, (heads(7),) * 3, "no kernel for heads of width 7"),
    (attention, (heads(520),) * 3, "no kernel for heads of width 520"),
    (lambda q: attention(q.mT, q.mT, q.mT), (x(1, 2, 16, 8),),
     "the rows of query, key or value are not contiguous"),
    (lambda q: aten._scaled_dot_product_flash_attention_for_cpu(q, q, q), (heads(),),
     "its log-sum-exp is read, as a backward does"),
]  # fmt: skip


@pytest.mark.parametrize("case", ATTENTION, ids=lambda case: case[2])
def test_attention(case: Case) -> None:
    assert_refused("attention", case)


def layer(dtype: torch.dtype = torch.float32, **others: Any) -> tuple[Call, tuple[Tensor, ...]]:
    """A call of oneDNN's op for an LSTM layer."""
    given = {
        "reverse": False, "batch_sizes": [], "mode": 2, "hidden_size": 4, "num_layers": 1,
        "has_biases": True, "bidirectional": False, "batch_first": False, "train": False,
    } | others  # fmt: skip

    def run(*tensors: Tensor) -> Tensor:
        return aten.mkldnn_rnn_layer(*tensors, **given)[0]  # type: ignore[no-any-return]

    shapes = [(3, 2, 4), (16, 4), (16, 4), (16,), (16,), (1, 2, 4), (1, 2, 4)]
    return run, tuple(torch.ones(shape, dtype=dtype) for shape in shapes)


LAYERS: list[Case] = [
    (*layer(train=True), "it is in training mode"),
    (*layer(dtype=torch.bfloat16), f"no kernel for bfloat16, {ONLY}"),
    (*layer(), "its recurrent weight is not frozen"),
]


@pytest.mark.parametrize("case", LAYERS, ids=lambda case: case[2])
def test_recurrent(case: Case) -> None:
    op = "lstm" if "weight" in case[2] else "mkldnn_rnn_layer"
    assert_refused(op, case)


def copied(given: Tensor, source: Tensor) -> Tensor:
    return given.index_copy(0, torch.tensor([1]), source)


COPIES: list[Case] = [
    (copied, (x(4, 3, dtype=torch.complex128), x(1, 3, dtype=torch.complex128)),
     "no kernel for elements of 16 bytes"),
    (copied, (x(2, 1, 1, 1, 1, 1), x(1, 1, 1, 1, 1, 1)),
     "a tensor of 6 dimensions; the kernel takes 1 to 5"),
    (copied, (x(4), torch.tensor(1.0)), "the source has 0 dimensions, the result 1"),
]  # fmt: skip


@pytest.mark.parametrize("case", COPIES, ids=lambda case: case[2])
def test_index_copy(case: Case) -> None:
    assert_refused("index_copy", case)


def routed(x: Tensor, **others: Any) -> Any:
    return tuple(torch.topk(torch.softmax(x, -1), 2, **others))


def of_shared_softmax(x: Tensor) -> Any:
    shares = torch.softmax(x, -1)
    return *torch.topk(shares, 2), shares


ROUTERS: list[Case] = [
    (lambda x: routed(x)[0], (torch.randn(4, 8),), "only one of weights and indices is used"),
    (lambda x: routed(x, largest=False), (torch.randn(4, 8),),
     "it is not the sorted list of the largest scores"),
    (lambda x: routed(x, dim=0), (torch.randn(4, 8),), "it is not along the last dimension"),
    (of_shared_softmax, (torch.randn(4, 8),), "its softmax is read by others"),
    (lambda x: tuple(torch.topk(x, 2)), (torch.randn(4, 8),), "no rule for this op"),
]  # fmt: skip


@pytest.mark.parametrize("case", ROUTERS, ids=lambda case: case[2])
def test_topk_softmax(case: Case) -> None:
    """A top-k without a softmax is not of the family's kind."""
    assert_refused("topk", case)


NATIVE: dict[str, tuple[Call, tuple[Any, ...]]] = {
    "matmul": (with_weight(torch.mm, 8, 8), (x(4, 8),)),
    "batched_matmul": (torch.mm, (x(4, 8), x(8, 8))),
    "convolution": (with_weight(F.conv2d, 8, 8, 3, 3), (x(1, 8, 8, 8),)),
    "attention": (attention, (heads(),) * 3),
    "index_copy": (copied, (x(4, 3), x(1, 3))),
    "topk_softmax": (routed, (torch.randn(4, 8),)),
    "lstm": (nn.LSTM(8, 8).eval(), (torch.randn(3, 2, 8),)),
}


@pytest.mark.parametrize("family", NATIVE)
def test_native_calls_have_no_reason(family: str) -> None:
    f, args = NATIVE[family]
    rows = calls_of(f, args)
    assert rows and all((row.kind, row.reason) == ("native", "") for row in rows)
    with torch.no_grad():
        exe = ingot.compile(f, args)
    assert family in {kernel.family for kernel in plan_of(exe.compiled).kernels}


def test_weights_that_are_trained() -> None:
    """Their packed copies would be out of date after every step of the optimizer."""
    linear = nn.Linear(512, 512, bias=False)

    def step(x: Tensor) -> None:
        linear(x).sum().backward()

    report = ingot.explain(step, (torch.randn(512, 512),))
    rows = {(row.op, row.reason) for row in report.call_rows if row.kind == "library"}
    transposed = "the rows of the first operand are not contiguous"  # of the weight's gradient
    assert rows == {("mm", f"{INPUT}; {FEW}"), ("mm", f"{INPUT}; {transposed}")}


def test_the_report_gives_the_reason_below_the_call() -> None:
    f, args, reason = MATMULS[0]
    with torch.no_grad():
        report = ingot.explain(f, args)
    lines = [line.strip() for line in str(report).splitlines()]
    at = lines.index("Library calls")
    assert lines[at + 2].endswith("mm")
    assert lines[at + 3] == f"because: {reason}"
