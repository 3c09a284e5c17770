"""Calls of an `ingot.compile` result in various contexts: gradients, autocast, forward-mode AD,
modes, transforms. Values, dtypes, gradients and autograd histories equal the model's.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.autograd.forward_ad as fwd
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

import ingot
from ingot.errors import EagerCallWarning


def net() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 4))


def x() -> Tensor:
    return torch.rand(4, 4, generator=torch.Generator().manual_seed(1))


def close(got: Any, wanted: Any) -> None:
    torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-5)


def natively(call: Callable[[], Any]) -> Any:
    """Call it and raise if it falls back to calling the model."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", EagerCallWarning)
        return call()


def test_gradients_of_inputs() -> None:
    def function(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return torch.sin(a) * b, b.detach() * 2, a.argmax()

    exe = ingot.compile(function, (x(), x()))
    found = []
    for call in (exe, function):
        a, b = x().requires_grad_(), x()
        results = natively(lambda call=call, a=a, b=b: call(a, b))
        results[0].square().sum().backward()
        found.append((a.grad, b.grad, [r.requires_grad for r in results], results))
    close(*([each[0], *each[3]] for each in found))
    assert found[0][1] is None
    assert found[0][2] == found[1][2] == [True, False, False]


def test_gradients_of_parameters_and_of_gradients() -> None:
    model = net()
    exe = ingot.compile(model, (x(),))
    found = []
    for call in (exe, model):
        a = x().requires_grad_()
        (first,) = torch.autograd.grad(natively(lambda c=call, a=a: c(a)).square().sum(), a,
                                       create_graph=True)  # fmt: skip
        first.square().sum().backward()
        found.append([a.grad, *(p.grad for p in model.parameters())])
        model.zero_grad()
    close(*found)


def test_a_frozen_part_gets_no_gradient() -> None:
    model = net()
    exe = ingot.compile(model, (x(),))
    model[0].requires_grad_(False)
    exe(x()).sum().backward()
    assert model[0].weight.grad is None
    assert model[2].weight.grad is not None
    model.requires_grad_(False)
    assert not exe(x()).requires_grad


def test_hooks_run_once() -> None:
    model = net()
    exe = ingot.compile(model, (x(),))
    calls: list[int] = []
    model[0].weight.register_hook(lambda g: (calls.append(1), g * 2)[1])
    exe(x()).sum().backward()
    ours, model[0].weight.grad = model[0].weight.grad, None
    model(x()).sum().backward()
    assert len(calls) == 2
    close(ours, model[0].weight.grad)


def test_a_write_before_backward_is_noticed() -> None:
    exe = ingot.compile(lambda a: a.sin() * 2, (x(),))
    a = x().requires_grad_() * 1
    result = exe(a)
    a.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.sum().backward()


@pytest.mark.parametrize("program", ["writes", "draws", "returns its input", "branches"])
def test_what_cannot_be_run_again_runs_in_eager(program: str) -> None:
    def function(a: Tensor, b: Tensor) -> Any:
        if program == "writes":
            return b.add_(1) * a
        if program == "draws":
            return nn.functional.dropout(a, 0.5) + b
        if program == "returns its input":
            return a, a * b
        return torch.cond(b.sum() > 0, lambda a: a.sin(), lambda a: a.cos(), (a,))

    exe = ingot.compile(function, (x(), x()))
    found = []
    for call in (exe, function):
        a, b = x().requires_grad_(), x()
        torch.manual_seed(5)
        if call is exe:
            with pytest.warns(EagerCallWarning, match="gradients are recorded"):
                result = call(a, b)
        else:
            result = call(a, b)
        total = result[1] if isinstance(result, tuple) else result
        total.sum().backward()
        found.append((total, a.grad, b))
    close(*found)


def test_no_history_without_grad_mode() -> None:
    exe = ingot.compile(net(), (x(),))
    with torch.no_grad():
        assert not natively(lambda: exe(x().requires_grad_())).requires_grad
    with torch.inference_mode():
        assert natively(lambda: exe(x())).is_inference()


def test_a_model_that_computes_without_gradients_has_no_history() -> None:
    class Quiet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = net()

        @torch.no_grad()
        def forward(self, a: Tensor) -> Tensor:
            return torch.linalg.vector_norm(self.inner(a), dim=0)

    model = Quiet()
    exe = ingot.compile(model, (x(),))
    assert not natively(lambda: exe(x().requires_grad_())).requires_grad


def test_a_switched_model_is_not_run_in_its_place() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout()).eval()
    exe = ingot.compile(model, (x(),))
    model.train()
    with torch.no_grad():
        natively(lambda: exe(x()))
    with pytest.raises(ingot.IngotError, match=r"train\(\) and eval\(\)"):
        torch.vmap(exe)(x()[None])


