"""ingot.export: the program is called like its model and equals it, including writes and
structures."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import ingot


class Stateful(nn.Module):
    """Parameters, mutated buffers, plain tensors, writes to an input, unusual arguments."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.norm = nn.BatchNorm1d(4)
        self.register_buffer("calls", torch.zeros(3))
        self.plain = torch.ones(4)

    def forward(self, x: Tensor, y: Tensor, mask: Any = None, scale: int = 3) -> dict[str, Any]:
        self.calls.add_(1)
        x.mul_(2)
        z = self.norm(self.linear(x)) + self.plain + torch.tensor([1.0, 2, 3, 4])
        return {"z": z, "rest": (x, scale, None, y * scale)}


@dataclass
class Pair:
    first: Tensor
    second: tuple[Tensor, None, int]


def exported(model: nn.Module, dynamic: bool) -> ingot.Program:
    batch = torch.export.Dim("batch", min=2, max=99)
    shapes = {"x": {0: batch}, "y": None, "scale": None} if dynamic else None
    args = (torch.randn(7, 4), torch.randn(2))
    return ingot.export(model, args, {"scale": 4}, dynamic_shapes=shapes)


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_program_equals_its_model(dynamic: bool) -> None:
    model = Stateful()
    twin = copy.deepcopy(model)
    program = exported(model, dynamic)
    for rows in (7, 3) if dynamic else (7, 7):
        x, y = torch.randn(rows, 4), torch.randn(2)
        x_twin = x.clone()
        got, want = program(x, y, scale=4), twin(x_twin, y, scale=4)
        torch.testing.assert_close(got, want)
        torch.testing.assert_close(x, x_twin)
        assert got["rest"][0] is x
        torch.testing.assert_close(model.state_dict(), twin.state_dict())


def test_parameters_are_the_models_own() -> None:
    model = Stateful()
    program = exported(model, False)
    assert program.state["linear.weight"] is model.linear.weight
    assert not program.constants


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda p, x, y: p(x, y), "keyword arguments"),
        (lambda p, x, y: p(x, (y,), scale=4), "another structure"),
        (lambda p, x, y: p(x, y, scale=5), "kwargs['scale'] is 5"),
        (lambda p, x, y: p(x.double(), y, scale=4), "args[0] is torch.float64"),
        (lambda p, x, y: p(x[:, :3], y, scale=4), "dim 1 of x is 3"),
        (lambda p, x, y: p(x[:1], y, scale=4), "takes 2..99"),
        (lambda p, x, y: p(x[0], y, scale=4), "2 dims"),
        (lambda p, x, y: p(x, 1.0, scale=4), "is a float, not a tensor"),
    ],
)
def test_other_arguments_are_refused(call: Any, why: str) -> None:
    program = exported(Stateful(), True)
    with pytest.raises(ingot.InputError, match="was not made for") as caught:
        call(program, torch.randn(5, 4), torch.randn(2))
    assert why in str(caught.value)


def test_dataclasses_and_functions() -> None:
    def pair(x: Tensor) -> Pair:
        return Pair(x + 1, (x * 2, None, 3))

    x = torch.randn(3)
    for level in ("aten", "core"):
        got = ingot.export(pair, (x,), level=level)(x)
        assert isinstance(got, Pair)
        torch.testing.assert_close(got.first, x + 1)
        assert got.second[1:] == (None, 3)


class Keywords(nn.Module):
    def forward(self, x: Tensor, **kwargs: Any) -> Tensor:
        return x * kwargs["scale"] + kwargs["bias"]


def test_dynamic_sizes_of_other_keywords() -> None:
    model, n = Keywords(), torch.export.Dim("n", max=99)
    kwargs = {"scale": 2, "bias": torch.randn(4)}
    shapes = {"x": {0: n}, "scale": None, "bias": {0: n}}
    program = ingot.export(model, (torch.randn(4),), kwargs, dynamic_shapes=shapes)
    x, bias = torch.randn(7), torch.randn(7)
    torch.testing.assert_close(program(x, scale=2, bias=bias), x * 2 + bias)
    assert "forward" not in vars(model), "the model is left as it was"


def test_swapped_inputs() -> None:
    def swap(x: Tensor, y: Tensor) -> None:
        kept = x.clone()
        x.copy_(y)
        y.copy_(kept)

    x, y = torch.tensor([1.0]), torch.tensor([2.0])
    ingot.export(swap, (x.clone(), y.clone()))(x, y)
    assert (x.item(), y.item()) == (2.0, 1.0)


def test_what_cannot_be_traced_is_told_at_the_users_line(
    capfd: pytest.CaptureFixture[str],
) -> None:
    def branches(x: Tensor) -> Tensor:
        if x.sum() > 0:
            return x
        return x + 1

    with pytest.raises(ingot.CaptureError) as caught:
        ingot.export(branches, (torch.randn(3),))
    assert "if x.sum() > 0:" in str(caught.value)
    assert "torch.cond" in str(caught.value)
    assert "site-packages" not in str(caught.value)
    assert capfd.readouterr() == ("", "")  # only the error is printed


def test_an_op_without_known_shapes_is_told_with_a_way_round() -> None:
    def loss(x: Tensor, labels: Tensor) -> Tensor:
        return F.ctc_loss(x.log_softmax(-1), labels, (20, 18), (7, 5))

    args = (torch.randn(20, 2, 6), torch.randint(1, 6, (2, 7)))
    with pytest.raises(ingot.CaptureError) as caught:
        ingot.export(loss, args)
    for words in ("the shapes that aten._ctc_loss", "return F.ctc_loss(", "torch.compile("):
        assert words in str(caught.value)
    compiled = torch.compile(loss, backend="ingot")
    torch.testing.assert_close(compiled(*args), loss(*args))


def test_an_unknown_level_is_told() -> None:
    with pytest.raises(ingot.OptionError, match="did you mean 'core'"):
        ingot.export(torch.sin, (torch.randn(3),), level="cores")


class Step(nn.Module):
    """A loss, another output, an unused parameter, and an input with the name of an op."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten())
        self.head = nn.Linear(4 * 36, 5)
        self.unused = nn.Linear(2, 2)

    def forward(self, x: Tensor, t: Tensor) -> tuple[Tensor, Tensor]:
        logits = self.head(self.body(x))
        return logits, nn.functional.cross_entropy(logits, t)


@pytest.mark.parametrize("level", ["aten", "core"])
def test_a_training_step_adds_gradients(level: str) -> None:
    model = Step()
    twin = copy.deepcopy(model)
    x, t = torch.randn(2, 3, 8, 8), torch.tensor([1, 2])
    program = ingot.export(model, (x, t), level=level, train=True)
    for _ in range(2):
        logits, loss = program(x, t)
        want_logits, want = twin(x, t)
        want.backward()
        torch.testing.assert_close(loss, want)
        torch.testing.assert_close(logits, want_logits)
    for got, expected in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(got.grad, expected.grad)
    torch.testing.assert_close(dict(model.named_buffers()), dict(twin.named_buffers()))


def test_a_training_step_without_a_loss_is_told() -> None:
    with pytest.raises(ingot.CaptureError, match="needs a loss"):
        ingot.export(nn.Linear(2, 2), (torch.randn(3, 2),), train=True)
