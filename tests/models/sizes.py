"""Every model of the three lists at three batch sizes, two lengths and two image sizes, eager and
compiled. It is a separate program, so that a crash becomes an exit code instead of ending the
tests.

    python -m tests.models.sizes LIST/NAME
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim
from torch.utils import _pytree as pytree

import ingot
from ingot.errors import CaptureError, FallbackWarning

from . import hugging_face, nets
from .zoo import ZOO

MODELS: dict[str, Callable[[], tuple[nn.Module, Any]]] = {
    **{f"zoo/{name}": entry.build for name, entry in ZOO.items()},
    **{f"nets/{name}": build for name, build in nets.BUILDERS.items()},
    **{f"hugging_face/{name}": build for name, build in hugging_face.BUILDERS.items()},
    **{f"hugging_face/{name}": build for name, build in hugging_face.SLOW_BUILDERS.items()},
}
AXES = {
    "input_ids": "bl", "decoder_input_ids": "bl", "attention_mask": "bl", "input_values": "bl",
    "inputs": "bl", "past_values": "bl", "input_features": "b.l", "pixel_values": "b.ii",
}  # fmt: skip
"""What the dimensions of an argument are: b a batch, l a length, i an image's side, . fixed."""
VIDEO = "b..ii"
NETS = {
    "perceptron": ["b"], "resnet": ["b.ii"], "mobilenet": ["b.ii"], "unet": ["b.ii"],
    "lstm": ["bl"], "gru": ["bl"], "encoder": ["bl"], "transformer": ["bl", "bl"],
    "recommender": ["b", ".l", ".b"],
}  # fmt: skip
"""The same for the positional arguments of `nets`."""
BATCHES = (2, 3, 5)
LARGER = 1.5
"""The second length and image size, as a multiple of the first."""
KINDS = {"batch": "b", "length": "l", "image": "i"}

REFUSED: dict[tuple[str, str], tuple[str, str]] = {
    ("zoo/bigbird", "length"): ("expanded size", "it has 128 position embeddings"),
    ("zoo/levit", "image"): ("must match the size", "its attention biases are for one image size"),
    ("zoo/patchtst", "length"): ("model configuration", "it reads series of one length"),
    ("hugging_face/vit", "image"): ("Input image size", "its positions are for one image size"),
    ("hugging_face/whisper", "length"): ("of length 40", "it reads recordings of one length"),
    ("hugging_face/clip", "length"): ("max_position", "it has 16 position embeddings"),
    ("hugging_face/clip", "image"): ("Input image size", "its positions are for one image size"),
}
"""(Model, what varies): what eager says, and why it refuses the second size."""
UNCAPTURED: dict[str, tuple[str, str]] = {
    "zoo/led": ("data-dependent", "it branches on whether any token attends globally"),
    "zoo/longformer": ("data-dependent", "it branches on whether any token attends globally"),
    "zoo/vilt": ("data-dependent", "it draws as many patches as the mask leaves"),
    "hugging_face/mixtral": (
        "data-dependent",
        "it loops over the experts that tokens were sent to",
    ),
}
"""Model: what the CaptureError says, and why it is not one graph."""


@dataclass(frozen=True)
class Sample:
    """Arguments of one size."""

    kind: str
    """What differs from the previous sample: batch, length or image."""
    args: tuple[Tensor, ...]
    kwargs: dict[str, Tensor]

    def call(self, model: Any) -> list[Tensor]:
        torch.manual_seed(0)  # ViLT draws its patches
        with torch.no_grad():
            return _tensors_of(model(*self.args, **self.kwargs))


