"""Whole models at pre-dispatch level, in eval and training mode: results, writes to buffers and all
parameter gradients equal eager's. Composite ops are kept, except those that violate their schema.
"""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

import ingot
from ingot.program.graph import composite_ops
from ingot.program.schema_violations import schema_violations
from tests.models.hugging_face import BUILDERS as HUGGING_FACE
from tests.models.nets import BUILDERS as NETS

from .check import assert_functional

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
        # The encoder skips layers by a random number in Python, which torch.export cannot trace.
        # Its layers still train.
        model.training = False


def step(call: Any, state: nn.Module, args: Any, kwargs: Any) -> list[Tensor]:
    """Results, gradients of all parameters, and buffers afterwards."""
    torch.manual_seed(5)
    leaves = pytree.tree_leaves(call(*args, **kwargs))
    results = [t for t in leaves if isinstance(t, Tensor)]
    loss = sum(t.float().square().mean() for t in results if t.requires_grad)
    assert isinstance(loss, Tensor)
    loss.backward()
    grads = [p.grad if p.grad is not None else torch.zeros_like(p) for p in state.parameters()]
    return [*(t.detach() for t in results), *grads, *state.buffers()]


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
    check_kept(program)


def check_kept(program: ingot.Program) -> None:
    """The journal states for each composite op the counts before and after, and what replaced the
    others."""
    told = "\n".join(program.journal.entries[0].notes)
    counts = {
        op: (int(before), int(after))
        for op, before, after in re.findall(r"(aten\.\S+): (\d+) before, (\d+) after", told)
    }
    kept = {str(op): count for op, count in composite_ops(program.graph_module).items()}
    told_kept = {op: after for op, (_, after) in counts.items() if after}
    assert told_kept and told_kept.items() <= kept.items()
    for op, (before, after) in counts.items():
        assert after >= before or op in LYING or "_." in op or f"{op}: replaced" in told, told
    assert sum(kept.values()) > 0


LYING = {str(op) for op in schema_violations()}
