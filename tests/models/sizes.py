"""A model of the zoo at three batch sizes and two lengths, eager and compiled. It is a separate
program, so that a crash becomes an exit code instead of ending the tests.

    python -m tests.models.sizes NAME
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import Dim

import ingot
from ingot.errors import CaptureError, FallbackWarning

from .hugging_face import tensors_of
from .zoo import ZOO, Entry

BATCHES = (2, 3, 5)
LONGER = 1.5
"""The second length, as a multiple of the first."""
SEQUENCES = ("input_values", "inputs")
"""Arguments other than tokens whose second dimension is a sequence length."""


def sized(entry: Entry, batch: int, longer: float) -> Entry:
    """The entry with other argument shapes for the same model."""
    shapes = {}
    for name, (_, *rest) in entry.shapes.items():
        if longer != 1 and (name.endswith("ids") or name in SEQUENCES):
            rest = [int(rest[0] * longer), *rest[1:]]
        shapes[name] = (batch, *rest)
    return replace(entry, shapes=shapes)


def cases(entry: Entry, model: nn.Module) -> list[tuple[dict[str, Tensor], list[Tensor]]]:
    """Arguments and eager's results, for every size that eager accepts."""
    found = []
    for batch, longer in [*((batch, 1.0) for batch in BATCHES), (BATCHES[-1], LONGER)]:
        arguments = sized(entry, batch, longer).build()[1]
        try:
            with torch.no_grad():
                found.append((arguments, tensors_of(model(**arguments))))
        except Exception:  # a length that the model does not accept
            continue
    assert len(found) >= len(BATCHES)
    return found


def compare(got: list[Tensor], wanted: list[Tensor]) -> None:
    for result, expected in zip(got, wanted, strict=True):
        torch.testing.assert_close(result, expected, atol=1e-3, rtol=1e-2, equal_nan=True)


def check(name: str) -> None:
    model = ZOO[name].build()[0].eval()
    found = cases(ZOO[name], model)
    options: dict[str, Any] = {"strict": True}
    compiled = torch.compile(model, backend="ingot", options=options)
    with torch.no_grad():
        for arguments, expected in found:
            compare(tensors_of(compiled(**arguments)), expected)
        arguments, expected = found[0]
        shapes = {each: {0: Dim.AUTO} for each in arguments}
        try:
            whole = ingot.compile(model, (), arguments, dynamic_shapes=shapes, options=options)
        except CaptureError as error:
            print(f"not captured as one graph: {error}")
            return
        for arguments, expected in found[: len(BATCHES)]:
            compare(tensors_of(whole(**arguments)), expected)


if __name__ == "__main__":
    warnings.simplefilter("error", FallbackWarning)
    check(sys.argv[1])
