"""Runs one sample in eager, compiled, and in eager with f64. Every run starts from the same seed.

`compile_direct` passes the backend a graph like Dynamo's without running Dynamo, which makes
thousands of samples affordable. Programs that a direct trace cannot represent (results that are
Python numbers, sparse tensors, data-dependent branches) go through torch.compile, with graph breaks
allowed.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch._dynamo
import torch.utils._pytree as pytree
from torch import Tensor
from torch._dynamo.backends.registry import lookup_backend

SEED = 1234
WIDER: dict[torch.dtype, torch.dtype] = {
    torch.float16: torch.float64,
    torch.bfloat16: torch.float64,
    torch.float32: torch.float64,
    torch.complex64: torch.complex128,
    torch.complex32: torch.complex128,
}


def backend(**options: Any) -> Callable[..., Any]:
    """ingot, with kernel compilation failures raised instead of falling back."""
    name = os.environ.get("INGOT_TEST_BACKEND", "ingot")
    found: Callable[..., Any] = lookup_backend(name)
    return partial(found, options={"strict": True, **options}) if name == "ingot" else found


@dataclass(frozen=True)
class Program:
    """A call to check: `function(*args, **kwargs)`."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def tensors(self) -> list[Tensor]:
        """The tensor arguments, in pytree order."""
        leaves = pytree.tree_leaves((self.args, self.kwargs))
        return [leaf for leaf in leaves if isinstance(leaf, Tensor)]

    def call(self, tensors: Sequence[Tensor]) -> Any:
        """The function's result, with `tensors` in place of the tensor arguments."""
        args, kwargs = self.bind(tensors)
        return self.function(*args, **kwargs)

    def bind(self, tensors: Sequence[Tensor]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        leaves, spec = pytree.tree_flatten((self.args, self.kwargs))
        fresh = iter(tensors)
        bound = [next(fresh) if isinstance(leaf, Tensor) else leaf for leaf in leaves]
        args, kwargs = pytree.tree_unflatten(bound, spec)
        return args, kwargs


@dataclass(frozen=True)
class Run:
    """The observable effects of a call."""

    results: list[Any]
    """The flat results: tensors and Python values."""
    inputs: list[Tensor]
    """The tensor arguments after the call."""
    used_rng: bool
    """Whether the call sampled from the default generator."""
    rng_state: Tensor
    """The default generator's state after the call."""


def copy_tensor(tensor: Tensor) -> Tensor:
    """A copy with the same strides, offset and overlap, in its own storage."""
    if tensor.layout is not torch.strided or tensor.is_quantized or tensor.is_nested:
        return tensor.detach().clone().requires_grad_(tensor.requires_grad)
    if tensor.is_conj():
        copy = copy_tensor(tensor.detach().conj()).conj()
    elif tensor.is_neg():
        copy = torch._neg_view(copy_tensor(torch._neg_view(tensor.detach())))
    else:
        storage = tensor.untyped_storage().clone()
        copy = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
        copy.set_(storage, tensor.storage_offset(), tensor.shape, tensor.stride())
    return copy.requires_grad_(tensor.requires_grad)


def copy_tensors(tensors: Sequence[Tensor]) -> list[Tensor]:
    return [copy_tensor(tensor) for tensor in tensors]


def widen(tensor: Tensor) -> Tensor:
    wide = tensor.detach().to(WIDER.get(tensor.dtype, tensor.dtype))
    wide = wide.clone() if wide.data_ptr() == tensor.data_ptr() else wide
    return wide.requires_grad_(tensor.requires_grad)


def run(call: Callable[[Sequence[Tensor]], Any], tensors: list[Tensor]) -> Run:
    """Call it once with the fixed seed."""
    torch.manual_seed(SEED)
    before = torch.get_rng_state()
    results = call(tensors)
    after = torch.get_rng_state()
    flat = pytree.tree_leaves(results)
    return Run(flat, tensors, not torch.equal(before, after), after)


def run_eager(program: Program) -> Run:
    return run(program.call, copy_tensors(program.tensors()))


def eager_error(program: Program) -> Exception | None:
    """The exception that eager raises without gradients, or None."""
    try:
        with torch.no_grad():
            run_eager(program)
    except Exception as error:
        return error
    return None


def run_truth(program: Program) -> Run | None:
    """The same call in f64, or None if the function does not accept it."""
    tensors = program.tensors()
    if not any(tensor.dtype in WIDER for tensor in tensors):
        return None
    try:
        return run(program.call, [widen(tensor) for tensor in tensors])
    except Exception:
        # The op refuses f64, or the mix of dtypes after widening: no truth.
        return None


def graph_of_call(program: Program, outputs: int) -> torch.fx.GraphModule:
    """A graph like Dynamo's: placeholders, one call of a Python function, a flat tuple."""

    def sample_program(*tensors: Tensor) -> tuple[Tensor, ...]:
        return tuple(pytree.tree_leaves(program.call(tensors)))

    sample_program.__module__ = "samples"
    graph = torch.fx.Graph()
    places = [graph.placeholder(f"x{i}") for i in range(len(program.tensors()))]
    result = graph.call_function(sample_program, tuple(places))
    graph.output(tuple(graph.call_function(operator.getitem, (result, i)) for i in range(outputs)))
    return torch.fx.GraphModule(torch.nn.Module(), graph)


def traceable(program: Program, eager: Run) -> bool:
    """Whether a direct graph can represent the call: at least one input and one result, all dense,
    and no input whose layout changes (`t_()`). Dynamo passes no other graphs to a backend."""
    tensors = [*program.tensors(), *eager.results]
    dense = all(
        isinstance(t, Tensor) and t.layout is torch.strided and not t.is_quantized for t in tensors
    )
    if not dense or not program.tensors() or not eager.results:
        return False
    pairs = zip(program.tensors(), eager.inputs, strict=True)
    return all(a.shape == b.shape and a.stride() == b.stride() for a, b in pairs)


def compile_direct(
    program: Program,
    tensors: Sequence[Tensor],
    outputs: int,
    compiled_by: Callable[..., Any] | None = None,
) -> Callable[[Sequence[Tensor]], Any]:
    """The backend's own function for this program; exceptions of tracing propagate."""
    compiled = (compiled_by or backend())(graph_of_call(program, outputs), list(tensors))
    return lambda inputs: compiled(*inputs)


def compile_whole(
    program: Program, compiled_by: Callable[..., Any] | None = None, **options: Any
) -> Callable[[Sequence[Tensor]], Any]:
    """The same through torch.compile."""
    torch._dynamo.reset()
    compiled = torch.compile(program.function, backend=compiled_by or backend(), **options)

    def call(tensors: Sequence[Tensor]) -> Any:
        args, kwargs = program.bind(tensors)
        return compiled(*args, **kwargs)

    return call


def compile_program(
    program: Program, eager: Run, compiled_by: Callable[..., Any] | None = None
) -> Callable[[Sequence[Tensor]], Any]:
    """Compile directly if possible, through torch.compile otherwise."""
    if traceable(program, eager):
        try:
            tensors = copy_tensors(program.tensors())
            return compile_direct(program, tensors, len(eager.results), compiled_by)
        except Exception:
            # Whatever the failure, torch.compile must run the program or raise the error for the
            # test.
            pass
    return compile_whole(program, compiled_by)


def run_compiled(program: Program, eager: Run) -> Run:
    return run(compile_program(program, eager), copy_tensors(program.tensors()))
