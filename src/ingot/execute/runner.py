"""The plan as straight-line Python: allocate, call, free. Comes in: a Fused and its kernels; goes
out: a function from the list of inputs to the list of outputs, and its text. What holds: a buffer
is freed after its last use; inputs are written back after everything that reads them; an error code
of a kernel becomes the exception eager raises.
"""

from __future__ import annotations

import ctypes
import operator
import time
from collections.abc import Callable, Sequence
from typing import Any

import sympy
import torch
from torch import fx
from torch._C._dynamo.guards import _empty_strided_cpu  # type: ignore[attr-defined]

from ingot.codegen.kernels import Kernel, Kernels
from ingot.execute.fallback import interpret, region_inputs
from ingot.execute.in_place import written_in_place
from ingot.execute.memory import LARGE, empty_large
from ingot.fuse import index as ix
from ingot.fuse.elements import OUT_OF_BOUNDS, OUT_OF_RANGE, ZERO_DIVISION
from ingot.fuse.shapes import shape_of, strides_of, tensor_of
from ingot.options import Options
from ingot.stages import CallStep, Fused, KernelStep

Run = Callable[[list[Any]], Sequence[Any]]


def build_runner(fused: Fused, kernels: Kernels, options: Options) -> tuple[Run, str]:
    writer = RunnerWriter(fused, kernels, options)
    source = writer.source()
    scope = writer.captured
    exec(compile(source, "<ingot runner>", "exec"), scope)
    if options.profile:
        scope["run"].seconds = scope["seconds"]
    return scope["run"], source


