"""Ops through the whole of torch.compile: Dynamo's guards, AOTAutograd and the backend.

The other op tests bypass Dynamo to be cheap. These run the first sample of each op's first dtype
with static and dynamic shapes. Data-dependent ops are captured into the graph if Dynamo can, and
break the graph otherwise.
"""

from __future__ import annotations

import pytest
import torch
import torch._dynamo.config

from .cases import OPS, exact_random, metadata_only, program_of, samples_of, whole_cases
from .compare import assert_same_outputs
from .harness import compile_whole, copy_tensors, run, run_eager, run_truth


@pytest.mark.parametrize(("name", "dtype", "dynamic"), whole_cases())
def test_whole(name: str, dtype: torch.dtype, dynamic: bool) -> None:
    op = OPS[name]
    sample = samples_of(op, dtype, 1)[0]
    program = program_of(op.op, sample)
    capture = torch._dynamo.config.patch(
        capture_dynamic_output_shape_ops=True, capture_scalar_outputs=True
    )
    with torch.no_grad(), capture:
        eager = run_eager(program)
        truth = None if eager.used_rng else run_truth(program)
        compiled_call = compile_whole(program, dynamic=dynamic)
        compiled = run(compiled_call, copy_tensors(program.tensors()))
    label = f"{name} {dtype} {sample.summary()}\n"
    for kind in ("results", "inputs"):
        assert_same_outputs(
            getattr(compiled, kind),
            getattr(eager, kind),
            getattr(truth, kind) if truth else None,
            label=f"{label}{kind}",
            exact=eager.used_rng and exact_random(name),
            metadata_only=metadata_only(name),
        )
