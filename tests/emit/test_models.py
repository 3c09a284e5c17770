"""Unmodified models lowered to all four dialects, each run back and equal to eager."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import Dim
from torch.utils._pytree import tree_leaves

import ingot
from tests.emit.programs import DIALECTS
from tests.models import hugging_face, nets

QUICK = ("gpt2", "vit", "whisper")
HUGGING_FACE = [
    name if name in QUICK else pytest.param(name, marks=pytest.mark.slow)
    for name in hugging_face.BUILDERS
    if name != "opt"
]
NETS = ["resnet", "mobilenet", pytest.param("unet", marks=pytest.mark.slow), "lstm", "encoder"]


class ConvNext(nn.Module):
    """Depthwise convolution, layer norm over channels, a wide pointwise pair, a learned scale."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, width, 4, 4)
        self.depthwise = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.wide = nn.Linear(width, 4 * width)
        self.narrow = nn.Linear(4 * width, width)
        self.scale = nn.Parameter(1e-2 * torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x)
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        y = self.scale * self.narrow(nn.functional.gelu(self.wide(y)))
        return x + y.permute(0, 3, 1, 2)


def verified(
    model: nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    dialects: tuple[str, ...] = DIALECTS,
    shapes: Any = None,
) -> ingot.Program:
    """Export, call, compare leaf by leaf, and run back in every dialect."""
    model.eval()
    with torch.no_grad():
        program = ingot.export(model, args, kwargs, dynamic_shapes=shapes)
        got, want = program(*args, **kwargs), model(*args, **kwargs)
    assert type(got) is type(want)
    torch.testing.assert_close(tree_leaves(got), tree_leaves(want))
    for dialect in dialects:
        program.verify(dialect, args, kwargs)
    return program


@pytest.mark.parametrize("name", HUGGING_FACE)
def test_hugging_face(name: str) -> None:
    model, kwargs = hugging_face.BUILDERS[name]()
    verified(model, (), kwargs)


@pytest.mark.parametrize("name", NETS)
def test_nets(name: str) -> None:
    model, args = nets.BUILDERS[name]()
    verified(model, args, {})


def test_convnext() -> None:
    verified(ConvNext(), (torch.randn(1, 3, 32, 32),), {})


ALL_OUTPUTS = {"output_attentions": True, "output_hidden_states": True}
OPT_SETTINGS: list[dict[str, bool]] = [
    {"use_cache": use_cache, "return_dict": return_dict, **more}
    for use_cache in (True, False)
    for return_dict in (True, False)
    for more in ({}, ALL_OUTPUTS)
]


def opt(settings: dict[str, bool], masked: bool = True) -> tuple[nn.Module, dict[str, Any]]:
    model, kwargs = hugging_face.opt()
    if settings.get("output_attentions"):
        model.set_attn_implementation("eager")
    if not masked:
        del kwargs["attention_mask"]
    return model, {**kwargs, **settings}


def settings_name(settings: dict[str, bool]) -> str:
    return " ".join(name for name, on in settings.items() if on) or "plain"


@pytest.mark.slow
@pytest.mark.parametrize("settings", OPT_SETTINGS, ids=settings_name)
def test_opt(settings: dict[str, bool]) -> None:
    model, kwargs = opt(settings)
    program = verified(model, (), kwargs)
    result = program(**kwargs)
    assert isinstance(result, tuple) is not settings["return_dict"]
    if settings["return_dict"] and "output_attentions" in settings:
        assert (len(result.attentions), len(result.hidden_states)) == (2, 3)
    if settings["return_dict"]:
        assert ("past_key_values" in result) is settings["use_cache"]


def test_opt_without_a_mask() -> None:
    model, kwargs = opt({"use_cache": True}, masked=False)
    verified(model, (), kwargs)


def of_any_length(model: nn.Module, kwargs: dict[str, Any]) -> ingot.Program:
    """Run back in every dialect at two sequence lengths."""
    length = Dim("length", min=2, max=60)
    shapes = {"input_ids": {1: length}, "attention_mask": {1: length}}
    shapes |= {name: None for name in kwargs if name not in shapes}
    program = verified(model, (), kwargs, DIALECTS, shapes)
    other = {**kwargs, **hugging_face.padded(hugging_face.tokens(2, 17))}
    for dialect in DIALECTS:
        program.verify(dialect, (), other)
    return program


@pytest.mark.slow
@pytest.mark.parametrize("settings", OPT_SETTINGS, ids=settings_name)
def test_opt_with_any_length(settings: dict[str, bool]) -> None:
    program = of_any_length(*opt(settings))
    texts = {dialect: program.to_mlir(dialect).text for dialect in ("tosa", "stablehlo")}
    for text in texts.values():
        assert "tensor<2x?xi64>" in text
        assert " in 2..60" in text, "symbols and their ranges are on the arguments"
        assert "call @" not in text
    foreign = re.findall(r"= (?:shape|tensor)\.\w+", texts["stablehlo"])
    assert not foreign, "sizes are computed in StableHLO itself"
    assert "tosa.dim" in texts["tosa"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bert", "gpt2", "llama", "t5"])
def test_language_models_with_any_length(name: str) -> None:
    model, kwargs = hugging_face.BUILDERS[name]()
    of_any_length(model, kwargs)


@pytest.mark.parametrize("kind", ["DynamicCache", "StaticCache"])
def test_a_step_of_decoding_with_a_cache(kind: str) -> None:
    import transformers

    model, kwargs = hugging_face.llama()
    model.eval()
    settings = {"max_cache_len": 20} if kind == "StaticCache" else {}
    cache = getattr(transformers, kind)(config=model.config, **settings)
    step = {"input_ids": kwargs["input_ids"][:, :1], "use_cache": True}
    with torch.no_grad():
        model(input_ids=kwargs["input_ids"], past_key_values=cache, use_cache=True)
        caches = [copy.deepcopy(cache) for _ in range(4)]
        program = ingot.export(model, (), {**step, "past_key_values": caches[0]})
        got = program(**step, past_key_values=caches[1])
        want = model(**step, past_key_values=caches[2])
    assert type(got.past_key_values) is type(cache)
    torch.testing.assert_close(tree_leaves(got), tree_leaves(want))
    if kind == "StaticCache":
        torch.testing.assert_close(tree_leaves(caches[1]), tree_leaves(caches[2]))
    program.verify("linalg", (), {**step, "past_key_values": caches[3]})
