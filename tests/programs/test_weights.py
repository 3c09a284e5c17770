"""Matmuls with the weights of a module, which ingot packs: after any change of a weight, the result
is that of the current weight.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from ingot import observe
from ingot.plan.prepared import Seen, prepared_bytes
from ingot.stages import Compiled

TOLERANCE = {"rtol": 1e-4, "atol": 1e-4}


def compiled(module: nn.Module, *args: Tensor) -> tuple[Callable[..., Tensor], Compiled]:
    found: list[Compiled] = []
    fast = torch.compile(module, backend="ingot", fullgraph=True, options={"strict": True})
    with observe.listening(found.append), torch.no_grad():
        torch.testing.assert_close(fast(*args), module(*args), **TOLERANCE)
    (graph,) = found
    return fast, graph


def assert_native(graph: Compiled) -> None:
    """No op is called through PyTorch."""
    assert "op" not in graph.source.replace("prepared", ""), graph.source


@pytest.mark.parametrize("rows", [1, 2, 5, 6, 7, 31, 128])
@pytest.mark.parametrize(("inner", "columns"), [(1, 1), (3, 17), (256, 64), (300, 1000), (513, 33)])
def test_linear(rows: int, inner: int, columns: int) -> None:
    module = nn.Sequential(nn.Linear(inner, columns), nn.ReLU(), nn.Linear(columns, 7, bias=False))
    _, graph = compiled(module, torch.randn(rows, inner))
    assert_native(graph)


@pytest.mark.parametrize("rows", [256, 257, 700])
def test_more_rows_than_are_worked_on_at_a_time(rows: int) -> None:
    _, graph = compiled(nn.Linear(1500, 40), torch.randn(rows, 1500))
    assert_native(graph)


def test_no_rows() -> None:
    compiled(nn.Sequential(nn.Linear(9, 5), nn.Linear(5, 3, bias=False)), torch.randn(0, 9))


def test_double() -> None:
    module = nn.Linear(70, 40).double()
    x = torch.randn(9, 70, dtype=torch.float64)
    fast, graph = compiled(module, x)
    assert_native(graph)
    with torch.no_grad():
        torch.testing.assert_close(fast(x), module(x), rtol=1e-13, atol=1e-13)


def test_accuracy_of_a_long_sum() -> None:
    module = nn.Linear(20_000, 16)
    x = torch.rand(8, 20_000)
    fast, _ = compiled(module, x)
    with torch.no_grad():
        truth = module.double()(x.double())
        module.float()
        ours, eager = (fast(x) - truth).abs().max(), (module(x) - truth).abs().max()
    assert ours <= 4 * eager + 1e-6


def test_strided_input_and_transposed_weight() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.randn(24, 24))

        def forward(self, x: Tensor) -> Tensor:
            return x[:, 8:32] @ self.weight + x[::1, :24] @ self.weight.t()

    compiled(Twice(), torch.randn(10, 40))


def change_in_place(module: nn.Linear) -> None:
    module.weight.mul_(2)


def change_data(module: nn.Linear) -> None:
    module.weight.data = torch.randn_like(module.weight)


def change_data_twice(module: nn.Linear) -> None:
    """The second tensor may reuse the address of the first."""
    for _ in range(2):
        module.weight.data = torch.randn_like(module.weight)


def load(module: nn.Linear) -> None:
    module.load_state_dict({k: v + 1 for k, v in module.state_dict().items()})


def optimize(module: nn.Linear) -> None:
    module.weight.grad = torch.ones_like(module.weight)
    torch.optim.SGD([module.weight], lr=0.5).step()


def average(module: nn.Linear) -> None:
    """The update of target networks, which PyTorch does not count as a write."""
    module.weight.data.mul_(0.9).add_(torch.randn_like(module.weight), alpha=0.1)


def write_by_numpy(module: nn.Linear) -> None:
    module.weight.detach().numpy()[:] += 1


CHANGES = [
    change_in_place, change_data, change_data_twice, load, optimize, average, write_by_numpy
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_weight_is_noticed(change: Callable[[nn.Linear], None]) -> None:
    module, x = nn.Linear(32, 48), torch.randn(4, 32)
    fast, _ = compiled(module, x)
    with torch.no_grad():
        for _ in range(3):
            change(module)
            torch.testing.assert_close(fast(x), module(x), **TOLERANCE)


def test_weights_made_in_inference_mode() -> None:
    """PyTorch does not count writes to inference tensors, so they are packed again."""
    with torch.inference_mode():
        module, x = nn.Linear(32, 48), torch.randn(4, 32)
        fast = torch.compile(module, backend="ingot", options={"strict": True})
        for _ in range(3):
            torch.testing.assert_close(fast(x), module(x), **TOLERANCE)
            module.weight.mul_(2)


def test_not_a_number_and_infinity() -> None:
    module, x = nn.Linear(40, 33), torch.randn(7, 40)
    x[2, 3], x[4, 5], x[5, 6] = float("nan"), float("inf"), -float("inf")
    with torch.no_grad():
        module.weight[4, 7] = float("inf")
        module.weight[30] = 0.0
        fast = torch.compile(module, backend="ingot", options={"strict": True})
        torch.testing.assert_close(fast(x), module(x), equal_nan=True, **TOLERANCE)


def test_two_graphs_share_what_was_packed() -> None:
    module = nn.Linear(64, 64)
    compiled(module, torch.randn(3, 64))
    held = prepared_bytes()
    torch._dynamo.reset()
    compiled(module, torch.randn(5, 64))
    assert prepared_bytes() == held


def test_what_was_packed_goes_with_the_weight() -> None:
    held = prepared_bytes()
    module = nn.Linear(64, 64)
    compiled(module, torch.randn(3, 64))
    assert prepared_bytes() > held
    del module
    torch._dynamo.reset()
    assert prepared_bytes() == held


def test_threads_at_once() -> None:
    """Every run has its own workspace."""
    module = nn.Sequential(*(nn.Sequential(nn.Linear(64, 64), nn.GELU()) for _ in range(4)))
    inputs = [torch.randn(16, 64) for _ in range(4)]
    fast, _ = compiled(module, inputs[0])
    with torch.no_grad():
        expected = [module(x) for x in inputs]
    problems: list[str] = []

    def work(number: int) -> None:
        with torch.no_grad():
            for _ in range(200):
                if not torch.allclose(fast(inputs[number]), expected[number], **TOLERANCE):
                    problems.append(f"thread {number} got another's numbers")

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems


def test_memory_does_not_grow() -> None:
    import resource

    module = nn.Sequential(nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 64))
    x = torch.randn(16, 64)
    fast, _ = compiled(module, x)
    with torch.no_grad():
        for _ in range(100):
            fast(x)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(10_000):
            fast(x)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1024


def test_any_number_of_rows() -> None:
    module = nn.Sequential(nn.Linear(40, 24), nn.Tanh(), nn.Linear(24, 8))
    fast = torch.compile(module, backend="ingot", dynamic=True, options={"strict": True})
    with torch.no_grad():
        for rows in (3, 1, 17, 128, 2):
            x = torch.randn(rows, 40)
            torch.testing.assert_close(fast(x), module(x), **TOLERANCE)


class ManyWeights(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(5))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x).relu()
        return x


CHANGES: dict[str, Callable[[ManyWeights], object]] = {
    "written": lambda m: m.layers[3].weight.mul_(2),
    "another memory": lambda m: setattr(m.layers[3].weight, "data", torch.randn(8, 8)),
    "another tensor": lambda m: setattr(m.layers[3], "weight", nn.Parameter(torch.randn(8, 8))),
    "exchanged": lambda m: setattr(m, "layers", nn.ModuleList(reversed(list(m.layers)))),
    "loaded": lambda m: m.load_state_dict(ManyWeights().state_dict()),
}


@pytest.mark.parametrize("change", CHANGES)
def test_one_of_many_weights_changes(change: str) -> None:
    torch.manual_seed(0)
    model, x = ManyWeights().eval(), torch.randn(3, 8)
    compiled = torch.compile(model, backend="ingot")
    with torch.no_grad():
        for _ in range(3):
            torch.testing.assert_close(compiled(x), model(x))
            CHANGES[change](model)
            torch.testing.assert_close(compiled(x), model(x))


def test_what_was_packed_of_old_values_goes_at_once() -> None:
    """Packed copies of old values are freed without the garbage collector."""

    def rosters() -> int:
        return sum(type(each) is Seen for each in gc.get_objects())

    model, x = ManyWeights().eval(), torch.randn(3, 8)
    compiled = torch.compile(model, backend="ingot")
    with torch.no_grad():
        compiled(x)
        gc.collect()
        gc.disable()
        try:
            before, bytes_before = rosters(), prepared_bytes()
            for _ in range(4):
                model.layers[0].weight.add_(1)
                compiled(x)
            assert rosters() == before
            assert prepared_bytes() == bytes_before
        finally:
            gc.enable()
