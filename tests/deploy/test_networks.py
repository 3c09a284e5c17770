"""ResNet-50 and BERT as C programs: the example, built by cc, gives eager's results."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

from tests.deploy.building import example, load, needs_cc, saved
from tests.models.hugging_face import BUILDERS

pytestmark = [needs_cc, pytest.mark.slow]
LEVELS = ["x86-64-v3", "x86-64-v4"]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Removed after the test: weights are hundreds of megabytes."""
    yield tmp_path
    shutil.rmtree(tmp_path)


def _bert() -> nn.Module:
    from transformers import BertConfig, BertModel

    return BertModel(BertConfig()).eval()


def _resnet() -> nn.Module:
    from transformers import ResNetConfig, ResNetForImageClassification

    return ResNetForImageClassification(ResNetConfig(num_labels=1000)).eval()


def _run(main: Path, sizes: Sequence[int], x: Tensor, wanted: Sequence[Tensor]) -> None:
    folder = main.parent
    x.numpy().tofile(folder / "x.bin")
    outputs = [f"y{k}.bin" for k in range(len(wanted))]
    command = [str(main), "weights.bin", *map(str, sizes), "x.bin", *outputs]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env={})
    assert (done.returncode, done.stderr) == (0, "")
    for output, value in zip(outputs, wanted, strict=True):
        found = torch.from_numpy(np.fromfile(folder / output, dtype=np.float32))
        torch.testing.assert_close(found.view(value.shape), value, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("threads", ["openmp", "single"])
def test_bert(threads: str, folder: Path) -> None:
    net, words = _bert(), torch.randint(30000, (2, 64))
    shapes = ({0: Dim("batch", max=64), 1: Dim("length", max=512)},)
    result = saved(
        net, [words], folder, dynamic_shapes=shapes, targets=LEVELS, threads=threads, name="bert"
    )
    main = example(result, threads)
    for batch, length in ((2, 64), (1, 128), (3, 17)):
        words = torch.randint(30000, (batch, length))
        with torch.no_grad():
            wanted = net(words)
        _run(main, [batch, length], words, [wanted.last_hidden_state, wanted.pooler_output])


def test_resnet(folder: Path) -> None:
    net, image = _resnet(), torch.randn(2, 3, 224, 224)
    shapes = ({0: Dim("batch", max=64)},)
    result = saved(
        net, [image], folder, dynamic_shapes=shapes, targets=LEVELS, name="resnet"
    )  # fmt: skip
    main = example(result)
    for batch in (2, 1, 3):
        image = torch.randn(batch, 3, 224, 224)
        with torch.no_grad():
            _run(main, [batch], image, [net(image).logits])
    for level in (3, 4):
        model = load(result, level=level)
        with torch.no_grad():
            found, wanted = model([image], [3], threads=1)[0], net(image).logits
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)


def test_resnet_for_one_size(folder: Path) -> None:
    net, image = _resnet(), torch.randn(1, 3, 224, 224)
    main = example(saved(net, [image], folder, targets=LEVELS, threads="single"), "single")
    with torch.no_grad():
        _run(main, [], image, [net(image).logits])


@pytest.mark.parametrize("name", ["gpt2", "t5"])
def test_language_models(name: str, folder: Path) -> None:
    """Small ones, for any batch and lengths."""
    net, given = BUILDERS[name]()
    net.eval().config.use_cache = False
    names = list(given)

    class Logits(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = net

        def forward(self, *tensors: Tensor) -> Tensor:
            logits: Tensor = self.net(**dict(zip(names, tensors, strict=True))).logits
            return logits

    batch, length, steps = Dim("batch", max=8), Dim("length", max=40), Dim("steps", max=40)
    shapes = (tuple({0: batch, 1: steps if "decoder" in key else length} for key in names),)
    model = load(saved(Logits(), list(given.values()), folder, dynamic_shapes=shapes))
    for sizes in ((2, 9), (1, 30), (4, 3)):
        tensors = [
            torch.randint(1, 99, sizes) if "ids" in key else torch.ones(sizes, dtype=torch.int64)
            for key in names
        ]
        values = {
            str(size): number
            for tensor, each in zip(tensors, model.interface.inputs, strict=True)
            for number, size in zip(tensor.shape, each.shape, strict=True)
        }
        with torch.no_grad():
            wanted = Logits()(*tensors)
        found = model(tensors, [values[size.symbol] for size in model.interface.sizes])[0]
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)
