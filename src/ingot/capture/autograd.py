"""AOTAutograd without torch._dynamo.backends.common, which imports the whole of Inductor for its
debug log while the user waits for the first call. Takes Dynamo's graph and the compilers for
AOTAutograd's graphs, and returns the function that Dynamo calls. Dynamo traces neither a compiled
graph nor a compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from torch import fx
from torch._dynamo import disable
from torch._dynamo.utils import counters, flatten_graph_inputs
from torch._functorch.aot_autograd import aot_module_simplified

Compiler = Callable[..., Callable[..., Any]]
"""Compiles a graph for its inputs."""


def through_aot_autograd(
    gm: fx.GraphModule, inputs: Sequence[Any], *, bw_compiler: Compiler, **settings: Any
) -> Callable[..., Any]:
    """`settings` are those of aot_module_simplified."""
    if any(isinstance(value, list | tuple | dict) for value in inputs):  # of compiled autograd
        again = partial(through_aot_autograd, bw_compiler=bw_compiler, **settings)
        return flatten_graph_inputs(gm, inputs, again)
    counters["aot_autograd"]["total"] += 1
    compiled = aot_module_simplified(gm, inputs, bw_compiler=_untraced(bw_compiler), **settings)
    counters["aot_autograd"]["ok"] += 1
    return disable(compiled, reason="do not trace AOT-compiled graph")


def _untraced(compiler: Compiler) -> Compiler:
    """A backward is compiled while the user's program runs, where Dynamo could trace the
    compiler."""
    aside = disable(compiler, reason="do not trace backward compiler function")

    def compile_backward(gm: fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
        return disable(aside(gm, inputs), reason="do not trace generated backwards pass")

    return compile_backward
