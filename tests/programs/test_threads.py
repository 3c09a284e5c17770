"""Threads: concurrent calls of one compiled function, and PyTorch's number of threads."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def network(x: Tensor, w: Tensor) -> tuple[Tensor, ...]:
    """Pointwise ops, row-wise, full and column reductions, a matmul and a softmax."""
    y = F.layer_norm(x, (x.size(-1),)).tanh()
    z = F.gelu(y @ w)
    return z.softmax(-1), z.sum(), z.sum(0), z.mean(-1), z.var(), z.amax(0), z.argmax(-1)


def test_one_function_many_threads() -> None:
    compiled = torch.compile(network, backend="ingot", options={"strict": True})
    w = torch.randn(24, 40)
    inputs = [torch.randn(33, 24) for _ in range(24)]
    with torch.no_grad():
        compiled(inputs[0], w)
        expected = [compiled(x, w) for x in inputs]

    def call(i: int) -> bool:
        with torch.no_grad():
            results = [compiled(inputs[i], w) for _ in range(10)]
        return all(
            torch.equal(g, e)
            for result in results
            for g, e in zip(result, expected[i], strict=True)
        )

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(call, range(len(inputs))))


def test_threads_that_compile_at_once() -> None:
    barrier = threading.Barrier(4)

    def call(i: int) -> bool:
        def function(x: Tensor) -> Tensor:
            return (x * i).sin() + x.sum(-1, keepdim=True)

        compiled = torch.compile(function, backend="ingot", options={"strict": True})
        x = torch.randn(5, 7)
        barrier.wait()
        return torch.allclose(compiled(x), function(x), rtol=1e-4, atol=1e-5)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(call, range(4)))


def test_training_in_threads() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU(), torch.nn.LayerNorm(8))
    compiled = torch.compile(model, backend="ingot", options={"strict": True})
    xs = [torch.randn(4, 8, requires_grad=True) for _ in range(8)]
    compiled(xs[0]).sum().backward()
    wanted = [torch.autograd.grad(model(x).square().sum(), x)[0] for x in xs]

    def call(i: int) -> Tensor:
        return torch.autograd.grad(compiled(xs[i]).square().sum(), xs[i])[0]

    with ThreadPoolExecutor(4) as pool:
        for got, want in zip(pool.map(call, range(8)), wanted, strict=True):
            torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)


SHAPES = [(64, 512), (3, 100_000), (100_000, 3), (1, 300_000), (517, 129)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_results_do_not_depend_on_the_number_of_threads(shape: tuple[int, int]) -> None:
    def function(x: Tensor) -> tuple[Tensor, ...]:
        y = (x * 1.5).sin() + 0.1
        rows = y.sum(-1), y.mean(-1), y.var(-1), y.softmax(-1), y.logsumexp(-1)
        columns = y.sum(0), y.amax(0), y.var(0)
        return *rows, *columns, y.sum(), y.mean(), y.std(), y.argmax(), F.layer_norm(y, y.shape[1:])

    compiled = torch.compile(function, backend="ingot", options={"strict": True})
    x = torch.randn(shape)
    results = []
    for count in (1, 2, 1):
        torch.set_num_threads(count)
        results.append(compiled(x))
    for one, two, again in zip(*results, strict=True):
        torch.testing.assert_close(two, one, rtol=0, atol=0, equal_nan=True)
        torch.testing.assert_close(again, one, rtol=0, atol=0, equal_nan=True)


def busy_threads(call: object) -> int:
    """The number of threads in this process that used CPU time during the call."""
    import os
    from pathlib import Path

    def ticks() -> dict[str, int]:
        found = {}
        for task in Path(f"/proc/{os.getpid()}/task").iterdir():
            fields = (task / "stat").read_text().rsplit(")", 1)[1].split()
            found[task.name] = int(fields[11]) + int(fields[12])
        return found

    before = ticks()
    call()  # type: ignore[operator]
    return sum(after > before.get(task, 0) for task, after in ticks().items())


def test_number_of_threads_is_obeyed() -> None:
    compiled = torch.compile(
        lambda x: x.sin().exp().cos().tanh(), backend="ingot", options={"strict": True}
    )
    x = torch.randn(1_000_000)
    torch.set_num_threads(1)
    compiled(x)

    def run() -> None:
        for _ in range(20):
            compiled(x)

    run()
    assert busy_threads(run) == 1
