"""Loads an artifact in a process of its own and compares its results with those recorded: run as
`run.py ARTIFACT CALLS`. The compiler and the models' library cannot be imported here. Prints which
other heavy modules were, after the load and after the calls."""

import json
import sys
from typing import Any

import torch
from torch.utils import _pytree as pytree

FORBIDDEN = ("torch_mlir", "transformers")
HEAVY = (
    "torch._dynamo", "torch._functorch.aot_autograd", "torch._inductor", "ingot.pipeline",
    "ingot.select", "ingot.capture.tracing", "ingot.kernels.registry",
)  # fmt: skip
GENERATORS = ("ingot.codegen.loops", "ingot.kernels.matmul.family", "ingot.ops.scalar")
"""Code generation, which the plan of a matmul does not need."""


def main(path: str, calls: str) -> None:
    for name in FORBIDDEN:
        sys.modules[name] = None  # type: ignore[assignment]
    import ingot

    exe = ingot.load(path)
    early = [name for name in HEAVY + GENERATORS if name in sys.modules]
    recorded: list[dict[str, Any]] = torch.load(calls, weights_only=True)
    with torch.no_grad():
        for call in recorded:
            given = (call["args"], call["kwargs"])
            result = exe(*call["args"], **call["kwargs"])
            compare(pytree.tree_leaves(result), call["result"])
            compare(pytree.tree_leaves(given), call["after"])
            for name, gradient in call.get("gradients", {}).items():
                compare([exe.weights[name].grad], [gradient])
    late = [name for name in HEAVY if name in sys.modules]
    print(json.dumps({"load": early, "run": late}))


def compare(actual: list[Any], expected: list[Any]) -> None:
    assert len(actual) == len(expected), (len(actual), len(expected))
    for a, e in zip(actual, expected):
        if isinstance(e, torch.Tensor):
            assert a.stride() == e.stride(), (a.stride(), e.stride())
            torch.testing.assert_close(a, e, rtol=1e-4, atol=1e-5, equal_nan=True)
        else:
            assert a == e, (a, e)


if __name__ == "__main__":
    main(*sys.argv[1:])
