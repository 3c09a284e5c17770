"""Checks one program, eager against compiled, in everything that can be observed.

`check_forward` runs under no_grad; `check_gradients` runs forward and backward with fixed random
cotangents. Random ops must give exactly eager's values and leave the generator in eager's state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch import Tensor

from .compare import alias_map, assert_same_outputs
from .harness import (
    Program,
    Run,
    compile_program,
    copy_tensors,
    run,
    run_compiled,
    run_eager,
    run_truth,
)


def check_forward(
    program: Program, label: str, *, values: bool = True, exact_random: bool = True
) -> None:
    """Compile and run one sample, and compare everything that can be observed."""
    with torch.no_grad():
        eager = run_eager(program)
        truth = None if eager.used_rng else run_truth(program)
        compiled = run_compiled(program, eager)
    true = truth.results if truth else None
    exact = eager.used_rng and exact_random
    assert_same_outputs(
        compiled.results,
        eager.results,
        true,
        label=f"{label} output",
        exact=exact,
        metadata_only=not values,
    )
    if values:
        assert_same_outputs(
            compiled.inputs,
            eager.inputs,
            truth.inputs if truth else None,
            label=f"{label} input after the call",
            exact=exact,
        )
    check_aliasing(compiled, eager, label)
    assert torch.equal(compiled.rng_state, eager.rng_state), f"{label}: generator state"


def check_aliasing(compiled: Run, eager: Run, label: str) -> None:
    got = alias_map(compiled.results, compiled.inputs)
    want = alias_map(eager.results, eager.inputs)
    assert got == want, f"{label}: outputs share storage with inputs {got}, eager's with {want}"


def with_gradients(call: Callable[[Sequence[Tensor]], Any]) -> Callable[[Sequence[Tensor]], Any]:
    """The results followed by the gradients of all inputs for fixed random cotangents."""

    def run_both(tensors: Sequence[Tensor]) -> list[Any]:
        results = pytree.tree_leaves(call(tensors))
        outputs = [r for r in results if isinstance(r, Tensor) and r.requires_grad]
        wanted = [t for t in tensors if t.requires_grad]
        if not outputs or not wanted:
            return results
        cotangents = [cotangent(out, i) for i, out in enumerate(outputs)]
        grads = torch.autograd.grad(outputs, wanted, cotangents, allow_unused=True)
        # AOTAutograd may return zeros where eager returns None; both mean no dependence.
        zeros = (torch.zeros_like(t) for t in wanted)
        return [*results, *(z if g is None else g for g, z in zip(grads, zeros, strict=True))]

    return run_both


def cotangent(output: Tensor, position: int) -> Tensor:
    """Multiples of 1/8 are exact in every dtype, so eager and the truth get the same cotangents."""
    generator = torch.Generator().manual_seed(position)
    wide = torch.complex128 if output.is_complex() else torch.float64
    values = torch.randn(output.shape, generator=generator, dtype=wide)
    eighths = (torch.view_as_real(values) if output.is_complex() else values).mul_(8).round_()
    eighths.div_(8)
    return values.copy_(torch.view_as_complex(eighths) if output.is_complex() else eighths).to(
        output.dtype
    )


def check_gradients(program: Program, label: str) -> None:
    """Compare results and gradients; strides of results only, because autograd may change the
    layout of gradients."""
    plain = run_eager(program)
    eager = run(with_gradients(program.call), copy_tensors(program.tensors()))
    truth = None
    if not eager.used_rng:
        truth = run_truth(Program(with_gradients(program.call), (program.tensors(),), {}))
    compiled_call = compile_program(program, plain)
    compiled = run(with_gradients(compiled_call), copy_tensors(program.tensors()))
    true = truth.results if truth else None
    count = len(plain.results)
    for part, kind in ((slice(count), "output"), (slice(count, None), "gradient")):
        assert_same_outputs(
            compiled.results[part],
            eager.results[part],
            true[part] if true else None,
            label=f"{label} {kind}",
            strides=kind == "output",
            normwise=kind == "gradient",
        )
