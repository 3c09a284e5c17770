"""Loads an artifact in a process of its own and compares its results with those recorded: run as
`run.py ARTIFACT CALLS [FORBIDDEN MODULE …]`. Prints what the process imported."""

import json
import sys
from typing import Any

import torch
from torch.utils import _pytree as pytree


def main(path: str, calls: str) -> None:
    import ingot

    exe = ingot.load(path)
    recorded: list[dict[str, Any]] = torch.load(calls, weights_only=True)
    with torch.no_grad():
        for call in recorded:
            args = call["args"]
            result = exe(*args)
            for actual, expected in zip(pytree.tree_leaves(result), call["result"], strict=True):
                assert actual.stride() == expected.stride(), (actual.stride(), expected.stride())
                torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-5, equal_nan=True)
            for actual, expected in zip(args, call["after"], strict=True):
                torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-5)
    heavy = ("torch._dynamo", "torch_mlir", "transformers", "torch._functorch.aot_autograd")
    print(json.dumps([name for name in heavy if name in sys.modules]))


if __name__ == "__main__":
    main(*sys.argv[1:])