class RunnerWriter:
    def __init__(self, fused: Fused, kernels: Kernels, options: Options):
        self.fused = fused
        self.kernels = kernels
        self.options = options
        self.lines: list[str] = []
        self.captured: dict[str, Any] = {
            "empty_strided": _empty_strided_cpu,
            "empty_large": empty_large,
            "check": raise_error,
            "plain": plain,
        }
        self.names: dict[fx.Node, str] = {}
        self.symbols: dict[sympy.Symbol, str] = {}
        self.in_place = written_in_place(fused, kernels)
        self.last_use = self._last_uses()

    # -- names -------------------------------------------------------------------------------------

    def capture(self, stem: str, value: Any) -> str:
        name = f"{stem}{len(self.captured)}"
        self.captured[name] = value
        return name

    def argument(self, value: Any) -> str:
        """An FX argument as Python text."""
        if isinstance(value, fx.Node):
            return self.names[value]
        if isinstance(value, list | tuple):
            inner = ", ".join(self.argument(v) for v in value)
            return (
                f"[{inner}]"
                if isinstance(value, list)
                else f"({inner}{',' if len(value) == 1 else ''})"
            )
        if isinstance(value, bool | int | str) or value is None:
            return repr(value)
        if isinstance(value, dict):
            return "{" + ", ".join(f"{k!r}: {self.argument(v)}" for k, v in value.items()) + "}"
        if isinstance(value, slice):
            parts = (value.start, value.stop, value.step)
            return f"slice({', '.join(self.argument(part) for part in parts)})"
        return self.capture("value", value)

    def size(self, size: Any) -> str:
        if isinstance(size, int):
            return str(size)
        text = str(size)
        for symbol in sorted(size.free_symbols, key=lambda s: -len(s.name)):
            if symbol not in self.symbols:
                raise KeyError(f"the symbol {symbol} has no value when it is needed")
        return (
            f"int({_PythonSizes(self.symbols).doprint(size)})"
            if not isinstance(size, sympy.Symbol)
            else self.symbols[size] or text
        )

    # -- lifetimes ---------------------------------------------------------------------------------

    def _uses(self, step: Any) -> list[fx.Node]:
        if isinstance(step, CallStep):
            return list(step.node.all_input_nodes)
        kernel = self.kernels.by_region.get(step.region)
        if kernel is None:
            return region_inputs(step.region)
        return [b for b in kernel.buffers if b not in step.region.stored]

    def _last_uses(self) -> dict[int, list[fx.Node]]:
        """Step number to the nodes that nobody needs after it."""
        last: dict[fx.Node, int] = {}
        for number, step in enumerate(self.fused.steps):
            made = [step.node] if isinstance(step, CallStep) else list(step.region.stored)
            for node in [*made, *self._uses(step)]:
                last[node] = number
        for node in [*self._output().all_input_nodes, *self._written_inputs()]:
            last.pop(node, None)
        for node in self.fused.program.graph.nodes:
            if node.op == "get_attr" or _is_number(node):
                last.pop(node, None)
        grouped: dict[int, list[fx.Node]] = {}
        for node, number in last.items():
            grouped.setdefault(number, []).append(node)
        return grouped

    def _written_inputs(self) -> list[fx.Node]:
        inputs = [n for n in self.fused.program.graph.nodes if n.op == "placeholder"]
        return [
            inputs[s.target] for s in self.fused.program.signature.outputs if s.target is not None
        ]

    def _output(self) -> fx.Node:
        return next(iter(reversed(self.fused.program.graph.nodes)))

    # -- text --------------------------------------------------------------------------------------

    def source(self) -> str:
        self._inputs()
        if self.options.profile:
            self.captured |= {"clock": time.perf_counter, "seconds": [0.0] * len(self.fused.steps)}
        for number, step in enumerate(self.fused.steps):
            if self.options.profile:
                self.lines.append("start = clock()")
            if isinstance(step, KernelStep):
                self._kernel(step)
            else:
                self._call(step)
            if self.options.profile:
                self.lines.append(f"seconds[{number}] += clock() - start")
            gone = [self.names[n] for n in self.last_use.get(number, []) if n in self.names]
            if gone:
                self.lines.append(f"del {', '.join(gone)}")
        self._outputs()
        return "\n".join(["def run(inputs):", *(f"    {line}" for line in self.lines)])

    def _inputs(self) -> None:
        graph = self.fused.program.graph
        placeholders = [n for n in graph.nodes if n.op == "placeholder"]
        for i, node in enumerate(placeholders):
            self.names[node] = f"in{i}"
        if placeholders:
            self.lines.append(f"{', '.join(self.names[n] for n in placeholders)}, = inputs")
            self.lines.append("inputs.clear()")
        for node in placeholders:
            self._learn_symbols(node)
        for node in graph.nodes:
            if node.op == "get_attr":
                value: Any = self.fused.program.constants.get(node.target)
                if value is None:
                    value = operator.attrgetter(node.target)(self.fused.program.graph_module)
                self.names[node] = self.capture("constant", value)

    def _learn_symbols(self, node: fx.Node) -> None:
        """Symbols that are an input, or a size or stride of one."""
        value = node.meta.get("val")
        if isinstance(value, torch.SymInt) and isinstance(value.node.expr, sympy.Symbol):
            self.symbols.setdefault(value.node.expr, self.names[node])
        if not isinstance(value, torch.Tensor) or value.layout is not torch.strided:
            return
        for k, s in enumerate(value.shape):
            if (
                isinstance(s, torch.SymInt)
                and isinstance(s.node.expr, sympy.Symbol)
                and s.node.expr not in self.symbols
            ):
                name = f"size_{s.node.expr}"
                self.symbols[s.node.expr] = name
                self.lines.append(f"{name} = {self.names[node]}.size({k})")

    def _name(self, node: fx.Node) -> str:
        name = f"v_{node.name}"
        self.names[node] = name
        return name

    def _call(self, step: CallStep) -> None:
        node = step.node
        arguments = [self.argument(a) for a in node.args]
        arguments += [f"{k}={self.argument(v)}" for k, v in node.kwargs.items()]
        target = node.target
        if target is operator.getitem:
            self.lines.append(f"{self._name(node)} = {arguments[0]}[{arguments[1]}]")
        else:
            callee = (
                target._op
                if isinstance(target, torch._ops.OpOverload) and _plain(target)
                else target
            )
            function = self.capture("op", callee)
            self.lines.append(f"{self._name(node)} = {function}({', '.join(arguments)})")
        self._learn_results(node)

    def _learn_results(self, node: fx.Node) -> None:
        """Symbols that this call is the first to know: data-dependent sizes and numbers."""
        value = node.meta.get("val")
        if isinstance(value, torch.SymInt) and isinstance(value.node.expr, sympy.Symbol):
            self.symbols.setdefault(value.node.expr, self.names[node])
        elif isinstance(value, torch.Tensor):
            self._learn_symbols(node)

    def _kernel(self, step: KernelStep) -> None:
        kernel = self.kernels.by_region.get(step.region)
        if kernel is None:
            self._fallback(step)
            return
        for node in step.region.stored:
            if node in self.in_place:
                self.names[node] = self.names[self.in_place[node]]
            else:
                self._allocate(node)
        function = self.capture("kernel", native_function(kernel))
        pointers = [f"{self._plain(b)}.data_ptr()" for b in kernel.buffers]
        sizes = [self.size(s) for s in kernel.symbols]
        self.lines.append(f"error = {function}({', '.join(pointers + sizes)})")
        where = self.capture("region", kernel.region)
        self.lines.append(f"if error: check(error, {where})")

    def _plain(self, node: fx.Node) -> str:
        """A tensor whose memory holds its values: a lazily negated one is written out first."""
        reads_complex = any(
            isinstance(v := o.meta.get("val"), torch.Tensor) and v.is_complex()
            for o in node.all_input_nodes
        )
        if not reads_complex and not tensor_of(node).is_neg():
            return self.names[node]
        name = f"{self.names[node]}_plain"
        self.lines.append(f"{name} = plain({self.names[node]})")
        return name

    def _allocate(self, node: fx.Node) -> None:
        shape = "(" + "".join(f"{self.size(s)}, " for s in shape_of(node)) + ")"
        strides = "(" + "".join(f"{self.size(s)}, " for s in strides_of(node)) + ")"
        dtype = self.capture("dtype", tensor_of(node).dtype)
        self.lines.append(
            f"{self._name(node)} = {self._allocator(node)}({shape}, {strides}, {dtype})"
        )

    def _allocator(self, node: fx.Node) -> str:
        numel = ix.product(shape_of(node))
        small = isinstance(numel, int) and numel * tensor_of(node).dtype.itemsize < LARGE
        return "empty_strided" if small else "empty_large"

    def _fallback(self, step: KernelStep) -> None:
        inputs = region_inputs(step.region)
        function = self.capture("region", interpret(step.region, inputs))
        results = ", ".join(self._name(n) for n in step.region.stored)
        self.lines.append(f"{results}, = {function}({', '.join(self.names[n] for n in inputs)})")

    def _outputs(self) -> None:
        signature = self.fused.program.signature
        values = self._output().args[0]
        assert isinstance(values, Sequence)
        user = []
        inputs = [n for n in self.fused.program.graph.nodes if n.op == "placeholder"]
        for spec, value in zip(signature.outputs, values, strict=True):
            if spec.kind == "mutation":
                assert spec.target is not None
                if value in self.in_place:
                    continue
                target = self.names[inputs[spec.target]]
                self.lines.append(f"{target}.copy_({self.argument(value)})")
            else:
                user.append(self.argument(value))
        self.lines.append(f"return [{', '.join(user)}]")


