"""The top-k softmax of mixture-of-experts routers as one kernel. PyTorch does not define which of
equal scores top-k selects: then values are compared, and indices by their scores."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.export import Dim

import ingot
from ingot.plan.text import parse
from ingot.plan.verify import verify
from tests.plans import launches_of, plan_of

Router = Callable[[Tensor], tuple[Tensor, Tensor]]
OPTIONS: dict[str, Any] = {"tune": 0.0, "strict": True, "verify": True}


def over_all(k: int) -> Router:
    """As in Mixtral and Qwen-MoE."""

    def route(x: Tensor) -> tuple[Tensor, Tensor]:
        weights, experts = torch.topk(torch.softmax(x, -1), k, -1)
        return weights, experts

    return route


def over_k(k: int) -> Router:
    """As in GPT-OSS."""

    def route(x: Tensor) -> tuple[Tensor, Tensor]:
        scores, experts = torch.topk(x, k, -1)
        return torch.softmax(scores, -1), experts

    return route


ROUTERS = (over_all, over_k)


def compiled(route: Router, x: Tensor, launches: int = 1, **options: Any) -> ingot.Executable:
    exe = ingot.compile(route, (x,), options={**OPTIONS, **options})
    plan = plan_of(exe.compiled)
    assert len(launches_of(exe.compiled, "topk_softmax")) == launches
    verify(plan)
    assert parse(plan.as_text()) == plan
    return exe


def check(exe: Any, route: Router, x: Tensor) -> tuple[Tensor, Tensor]:
    (weights, experts), (expected, eager_experts) = exe(x), route(x)
    torch.testing.assert_close(weights, expected, equal_nan=True)
    assert (experts.shape, experts.dtype) == (eager_experts.shape, torch.int64)
    if experts.numel():
        assert experts.min() >= 0 and experts.max() < x.shape[-1]
        ordered = experts.sort(-1).values
        assert (ordered[..., 1:] != ordered[..., :-1]).all()
    taken, eager_taken = (x.gather(-1, each) for each in (experts, eager_experts))
    assert torch.equal(taken.nan_to_num(math.pi), eager_taken.nan_to_num(math.pi))
    return weights, experts


def distinct(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Scores whose differences are much larger than rounding errors."""
    n = shape[-1]
    rows = math.prod(shape[:-1])
    made = torch.stack([torch.randperm(n) for _ in range(rows)]) if rows else torch.empty(0, n)
    return (made.to(dtype) * (8 / n) - 4).reshape(shape)


@pytest.mark.parametrize("router", ROUTERS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("n", "k"), [(8, 2), (64, 8), (60, 4), (1, 1), (7, 1), (9, 9), (130, 64)])
def test_equals_eager(router: Callable[[int], Router], dtype: torch.dtype, n: int, k: int) -> None:
    x = distinct(33, n, dtype=dtype)
    route = router(k)
    exe = compiled(route, x)
    _, experts = check(exe, route, x)
    assert torch.equal(experts, route(x)[1])


@pytest.mark.parametrize("router", ROUTERS)
def test_layouts(router: Callable[[int], Router]) -> None:
    route = router(3)
    layouts = [
        distinct(16), distinct(16, 9).t(), distinct(40, 32)[::3, 1:27:2],
        distinct(1, 16).expand(5, -1), distinct(4, 6, 16), distinct(6, 4, 16).transpose(0, 1),
        distinct(2, 3, 4, 16), distinct(16, 4, 5).permute(2, 1, 0), distinct(100)[7:90],
    ]  # fmt: skip
    for x in layouts:
        check(compiled(route, x), route, x)


@pytest.mark.parametrize("router", ROUTERS)
@pytest.mark.parametrize("k", [1, 3, 8])
def test_special_values(router: Callable[[int], Router], k: int) -> None:
    """All rows of infinities, NaN, zeros and equal scores."""
    values = [0.0, -0.0, 1.0, math.inf, -math.inf, math.nan]
    rows = [list(row) for row in itertools.product(values, repeat=4)]
    x = torch.cat([torch.tensor(rows), torch.tensor(rows).flip(1)], 1)
    route = router(k)
    weights, experts = compiled(route, x)(x)
    expected, eager_experts = route(x)
    torch.testing.assert_close(weights, expected, equal_nan=True)
    # Compared by score: if the softmax is NaN throughout, eager's top-k may select any index.
    ordered = torch.topk(x, k).values
    torch.testing.assert_close(x.gather(1, experts), ordered, equal_nan=True, rtol=0, atol=0)
    assert experts.shape == eager_experts.shape


