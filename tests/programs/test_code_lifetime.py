"""Machine code is freed with the last program that uses it, and not earlier."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch

import ingot
from ingot import observe
from ingot.codegen.loops import kernels
from ingot.machine import this_machine


@pytest.fixture(autouse=True)
def nothing_recent() -> None:
    kernels._recent.clear()


def keys_of(compiled: ingot.Executable) -> set[tuple[str, str]]:
    """The keys of its code among all compiled kernels: instruction set and text."""
    native = compiled.compiled.native
    assert native is not None
    return {(this_machine().isa, kernel.text) for kernel in native.by_region.values()}


@torch.no_grad()
def test_it_goes_with_the_last_program() -> None:
    x = torch.randn(5, 31)
    first, second = (ingot.compile(lambda x: x * 3.25 + 0.125, (x,)) for _ in range(2))
    (key,) = keys_of(first)
    assert keys_of(second) == {key}
    kernels._recent.clear()
    del first
    gc.collect()
    assert key in kernels._compiled
    torch.testing.assert_close(second(x), x * 3.25 + 0.125)
    del second
    gc.collect()
    assert key not in kernels._compiled


@torch.no_grad()
def test_the_run_alone_keeps_it() -> None:
    x = torch.randn(5, 31)
    compiled = ingot.compile(lambda x: x * 4.25 - 0.125, (x,))
    run = compiled.compiled.run
    (key,) = keys_of(compiled)
    kernels._recent.clear()
    del compiled
    gc.collect()
    assert key in kernels._compiled
    (result,) = run([x])
    torch.testing.assert_close(result, x * 4.25 - 0.125)


@torch.no_grad()
def test_what_torch_compile_made_goes_with_a_reset() -> None:
    x = torch.randn(5, 31)
    before = set(kernels._compiled)
    compiled = torch.compile(lambda x: (x * 5.25).sin() - 0.125, backend="ingot")
    torch.testing.assert_close(compiled(x), (x * 5.25).sin() - 0.125)
    (key,) = set(kernels._compiled) - before
    kernels._recent.clear()
    gc.collect()
    torch.testing.assert_close(compiled(x), (x * 5.25).sin() - 0.125)
    assert key in kernels._compiled
    torch._dynamo.reset()
    del compiled
    gc.collect()
    assert key not in kernels._compiled


@torch.no_grad()
def test_the_last_modules_stay_for_a_while() -> None:
    x = torch.randn(5, 31)
    (key,) = keys_of(ingot.compile(lambda x: x * 6.25 - 0.125, (x,)))
    gc.collect()
    assert key in kernels._compiled
    for k in range(kernels.MOST_MODULES):
        ingot.compile(lambda x, k=k: x * (7.25 + k), (x,))
    gc.collect()
    assert key not in kernels._compiled


class Layer(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(32, 48)
        self.norm = torch.nn.LayerNorm(48)
        self.table = torch.randn(70, 32)  # neither a parameter nor a buffer, so a constant

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(torch.relu(self.linear(x * 1.0625 + self.table[:1])))


@pytest.mark.parametrize("by_torch", [True, False])
def test_graph_and_constants_go_with_the_program(by_torch: bool) -> None:
    """Kernels kept for later programs keep nothing else of the first program alive."""
    x, layer, heard = torch.randn(9, 32), Layer(), []
    with torch.no_grad(), observe.listening(heard.append):
        if by_torch:
            compiled = torch.compile(layer, backend="ingot")
        else:
            compiled = ingot.compile(layer, (x,))
        compiled(x)
    (record,) = heard
    graph = weakref.ref(record.fused.program.graph)
    table, weight = weakref.ref(layer.table), weakref.ref(layer.linear.weight)
    del compiled, layer, record
    heard.clear()
    torch._dynamo.reset()
    gc.collect()
    assert graph() is None
    assert table() is None and weight() is None


def test_few_drafts_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "MOST_DRAFTS", 3)
    for k in range(6):
        ingot.compile(lambda x, k=k: x * (k + 0.375) - x.sin() * k, (torch.randn(7),))
    assert len(kernels._known) <= 3


@torch.no_grad()
def test_code_goes_without_the_garbage_collector() -> None:
    x, layer = torch.randn(9, 32), Layer()
    compiled = ingot.compile(layer, (x,))
    native = compiled.compiled.native
    assert native is not None
    code = [weakref.ref(code) for code in native.code()]
    compiled(x)
    kernels._recent.clear()
    gc.disable()
    try:
        del compiled, native
        assert [each() for each in code] == [None] * len(code)
    finally:
        gc.enable()


def test_sources_of_intermediate_graphs_are_forgotten() -> None:
    from torch.fx import graph_module

    x = torch.randn(5, 31)
    ingot.compile(lambda x: x.sin() + 1, (x,))
    before = len(graph_module._loader.eval_cache)
    for k in range(3):
        ingot.compile(lambda x, k=k: x.softmax(-1) * (k + 0.5), (x,))
    assert len(graph_module._loader.eval_cache) == before