def _is_number(node: fx.Node) -> bool:
    """A size or scalar: it costs nothing to keep, and sizes of later buffers may be made of it."""
    return isinstance(
        node.meta.get("val"), torch.SymInt | torch.SymFloat | torch.SymBool | int | float
    )


class _PythonSizes(sympy.printing.str.StrPrinter):
    """Sizes as Python text."""

    def __init__(self, names: dict[sympy.Symbol, str]):
        super().__init__()
        self._names = names

    def _print_Symbol(self, expr: sympy.Symbol) -> str:
        return self._names[expr]

    def _print_FloorDiv(self, expr: Any) -> str:
        return f"(({self._print(expr.args[0])}) // ({self._print(expr.args[1])}))"

    _print_CleanDiv = _print_FloorDiv

    def _print_Mod(self, expr: Any) -> str:
        return f"(({self._print(expr.args[0])}) % ({self._print(expr.args[1])}))"

    _print_PythonMod = _print_Mod

    def _print_Max(self, expr: Any) -> str:
        return f"max({', '.join(self._print(a) for a in expr.args)})"

    def _print_Min(self, expr: Any) -> str:
        return f"min({', '.join(self._print(a) for a in expr.args)})"


def _plain(target: torch._ops.OpOverload) -> bool:
    """Can the C++ op be called without the Python layers around it?"""
    return (
        target.namespace in ("aten", "prims")
        and not target._schema.is_mutable
        and target.namespace == "aten"
    )


def plain(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor, or where it is lazily negated the same values in memory of the same layout."""
    if not tensor.is_neg():
        return tensor
    return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype).copy_(tensor)


def native_function(kernel: Kernel) -> Callable[..., int]:
    kinds = [ctypes.c_void_p] * len(kernel.buffers) + [ctypes.c_int64] * len(kernel.symbols)
    return ctypes.CFUNCTYPE(ctypes.c_int64, *kinds)(kernel.address)


def raise_error(code: int, region: Any) -> None:
    """The exception that eager raises where the kernel stopped short."""
    if code == ZERO_DIVISION:
        raise RuntimeError("ZeroDivisionError")
    if code == OUT_OF_BOUNDS:
        raise RuntimeError("index is out of bounds for dimension with size")
    assert code == OUT_OF_RANGE
    raise IndexError("index out of range in self")
