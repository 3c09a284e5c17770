"""The locations where models keep tensors: every way to rebind a name is detected."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import ingot
from ingot import FallbackWarning, InputError
from ingot.runtime import model_state
from ingot.runtime.model_state import ModelState

GLOBAL = torch.randn(4)


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)
        self.second.weight = self.first.weight
        self.register_buffer("scale", torch.ones(4), persistent=False)
        self.register_buffer("absent", None)
        self.plain = torch.randn(4)
        self.items: list[Any] = [torch.randn(4), {"deep": torch.randn(4)}, self]

    def tensors(self) -> dict[str, Any]:
        return {
            "first.weight": self.first.weight,
            "first.bias": self.first.bias,
            "scale": self.scale,
            "plain": self.plain,
            "item": self.items[0],
            "deep": self.items[1]["deep"],
            "made in forward": torch.ones(2),
        }


def tie(model: Model, weight: nn.Parameter) -> None:
    model.first.weight = model.second.weight = weight


CHANGES: dict[str, tuple[str, Callable[[Model], object]]] = {
    "parameter": ("first.bias", lambda m: setattr(m.first, "bias", nn.Parameter(torch.ones(4)))),
    "tied parameter": ("first.weight", lambda m: tie(m, nn.Parameter(torch.ones(4, 4)))),
    "buffer": ("scale", lambda m: setattr(m, "scale", torch.zeros(4))),
    "attribute": ("plain", lambda m: setattr(m, "plain", torch.zeros(4))),
    "item": ("item", lambda m: m.items.__setitem__(0, torch.zeros(4))),
    "item of a dict": ("deep", lambda m: m.items[1].update(deep=torch.zeros(4))),
    "a dict": ("deep", lambda m: m.items.__setitem__(1, {"deep": torch.zeros(4)})),
    "assigned": (
        "first.bias",
        lambda m: m.first.load_state_dict(
            {"weight": m.first.weight, "bias": torch.ones(4)}, assign=True
        ),
    ),
    "behind setattr": (
        "first.bias",
        lambda m: m.first._parameters.update(bias=nn.Parameter(torch.ones(4))),
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_replaced_tensor_is_found(change: str) -> None:
    model = Model()
    state = ModelState(model.tensors(), model)
    assert state.is_current()
    name, apply = CHANGES[change]
    old = state.state[name]
    apply(model)
    assert not state.is_current()
    renewed = state.renewed()
    assert renewed.is_current()
    assert renewed.state[name] is model.tensors()[name] is not old
    assert renewed.state["made in forward"] is state.state["made in forward"]


def test_a_replaced_layer() -> None:
    model = Model()
    state = ModelState(model.tensors(), model)
    layer = nn.Linear(4, 4)
    layer.weight = model.first.weight
    model.first = layer
    assert not state.is_current()
    assert state.renewed().state["first.bias"] is layer.bias


REFUSED: dict[str, tuple[Callable[[Model], object], str]] = {
    "gone": (lambda m: delattr(m.first, "bias"), "first.bias is no longer in the model"),
    "none": (lambda m: setattr(m.first, "bias", None), "first.bias is no longer in the model"),
    "untied": (
        lambda m: setattr(m.first, "weight", nn.Parameter(torch.ones(4, 4))),
        "first.weight was one tensor and is several now",
    ),
    "shape": (
        lambda m: setattr(m.first, "bias", nn.Parameter(torch.ones(1))),
        "first.bias now has shape [1]; the program was made for [4]",
    ),
    "dtype": (
        lambda m: setattr(m, "plain", m.plain.double()),
        "plain now has dtype torch.float64; the program was made for torch.float32",
    ),
}


@pytest.mark.parametrize("change", REFUSED)
def test_what_does_not_fit_is_refused(change: str) -> None:
    model = Model()
    state = ModelState(model.tensors(), model)
    apply, message = REFUSED[change]
    apply(model)
    assert not state.is_current()
    with pytest.raises(InputError) as caught:
        state.renewed()
    assert message in str(caught.value)


def functions() -> dict[str, tuple[Callable[..., Any], Callable[[torch.Tensor], object]]]:
    """Functions that read a tensor, each with a function that replaces it."""
    held = torch.randn(4)

    def closure(x: torch.Tensor) -> torch.Tensor:
        return (lambda y: y * held)(x)

    def give_closure(new: torch.Tensor) -> None:
        nonlocal held
        held = new

    def use_global(x: torch.Tensor) -> torch.Tensor:
        return x * GLOBAL

    layer = nn.Linear(4, 4)
    with_layer = functools.partial(lambda layer, x: layer(x), layer)

    return {
        "closure": (closure, give_closure),
        "global": (use_global, lambda new: globals().update(GLOBAL=new)),
        "method": (layer.forward, lambda new: setattr(layer, "bias", nn.Parameter(new))),
        "partial": (with_layer, lambda new: setattr(layer, "bias", nn.Parameter(new))),
    }


@pytest.mark.parametrize("kind", ["closure", "global", "method", "partial"])
def test_tensors_of_functions(kind: str) -> None:
    function, give = functions()[kind]
    layer = getattr(function, "__self__", None) or (getattr(function, "args", None) or [None])[0]
    if kind == "closure":
        used = function.__closure__[0].cell_contents  # type: ignore[attr-defined]
    else:
        used = GLOBAL if kind == "global" else layer.bias
    state = ModelState({"lifted": used.detach()}, function)
    assert state.state["lifted"] is used and state.is_current()
    new = torch.ones(4)
    give(new)
    assert not state.is_current()
    assert state.renewed().state["lifted"].data_ptr() == new.data_ptr()


def test_a_model_that_cannot_be_looked_through_runs_in_eager(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A name that is not checked would become stale without notice."""
    monkeypatch.setattr(model_state, "MOST", 1)
    layer, x = nn.Linear(4, 4), torch.randn(2, 4)
    with torch.no_grad(), pytest.warns(FallbackWarning, match="more than 1 ways"):
        compiled = ingot.compile(layer, (x,))
    with torch.no_grad():
        layer.weight = nn.Parameter(torch.ones(4, 4))
        assert torch.equal(compiled(x), layer(x))
