"""Recipes as functions: packed and folded weights, computed once for all programs that share
them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import torch

from ingot.machine import targeting
from ingot.plan.ir import Call, Entries, Items, Opaque, Recipe, Ref
from ingot.plan.prepared import Prepared
from ingot.plan.resources import Resources

_numbers = itertools.count()


def prepared_by(recipe: Recipe, resources: Resources) -> Prepared:
    key = repr((recipe.calls, recipe.results, recipe.packing, resources.machine.isa))
    if _has_objects(recipe):
        key = f"{key} {next(_numbers)}"  # objects have no text: the result is not shared
    return Prepared(key, maker(recipe, resources), resources.weight_guard)


def maker(recipe: Recipe, resources: Resources) -> Callable[..., torch.Tensor]:
    """A function of the tensors of the recipe's sources. It captures only what it needs, because it
    lives as long as its result."""
    targets = {call.target: resources.target(call.target) for call in recipe.calls}
    objects = dict(resources.objects) if _has_objects(recipe) else {}
    machine = resources.machine

    def make(*tensors: torch.Tensor) -> torch.Tensor:
        known: dict[str, Any] = {f"s{k}": tensor for k, tensor in enumerate(tensors)}
        for call in recipe.calls:
            known[call.result] = evaluate(call, targets[call.target], known, objects)
        results = [known[name] for name in recipe.results]
        if recipe.packing is None:
            (result,) = results
            return result
        with targeting(machine):
            return recipe.packing.make(*results)

    return make


def evaluate(call: Call, target: Any, known: dict[str, Any], objects: dict[str, Any]) -> Any:
    def value(argument: Any) -> Any:
        match argument:
            case Ref():
                return known[argument.name]
            case Items():
                return [value(v) for v in argument.values]
            case tuple():
                return tuple(value(v) for v in argument)
            case Entries():
                return {value(k): value(v) for k, v in argument.pairs}
            case Opaque():
                return objects[argument.name]
        return argument

    return target(*map(value, call.args), **{k: value(v) for k, v in call.kwargs})


def _has_objects(recipe: Recipe) -> bool:
    return "Opaque(" in repr(recipe.calls)
