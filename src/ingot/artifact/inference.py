"""Shape inference over a graph that was read from a file. Native code trusts the metadata of a
value: a shape larger than the operator's result would read memory outside of the program. So every
call runs on FakeTensors and has to match the file's description. The inputs and outputs of bodies
of regions and control flow have to match the values outside.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import sympy
import torch
from torch import Tensor
from torch._dispatch.python import enable_python_dispatcher
from torch._higher_order_ops.wrap import wrap_with_autocast
from torch._ops import HigherOrderOperator, OpOverload
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    UnsupportedFakeTensorException,
    UnsupportedOperatorException,
)
from torch.fx import GraphModule, Node
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from torch.fx.node import map_arg

from ingot.artifact.symbol_ranges import SymbolReader
from ingot.program.graph import is_view, output_values, placeholders
from ingot.program.higher_order import Control, control_of
from ingot.program.mode_regions import is_region, region_body, region_parts

_UNKNOWN = (
    DataDependentOutputException, DynamicOutputShapeException, GuardOnDataDependentSymNode,
    NotImplementedError, UnsupportedFakeTensorException, UnsupportedOperatorException,
)  # fmt: skip
"""Inference has no answer on these: PyTorch needs the data, or the op has no FakeTensor kernel."""


class InferenceError(ValueError):
    """A node, and how its value differs from the file's description."""

    def __init__(self, node: Node, why: str):
        super().__init__(f"{node.name}: {why}")


def infer_values(module: GraphModule, symbols: SymbolReader) -> None:
    """Raises InferenceError at the first node that differs from the file's description."""
    modes = symbols.mode, torch.no_grad(), enable_python_dispatcher()
    with modes[0], modes[1], modes[2], symbols.env.ignore_fresh_unbacked_symbols():
        _Inference(symbols).check(module)
    symbols.forget_questions()


