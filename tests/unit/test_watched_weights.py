"""Whether weights are what they were: asked by native code that reads PyTorch's own words, or
through PyTorch where those were not found. Both give the same answers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch
from torch import nn

from ingot.codegen import tensor_words, watch
from ingot.plan import prepared
from ingot.plan.prepared import Weights


@pytest.fixture(params=["native", "through PyTorch"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if request.param == "native":
        assert watch.watcher() is not None
    else:
        monkeypatch.setattr(prepared, "watcher", lambda: None)
    yield


def weights() -> list[torch.Tensor]:
    torch.manual_seed(0)
    halves = torch.randn(6, 9).to(torch.bfloat16)
    return [
        nn.Parameter(torch.zeros(2000)[:1200].view(40, 30)),
        torch.randn(50, 40)[7:, 3:].t(),
        torch.randn(3),
        torch.empty(0, 4),
        torch.randn(1, 1).expand(5, 5),
        halves,
        torch.randn(20, 3, dtype=torch.float64),
        torch.arange(100),
    ]


def shifted(ws: list[torch.Tensor]) -> None:
    """The same memory, as many writes, the same numbers, read from another place on."""
    ws[0].data = ws[0].data.as_strided((40, 30), (30, 1), 100)


CHANGES: dict[str, Callable[[list[torch.Tensor]], object]] = {
    "written": lambda ws: ws[0].detach().add_(1),
    "a view of it written": lambda ws: ws[1][0, 0].fill_(9),
    "other memory": lambda ws: setattr(ws[0], "data", torch.randn(40, 30)),
    "another place": shifted,
    "set": lambda ws: ws[2].set_(torch.ones(3)),
    "another object": lambda ws: ws.__setitem__(0, nn.Parameter(ws[0].detach().clone())),
    "another object of the same memory": lambda ws: ws.__setitem__(0, ws[0].detach()),
    "by NumPy": lambda ws: np.multiply(ws[6].numpy(), 2, out=ws[6].numpy()),
    "by NumPy, integers": lambda ws: np.add(ws[7].numpy(), 1, out=ws[7].numpy()),
    "through data, halves": lambda ws: ws[5].data.mul_(-1),
    "through data, one of few": lambda ws: ws[2].data[1:2].add_(1),
}


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("change", CHANGES)
def test_changes_are_noticed(change: str) -> None:
    ws = weights()
    noted = Weights(tuple(ws))
    assert noted.are(tuple(ws)) and noted.are(tuple(ws))
    with torch.no_grad():
        CHANGES[change](ws)
    assert not noted.are(tuple(ws))


@pytest.mark.usefixtures("way")
def test_what_only_reads_changes_nothing() -> None:
    ws = weights()
    noted = Weights(tuple(ws))
    [w.sum() for w in ws]
    [w.clone().add_(1) for w in ws]
    ws[0].grad = torch.ones(40, 30)
    assert noted.are(tuple(ws))


@pytest.mark.usefixtures("way")
def test_the_first_that_goes_ends_it() -> None:
    ws = weights()
    noted = Weights(tuple(ws))
    del ws[0]
    ws.insert(0, nn.Parameter(torch.randn(40, 30)))
    assert not noted.are(tuple(ws))


@pytest.mark.usefixtures("way")
def test_what_counts_no_writes_is_never_known() -> None:
    with torch.inference_mode():
        ws = (torch.randn(3),)
    assert not Weights(ws).are(ws)


def test_words_tell_the_truth() -> None:
    """Of tensors that were not looked at to find them."""
    words = tensor_words.tensor_words()
    assert words is not None
    for tensor in weights():
        with torch.no_grad():
            version = tensor._version
            if tensor.numel() and not any(s == 0 for s in tensor.stride()):
                tensor.zero_()
                assert tensor._version == version + 1
        assert watch.noted(tensor)[5] == tensor._version
        held = Weights((tensor,))
        assert held.are((tensor,))


def test_where_memory_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise PermissionError("no")

    monkeypatch.setattr(os, "open", refuse)
    assert tensor_words.tensor_words.__wrapped__() is None


def test_where_words_are_elsewhere() -> None:
    """Memory that does not hold what is looked for gives no offsets, and no crash."""
    assert tensor_words._found(lambda address, count: ()) is None
    assert tensor_words._found(lambda address, count: (0,) * count) is None
