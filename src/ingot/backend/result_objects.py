"""Results that are an input or an earlier result themselves. AOTAutograd returns another view of
the same memory where inputs share memory, where an input is written under another view of it, and
for `v.add_(1)` of a view. Dynamo's fake tensors tell which objects eager returns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor, fx

from ingot.program.graph import output_values, placeholders


def return_objects(compiled: Callable[..., Any], gm: fx.GraphModule) -> Callable[..., Any]:
    """`compiled`, with those results replaced by the objects that they are."""
    inputs, results = _same_objects(gm)
    if not inputs and not results:
        return compiled

    def call(*values: Any) -> list[Any]:
        found = list(compiled(*values))
        for k, number in inputs:
            found[k] = values[number]
        for k, number in results:
            found[k] = found[number]
        return found

    return call


def _same_objects(gm: fx.GraphModule) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Pairs of a result and the input that it is, and of a result and an earlier one."""
    given: dict[int, int] = {}
    for number, node in enumerate(placeholders(gm.graph)):
        if isinstance(node.meta.get("example_value"), Tensor):
            given.setdefault(id(node.meta["example_value"]), number)
    inputs, results = [], []
    first: dict[int, int] = {}
    for k, value in enumerate(output_values(gm.graph)):
        fake = value.meta.get("example_value") if isinstance(value, fx.Node) else None
        if not isinstance(fake, Tensor):
            continue
        if id(fake) in given:
            inputs.append((k, given[id(fake)]))
        elif id(fake) in first:
            results.append((k, first[id(fake)]))
        first.setdefault(id(fake), k)
    return inputs, results
