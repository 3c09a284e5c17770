"""Whole models at pre-dispatch level, in eval mode and in training: what they return, what they
write to their buffers, and the gradients of every parameter are eager's; their composite ops are
kept, but for those that lie about their schema."""

from __future__ import annotations

import copy
from collections import Counter
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch._ops import OpOverload
from torch.fx import GraphModule
from torch.utils import _pytree as pytree

import ingot
from ingot.capture.regions import keeping_toggles
from ingot.program.liars import liars
from tests.models.hugging_face import BUILDERS as HUGGING_FACE
from tests.models.nets import BUILDERS as NETS

from .check import all_nodes, assert_functional

MODELS: dict[str, Any] = {
    **{name: HUGGING_FACE[name] for name in ("bert", "gpt2", "llama", "t5", "vit", "whisper")},
    **{name: NETS[name] for name in ("resnet", "unet", "lstm")},
}
IN_CI = {("bert", True), ("resnet", True), ("unet", False), ("lstm", True)}

CASES = [
    pytest.param(
        name, training, marks=[] if (name, training) in IN_CI else [pytest.mark.slow],
        id=f"{name}-{'train' if training else 'eval'}",
    )
    for name in MODELS
    for training in (True, False)
]  # fmt: skip


def build(name: str) -> tuple[nn.Module, tuple[Any, ...], dict[str, Any]]:
    torch.manual_seed(3)
    model, given = MODELS[name]()
    return (model, (), given) if isinstance(given, dict) else (model, given, {})


def set_training(name: str, model: nn.Module, training: bool) -> None:
    model.train(training)
    if name == "whisper":
        # The encoder itself decides by a random number in Python which layers to skip, which
        # torch.export cannot trace; its layers train all the same.
        model.training = False


def step(call: Any, state: nn.Module, args: Any, kwargs: Any) -> list[Tensor]:
    """Results, gradients of all parameters, buffers afterwards."""
    torch.manual_seed(5)
    leaves = pytree.tree_leaves(call(*args, **kwargs))
    results = [t for t in leaves if isinstance(t, Tensor)]
    loss = sum(t.float().square().mean() for t in results if t.requires_grad)
    assert isinstance(loss, Tensor)
    loss.backward()
    grads = [p.grad if p.grad is not None else torch.zeros_like(p) for p in state.parameters()]
    return [*(t.detach() for t in results), *grads, *state.buffers()]


def composites(module: GraphModule) -> Counter[OpOverload]:
    return Counter(
        node.target
        for node in all_nodes(module)
        if isinstance(node.target, OpOverload) and node.target._can_decompose()
    )


@pytest.mark.parametrize(("name", "training"), CASES)
def test_model_equals_eager(name: str, training: bool) -> None:
    model, args, kwargs = build(name)
    set_training(name, model, training)
    eager, fresh = copy.deepcopy(model), copy.deepcopy(model)
    program = ingot.export(fresh, args, kwargs, level="pre-dispatch")
    assert_functional(program)
    want = step(eager, eager, args, kwargs)
    got = step(program, fresh, args, kwargs)
    assert len(got) == len(want)
    for i, (actual, expected) in enumerate(zip(got, want)):
        torch.testing.assert_close(actual, expected, msg=lambda m, i=i: f"tensor {i}: {m}")


@pytest.mark.parametrize(("name", "training"), CASES)
def test_composite_ops_are_kept(name: str, training: bool) -> None:
    model, args, kwargs = build(name)
    set_training(name, model, training)
    with keeping_toggles():
        exported = torch.export.export(model, args, kwargs, strict=False)
    before = composites(exported.graph_module)
    program = ingot.Program.from_exported(exported)
    after = composites(program.graph_module)
    lost = {op: count for op, count in before.items() if after[op] < count}
    report = "\n".join(f"{op}: {count} before, {after[op]} after" for op, count in before.items())
    print(report)
    told = "\n".join(program.journal.entries[0].notes)
    for op in lost:
        assert op in liars() or op._schema.is_mutable or f"{op}: replaced" in told, report
    assert sum(after.values()) > 0
