"""Programs split between a device and the host: the test accelerator and IREE."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.fx import Node
from torch.utils._pytree import tree_leaves

import ingot
from ingot.emit.problems import problem
from ingot.program.call import bind
from ingot.targets import Placed, place
from ingot.targets.target import Runner
from tests.emit.accelerator import Machine


class Net(nn.Module):
    """Linear layers on the device around a softmax on the host."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 4)

    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(self.first(x))
        return self.second(torch.softmax(y, -1)) * 2 + x[:, :4]


def test_a_device_takes_what_it_claims_and_copies_little() -> None:
    model, x = Net().eval(), torch.randn(3, 8)
    with torch.no_grad():
        program = ingot.export(model, (x,))
        placed = place(program, Machine())
        (got,) = placed.run(bind(program, (x,), {}))
        torch.testing.assert_close(got, model(x))
    assert placed.stages == ("host", "device", "host", "device")
    assert set(placed.left) == {"_softmax", "slice_1"}
    # uploads: x, its slice, the softmax, four weights; downloads: the input of softmax, the result
    assert (placed.traffic.uploads, placed.traffic.downloads) == (7, 2)
    placed.run(bind(program, (x,), {}))
    assert placed.traffic.uploads == 3, "weights stay on the device"
    assert "machine: 9 ops, 2 left on the host" in placed.as_text()


def test_a_weight_that_changed_is_copied_again() -> None:
    model, x = Net().eval(), torch.randn(3, 8)
    with torch.no_grad():
        program = ingot.export(model, (x,))
        placed = place(program, Machine())
        placed.run(bind(program, (x,), {}))
        model.first.weight.mul_(2)
        (got,) = placed.run(bind(program, (x,), {}))
        torch.testing.assert_close(got, model(x))


class Picky(Machine):
    """A target that claims more than it can lower."""

    def claim(self, node: Node) -> str:
        return ""

    def lower(self, program: ingot.Program) -> Runner:
        for node in program.graph.nodes:
            if node.op == "call_function" and (why := super().claim(node)):
                error = ingot.EmitError(why)
                error.problems = (problem(node, why),)
                raise error
        return super().lower(program)


def test_what_turns_out_not_to_be_lowered_stays_on_the_host() -> None:
    model, x = Net().eval(), torch.randn(3, 8)
    with torch.no_grad():
        program = ingot.export(model, (x,))
        placed = place(program, Picky())
        (got,) = placed.run(bind(program, (x,), {}))
        torch.testing.assert_close(got, model(x))
    assert set(placed.left) == {"_softmax", "slice_1"}, "the others are still the device's"
    assert "no instruction for" in placed.left["_softmax"]


@pytest.fixture
def on_iree() -> Callable[..., Placed]:
    pytest.importorskip("iree.compiler")
    from ingot.targets.iree import Iree

    def placed(model: Callable[..., Any], *args: Tensor) -> Placed:
        """Place, run and compare with eager."""
        with torch.no_grad():
            program = ingot.export(model, args)
            made = place(program, Iree())
            got = made.run(bind(program, args, {}))
            torch.testing.assert_close(tree_leaves(got), tree_leaves(model(*args)))
        return made

    return placed


def test_iree_runs_what_it_takes_without_copies(on_iree: Callable[..., Placed]) -> None:
    placed = on_iree(Net().eval(), torch.randn(3, 8))
    assert (placed.stages, placed.left) == (("device",), {})
    assert (placed.traffic.uploads, placed.traffic.downloads) == (0, 0)
    placed = on_iree(Net().eval(), torch.randn(8, 3).T)
    assert placed.traffic.uploads == 1, "what does not lie in order is copied"


def test_what_iree_does_not_take_runs_natively(on_iree: Callable[..., Placed]) -> None:
    def mixed(x: Tensor, w: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        y = (x.bfloat16() @ w.bfloat16()).float()
        return torch.special.airy_ai(y.relu()) + x, x > 0, x.clone()

    x, w = torch.randn(4, 4), torch.randn(4, 4)
    placed = on_iree(mixed, x, w)
    assert "device" in placed.stages and "host" in placed.stages
    assert any("bfloat16 is not handed to IREE" in why for why in placed.left.values())
    assert any(name.startswith("special_airy_ai") for name in placed.left)
    assert "relu" not in placed.left and "gt" not in placed.left
    assert f"{placed.ops} ops, {len(placed.left)} left on the host" in placed.as_text()


def test_what_iree_hands_through_is_not_the_users_memory(on_iree: Callable[..., Placed]) -> None:
    x = torch.randn(4)
    placed = on_iree(lambda x: (x.clone(), x + 1), x)
    same, more = placed.run([x])
    x.zero_()
    assert same.abs().sum() > 0
    torch.testing.assert_close(more, same + 1)


def test_torch_compile_with_iree() -> None:
    pytest.importorskip("iree.compiler")
    model, x = Net().eval(), torch.randn(3, 8)
    with torch.no_grad():
        fast = torch.compile(model, backend="ingot", options={"target": "iree"})
        torch.testing.assert_close(fast(x), model(x))
        model.first.weight.mul_(2)
        torch.testing.assert_close(fast(x), model(x))


def test_training_and_writes_with_iree() -> None:
    pytest.importorskip("iree.compiler")
    model = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
    twin = copy.deepcopy(model)
    fast = torch.compile(model, backend="ingot", options={"target": "iree"})
    x = torch.randn(6, 8)
    for call in (fast, twin):
        call(x).square().sum().backward()
    for got, want in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(got.grad, want.grad, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(dict(model.named_buffers()), dict(twin.named_buffers()))


def test_an_unknown_target_is_told() -> None:
    with pytest.raises(Exception, match="one of , iree"):
        torch.compile(torch.sin, backend="ingot", options={"target": "ireee"})(torch.randn(3))


def test_iree_files_keep_weights_outside(tmp_path: Path) -> None:
    runtime = pytest.importorskip("iree.runtime")
    from ingot.targets.iree import SCOPE, write

    model, x = Net().eval(), torch.randn(3, 8)
    with torch.no_grad():
        program = ingot.export(model, (x,))
        code, weights = write(program, str(tmp_path / "net.vmfb"))
        index = runtime.ParameterIndex()
        index.load(str(weights))
        config = runtime.Config("local-task")
        context = runtime.SystemContext(config=config)
        provider = index.create_provider(scope=SCOPE)
        context.add_vm_modules(
            [
                runtime.create_io_parameters_module(context.instance, provider),
                runtime.VmModule.copy_buffer(context.instance, code.read_bytes()),
            ]
        )
        got = context.modules.module.main(x.numpy()).to_host()
        torch.testing.assert_close(torch.from_numpy(got.copy()), model(x))
