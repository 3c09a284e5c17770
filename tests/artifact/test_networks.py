"""Networks from files: without transformers and without a compiler, the results are eager's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.artifact.saving import run, save
from tests.models import hugging_face, nets


def _check(model: Callable[..., Any], calls: list[Any], folder: Path, shapes: Any = None) -> None:
    done = run(save(model, calls, folder, shapes), folder)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name == "bert" else pytest.mark.slow)
        for name in (*hugging_face.BUILDERS, "clip")
    ],
)
def test_models_of_transformers(name: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    builders = hugging_face.BUILDERS | hugging_face.SLOW_BUILDERS
    model, kwargs = builders[name]()
    model.config.use_cache = False
    _check(model.eval(), [((), kwargs)], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", nets.BUILDERS)
def test_plain_networks(name: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    model, args = nets.BUILDERS[name]()
    _check(model.eval(), [(args, {})], tmp_path)


def test_one_step_of_generation_with_a_static_cache(tmp_path: Path) -> None:
    """The cache is state of the program: each call writes to it, the next one reads it."""
    from transformers import GPT2Config, GPT2LMHeadModel
    from transformers.integrations.executorch import TorchExportableModuleWithStaticCache

    torch.manual_seed(0)
    config = GPT2Config(vocab_size=100, n_embd=32, n_layer=2, n_head=2, n_positions=64)
    model = GPT2LMHeadModel(config).eval()
    model.generation_config.cache_implementation = "static"
    step = TorchExportableModuleWithStaticCache(model, batch_size=1, max_cache_len=32)
    tokens = torch.randint(100, (4, 1, 1))
    calls = [((), {"input_ids": tokens[i], "cache_position": torch.tensor([i])}) for i in range(4)]
    _check(step, calls, tmp_path)


class Detector(nn.Module):
    """Boxes whose score is high enough; how many is known when it has run."""

    def __init__(self) -> None:
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 5, 1))

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        found = self.backbone(images).flatten(2).transpose(1, 2)
        scores, boxes = found[..., 0].sigmoid(), found[..., 1:].exp()
        kept = scores > 0.5
        return boxes[kept], scores[kept]


def test_a_head_with_sizes_that_depend_on_values(tmp_path: Path) -> None:
    torch.manual_seed(0)
    calls: list[Any] = [((torch.randn(2, 3, 32, 32),), {}) for _ in range(3)]
    _check(Detector().eval(), calls, tmp_path)
