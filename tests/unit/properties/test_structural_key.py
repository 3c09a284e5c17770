"""Structural keys of regions: equal keys give equal text; names are ignored, everything else
counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from ingot.codegen.loops.kernels import draft_kernel
from ingot.fuse.group import fuse
from ingot.fuse.region import Region
from ingot.fuse.structural_key import structural_key
from ingot.options import Options
from ingot.program.program import Program
from tests.unit.tracing import trace

from .drawn import examples

OPTIONS = Options(vector_bits=256)


@dataclass(frozen=True)
class Recipe:
    """A small program: each step reads the previous value."""

    steps: tuple[tuple[Any, ...], ...]
    shape: tuple[int, ...] = (4, 4)
    dtype: torch.dtype = torch.float32
    turned: bool = False

    def argument(self) -> Tensor:
        x = torch.ones(self.shape, dtype=self.dtype)
        return x.t() if self.turned else x

    def __call__(self, x: Tensor, ids: Tensor) -> tuple[Tensor, ...]:
        values = [x]
        for kind, *arguments in self.steps:
            value = values[-1]
            match kind:
                case "both":
                    other = values[arguments[0] % len(values)]
                    value = value + other if other.shape == value.shape else value
                case "lookup":
                    value = value.index_select(0, ids)
                case "cat":
                    value = torch.cat([value, value], arguments[0])[: len(x)]
                case _:
                    value = OPS[kind](value, *arguments)
            values.append(value)
        return tuple(values[1:][-2:])


OPS: dict[str, Callable[..., Tensor]] = {
    "add": torch.add,
    "mul": torch.mul,
    "abs": torch.abs,
    "relu": torch.relu,
    "to": lambda x, dtype: x.to(dtype),
    "turn": lambda x: x.mT.contiguous() if x.dim() > 1 else x,
    "t": lambda x: x.mT if x.dim() > 1 else x,
    "sum": lambda x, dim: x - x.sum(dim, keepdim=True),
    "amax": lambda x, dim: x - x.amax(dim, keepdim=True),
    "sums": lambda x: x * x.mT.sum((0, 1)) + x.sum((0, 1)),
    "reshape": lambda x: x.reshape(2, -1, x.shape[-1]).reshape(x.shape) if len(x) % 2 == 0 else x,
    "flip": lambda x, dim: x.flip(dim),
    "pad": lambda x, fill: torch.nn.functional.pad(x, (1, 0), value=fill)[..., : x.shape[-1]],
    "cumsum": lambda x, dim: x.cumsum(dim).to(x.dtype),
    "where": lambda x, number: torch.where(x > number, x, number),
}
numbers = st.sampled_from([0.5, 2.0, -0.0, 0.0, 3])
dims = st.sampled_from([0, 1, -1])
steps = st.one_of(
    st.tuples(st.sampled_from(["add", "mul", "pad", "where"]), numbers),
    st.tuples(st.sampled_from(["abs", "relu", "turn", "t", "sums", "reshape", "lookup"])),
    st.tuples(st.sampled_from(["sum", "amax", "flip", "cumsum", "cat"]), dims),
    st.tuples(st.just("both"), st.integers(0, 3)),
    st.tuples(st.just("to"), st.sampled_from([torch.float32, torch.float64])),
)
recipes = st.builds(
    Recipe,
    st.lists(steps, min_size=1, max_size=5).map(tuple),
    st.sampled_from([(4, 4), (4, 6), (6, 4)]),
    st.sampled_from([torch.float32, torch.float64, torch.bfloat16]),
    st.booleans(),
)
IDS = torch.tensor([1, 0, 3, 2])


def program(recipe: Recipe) -> Program:
    return trace(recipe, recipe.argument(), IDS).core()


def regions(core: Program) -> list[Region]:
    return fuse(core, OPTIONS).regions()


def written(region: Region) -> str:
    try:
        return draft_kernel(region, OPTIONS).text
    except NotImplementedError as error:
        return str(error)


def test_regions_of_one_key_have_one_text() -> None:
    """Nothing that the key omits affects the text."""
    texts: dict[Any, tuple[str, Recipe]] = {}
    shared = 0

    @examples(0.5)
    @given(recipes)
    def compare(recipe: Recipe) -> None:
        nonlocal shared
        twice = [*regions(program(recipe)), *regions(program(recipe))]
        for region in twice:
            key, _ = structural_key(region)
            text = written(region)
            known, where = texts.setdefault(key, (text, recipe))
            shared += known is not text
            assert known == text, f"{where} and {recipe} share a key"

    compare()
    assert shared, "no two regions were alike"


@examples(0.3)
@given(recipes)
def test_names_do_not_count(recipe: Recipe) -> None:
    core = program(recipe)
    before = [structural_key(region) for region in regions(core)]
    for k, node in enumerate(core.graph.nodes):
        if node.op == "call_function":
            node._rename(f"other_{k}")
    after = [structural_key(region) for region in regions(core)]
    assert [key for key, _ in after] == [key for key, _ in before]
    assert [nodes for _, nodes in after] == [nodes for _, nodes in before]


BASE = Recipe((("add", 2.0), ("sum", 1), ("where", 0.5)), (4, 6))
OTHERS = {
    "another op": replace(BASE, steps=(("mul", 2.0), *BASE.steps[1:])),
    "another number": replace(BASE, steps=(("add", 3.0), *BASE.steps[1:])),
    "an integer": replace(BASE, steps=(("add", 2), *BASE.steps[1:])),
    "another dimension": replace(BASE, steps=(BASE.steps[0], ("sum", 0), BASE.steps[2])),
    "another reduction": replace(BASE, steps=(BASE.steps[0], ("amax", 1), BASE.steps[2])),
    "another dtype": replace(BASE, dtype=torch.float64),
    "other sizes": replace(BASE, shape=(4, 7)),
    "other strides": replace(BASE, shape=(6, 4), turned=True),
    "a step more": replace(BASE, steps=(*BASE.steps, ("abs",))),
    "a conversion": replace(BASE, steps=(*BASE.steps, ("to", torch.float64))),
}


@pytest.mark.parametrize("name", OTHERS)
def test_all_else_counts(name: str) -> None:
    keys = [
        {structural_key(region)[0] for region in regions(program(r))} for r in (BASE, OTHERS[name])
    ]
    assert keys[0] != keys[1]


def test_zeros_of_either_sign_are_told_apart() -> None:
    one, other = (regions(program(Recipe((("where", zero),))))[0] for zero in (0.0, -0.0))
    assert structural_key(one)[0] != structural_key(other)[0]
