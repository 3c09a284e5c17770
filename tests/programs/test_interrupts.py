"""Signals reach Python during native loops that do not terminate."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

import pytest
import torch
from torch import Tensor
from torch._higher_order_ops.while_loop import while_loop

import ingot


class Stop(Exception):
    pass


def test_an_endless_loop_can_be_interrupted() -> None:
    def function(x: Tensor) -> tuple[Tensor, ...]:
        return while_loop(lambda x: x.sum() > -1, lambda x: (x * 0.5,), (x,))

    def stop(*_: Any) -> None:
        raise Stop("enough")

    compiled = ingot.compile(function, (torch.rand(4),))
    before = signal.signal(signal.SIGUSR1, stop)
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGUSR1))
    timer.start()
    try:
        with pytest.raises(Stop, match="enough"):
            compiled(torch.rand(4))
    finally:
        timer.join()
        signal.signal(signal.SIGUSR1, before)


def test_an_endless_loop_and_control_c() -> None:
    def function(x: Tensor, most: Tensor) -> tuple[Tensor, ...]:
        return while_loop(lambda i, x: i < most, lambda i, x: (i + 1, x * 0.5), (0, x))

    compiled = torch.compile(function, backend="ingot", fullgraph=True)
    x = torch.rand(4)
    torch.testing.assert_close(compiled(x, torch.tensor(3))[1], x * 0.125)
    done = threading.Event()

    def press() -> None:
        pause = 0.5
        while not done.wait(pause):
            os.kill(os.getpid(), signal.SIGINT)
            pause = 20.0

    # A background process of a shell may have inherited an ignored SIGINT.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    keys = threading.Thread(target=press)
    keys.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            compiled(x, torch.tensor(2**62))
    finally:
        done.set()
        keys.join()
        signal.signal(signal.SIGINT, before)
