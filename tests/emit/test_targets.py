"""Programs split between a device and the host: the test accelerator and IREE."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import ingot
from ingot.program.call import bind
from ingot.targets import place
from tests.emit.accelerator import Machine


class Net(nn.Module):
    """Linear layers for the device around a softmax for the host."""

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
    # up: x, its slice, the softmax and four weights; down: what softmax reads, the result
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


def test_iree_runs_what_it_takes() -> None:
    pytest.importorskip("iree.compiler")
    from ingot.targets.iree import Iree

    model, x = Net().eval(), torch.randn(3, 8)
    with torch.no_grad():
        program = ingot.export(model, (x,))
        placed = place(program, Iree())
        (got,) = placed.run(bind(program, (x,), {}))
        torch.testing.assert_close(got, model(x))
    assert placed.stages == ("device",)


def test_torch_compile_with_iree() -> None:
    pytest.importorskip("iree.compiler")
    model, x = Net().eval(), torch.randn(3, 8)
    with torch.no_grad():
        fast = torch.compile(model, backend="ingot", options={"target": "iree"})
        torch.testing.assert_close(fast(x), model(x))


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
