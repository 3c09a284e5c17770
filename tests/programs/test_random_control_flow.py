"""The generator after control flow whose bodies sample, with and without a use of the result."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch._higher_order_ops.while_loop import while_loop
from torch.export import Dim

import ingot

Sample = Callable[[Tensor], Tensor]
SAMPLES: dict[str, Sample] = {
    "dropout": lambda x: F.dropout(x, 0.5, True),
    "rand_like": lambda x: torch.rand_like(x),
    "bernoulli": lambda x: x.abs().bernoulli(0.3),
    "a sample without a use": lambda x: (torch.rand_like(x), x * 2)[1],
    "normal": lambda x: x + torch.randn(3),
}


def _branch(sample: Sample) -> Sample:
    return lambda x: torch.cond(x.sum() > 0, sample, lambda x: x * 2, (x,))


def _nested(sample: Sample) -> Sample:
    return _branch(_branch(sample))


def _loop(sample: Sample) -> Sample:
    def run(x: Tensor) -> Tensor:
        start = (torch.tensor(0), x)
        return while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x + sample(x)), start)[1]

    return run


FORMS = {"branch": _branch, "nested": _nested, "loop": _loop}
ENTRIES = ("torch.compile", "torch.compile, dynamic", "ingot.compile", "ingot.compile, dynamic")


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("used", [False, True], ids=["unused", "used"])
@pytest.mark.parametrize("form", FORMS)
def test_the_generator_is_eagers(form: str, used: bool, entry: str) -> None:
    flows = [FORMS[form](sample) for sample in SAMPLES.values()]

    def function(x: Tensor) -> list[Tensor]:
        found = [flow(x) for flow in flows]
        return found if used else [x + 1]

    dynamic, options = entry.endswith("dynamic"), {"strict": True}
    shapes = ({0: Dim.AUTO},) if dynamic else None
    with torch.no_grad():
        if entry.startswith("torch.compile"):
            torch._dynamo.reset()
            compiled = torch.compile(function, backend="ingot", dynamic=dynamic, options=options)
        else:
            compiled = ingot.compile(
                function, (torch.ones(2, 3),), dynamic_shapes=shapes, options=options
            )
        for sign in (1, -1):
            x = torch.full((2, 3), float(sign))
            torch.manual_seed(7)
            wanted, state = function(x), torch.get_rng_state()
            torch.manual_seed(7)
            torch.testing.assert_close(compiled(x), wanted)
            assert torch.equal(torch.get_rng_state(), state)
