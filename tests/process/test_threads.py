"""Capture in several threads: one at a time, and invisible to threads that do other work."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import ingot
from tests.process.run import run_python


def test_four_threads_compile() -> None:
    run_python("-m", "tests.process.stress", "4", "5", timeout=400)


@pytest.mark.slow
def test_sixteen_threads_compile_and_call() -> None:
    run_python("-m", "tests.process.stress", "16", "120", timeout=580)


class Meeting(nn.Module):
    """A module that runs `work` on another thread while it is traced."""

    def __init__(self, work: Callable[[], Any]) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.work = [work]

    def forward(self, x: Tensor) -> Tensor:
        if self.work:
            with ThreadPoolExecutor(1) as pool:
                pool.submit(self.work.pop()).result(timeout=60)
        return self.linear(x).relu()


def backward() -> None:
    weight = nn.Parameter(torch.ones(3))
    (weight * 2).sum().backward()
    assert weight.grad is not None and weight.grad.tolist() == [2, 2, 2]


def gradients_of_gradients() -> None:
    x = torch.ones(3, requires_grad=True)
    (first,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    assert torch.autograd.grad(first.sum(), x)[0].tolist() == [6, 6, 6]


def inference_mode() -> None:
    with torch.inference_mode():
        assert torch.is_inference_mode_enabled() and torch.ones(2).is_inference()
    assert not torch.is_inference_mode_enabled()


def autocast() -> None:
    a = torch.ones(4, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert (a @ a).dtype is torch.bfloat16


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return 2 * x

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return 7 * grad


def autograd_function() -> None:
    x = torch.ones(3, requires_grad=True)
    assert torch.autograd.grad(Double.apply(x).sum(), x)[0].tolist() == [7, 7, 7]


def attributes() -> None:
    COUNTER(torch.ones(3))


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.seen: list[float] = []
        self.register_buffer("total", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        self.seen.append(float(x.sum()))
        self.total = self.total + x.sum()
        return x


COUNTER = Counter()


def checks() -> None:
    torch._check(True)
    with pytest.raises(RuntimeError):
        torch._check(False, lambda: "no")


def torch_compile() -> None:
    """A compilation by another backend, whose result is used."""
    seen = []

    def backend(gm: torch.fx.GraphModule, inputs: list[Tensor]) -> Callable[..., Any]:
        seen.append(gm)
        return gm.forward

    COMPILED.append((torch.compile(lambda x: x.sin() + 1, backend=backend), seen))


COMPILED: list[Any] = []


WORK = (
    torch_compile, backward, gradients_of_gradients, inference_mode, autocast, autograd_function,
    attributes, checks,
)  # fmt: skip


@pytest.mark.parametrize("work", WORK, ids=lambda work: work.__name__)
@pytest.mark.parametrize("level", ["pre-dispatch", "aten"])
def test_other_threads_do_not_notice(work: Callable[[], Any], level: str) -> None:
    x = torch.randn(2, 4)
    model = Meeting(work)
    COUNTER.__init__()  # type: ignore[misc]
    with torch.no_grad():
        program = ingot.export(model, (x,), level=level)
        torch.testing.assert_close(program(x), model.linear(x).relu())
    if work is torch_compile:
        compiled, seen = COMPILED.pop()
        torch.testing.assert_close(compiled(x), x.sin() + 1)
        assert seen
    if work is attributes:
        assert (COUNTER.calls, COUNTER.seen, float(COUNTER.total)) == (1, [3.0], 3.0)


def test_no_thread_waits_for_another_in_a_circle() -> None:
    """No deadlock: torch.compile takes Dynamo's lock before it calls the backend, and ingot.compile
    calls Dynamo."""
    torch._dynamo.lookup_backend("ingot")  # PyTorch fails if two threads make the first lookup
    start = threading.Barrier(4)

    def ahead(number: int) -> None:
        start.wait()
        for k in range(3):
            x = torch.randn(3 + k, 4)
            torch.testing.assert_close(
                ingot.compile(lambda x: x.sin() + number, (x,))(x), x.sin() + number
            )

    def just_in_time(number: int) -> None:
        start.wait()
        for k in range(3):
            x = torch.randn(3 + k, 4)
            compiled = torch.compile(lambda x: x.cos() + number, backend="ingot")
            torch.testing.assert_close(compiled(x), x.cos() + number)

    with ThreadPoolExecutor(4) as pool:
        futures = [pool.submit(f, n) for n, f in enumerate((ahead, just_in_time) * 2)]
        for future in futures:
            future.result(timeout=200)