@pytest.mark.parametrize("router", ROUTERS)
def test_first_of_equal_scores(router: Callable[[int], Router]) -> None:
    x = torch.tensor([[1.0, 3.0, 3.0, 2.0, 3.0, 2.0]])
    _, experts = compiled(router(5), x)(x)
    assert experts.tolist() == [[1, 2, 4, 3, 5]]


@pytest.mark.parametrize("router", ROUTERS)
def test_far_apart(router: Callable[[int], Router]) -> None:
    """Weights that are zero or denormal, and sums that would overflow."""
    x = torch.tensor(
        [[0.0, -95.0, -104.0, -200.0], [3e38, 3e38, -3e38, 0.0], [88.0, 89.0, 90.0, 91.0]]
    )
    route = router(3)
    weights, _ = compiled(route, x)(x)
    torch.testing.assert_close(weights, route(x)[0])


@pytest.mark.parametrize("router", ROUTERS)
def test_any_batch(router: Callable[[int], Router]) -> None:
    route = router(2)
    shapes = {"x": {0: Dim("tokens", max=4096)}}
    x = distinct(5, 16)
    exe = ingot.compile(route, (x,), dynamic_shapes=shapes, options=OPTIONS)
    assert len(launches_of(exe.compiled, "topk_softmax")) == 1
    for rows in (0, 1, 2, 33, 4096):
        check(exe, route, distinct(rows, 16))


@pytest.mark.parametrize("router", ROUTERS)
def test_no_rows(router: Callable[[int], Router]) -> None:
    route, x = router(2), torch.empty(0, 16)
    check(ingot.compile(route, (x,), options=OPTIONS), route, x)


@pytest.mark.parametrize("dynamic", [False, True])
def test_backend(dynamic: bool) -> None:
    for router in ROUTERS:
        torch.compiler.reset()
        route = router(2)
        fast = torch.compile(route, backend="ingot", options=OPTIONS, dynamic=dynamic)
        for rows in (4, 7):
            check(fast, route, distinct(rows, 16))


def test_results_do_not_depend_on_threads() -> None:
    route, x = over_all(8), torch.randn(4000, 64)
    exe, threads = compiled(route, x), torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        alone = exe(x)
    finally:
        torch.set_num_threads(threads)
    assert all(map(torch.equal, alone, exe(x)))


def test_every_access_is_within_its_buffer() -> None:
    for router in ROUTERS:
        x = distinct(5, 19)
        check(compiled(router(4), x, checks="bounds"), router(4), x)


def test_a_router_is_one_kernel_between_fused_ones() -> None:
    """The other parts of a router: half-precision scores, normalised weights."""

    def route(x: Tensor) -> tuple[Tensor, Tensor]:
        weights, experts = torch.topk(torch.softmax(x, -1, dtype=torch.float32), 2, -1)
        return weights / weights.sum(-1, keepdim=True), experts

    x = distinct(6, 8).to(torch.bfloat16)
    check(compiled(route, x), route, x)


def test_what_the_kernel_does_not_compute() -> None:
    def with_scores(x: Tensor) -> tuple[Tensor, ...]:
        scores = torch.softmax(x, -1)
        return (*torch.topk(scores, 2), scores)

    def with_values(x: Tensor) -> tuple[Tensor, ...]:
        values, experts = torch.topk(x, 2)
        return torch.softmax(values, -1), experts, values

    others: list[Callable[[Tensor], tuple[Tensor, ...]]] = [
        with_scores,
        with_values,
        lambda x: tuple(torch.topk(torch.softmax(x, -1), 2, largest=False)),
        lambda x: tuple(torch.topk(torch.softmax(x, -1), 2, sorted=False)),
        lambda x: tuple(torch.topk(torch.softmax(x, -1), 2, dim=0)),
        lambda x: tuple(torch.topk(torch.softmax(x, 0), 2)),
        lambda x: tuple(torch.topk(torch.softmax(x, -1), 65)),
    ]
    x = distinct(70, 70) + torch.rand(70, 70) / 16
    for function in others:
        exe = compiled(function, x, launches=0)  # type: ignore[arg-type]
        for ours, eager in zip(exe(x), function(x), strict=True):
            torch.testing.assert_close(ours.sort(-1).values, eager.sort(-1).values)


def test_only_the_weights() -> None:
    x = distinct(6, 8)
    exe = compiled(lambda x: torch.topk(torch.softmax(x, -1), 2).values, x, launches=0)  # type: ignore[arg-type,return-value]
    torch.testing.assert_close(exe(x), torch.topk(torch.softmax(x, -1), 2).values)
