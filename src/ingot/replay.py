"""Functions that a reproducer's script calls: they make inputs like those of the graph, trace the
graph again with the same dynamic sizes, and compile it under `strict`.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import fx, nn
from torch._dynamo.source import ConstantSource
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import (
    DimDynamic,
    ShapeEnv,
    StatelessSymbolicContext,
)

from ingot.options import Options, make_options


@dataclass(frozen=True)
class TensorInput:
    real: torch.Tensor
    dynamic: tuple[int, ...]


@dataclass(frozen=True)
class NumberInput:
    value: int


Input = TensorInput | NumberInput | Any


def tensor(
    shape: Sequence[int], strides: Sequence[int] | None, dtype: torch.dtype, *,
    dynamic: Sequence[int] = (), requires_grad: bool = False,
) -> TensorInput:  # fmt: skip
    """A tensor of random values; integers are 0 or 1."""
    torch.manual_seed(0)
    made = torch.empty(shape, dtype=dtype)
    if strides is not None:
        made = torch.empty_strided(list(shape), list(strides), dtype=dtype)
    if 0 in made.stride() or made.layout is not torch.strided:
        made.zero_()
    elif dtype.is_floating_point and dtype.itemsize > 1:
        made.normal_()
    else:
        made.copy_(torch.randint(0, 2, tuple(shape)))
    return TensorInput(made.requires_grad_(requires_grad), tuple(dynamic))


def number(value: int) -> NumberInput:
    return NumberInput(value)


def replay(
    graph: type[nn.Module], inputs: Sequence[Input], constants: Mapping[str, TensorInput | Any],
    options: Mapping[str, Any], *, level: str, static: Sequence[int] = (), grad: bool = False,
) -> None:  # fmt: skip
    """Raises the failure, or prints that it did not occur."""
    checked = replace(make_options(options), strict=True)
    module = _assembled(graph, constants)
    with torch.set_grad_enabled(grad):
        if level == "dynamo":
            _replay_capture(module, inputs, checked)
        else:
            _replay_graph(module, inputs, checked, level, static)
    print("ingot compiled and ran this graph: the failure was not reproduced")


def _assembled(graph: type[nn.Module], constants: Mapping[str, Any]) -> nn.Module:
    """In the text, control-flow bodies are classes nested in the class of their graph."""
    module = graph()
    for name, inner in vars(graph).items():
        if isinstance(inner, type) and issubclass(inner, nn.Module):
            setattr(module, name, fx.symbolic_trace(_assembled(inner, {})))
    for name, value in constants.items():
        owner, _, last = name.rpartition(".")
        held = operator.attrgetter(owner)(module) if owner else module
        held.register_buffer(last, value.real if isinstance(value, TensorInput) else value)
    return module


def _real(value: Input) -> Any:
    if isinstance(value, TensorInput):
        return value.real
    return value.value if isinstance(value, NumberInput) else value


def _replay_capture(module: nn.Module, inputs: Sequence[Input], options: Options) -> None:
    from ingot.backend.dynamo import aot_compile

    compiled: Any = torch.compile(module, backend=lambda gm, given: aot_compile(gm, given, options))
    compiled(*map(_real, inputs))


def _replay_graph(
    module: nn.Module, inputs: Sequence[Input], options: Options, level: str, static: Sequence[int]
) -> None:
    from ingot.pipeline import compile_program
    from ingot.program.program import Level, program_from_fx

    known = Level.ATEN if level == Level.PRE_DISPATCH.value else Level(level)
    traced = _traced(module, inputs)
    program = program_from_fx(traced, static_input_indices=static, level=known)
    compile_program(program, options).run(list(map(_real, inputs)))


def _traced(module: nn.Module, inputs: Sequence[Input]) -> fx.GraphModule:
    mode = FakeTensorMode(shape_env=ShapeEnv(), allow_non_fake_inputs=True)
    fakes = [_fake(value, mode, k) for k, value in enumerate(inputs)]
    with mode:
        traced: fx.GraphModule = make_fx(module, _allow_non_fake_inputs=True)(*fakes)
    return traced


def _fake(value: Input, mode: FakeTensorMode, position: int) -> Any:
    """Equal sizes share one symbol, as in the original capture."""
    source = ConstantSource(f"input{position}")
    if isinstance(value, NumberInput):
        env = mode.shape_env
        assert env is not None
        symbol = env.create_symbol(value.value, source, dynamic_dim=DimDynamic.DUCK)
        return env.create_symintnode(symbol, hint=value.value, source=source)
    if not isinstance(value, TensorInput):
        return value
    kinds = [
        DimDynamic.DUCK if dim in value.dynamic else DimDynamic.STATIC
        for dim in range(value.real.dim())
    ]
    context: Any = StatelessSymbolicContext(dynamic_sizes=kinds)
    return mode.from_tensor(value.real.detach(), source=source, symbolic_context=context)
