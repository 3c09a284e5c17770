"""Backward graphs: where with scalars, every output mask of a convolution's backward, losses,
checkpointing, complete training steps."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from .check import check


class LinearModel(nn.Module):
    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)

    def forward(self, x: Tensor) -> Tensor:
        x = x.view(x.size(0), -1)
        return self.linear(x)


def test_cross_entropy_of_a_linear_model() -> None:
    """The backward contains aten.where on a scalar_tensor."""

    class WithLoss(LinearModel):
        def forward(self, x: Tensor, target: Tensor) -> Tensor:  # type: ignore[override]
            return F.cross_entropy(super().forward(x), target)

    check(WithLoss(28, 10), torch.randn(16, 4, 7), torch.randint(0, 10, (16,)), grad=True)
    ignored = torch.tensor([1, -100, 3, -100])
    check(WithLoss(28, 10), torch.randn(4, 4, 7), ignored, grad=True)


def test_where_with_scalars() -> None:
    x = torch.randn(5, 4, requires_grad=True)
    check(lambda x: torch.where(x > 0, x, 0.0), x, grad=True)
    check(lambda x: torch.where(x > 0, torch.scalar_tensor(2.0) * x, x), x, grad=True)
    check(lambda x: torch.where(x > 0, 1.5, x.exp()), x, grad=True)


LOSSES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "mse": lambda x, y: F.mse_loss(x, y),
    "l1": lambda x, y: F.l1_loss(x, y),
    "smooth l1": lambda x, y: F.smooth_l1_loss(x, y, beta=0.5),
    "huber": lambda x, y: F.huber_loss(x, y, reduction="sum"),
    "bce": lambda x, y: F.binary_cross_entropy(x.sigmoid(), y.sigmoid()),
    "bce with logits": lambda x, y: F.binary_cross_entropy_with_logits(x, y.sigmoid()),
    "kl": lambda x, y: F.kl_div(x.log_softmax(-1), y.softmax(-1), reduction="batchmean"),
    "cross entropy, soft": lambda x, y: F.cross_entropy(x, y.softmax(-1), label_smoothing=0.1),
    "nll, weighted": lambda x, y: F.nll_loss(
        x.log_softmax(-1), y.argmax(-1), weight=torch.linspace(0.5, 1, x.size(-1))
    ),
    "cosine": lambda x, y: F.cosine_embedding_loss(x, y, y[:, 0].sign()),
    "hinge": lambda x, y: F.multi_margin_loss(x, y.argmax(-1)),
    "gaussian nll": lambda x, y: F.gaussian_nll_loss(x, y, y.exp()),
    "poisson nll": lambda x, y: F.poisson_nll_loss(x, y.exp()),
    "triplet": lambda x, y: F.triplet_margin_loss(x, y, x.flip(0)),
}


@pytest.mark.parametrize("name", LOSSES)
def test_losses(name: str) -> None:
    x, y = torch.randn(6, 5, requires_grad=True), torch.randn(6, 5, requires_grad=True)
    whole = name != "gaussian nll"  # it reads values, so Dynamo breaks the graph
    check(LOSSES[name], x, y, grad=True, fullgraph=whole)


MASKS = [mask for mask in product([True, False], repeat=3) if any(mask)]


@pytest.mark.parametrize("mask", MASKS, ids=str)
@pytest.mark.parametrize("kind", ["plain", "strided", "grouped", "depthwise", "transposed"])
def test_convolution_backward_mask(kind: str, mask: tuple[bool, bool, bool]) -> None:
    """Gradients of input, weight and bias: all masks but the empty one."""
    groups = {"grouped": 2, "depthwise": 4}.get(kind, 1)
    stride = 2 if kind == "strided" else 1
    shape = (
        (4, 6, 3, 3) if kind == "transposed" else (4 * (2 if groups == 2 else 1), 4 // groups, 3, 3)
    )
    x = torch.randn(2, 4, 7, 7, requires_grad=mask[0])
    weight = torch.randn(shape, requires_grad=mask[1])
    bias = torch.randn(6 if kind == "transposed" else shape[0], requires_grad=mask[2])

    def function(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        if kind == "transposed":
            return F.conv_transpose2d(x, weight, bias, stride=2).relu()
        return F.conv2d(x, weight, bias, stride=stride, padding=1, groups=groups).relu()

    check(function, x, weight, bias, grad=True, loosen=4)


@pytest.mark.parametrize("mask", MASKS, ids=str)
def test_convolution_backward_called_by_hand(mask: tuple[bool, bool, bool]) -> None:
    """The op returns None where the mask is False."""

    def function(g: Tensor, x: Tensor, w: Tensor) -> list[Tensor]:
        grads = torch.ops.aten.convolution_backward(
            g, x, w, [w.size(0)], [1, 1], [0, 0], [1, 1], False, [0, 0], 1, list(mask)
        )
        return [grad * 2 for grad, wanted in zip(grads, mask, strict=True) if wanted]

    g, x, w = torch.randn(2, 4, 5, 5), torch.randn(2, 3, 7, 7), torch.randn(4, 3, 3, 3)
    check(function, g, x, w, loosen=4)


@pytest.mark.parametrize("dims", [1, 3])
def test_convolutions_of_other_ranks(dims: int) -> None:
    conv = (nn.Conv1d if dims == 1 else nn.Conv3d)(3, 4, 3, padding=1)
    x = torch.randn(2, 3, *([6] * dims), requires_grad=True)
    check(conv, x, grad=True, loosen=4)


@pytest.mark.parametrize(
    "norm",
    [
        nn.BatchNorm2d(4),
        nn.BatchNorm2d(4, track_running_stats=False),
        nn.BatchNorm2d(4, momentum=None),
        nn.BatchNorm2d(4).eval(),
        nn.GroupNorm(2, 4),
        nn.InstanceNorm2d(4, affine=True),
        nn.LayerNorm([4, 5, 5]),
        nn.LocalResponseNorm(2),
        nn.RMSNorm(5),
    ],
    ids=str,
)
def test_norms(norm: nn.Module) -> None:
    """Running statistics are compared too."""
    x = (torch.randn(3, 4, 5, 5) * 2 + 1).requires_grad_()
    whole = getattr(norm, "momentum", 0.1) is not None  # otherwise the number of calls is read
    check(norm, x, grad=True, calls=2, loosen=4, fullgraph=whole)


def test_gradient_of_an_input_that_is_used_twice() -> None:
    x = torch.randn(4, 4, requires_grad=True)
    check(lambda x: (x @ x.t()).softmax(-1) * x, x, grad=True)


def test_some_outputs_need_no_gradient() -> None:
    x = torch.randn(4, requires_grad=True)
    check(lambda x: (x.exp(), x.argmax(), x.detach() * 2, x > 0), x, grad=True)


def test_no_grad_region_inside() -> None:
    def function(x: Tensor) -> Tensor:
        with torch.no_grad():
            scale = x.abs().max()
        y = x / scale
        with torch.enable_grad():
            z = y.exp()
        return z * y.detach()

    check(function, torch.randn(5, requires_grad=True), grad=True)


def test_custom_autograd_function() -> None:
    class Clip(torch.autograd.Function):
        @staticmethod
        def forward(ctx: object, x: Tensor) -> Tensor:
            ctx.save_for_backward(x)  # type: ignore[attr-defined]
            return x.clamp(-1, 1)

        @staticmethod
        def backward(ctx: object, g: Tensor) -> Tensor:
            (x,) = ctx.saved_tensors  # type: ignore[attr-defined]
            return g * (x.abs() < 2)

    check(lambda x: Clip.apply(x * 2) + x, torch.randn(8, requires_grad=True), grad=True)


def test_checkpoint_recomputes_with_the_same_random_numbers() -> None:
    block = nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.Dropout(0.5), nn.Linear(8, 8))

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.block = block

        def forward(self, x: Tensor) -> Tensor:
            return checkpoint(self.block, x, use_reentrant=False).sum(-1)

    check(Net(), torch.randn(4, 8, requires_grad=True), grad=True)


def test_second_call_accumulates() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
    x = torch.randn(3, 4)
    compiled = torch.compile(model, backend="ingot", options={"strict": True})
    for _ in range(2):
        compiled(x).sum().backward()
    twice = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    model(x).sum().backward()
    for parameter, grad in zip(model.parameters(), twice, strict=True):
        torch.testing.assert_close(grad, 2 * parameter.grad)


@pytest.mark.parametrize("name", ["SGD", "AdamW"])
def test_training_converges_like_eager(name: str) -> None:
    def train(compiled: bool) -> list[float]:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 1))
        optimizer = getattr(torch.optim, name)(model.parameters(), lr=0.01, weight_decay=0.01)
        call = (
            torch.compile(model, backend="ingot", options={"strict": True}) if compiled else model
        )
        losses = []
        for _ in range(5):
            x = torch.randn(32, 4)
            loss = F.mse_loss(call(x), x.sum(-1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    assert train(True) == pytest.approx(train(False), rel=1e-4)


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
def test_compiled_optimizer_step(name: str) -> None:
    def steps(compiled: bool) -> list[Tensor]:
        torch.manual_seed(0)
        weights = [torch.randn(5, 3, requires_grad=True), torch.randn(7, requires_grad=True)]
        extra = {"momentum": 0.9} if name == "SGD" else {}
        optimizer = getattr(torch.optim, name)(weights, lr=0.1, **extra)
        step = optimizer.step
        if compiled:
            step = torch.compile(step, backend="ingot", options={"strict": True})
        for _ in range(3):
            for weight in weights:
                weight.grad = torch.randn_like(weight)
            step()
        return [weight.detach() for weight in weights]

    for got, want in zip(steps(True), steps(False), strict=True):
        torch.testing.assert_close(got, want)


def test_double_backward_says_so_or_works() -> None:
    x = torch.randn(4, requires_grad=True)
    compiled = torch.compile(lambda x: x.sin(), backend="ingot", options={"strict": True})
    (grad,) = torch.autograd.grad(compiled(x).sum(), x, create_graph=True)
    torch.testing.assert_close(grad, x.cos())
    with pytest.raises(RuntimeError, match="does not currently support double backward"):
        torch.autograd.grad(grad.sum(), x)
