"""Runs one program in eager and through torch.compile(backend="ingot") and compares everything that
can be observed: the structure of the results, values, dtypes, shapes, strides, aliasing, inputs,
parameters and buffers after the call, gradients, and the random generator. Kernels that fail to
compile are errors.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from ingot import observe
from ingot.stages import Compiled
from tests.ops.compare import (
    DTYPE_TOLERANCE,
    alias_map,
    as_real,
    assert_same_metadata,
    describe,
)
from tests.ops.harness import copy_tensor
from tests.ops.judge import cotangent

SEED = 1234


@dataclass(frozen=True)
class Outcome:
    """The observable effects of one program."""

    spec: pytree.TreeSpec
    results: list[Any]
    inputs: list[Tensor]
    """Tensor arguments after the call."""
    state: list[Tensor]
    """Parameters and buffers after the call, if the function is a module."""
    gradients: list[Tensor]
    rng: Tensor
    aliases: list[int | None]
    """For each result, the index of the argument or state tensor that it aliases, or None."""


def by_threads(call: Callable[[], Tensor], counts: Sequence[int] = (1, 2)) -> list[Tensor]:
    """The results with each number of threads, twice each."""
    before, results = torch.get_num_threads(), []
    try:
        for threads in counts:
            torch.set_num_threads(threads)
            results += [call(), call()]
    finally:
        torch.set_num_threads(before)
    return results


def check(
    function: Callable[..., Any],
    *args: Any,
    grad: bool = False,
    calls: int = 1,
    exact: bool = False,
    strides: bool = True,
    loosen: float = 1.0,
    dynamic: bool | None = None,
    fullgraph: bool = True,
    options: dict[str, Any] | None = None,
) -> list[Compiled]:
    """Compare with eager and return the compiled graphs for further checks. With `grad`, compare
    also the gradients of all arguments and parameters that require them."""
    heard: list[Compiled] = []
    chosen = {"strict": True, **(options or {})}

    def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
        return torch.compile(
            function, backend="ingot", options=chosen, dynamic=dynamic, fullgraph=fullgraph
        )

    want = observed(function, args, grad, calls, lambda f: f)
    with observe.listening(heard.append):
        got = observed(function, args, grad, calls, compiled)
    assert got.spec == want.spec, f"results are {got.spec}, eager's are {want.spec}"
    for label, strict_strides in (
        ("results", strides), ("inputs", True), ("state", True), ("gradients", False)
    ):  # fmt: skip
        pairs = zip(getattr(got, label), getattr(want, label), strict=True)
        for i, (actual, eager) in enumerate(pairs):
            name = f"{label}[{i}]"
            assert_same_metadata(actual, eager, name, strides=strict_strides)
            assert_same_value(actual, eager, name, 0.0 if exact else loosen)
    assert got.aliases == want.aliases, f"results share {got.aliases}, eager's {want.aliases}"
    assert torch.equal(got.rng, want.rng), "the generator's state is not eager's"
    return heard


def assert_same_value(actual: Any, eager: Any, label: str, loosen: float) -> None:
    """Equal, or within `loosen` times the dtype's tolerance; NaN equals NaN."""
    if not isinstance(eager, Tensor):
        same = actual == eager or (actual != actual and eager != eager)
        assert same, f"{label}: {actual!r}, eager gives {eager!r}"
        return
    rtol, atol = DTYPE_TOLERANCE.get(eager.dtype, (0.0, 0.0))
    got, want = as_real(actual), as_real(eager)
    close = torch.isclose(got, want, rtol=loosen * rtol, atol=loosen * atol, equal_nan=True)
    if eager.dtype in (torch.int64, torch.uint64):
        close = actual == eager  # float64 cannot represent all of these
    assert bool(close.all()), describe(got, want, None, close, eager, label)


def observed(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    grad: bool,
    calls: int,
    transform: Callable[[Callable[..., Any]], Callable[..., Any]],
) -> Outcome:
    """Run a copy of the program on copies of its arguments, from the fixed seed."""
    function = copy.deepcopy(function) if isinstance(function, nn.Module) else function
    args = copied(args)
    call = transform(function)
    state: list[Tensor] = []
    if isinstance(function, nn.Module):
        state = list(function.state_dict(keep_vars=True).values())
    torch.manual_seed(SEED)
    with torch.set_grad_enabled(grad):
        for _ in range(calls):
            results = call(*args)
        leaves, spec = pytree.tree_flatten(results)
        inputs = [t for t in pytree.tree_leaves(args) if isinstance(t, Tensor)]
        gradients = gradients_of(leaves, [*inputs, *state]) if grad else []
    aliases = alias_map(leaves, [*inputs, *state])
    return Outcome(spec, leaves, inputs, state, gradients, torch.get_rng_state(), aliases)


def copied(args: Any) -> Any:
    """A deep copy in which tensors that share a storage still do."""
    storages: dict[int, torch.UntypedStorage] = {}

    def copy_one(leaf: Any) -> Any:
        if not isinstance(leaf, Tensor):
            return copy.deepcopy(leaf)
        if leaf.layout is not torch.strided or leaf.is_conj() or leaf.is_neg() or leaf.is_quantized:
            return copy_tensor(leaf)
        storage = leaf.untyped_storage()
        if storage._cdata not in storages:
            storages[storage._cdata] = storage.clone()
        fresh = torch.empty(0, dtype=leaf.dtype)
        fresh.set_(storages[storage._cdata], leaf.storage_offset(), leaf.shape, leaf.stride())
        return fresh.requires_grad_(leaf.requires_grad)

    return pytree.tree_map(copy_one, args)


def gradients_of(results: list[Any], sources: list[Tensor]) -> list[Tensor]:
    """Gradients for fixed random cotangents; zeros for sources without influence."""
    outputs = [r for r in results if isinstance(r, Tensor) and r.requires_grad]
    wanted = [t for t in sources if t.requires_grad and t.is_leaf]
    assert outputs and wanted, "nothing to differentiate"
    cotangents = [cotangent(output, i) for i, output in enumerate(outputs)]
    grads = torch.autograd.grad(outputs, wanted, cotangents, allow_unused=True)
    return [torch.zeros_like(t) if g is None else g for g, t in zip(grads, wanted, strict=True)]
