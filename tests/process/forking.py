"""Forks after, during and beside compilation; run as a subprocess by `test_fork`. A child calls
code compiled by the parent and compiles its own. The caller's timeout ends a hang."""

from __future__ import annotations

import faulthandler
import os
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

import ingot

PATIENCE = 150
"""Seconds until a hanging child dumps its stack."""


class Net(nn.Module):
    def __init__(self, number: float = 1.0) -> None:
        super().__init__()
        self.linear, self.number = nn.Linear(64, 64), number

    def forward(self, x: Tensor) -> Tensor:
        return torch.softmax(self.linear(x) * self.number, -1)


def large() -> Tensor:
    """Enough work for several threads."""
    return torch.randn(4096, 64)


def check(compiled: Callable[..., Any], model: Callable[..., Any], x: Tensor) -> None:
    with torch.no_grad():
        torch.testing.assert_close(compiled(x), model(x), rtol=1e-4, atol=1e-5)


def in_child(work: Callable[[], None]) -> None:
    """Run `work` in a forked child and check that it exits cleanly."""
    child = os.fork()
    if child == 0:
        code = 1
        faulthandler.dump_traceback_later(PATIENCE, exit=True)
        try:
            work()
            code = 0
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0, "the child failed"


def compile_both(number: float) -> None:
    net, x = Net(number).eval(), torch.randn(5, 64)
    with torch.no_grad():
        check(ingot.compile(net, (x,)), net, x)
        check(torch.compile(net, backend="ingot"), net, x)


def after_compile() -> None:
    net, x = Net().eval(), large()
    with torch.no_grad():
        ahead, jit = ingot.compile(net, (x,)), torch.compile(net, backend="ingot")
        check(ahead, net, x)
        check(jit, net, x)

    def work() -> None:
        check(ahead, net, x)
        check(jit, net, x)
        compile_both(2.0)

    in_child(work)
    check(ahead, net, x)
    compile_both(3.0)


def while_threads_compile() -> None:
    """Fork while other threads hold locks and run LLVM."""
    net, x = Net().eval(), torch.randn(7, 64)
    with torch.no_grad():
        ahead = ingot.compile(net, (x,))
    stop = threading.Event()

    def busy(seed: int) -> None:
        number = 10.0 + 100 * seed
        while not stop.is_set():
            compile_both(number)
            number += 1

    def both(number: float) -> None:
        check(ahead, net, x)
        compile_both(number)

    with ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(busy, seed) for seed in range(2)]
        try:
            for k in range(4):
                time.sleep(0.3 * k)
                in_child(partial(both, 2.0 + k))
        finally:
            stop.set()
        for future in futures:
            future.result()


class Rows(Dataset[Tensor]):
    """A dataset that calls a compiled function: the parent's or its own."""

    def __init__(self, net: nn.Module, compiled: Callable[..., Any] | None) -> None:
        self.net, self.compiled = net, compiled

    def __len__(self) -> int:
        return 6

    def __getitem__(self, k: int) -> Tensor:
        x = torch.full((3, 64), float(k))
        with torch.no_grad():
            if self.compiled is None:
                self.compiled = ingot.compile(self.net, (x,))
            return self.compiled(x)


def loaders() -> None:
    x = torch.ones(3, 64)
    with torch.no_grad():
        net = Net().eval()
        compiled = ingot.compile(net, (x,))
        compiled(x)
        wanted = [net(torch.full((3, 64), float(k))) for k in range(6)]
    for given, context in ((compiled, "fork"), (None, "fork"), (None, "spawn")):
        data = Rows(net, given)
        found = DataLoader(
            data, batch_size=None, num_workers=2, multiprocessing_context=context, timeout=120
        )
        for got, want in zip(found, wanted, strict=True):
            torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)


def pools() -> None:
    compile_both(1.5)
    for context in ("fork", "spawn"):
        with ProcessPoolExecutor(2, mp_context=get_context(context)) as pool:
            list(pool.map(compile_both, (2.5, 3.5), timeout=200))


def beside_a_blocked_main_thread() -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(compile_both, 4.5).result(timeout=200)


CASES = (after_compile, while_threads_compile, loaders, pools, beside_a_blocked_main_thread)

if __name__ == "__main__":
    dict((case.__name__, case) for case in CASES)[sys.argv[1]]()