class _Inference:
    def __init__(self, symbols: SymbolReader):
        self._symbols, self._env = symbols, symbols.env
        self._own: dict[sympy.Symbol, sympy.Expr] = {}
        """Symbols that inference created, and the file's symbols for the same values."""

    def check(self, module: GraphModule) -> None:
        for node in module.graph.nodes:
            if node.op == "get_attr" and isinstance(node.meta.get("val"), Tensor):
                self._same(node, attribute(module, str(node.target)), node.meta["val"])
            elif node.op != "call_function":
                continue
            elif isinstance(node.target, HigherOrderOperator):
                self._check_bodies(module, node)
            else:
                self._check_call(node)

    def _check_call(self, node: Node) -> None:
        target: Any = node.target
        if isinstance(target, OpOverload) and (
            target._schema.is_mutable or not target._schema.returns
        ):
            return
        given = [n.meta.get("val") for n in node.all_input_nodes]
        if any(_elsewhere(value) for value in (*given, node.meta.get("val"))):
            return
        args, kwargs = map_arg((node.args, node.kwargs), lambda n: n.meta["val"])
        try:
            result = target(*args, **kwargs)
        except _UNKNOWN:
            return
        except Exception as error:  # operators raise errors of any type
            why = str(error).partition("\n")[0]
            raise InferenceError(node, f"it cannot run: {type(error).__name__}: {why}") from None
        self._same(node, result, node.meta.get("val"))

    # -- bodies ------------------------------------------------------------------------------------

    def _check_bodies(self, module: GraphModule, node: Node) -> None:
        if is_region(node):
            state, _, given = region_parts(node)
            body = region_body(node)
            self._check_inputs(node, body, [_value(g) for g in given])
            self._check_outputs(node, body, node.meta.get("val"))
            with _autocast(*state) if node.target is wrap_with_autocast else nullcontext():
                self.check(body)
            return
        control = control_of(node)
        bodies = [_body(module, part) for part in node.all_input_nodes]
        if control is not None:
            self._check_control(module, node, control)
        for inner in bodies:
            if inner is not None:
                self.check(inner)

    def _check_control(self, module: GraphModule, node: Node, control: Control) -> None:
        for part in control.bodies:
            body = _body(module, part)
            if body is None:
                raise InferenceError(node, f"{part} is not a body")
            values = [_value(operand) for operand in control.operands()]
            rows = [_row(v) if control.is_sliced(k) else v for k, v in enumerate(values)]
            self._check_inputs(node, body, rows)
        if control.kind == "branch":
            for part in control.bodies:
                self._check_outputs(node, _body(module, part), node.meta.get("val"))
        elif control.kind == "loop":
            carried = [_value(value) for value in control.carried]
            self._check_outputs(node, _body(module, control.bodies[1]), carried)
            self._check_outputs(node, _body(module, control.bodies[1]), node.meta.get("val"))

    def _check_inputs(self, node: Node, body: GraphModule, values: Sequence[Any]) -> None:
        wanted = placeholders(body.graph)
        if len(values) != len(wanted):
            raise InferenceError(node, f"{len(values)} values for a body of {len(wanted)} inputs")
        for value, place in zip(values, wanted):
            self._alike(node, value, place.meta.get("val"))

    def _check_outputs(self, node: Node, body: GraphModule | None, described: Any) -> None:
        assert body is not None
        results = [_value(value) for value in output_values(body.graph)]
        outside = described if isinstance(described, list | tuple) else [described]
        if len(results) != len(outside):
            raise InferenceError(node, f"{len(outside)} values of a body of {len(results)} outputs")
        for result, value in zip(results, outside):
            self._alike(node, result, value)

    def _alike(self, node: Node, a: Any, b: Any) -> None:
        """The same dtype and sizes; a size may be static in a branch and symbolic outside."""
        if isinstance(a, Tensor) != isinstance(b, Tensor):
            raise InferenceError(node, f"{_text(a)} stands for {_text(b)} in its body")
        if not isinstance(a, Tensor):
            return
        sizes = zip(a.shape, b.shape)
        known = all(x == y for x, y in sizes if isinstance(x, int) and isinstance(y, int))
        if a.dtype != b.dtype or a.dim() != b.dim() or not known:
            raise InferenceError(node, f"{_text(a)} stands for {_text(b)} in its body")

    # -- values ------------------------------------------------------------------------------------

    def _same(self, node: Node, result: Any, described: Any) -> None:
        if isinstance(result, tuple | list):
            if not isinstance(described, tuple | list) or len(result) != len(described):
                raise InferenceError(node, f"{len(result)} results, not {_text(described)}")
            for a, b in zip(result, described):
                self._same(node, a, b)
        elif isinstance(result, Tensor):
            self._same_tensor(node, result, described)
        elif isinstance(result, int | torch.SymInt) and not isinstance(result, bool):
            if not isinstance(described, int | torch.SymInt) or isinstance(described, bool):
                raise InferenceError(node, f"the result is a number, not {_text(described)}")
            self._same_number(node, result, described, "result")

    def _same_tensor(self, node: Node, result: Tensor, described: Any) -> None:
        same = isinstance(described, Tensor) and (
            (result.dtype, result.dim()) == (described.dtype, described.dim())
        )
        if not same:
            raise InferenceError(node, f"the result is {_text(result)}, not {_text(described)}")
        for a, b in zip(result.shape, described.shape):
            self._same_number(node, a, b, "size")
        if result.layout is not torch.strided:
            return
        for size, a, b in zip(described.shape, result.stride(), described.stride()):
            if not (isinstance(size, int) and size < 2):
                self._same_number(node, a, b, "stride")
        if is_view(node):  # other results own their memory, and only offset differences count
            offsets = result.storage_offset(), described.storage_offset()
            self._same_number(node, *offsets, "offset")

    def _same_number(self, node: Node, a: Any, b: Any, what: str) -> None:
        if isinstance(a, int) and isinstance(b, int):
            same = a == b
        else:
            x, y = _expression(a).xreplace(self._own), _expression(b)
            same = x == y or self._is_new(x, y) or self._equal(x, y)
        if not same:
            article = "an" if what[0] in "aeiou" else "a"
            raise InferenceError(node, f"{article} {what} is {a}, not {b}")

    def _is_new(self, x: Any, y: Any) -> bool:
        """Data-dependent sizes get a fresh symbol each time they are inferred."""
        if not x.is_Symbol or x.name[0] != "u" or x.name in self._symbols.symbols:
            return False
        unbacked = y.is_Symbol and y.name[0] == "u"
        if unbacked:
            self._own[x] = y
        return unbacked

    def _equal(self, x: Any, y: Any) -> bool:
        simple = self._env.simplify
        return bool(simple(x) == simple(y) or sympy.expand(x - y) == 0)


def _expression(number: Any) -> Any:
    return number.node.expr if isinstance(number, torch.SymInt) else sympy.Integer(number)


def _value(argument: Any) -> Any:
    return argument.meta.get("val") if isinstance(argument, Node) else argument


def _row(value: Any) -> Any:
    return value[0] if isinstance(value, Tensor) and value.dim() > 0 else value


def _body(module: GraphModule, node: Any) -> GraphModule | None:
    if not isinstance(node, Node) or node.op != "get_attr" or "val" in node.meta:
        return None
    return attribute(module, str(node.target))


def attribute(module: GraphModule, path: str) -> Any:
    """The attribute that the reader of the file has set under this path."""
    found: Any = module
    for name in path.split("."):
        found = getattr(found, name)
    return found


def _elsewhere(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(_elsewhere(item) for item in value)
    return isinstance(value, Tensor) and value.device.type != "cpu"


def _text(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    return type(value).__name__


def _autocast(device: Any, dtype: Any, enabled: Any, cache: Any) -> torch.autocast:
    return torch.autocast(device, dtype, enabled=enabled, cache_enabled=cache)
