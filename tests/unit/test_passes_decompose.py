"""Each family of decompositions against eager and f64, in f32 and the half-precision types, with
NaN and infinities; and the op must really be decomposed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx

from ingot.passes.decompose import decomposition_table, from_pytorch
from ingot.passes.decompositions import decomposes, overload
from ingot.passes.decompositions.layouts import ITERATED
from tests.unit.tracing import as_list, assert_no_farther, trace, trace_training, with_gradients

DTYPES = (torch.float32, torch.bfloat16, torch.float16)


@dataclass(frozen=True)
class Family:
    name: str
    function: Callable[..., Any]
    gone: str
    """An op that must not remain in the graph."""
    shape: tuple[int, ...] = (4, 6, 5)
    trains: bool = True
    """Whether the backward is checked as well."""


def _weighted(function: Callable[..., Tensor], *sizes: int) -> Callable[[Tensor], Tensor]:
    """With non-trivial weights and biases in the dtype of the input."""

    def call(x: Tensor) -> Tensor:
        weight = torch.linspace(0.5, 1.5, sizes[-1], dtype=torch.float32).to(x.dtype)
        return function(x, weight, (weight - 1) / 2)

    return call


def _running(x: Tensor) -> tuple[Tensor, Tensor]:
    mean = torch.linspace(-1, 1, x.shape[1], dtype=torch.float32).to(x.dtype)
    return mean, mean.abs() + 0.5


def _classes(x: Tensor) -> Tensor:
    return torch.arange(x.shape[0]) * 2 % x.shape[1]


FAMILIES = [
    Family("mean", torch.mean, "mean"),
    Family("mean_dim", lambda x: x.mean((0, -1), keepdim=True), "mean"),
    Family("var", lambda x: x.var(1), "var"),
    Family("var_all", lambda x: x.var(correction=0), "var"),
    Family("std", lambda x: x.std(-1, keepdim=True), "std"),
    Family("var_mean", lambda x: torch.var_mean(x, 2), "var_mean", trains=False),
    Family("std_mean", lambda x: torch.std_mean(x, 2), "std_mean", trains=False),
    Family("softmax", lambda x: x.softmax(-1), "_softmax"),
    Family("softmax_inner", lambda x: x.softmax(1), "_softmax"),
    Family("log_softmax", lambda x: x.log_softmax(-1), "_log_softmax"),
    Family("logsumexp", lambda x: x.logsumexp(1), "logsumexp"),
    Family("layer_norm", lambda x: F.layer_norm(x, x.shape[1:]), "native_layer_norm"),
    Family(
        "layer_norm_weighted",
        _weighted(lambda x, w, b: F.layer_norm(x, (5,), w, b), 5),
        "native_layer_norm",
    ),
    Family(
        "group_norm", _weighted(lambda x, w, b: F.group_norm(x, 3, w, b), 6), "native_group_norm"
    ),
    Family("rms_norm", _weighted(lambda x, w, b: F.rms_norm(x, (5,), w), 5), "_fused_rms_norm"),
    Family("instance_norm", F.instance_norm, "_native_batch_norm_legit"),
    Family(
        "batch_norm_eval",
        _weighted(lambda x, w, b: F.batch_norm(x, *_running(x), w, b), 6),
        "_native_batch_norm_legit_no_training",
    ),
    Family(
        "batch_norm_train",
        _weighted(lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), 6),
        "_native_batch_norm_legit",
    ),
    Family("vector_norm", lambda x: torch.linalg.vector_norm(x, 2, 1), "linalg_vector_norm"),
    Family("vector_norm_3", lambda x: torch.linalg.vector_norm(x, 3, 1), "linalg_vector_norm"),
    Family(
        "vector_norm_inf",
        lambda x: torch.linalg.vector_norm(x, float("inf"), 1),
        "linalg_vector_norm",
    ),
    Family("aminmax", lambda x: torch.aminmax(x, dim=1), "aminmax", trains=False),
    Family("nansum", lambda x: x.nansum(1), "nansum"),
    Family("mse_loss", lambda x: F.mse_loss(x, x.flip(0)), "mse_loss"),
    Family("smooth_l1_loss", lambda x: F.smooth_l1_loss(x, x.flip(0)), "smooth_l1_loss"),
    Family("huber_loss", lambda x: F.huber_loss(x, x.flip(0)), "huber_loss"),
    Family(
        "bce_with_logits",
        lambda x: F.binary_cross_entropy_with_logits(x, (x.flip(0) > 0).to(x.dtype)),
        "binary_cross_entropy_with_logits",
    ),
    Family(
        "bce",
        lambda x: F.binary_cross_entropy(x.sigmoid(), (x.flip(0) > 0).to(x.dtype)),
        "binary_cross_entropy_backward",
    ),
    Family("cross_entropy", lambda x: F.cross_entropy(x, _classes(x)), "nll_loss_backward", (7, 9)),
    Family(
        "cross_entropy_ignored",
        lambda x: F.cross_entropy(x, _classes(x), ignore_index=4, reduction="sum"),
        "nll_loss_backward",
        (7, 9),
    ),
    Family(
        "cross_entropy_rows",
        lambda x: F.cross_entropy(x, _classes(x), ignore_index=4, reduction="none"),
        "nll_loss_backward",
        (7, 9),
    ),
    Family(
        "cross_entropy_weighted",
        _weighted(lambda x, w, b: F.cross_entropy(x, _classes(x), w, label_smoothing=0.1), 9),
        "nll_loss_backward",
        (7, 9),
    ),
    Family("glu", lambda x: F.glu(x, 1), "glu"),
    Family("split", lambda x: torch.cat(x.split([1, 3, 2], 1)[::-1], 1), "split_with_sizes"),
    Family("chunk", lambda x: torch.cat(x.chunk(4, 1)[::-1], 1), "split"),
    Family("unbind", lambda x: torch.stack(x.unbind(1)[::-1], -1), "unbind"),
    Family("select", lambda x: x[2, 1:4] * 2, "select_backward"),
    Family("slice", lambda x: x[:, -3:, :4] * 2, "slice_backward"),
    Family("tril", lambda x: x.tril(1) + x.triu(2), "tril"),
    Family("reflection_pad", lambda x: F.pad(x, (2, 1), mode="reflect"), "reflection_pad1d"),
    Family("replication_pad", lambda x: F.pad(x, (2, 1), mode="replicate"), "replication_pad1d"),
    Family("sgn", torch.sgn, "_efficientzerotensor"),
    Family("logsigmoid", F.logsigmoid, "log_sigmoid_forward"),
    Family("pixel_shuffle", lambda x: F.pixel_shuffle(x, 2), "pixel_shuffle", (2, 8, 3, 3)),
]


def _values(family: Family, dtype: torch.dtype) -> Tensor:
    x = torch.randn(family.shape, generator=torch.Generator().manual_seed(7)) * 3
    return x.to(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: str(dtype).removeprefix("torch."))
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_decomposition_is_as_exact_as_eager(family: Family, dtype: torch.dtype) -> None:
    x = _values(family, dtype)
    traced = trace(family.function, x)
    assert family.gone not in traced.ops()
    eager, truth = as_list(family.function(x)), as_list(family.function(x.double()))
    for got, wanted, exact in zip(traced.results, eager, truth, strict=True):
        assert_no_farther(got, wanted, exact)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_special_values_come_out_as_in_eager(family: Family) -> None:
    x = _values(family, torch.float32)
    flat = x.view(-1)
    flat[3], flat[20], flat[21] = float("nan"), float("inf"), -float("inf")
    if family.name == "bce":  # eager refuses NaN
        x = x.nan_to_num()
    traced = trace(family.function, x)
    for got, wanted in zip(traced.results, as_list(family.function(x)), strict=True):
        torch.testing.assert_close(got, wanted, equal_nan=True)


@pytest.mark.parametrize("dtype", (torch.float32, torch.bfloat16), ids=("float32", "bfloat16"))
@pytest.mark.parametrize(
    "family", [f for f in FAMILIES if f.trains], ids=lambda family: family.name
)
def test_gradients_are_as_exact_as_eager(family: Family, dtype: torch.dtype) -> None:
    x = _values(family, dtype).requires_grad_()
    traced = trace_training(family.function, x)
    assert family.gone not in traced.ops()
    eager = with_gradients(family.function, x)
    truth = with_gradients(family.function, x.detach().double().requires_grad_())
    for got, wanted, exact in zip(traced.results, eager, truth, strict=True):
        assert_no_farther(got, wanted, exact, summand=0.1)


@pytest.mark.parametrize(
    "name", ["softmax", "log_softmax", "mean_dim", "var", "layer_norm", "split"]
)
def test_empty_tensors(name: str) -> None:
    family = next(f for f in FAMILIES if f.name == name)
    x = torch.zeros(0, 6, 5)
    (got,) = trace(family.function, x).results
    torch.testing.assert_close(got, family.function(x), equal_nan=True)


def test_sizes_may_be_symbols() -> None:
    def function(x: Tensor) -> tuple[Tensor, ...]:
        return x.softmax(-1), x.var(0), F.layer_norm(x, (5,)), torch.stack(x.split([2, 3], -1)[:1])

    x = torch.randn(4, 5)
    traced = trace(function, x, dynamic=True)
    for got, wanted in zip(traced.results, function(x), strict=True):
        torch.testing.assert_close(got, wanted)
    assert not {"_softmax", "var", "native_layer_norm", "split_with_sizes"} & traced.ops()


def test_cat_promotes_and_drops_empty_parts() -> None:
    parts = (torch.ones(2, 3), torch.tensor([]), torch.ones(1, 3, dtype=torch.int64))
    traced = trace(lambda *xs: torch.cat(xs), *parts)
    assert torch.equal(traced.results[0], torch.cat(parts))
    (call,) = [n for n in traced.graphs[0].graph.nodes if n.target is torch.ops.aten.cat.default]
    assert len({part.meta["val"].dtype for part in call.args[0]}) == 1
    assert len(call.args[0]) == 2


def test_writes_to_slices_become_cat_and_pad() -> None:
    def function(x: Tensor) -> Tensor:
        x = x.clone()
        x[:, 1:3] = 7
        x[1] = 2
        return x

    x = torch.randn(3, 5)
    traced = trace(function, x)
    assert torch.equal(traced.results[0], function(x))
    assert not {"slice_scatter", "select_scatter", "copy"} & traced.ops()


def test_foreach_ops_become_plain_ones() -> None:
    def function(a: Tensor, b: Tensor) -> list[Tensor]:
        sums = torch._foreach_add([a, b], [b, a], alpha=2)
        scaled = torch._foreach_mul(sums, [2.0, 3.0])
        return [
            *torch._foreach_addcdiv(scaled, [a, b], [b, a], 0.5),
            *torch._foreach_maximum(sums, 1),
        ]

    args = torch.rand(3), torch.rand(3) + 1
    traced = trace(function, *args)
    assert not any(name.startswith("_foreach") for name in traced.ops())
    for got, wanted in zip(traced.results, function(*args), strict=True):
        assert torch.equal(got, wanted)


def test_random_numbers_are_eagers() -> None:
    def function(x: Tensor) -> tuple[Tensor, ...]:
        return F.dropout(x, 0.4), torch.rand_like(x), torch.bernoulli(x.abs().clamp(0, 1))

    x = torch.randn(50)
    torch.manual_seed(3)
    wanted = function(x)
    torch.manual_seed(3)
    for got, expected in zip(trace(function, x).results, wanted, strict=True):
        assert torch.equal(got, expected)


def test_every_name_from_pytorch_is_in_the_table() -> None:
    in_table = {op._schema.name.removeprefix("aten::") for op in decomposition_table()}
    missing = [name for names in from_pytorch.values() for name in names if name not in in_table]
    assert missing == []


def test_no_op_with_a_pointwise_rule_is_taken_apart() -> None:
    import ingot.ops.scalar  # noqa: F401
    from ingot.ops.rules import pointwise_rules

    # A copy is a clone of its source and a fill is a full: these rules are for tracers without
    # ingot.
    spelled_otherwise = {torch.ops.aten.copy.default, torch.ops.aten.fill.Scalar}
    turned = {overload(name) for name in ITERATED}
    # Decomposed only if the dtypes of its operands differ: see the next test.
    mixed = {torch.ops.aten.threshold_backward.default}
    allowed = spelled_otherwise | turned | mixed
    assert set(pointwise_rules) & set(decomposition_table()) - allowed == set()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64])
def test_threshold_backward_stays_one_op(dtype: torch.dtype) -> None:
    op = torch.ops.aten.threshold_backward.default
    grad, x = torch.randn(4, 5), (3 * torch.randn(4, 5)).to(dtype)
    graph = make_fx(lambda *a: op(*a, 0), decomposition_table=decomposition_table())(grad, x)
    assert [node.target for node in graph.graph.nodes].count(op) == 1
    torch.testing.assert_close(graph(grad, x), op(grad, x, 0), rtol=0, atol=0)


@pytest.mark.parametrize("name", ITERATED)
def test_an_op_whose_operands_are_turned_stays_one(name: str) -> None:
    op, mode = overload(name), {"rounding_mode": "floor"} if name == "div.Tensor_mode" else {}
    x, y = torch.randn(4, 5), torch.rand(5, 4).t()
    graph = make_fx(lambda x, y: op(x, y, **mode), decomposition_table=decomposition_table())(x, y)
    assert [node.target for node in graph.graph.nodes].count(op) == 1
    torch.testing.assert_close(graph(x, y), op(x, y, **mode))
    assert graph(x, y).stride() == op(x, y, **mode).stride()


def test_registering_a_decomposition_twice_raises() -> None:
    decomposition_table()
    with pytest.raises(ValueError, match="registered already"):
        decomposes("mean")(lambda x: x)
