"""Real models at their real sizes, unmodified, lowered to each dialect, run back and equal to
eager. The networks are those of the benchmarks with short inputs, because the code that runs them
back is compiled without optimisation."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import ingot
from tests.emit.programs import DIALECTS

BENCH = Path(__file__).parents[2] / "bench"

SETTINGS: dict[str, dict[str, Any]] = {
    "bert-base": {"tokens": 8},
    "opt-125m": {"tokens": 8},
    "gpt2": {"tokens": 8},
    "llama-8x768": {"tokens": 8},
    "t5-small": {"tokens": 8},
    "vit-b16": {"pixels": 64},
    "resnet-50": {},
    "mobilenet-v2": {},
    "convnext-tiny": {"pixels": 64},
    "whisper-tiny-encoder": {"seconds": 2},
    "lstm": {"batch": 1, "tokens": 8},
    "unet": {"pixels": 64},
}
"""Networks of `bench/nets.py`, with the function that shortens the input."""


@pytest.fixture(scope="module")
def programs() -> dict[str, tuple[ingot.Program, tuple[Any, ...]]]:
    """Exported once for all dialects."""
    return {}


def built(name: str) -> tuple[nn.Module, tuple[Any, ...]]:
    sys.path.insert(0, str(BENCH))
    try:
        from nets import NETWORKS
    finally:
        sys.path.remove(str(BENCH))
    return partial(NETWORKS[name], **SETTINGS[name])()


@pytest.mark.slow
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", SETTINGS)
def test_real_size(name: str, dialect: str, programs: dict[str, Any]) -> None:
    with torch.no_grad():
        if name not in programs:
            programs.clear()
            model, args = built(name)
            programs[name] = (ingot.export(model, args), args)
        program, args = programs[name]
        program.verify(dialect, args)