class Model:
    """A model of one of the lists, and what the dimensions of its arguments are."""

    def __init__(self, name: str):
        self.name = name
        torch.manual_seed(0)
        self.module, given = MODELS[name]()
        self.module.eval()
        self.named = isinstance(given, dict)
        self.given: dict[Any, Tensor] = given if self.named else dict(enumerate(given))
        """The arguments, by name or position."""
        self.axes: dict[Any, str]
        if self.named:
            self.axes = {k: VIDEO if x.dim() == 5 else AXES[k] for k, x in self.given.items()}
        else:
            self.axes = dict(enumerate(NETS[name.split("/")[1]]))

    def kinds(self) -> list[str]:
        """What can vary."""
        return [kind for kind, axis in KINDS.items() if any(axis in a for a in self.axes.values())]

    def sample(self, kind: str, batch: int) -> Sample:
        """Random arguments; `kind` is the size that is larger, if it is not the batch."""
        values = {k: self._drawn(k, self._shape(k, kind, batch)) for k in self.given}
        return Sample(kind, (), values) if self.named else Sample(kind, (*values.values(),), {})

    def _shape(self, name: Any, kind: str, batch: int) -> list[int]:
        shape = list(self.given[name].shape)
        for dim, axis in enumerate(self.axes[name]):
            if axis == "b":
                shape[dim] = batch
            elif kind != "batch" and axis == KINDS[kind]:
                shape[dim] = int(shape[dim] * LARGER)
        return shape

    def _drawn(self, name: Any, shape: list[int]) -> Tensor:
        x = self.given[name]
        if x.is_floating_point():
            return torch.randn(shape)
        if name == "attention_mask":
            return hugging_face.padded(torch.ones(shape, dtype=x.dtype))[name]
        if self.name == "nets/recommender" and self.axes[name] == ".b":  # ascending offsets
            return torch.arange(shape[1]).repeat(shape[0], 1)
        return torch.randint(int(x.min()), int(x.max()), shape)

    def samples(self) -> Iterator[Sample]:
        """Every size that eager accepts. It must refuse those of `REFUSED`, and no other."""
        for batch in BATCHES:
            yield self.sample("batch", batch)
        for kind in self.kinds()[1:]:
            sample = self.sample(kind, BATCHES[-1])
            if (self.name, kind) not in REFUSED:
                yield sample
                continue
            says, _ = REFUSED[self.name, kind]
            with pytest.raises((RuntimeError, ValueError), match=re.escape(says)):
                sample.call(self.module)


def _tensors_of(output: Any) -> list[Tensor]:
    if hasattr(output, "to_tuple"):
        return hugging_face.tensors_of(output)
    return [value for value in pytree.tree_leaves(output) if isinstance(value, Tensor)]


def compare(got: list[Tensor], wanted: list[Tensor]) -> None:
    for result, expected in zip(got, wanted, strict=True):
        torch.testing.assert_close(result, expected, atol=1e-3, rtol=1e-2, equal_nan=True)


def check(name: str) -> None:
    model = Model(name)
    found = [(sample, sample.call(model.module)) for sample in model.samples()]
    options: dict[str, Any] = {"strict": True}
    compiled = torch.compile(model.module, backend="ingot", options=options)
    for sample, expected in found:
        compare(sample.call(compiled), expected)
    whole = _whole(model, found[0][0], options)
    for sample, expected in found if whole is not None else ():
        if sample.kind == "batch":
            compare(sample.call(whole), expected)


def _whole(model: Model, sample: Sample, options: dict[str, Any]) -> Any:
    """The model as one graph for every batch size; None for those of `UNCAPTURED`."""
    shapes = {k: {a.index("b"): Dim.AUTO} if "b" in a else {} for k, a in model.axes.items()}
    dynamic = shapes if model.named else (*shapes.values(),)
    says, why = UNCAPTURED.get(model.name, ("", ""))
    try:
        with torch.no_grad():
            whole = ingot.compile(
                model.module, sample.args, sample.kwargs, dynamic_shapes=dynamic, options=options
            )
    except CaptureError as error:
        if not why or says not in str(error):
            raise
        print(f"not captured as one graph, {why}: {error}")
        return None
    assert not why, f"{model.name} is captured: delete it from UNCAPTURED"
    return whole


if __name__ == "__main__":
    warnings.simplefilter("error", FallbackWarning)
    torch._dynamo.config.allow_rnn = True  # else Dynamo breaks the graph at nn.LSTM and nn.GRU
    check(sys.argv[1])