@pytest.mark.parametrize("made", [None, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("called", [None, torch.bfloat16, torch.float16])
def test_autocast(made: torch.dtype | None, called: torch.dtype | None) -> None:
    def autocast(dtype: torch.dtype | None) -> torch.autocast:
        return torch.autocast("cpu", dtype=dtype or torch.bfloat16, enabled=dtype is not None)

    model = net()
    with torch.no_grad():
        with autocast(made):
            exe = ingot.compile(model, (x(),))
        with autocast(called):
            wanted = model(x())
            if made is called:
                got = natively(lambda: exe(x()))
            else:
                with pytest.warns(EagerCallWarning, match="autocast"):
                    got = exe(x())
    assert got.dtype is wanted.dtype
    tolerance = 2e-2 if called is not None else 1e-5
    torch.testing.assert_close(got, wanted, rtol=tolerance, atol=tolerance)


def test_autocast_of_a_program_without_tensors() -> None:
    def function() -> Tensor:
        return torch.ones(4, 4) @ torch.ones(4, 4)

    exe = ingot.compile(function, ())
    with torch.autocast("cpu", dtype=torch.bfloat16), pytest.warns(EagerCallWarning):
        assert exe().dtype is torch.bfloat16


def test_gradients_under_autocast() -> None:
    model = net()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        exe = ingot.compile(model, (x(),))
        natively(lambda: exe(x())).float().sum().backward()
    ours = [p.grad for p in model.parameters()]
    model.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        model(x()).float().sum().backward()
    torch.testing.assert_close(ours, [p.grad for p in model.parameters()], rtol=2e-2, atol=2e-2)


def test_forward_mode() -> None:
    model = net()
    exe = ingot.compile(model, (x(),))
    results = []
    for call in (exe, model):
        with torch.no_grad(), fwd.dual_level():
            made = fwd.make_dual(x(), torch.ones(4, 4))
            results.append(tuple(fwd.unpack_dual(call(made))))
    close(*results)


@pytest.mark.parametrize("transform", ["vmap", "grad", "jvp", "jacrev", "jacfwd", "hessian"])
def test_transforms(transform: str) -> None:
    def function(a: Tensor) -> Tensor:
        return torch.sin(a) * a + 1

    exe = ingot.compile(function, (x(),))

    def transformed(call: Callable[[Tensor], Tensor]) -> Any:
        if transform == "jvp":
            return torch.func.jvp(call, (x(),), (x(),))
        if transform == "vmap":
            return torch.vmap(call)(torch.stack([x(), x() + 1]))
        return getattr(torch.func, transform)(lambda a: call(a).sum())(x())

    close(transformed(exe), transformed(function))


def test_modes() -> None:
    model = net()
    exe = ingot.compile(model, (x(),))
    with torch.no_grad():
        counts = []
        for call in (exe, model):
            with FlopCounterMode(display=False) as counter:
                call(x())
            counts.append(counter.get_total_flops())
        assert counts[0] == counts[1] > 0
        with torch.device("cpu"):  # a function mode without effect
            close(natively(lambda: exe(x())), model(x()))


def test_another_default_dtype() -> None:
    def function(a: Tensor) -> Tensor:
        return a * torch.ones(4) + torch.arange(4) / 3

    exe = ingot.compile(function, (x(),))
    torch.set_default_dtype(torch.float64)
    try:
        with pytest.warns(EagerCallWarning, match="default dtype"):
            got = exe(x().float())
        assert got.dtype is function(x().float()).dtype is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


def test_other_strides_decide_what_is_shared() -> None:
    def function(a: Tensor) -> Tensor:
        return a.reshape(-1).add_(1)

    exe = ingot.compile(function, (x(),))
    ours, theirs = x().t(), x().t()
    with pytest.warns(EagerCallWarning, match="other strides"):
        close(exe(ours), function(theirs))
    close(ours, theirs)


def test_the_loss_of_a_training_program_has_no_second_history() -> None:
    class Loss(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = net()

        def forward(self, a: Tensor) -> tuple[Tensor, Tensor]:
            result = self.inner(a)
            return result.square().mean(), result

    model = Loss()
    program = ingot.export(model, (x(),), train=True)
    loss, result = program(x())
    assert not loss.requires_grad
    assert not result.requires_grad
    with pytest.raises(RuntimeError, match="does not require grad"):
        loss.backward()
    ours = [p.grad.clone() for p in model.parameters() if p.grad is not None]
    model.zero_grad()
    model(x())[0].backward()
    close(ours, [p.grad for p in model.parameters()])
