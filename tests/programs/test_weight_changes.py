"""After any change of a weight, the next call uses the current weight: both entry points, a target
that keeps copies of weights, with write tracking and without.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor, nn

import ingot
from ingot import InputError
from ingot.plan import contents
from ingot.plan.contents import guarded
from ingot.targets import backend
from tests.emit.accelerator import Machine
from tests.programs.weight_changes import CHANGES, REFUSED_AHEAD, Net, example

TOLERANCE = {"rtol": 1e-4, "atol": 1e-4}


@pytest.fixture(params=["write tracking", pytest.param("digests", marks=pytest.mark.slow)])
def tracking(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if request.param == "digests":
        monkeypatch.setattr(guarded, "tracker", lambda: None)
    else:
        monkeypatch.setattr(contents, "PATIENCE", 0)
        monkeypatch.setattr(contents, "SMALL", 4096)
    yield


def through_torch_compile(net: nn.Module) -> Callable[[Tensor], Tensor]:
    return torch.compile(net, backend="ingot", options={"strict": True})


def ahead_of_time(net: nn.Module) -> Callable[[Tensor], Tensor]:
    return ingot.compile(net, (example(),), options={"strict": True})


def on_a_target(net: nn.Module) -> Callable[[Tensor], Tensor]:
    return torch.compile(net, backend="ingot", options={"target": "iree"})


def ahead_on_a_target(net: nn.Module) -> Callable[[Tensor], Tensor]:
    return ingot.compile(net, (example(),), options={"target": "iree"})


AHEAD = (ahead_of_time, ahead_on_a_target)
ON_TARGETS = {"torch.compile": on_a_target, "ingot.compile": ahead_on_a_target}
ENTRIES = {"torch.compile": through_torch_compile, "ingot.compile": ahead_of_time}


def check(change: str, entry: Callable[[nn.Module], Callable[[Tensor], Tensor]]) -> None:
    net = Net().eval()
    with torch.no_grad():
        fast = entry(net)
        for _ in range(4):  # enough calls to arm the weights
            torch.testing.assert_close(fast(example()), net(example()), **TOLERANCE)
        for seed in (2, 3):
            before = net(example(seed))
            CHANGES[change](net)
            assert not torch.allclose(before, net(example(seed)), **TOLERANCE)
            if change in REFUSED_AHEAD and entry in AHEAD:
                with pytest.raises(InputError):
                    fast(example(seed))
                return
            for _ in range(3):
                torch.testing.assert_close(fast(example(seed)), net(example(seed)), **TOLERANCE)
            if change in ONCE:
                return


ONCE = {
    "data = expanded", "share_memory", "pruned through data", "pruned by NumPy", "readinto",
    "memoryview", "prune.l1_unstructured",
}  # fmt: skip
"""Changes applied only once: repeating them has no effect, or gives another program."""


@pytest.mark.usefixtures("tracking")
@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("change", CHANGES)
def test_the_next_call_runs_with_the_weights_as_they_are(change: str, entry: str) -> None:
    check(change, ENTRIES[entry])


@pytest.mark.parametrize("entry", ON_TARGETS)
@pytest.mark.parametrize("change", sorted(CHANGES.keys() - {"freed and filled"}))
def test_a_target_that_keeps_copies(
    change: str, entry: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A NumPy target in place of IREE, whose copies of the weights become stale. (A storage
    exported to NumPy cannot be freed.)"""
    monkeypatch.setitem(backend.TARGETS, "iree", Machine)
    check(change, ON_TARGETS[entry])


@pytest.mark.slow
@pytest.mark.parametrize("entry", ON_TARGETS)
@pytest.mark.parametrize("change", sorted(CHANGES.keys() - {"freed and filled"}))
def test_iree(change: str, entry: str) -> None:
    pytest.importorskip("iree.compiler")
    check(change, ON_TARGETS[entry])


