"""Training steps, optimizers and generation loops in files."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import ingot
from tests.artifact.decoder import Decoder
from tests.artifact.saving import run, save


class Step(nn.Module):
    """Logits and loss; statistics that are written, and weights that do not learn."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution, self.norm = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.linear = nn.Linear(8 * 16, 10)
        self.frozen = nn.Linear(10, 10).requires_grad_(False)

    def forward(self, x: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        y = F.gelu(self.norm(self.convolution(x)))
        logits = self.frozen(self.linear(F.max_pool2d(y, 2).flatten(1)))
        return logits, F.cross_entropy(logits, target)


Batch = tuple[Tensor, Tensor]


def _batches(count: int) -> list[Batch]:
    return [(torch.randn(4, 3, 8, 8), torch.randint(10, (4,))) for _ in range(count)]


def _gradients(model: nn.Module) -> dict[str, Tensor]:
    return {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}


def _saved(model: nn.Module, batch: Batch, folder: Path) -> Path:
    step = ingot.export(copy.deepcopy(model), batch, train=True)
    ingot.compile(step, options={"strict": True}).save(folder / "it.ingot")
    return folder / "it.ingot"


def test_a_compiled_training_step() -> None:
    torch.manual_seed(0)
    model, batches = Step(), _batches(3)
    twin = copy.deepcopy(model)
    exe = ingot.compile(ingot.export(model, batches[0], train=True), options={"strict": True})
    for x, target in batches:
        logits, loss = exe(x, target)
        wanted = twin(x, target)
        wanted[1].backward()
        assert not logits.requires_grad and not loss.requires_grad
        torch.testing.assert_close((logits, loss), wanted)
    torch.testing.assert_close(_gradients(model), _gradients(twin))
    torch.testing.assert_close(dict(model.named_buffers()), dict(twin.named_buffers()))
    assert model.frozen.weight.grad is None


@pytest.mark.parametrize("compiled", [False, True])
def test_gradients_are_added_in_place(compiled: bool) -> None:
    """As backward() adds them: a view of a gradient sees the sum."""
    model, (batch,) = Step(), _batches(1)
    step: Any = ingot.export(model, batch, train=True)
    step = ingot.compile(step) if compiled else step
    step(*batch)
    gradient = model.linear.weight.grad
    assert gradient is not None
    first = gradient.clone()
    model.norm.eval()  # the program was made in training mode
    step(*batch)
    assert model.linear.weight.grad is gradient
    torch.testing.assert_close(gradient, 2 * first, rtol=1e-3, atol=1e-5)


def test_a_training_step_in_another_process(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model, batches = Step(), _batches(3)
    path = _saved(model, batches[0], tmp_path)
    records = []
    for batch in batches:
        result = model(*batch)
        result[1].backward()
        records.append({
            "args": batch, "kwargs": {}, "result": [r.detach() for r in result],
            "after": list(batch), "gradients": _gradients(model),
        })  # fmt: skip
    torch.save(records, tmp_path / "calls.pt")
    done = run([str(path), str(tmp_path / "calls.pt")], tmp_path)
    assert done.returncode == 0, done.stderr


def test_an_optimizer_trains_the_weights_of_a_file(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model, batches = Step(), _batches(4)
    exe = ingot.load(_saved(model, batches[0], tmp_path))
    learning = [w for w in exe.weights.values() if w.requires_grad]
    assert len(learning) == 6 and all(isinstance(w, nn.Parameter) for w in learning)
    ours = torch.optim.AdamW(learning, 1e-2)
    theirs = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], 1e-2)
    for batch in batches:
        loss, wanted = exe(*batch)[1], model(*batch)[1]
        wanted.backward()
        torch.testing.assert_close(loss, wanted, rtol=1e-3, atol=1e-4)
        for optimizer in (ours, theirs):
            optimizer.step()
            optimizer.zero_grad()
    assert model.frozen.weight.grad is None and exe.weights["frozen.weight"].grad is None
    exe.load_weights(model.state_dict())
    assert exe.weights["linear.weight"].requires_grad
    torch.testing.assert_close(exe(*batches[0])[1], model(*batches[0])[1], rtol=1e-3, atol=1e-4)
    assert exe.weights["linear.weight"].grad is not None


def adam(
    weights: list[Tensor], gradients: list[Tensor], means: list[Tensor], squares: list[Tensor],
    count: Tensor,
) -> None:  # fmt: skip
    count.add_(1)
    for weight, gradient, mean, square in zip(weights, gradients, means, squares, strict=True):
        mean.lerp_(gradient, 0.1)
        square.mul_(0.999).addcmul_(gradient, gradient, value=0.001)
        scale = (square / (1 - 0.999**count)).sqrt() + 1e-8
        weight.sub_(0.01 * mean / (1 - 0.9**count) / scale)


def test_an_optimizer_in_a_file(tmp_path: Path) -> None:
    """Its state is what it is called with, and is written."""
    shapes = (8, 4), (4,), (3, 5, 2)

    def call() -> tuple[Any, ...]:
        lists = [[torch.randn(shape) for shape in shapes] for _ in range(3)]
        return *lists, [torch.rand(shape) for shape in shapes], torch.tensor(3.0)

    torch.manual_seed(0)
    done = run(save(adam, [(call(), {}) for _ in range(2)], tmp_path), tmp_path)
    assert done.returncode == 0, done.stderr


def test_a_generation_loop(tmp_path: Path) -> None:
    """Greedy decoding with a static cache, the loop included."""
    torch.manual_seed(0)
    calls: list[Any] = [
        ((torch.randint(50, (1, 4)), torch.tensor(count), torch.tensor(end)), {})
        for count, end in ((20, 50), (24, 38), (5, 50), (1, 50))
    ]
    model = Decoder().eval()
    with torch.no_grad():
        lengths = [int(model(*args)[1]) for args, _ in calls]
    assert lengths[0] == 20 and lengths[3] == 1
    done = run(save(model, calls, tmp_path), tmp_path)
    assert done.returncode == 0, done.stderr
