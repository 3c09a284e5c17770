"""Many threads compile their own programs through both entry points and call them. They also call
shared ones with new shapes and changing weights. Every result must equal eager's. Run as a
subprocess by `test_threads`.
"""

from __future__ import annotations

import random
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.export import Dim

import ingot

CLOSE: dict[str, Any] = {"rtol": 2e-4, "atol": 2e-5}


class Net(nn.Module):
    def __init__(self, width: int, kind: int) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(16, width), nn.Linear(width, 8)
        self.kind = kind

    def forward(self, x: Tensor) -> Tensor:
        y = self.first(x)
        y = (F.gelu, torch.tanh, F.silu, torch.sin, F.softplus)[self.kind % 5](y * (1 + self.kind))
        return self.second(F.layer_norm(y, y.shape[-1:])).softmax(-1)


def change_weights(net: nn.Module, rng: random.Random) -> None:
    with torch.no_grad():
        for weight in net.parameters():
            weight.mul_(rng.choice((0.5, 2.0))).add_(0.01)


def check(got: Tensor, want: Tensor) -> None:
    torch.testing.assert_close(got, want, **CLOSE)


def compile_ahead(rng: random.Random, number: int) -> None:
    net = Net(rng.choice((24, 32, 40)), number).eval()
    x = torch.randn(3, 16)
    exe = ingot.compile(net, (x,), dynamic_shapes=({0: Dim.DYNAMIC},))
    for _ in range(4):
        with torch.no_grad():
            x = torch.randn(rng.randint(2, 40), 16)
            check(exe(x), net(x))
            change_weights(net, rng)
            check(exe(x), net(x))


def compile_just_in_time(rng: random.Random, number: int) -> None:
    def function(x: Tensor, scale: Tensor) -> Tensor:
        return (x * number).sin() @ scale + x.sum(-1, keepdim=True).relu()

    compiled = torch.compile(function, backend="ingot")
    for _ in range(3):
        x, scale = torch.randn(rng.randint(2, 9), 12), torch.randn(12, 5)
        check(compiled(x, scale), function(x, scale))


def train(rng: random.Random, number: int) -> None:
    net = Net(24, number)
    compiled = torch.compile(net, backend="ingot")
    x = torch.randn(rng.randint(2, 6), 16)
    for _ in range(2):
        found = torch.autograd.grad(compiled(x).square().sum(), list(net.parameters()))
        for got, want in zip(found, torch.autograd.grad(net(x).square().sum(), net.parameters())):
            check(got, want)
        change_weights(net, rng)


def export(rng: random.Random, number: int) -> None:
    net = Net(24, number).eval()
    x = torch.randn(rng.randint(2, 5), 16)
    level = rng.choice(("pre-dispatch", "aten", "core"))
    with torch.no_grad():
        check(ingot.export(net, (x,), level=level)(x), net(x))


def eager(rng: random.Random, number: int) -> None:
    """Eager training and module state, beside threads that capture."""
    net = Net(24, number)
    norm: Any = nn.BatchNorm1d(8)
    norm.calls = 0
    for count in range(1, 4):
        loss = norm(net(torch.randn(5, 16))).square().sum()
        torch.autograd.backward(loss)
        norm.calls += 1
        assert norm.calls == count and int(norm.num_batches_tracked) == count
        with torch.inference_mode():
            assert net(torch.ones(2, 16)).is_inference()


WORK = (compile_ahead, compile_just_in_time, train, export, eager)


class Shared:
    """Compiled functions that all threads call."""

    def __init__(self) -> None:
        self.net = Net(32, 1).eval()
        self.weights = torch.randn(2, 16, 16)
        x = torch.randn(4, 16)
        self.ahead = ingot.compile(self.net, (x,), dynamic_shapes=({0: Dim.DYNAMIC},))
        self.product = torch.compile(lambda x, w: (x @ w).relu().sum(-1), backend="ingot")
        with torch.no_grad():
            # Threads that call a function for the first time would each compile it.
            for rows in (4, 5):
                self.product(torch.randn(rows, 16), self.weights[0])

    def call(self, rng: random.Random) -> None:
        with torch.no_grad():
            x = torch.randn(rng.randint(2, 30), 16)
            check(self.ahead(x), self.net(x))
            weight = self.weights[rng.randrange(2)]
            check(self.product(x, weight), (x @ weight).relu().sum(-1))


def main(threads: str, seconds: str) -> None:
    shared, end = Shared(), time.monotonic() + float(seconds)
    failures: list[str] = []
    done: list[Callable[..., Any]] = []

    def run(seed: int) -> None:
        rng, number = random.Random(seed), 1000 * seed
        try:
            while time.monotonic() < end and not failures:
                work = WORK[(seed + number) % len(WORK)]
                work(rng, number)
                shared.call(rng)
                done.append(work)
                number += 1
        except BaseException:
            failures.append(f"thread {seed}, number {number}\n{traceback.format_exc()}")

    pool = [threading.Thread(target=run, args=(seed,)) for seed in range(int(threads))]
    for each in pool:
        each.start()
    for each in pool:
        each.join()
    assert not failures, "\n".join(failures)
    counter = [work.__name__ for work in done]
    print({work.__name__: counter.count(work.__name__) for work in WORK})
    check_state()


def check_state() -> None:
    """torch.compile still works, and no state of a tracer is left."""
    called = []

    def backend(gm: Any, inputs: Any) -> Any:
        called.append(gm)
        return gm.forward

    torch.compile(lambda x: x.cos() + 1, backend=backend)(torch.ones(2))
    assert called, "torch.compile is ignored"
    assert not torch.compiler.is_compiling() and not torch.compiler.is_exporting()
    assert not torch.fx._symbolic_trace._is_fx_tracing_flag


if __name__ == "__main__":
    main(*sys.argv[1:])
