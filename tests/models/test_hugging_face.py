"""Hugging Face models, inference and one training step, against eager."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from .hugging_face import BUILDERS, SLOW_BUILDERS, tensors_of
from .judge import as_default, compare, training_step

EVERY = [*BUILDERS, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW_BUILDERS)]


def build(name: str) -> tuple[nn.Module, dict[str, Any]]:
    return {**BUILDERS, **SLOW_BUILDERS}[name]()


def without_dropout(model: nn.Module) -> nn.Module:
    """The reference runs in float64, which samples other random numbers."""
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
        for attribute in (
            "dropout",
            "attention_dropout",
            "activation_dropout",
            "dropout_rate",
            "drop_prob",
            "layerdrop",
        ):
            if isinstance(getattr(module, attribute, None), float):
                setattr(module, attribute, 0.0)
    return model


@pytest.mark.parametrize("name", EVERY)
def test_inference(name: str) -> None:
    model, arguments = build(name)

    def call(model: nn.Module) -> list[Tensor]:
        with torch.no_grad():
            return tensors_of(model(**as_default(arguments)))

    compiled = compare(model.eval(), call)
    assert sum(c.fused.count("fallback") for c in compiled) == 0


@pytest.mark.parametrize("name", EVERY)
def test_training_step(name: str) -> None:
    model, arguments = build(name)
    without_dropout(model.train())

    def loss_of(model: nn.Module) -> Tensor:
        output = tensors_of(model(**as_default(arguments)))[0]
        logits = output.flatten(0, -2)
        target = torch.arange(len(logits)) % logits.size(-1)
        return torch.nn.functional.cross_entropy(logits, target)

    compare(model, lambda model: training_step(loss_of, model))


def test_training_step_draws_eagers_dropout() -> None:
    """With dropout enabled, the same seed gives eager's loss."""
    model, arguments = build("bert")
    model.train()
    compiled = torch.compile(model, backend="ingot", options={"strict": True})
    losses = []
    for call in (model, compiled):
        torch.manual_seed(7)
        losses.append(call(**arguments, labels=arguments["input_ids"]).loss.item())
    assert losses[1] == pytest.approx(losses[0], rel=1e-5)


def test_generate_token_by_token() -> None:
    """Greedy decoding with a growing cache gives eager's tokens."""
    model, arguments = build("gpt2")
    model.eval()
    ids = arguments["input_ids"][:1, :4]
    settings = {"max_new_tokens": 6, "do_sample": False, "pad_token_id": 0}
    with torch.no_grad():
        want = model.generate(ids, **settings)
        model.forward = torch.compile(model.forward, backend="ingot", options={"strict": True})
        got = model.generate(ids, **settings)
    assert torch.equal(got, want)


@pytest.mark.parametrize("name", ["opt", "llama"])
def test_tuples_instead_of_model_outputs(name: str) -> None:
    """return_dict=False with hidden states and attentions: tuples of tuples."""
    from torch.utils import _pytree as pytree

    model, arguments = build(name)
    model.eval().set_attn_implementation("eager")
    wanted = {"use_cache": False, "output_hidden_states": True, "output_attentions": True}

    def call(model: nn.Module) -> list[Tensor]:
        with torch.no_grad():
            output = model(**arguments, **wanted, return_dict=False)
        return pytree.tree_leaves(output)

    compare(model, call)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bert", "llama", "vit"])
def test_dynamic_sizes(name: str) -> None:
    model, arguments = build(name)

    def call(model: nn.Module) -> list[Tensor]:
        with torch.no_grad():
            return tensors_of(model(**as_default(arguments)))

    compare(model.eval(), call, dynamic=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bert", "gpt2", "llama"])
def test_autocast(name: str) -> None:
    model, arguments = build(name)
    model.eval()
    compiled = torch.compile(model, backend="ingot", options={"strict": True})
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        got, want = tensors_of(compiled(**arguments)), tensors_of(model(**arguments))
    for a, b in zip(got, want, strict=True):
        torch.testing.assert_close(a.float(), b.float(), rtol=0.1, atol=0.05)