@pytest.mark.parametrize("entry", ON_TARGETS)
def test_a_target_does_not_read_freed_memory(entry: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(backend.TARGETS, "iree", Machine)
    net = Net().eval()
    with torch.no_grad():
        fast = ON_TARGETS[entry](net)
        fast(example())
        shrunk = example().clone()
        shrunk.untyped_storage().resize_(4)
        with pytest.raises(InputError, match="storage"):
            fast(shrunk)
        torch.testing.assert_close(fast(example()), net(example()), **TOLERANCE)


@pytest.mark.parametrize("guard", ["exact", "sampled", "off"])
@pytest.mark.parametrize("entry", ENTRIES)
def test_refresh(guard: str, entry: str) -> None:
    """A write that the guard does not detect takes effect after a refresh."""
    net, x = Net().eval(), example()
    options = {"weight_guard": guard}
    with torch.no_grad():
        if entry == "torch.compile":
            fast = torch.compile(net, backend="ingot", options=options)
        else:
            fast = ingot.compile(net, (x,), options=options)
        fast(x)
        net.first.weight.detach().numpy()[40, 3] += 30
        stale = fast(x)
        assert torch.allclose(stale, net(x), **TOLERANCE) is (guard == "exact")
        ingot.refresh(net)
        torch.testing.assert_close(fast(x), net(x), **TOLERANCE)
        if entry == "ingot.compile":
            net.first.weight.detach().numpy()[40, 3] += 30
            fast.refresh()
            torch.testing.assert_close(fast(x), net(x), **TOLERANCE)


@pytest.mark.usefixtures("tracking")
@pytest.mark.parametrize("entry", ENTRIES)
def test_prunings_that_pytorch_does_not_count(entry: str) -> None:
    """Realistic prunings of a 256 × 256 layer; guards by samples missed 2 to 72 percent of them."""
    torch.manual_seed(0)
    layer, x = nn.Linear(256, 256).eval(), torch.randn(3, 256)
    with torch.no_grad():
        if entry == "torch.compile":
            fast = torch.compile(layer, backend="ingot")
        else:
            fast = ingot.compile(layer, (x,))
        for share in (0.001, 0.01, 0.1, 0.5) * 10:
            layer.weight.data.copy_(torch.randn(256, 256))
            fast(x)
            threshold = layer.weight.data.abs().flatten().quantile(share)
            layer.weight.data[layer.weight.data.abs() < threshold] = 0
            torch.testing.assert_close(fast(x), layer(x), **TOLERANCE)


def test_options_reach_the_host_part_of_a_target(monkeypatch: pytest.MonkeyPatch) -> None:
    from ingot import pipeline

    seen = []
    compile_program = pipeline.compile_program
    monkeypatch.setitem(backend.TARGETS, "iree", Machine)
    monkeypatch.setattr(
        pipeline, "compile_program", lambda p, o: seen.append(o) or compile_program(p, o)
    )
    options = {"target": "iree", "vector_bits": 256, "strict": True}
    fast = torch.compile(lambda x: torch.sin(x) + 1, backend="ingot", options=options)
    with torch.no_grad():
        fast(torch.randn(9))
    assert seen and all(o.vector_bits == 256 and o.strict and not o.target for o in seen)


def test_writes_while_a_thread_calls() -> None:
    """Each result uses the weights before or after a write, never older ones."""
    import threading

    layer, x = nn.Linear(64, 64, bias=False).eval(), torch.ones(1, 64)
    with torch.no_grad():
        layer.weight.fill_(0.0)
        fast = ingot.compile(layer, (x,))
        stop, problems, written = threading.Event(), [], [0]

        def call() -> None:
            while not stop.is_set():
                least = written[0]
                with torch.no_grad():
                    found = fast(x)
                if float(found.min()) < 64 * least - 1:
                    problems.append(f"{float(found.min())} after {64 * least} was written")

        thread = threading.Thread(target=call)
        thread.start()
        array = layer.weight.detach().numpy()
        for number in range(1, 300):
            array[:] = number
            written[0] = number
        stop.set()
        thread.join()
    assert not problems
