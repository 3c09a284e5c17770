"""Runs StableHLO's reference interpreter in the helper process, for ops that upstream does not
lower further (sort, scatter). The request holds a module, the steps that make its sizes static and
a file with the bytes of the arguments. The reply holds the results, in the format of
`execution.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch_mlir import ir
from torch_mlir._mlir_libs import _stablehlo as stablehlo

from ingot.emit.pipelines import Reply, Request, fix_sizes, parse, run_steps


def interpret(request: Request) -> Reply:
    with ir.Context() as context, ir.Location.unknown():
        module = parse(context, request["module"])
        stablehlo.register_interpreter_dialect(context)
        function = ir.SymbolTable(module.operation)[request["function"]]
        fix_sizes(function, request["arguments"])
        failed = run_steps(module, request["steps"])
        if failed:
            return failed
        function = ir.SymbolTable(module.operation)[request["function"]]
        _return_bits(function)
        data = Path(request["file"]).read_bytes()
        values = [
            _constant(argument.type, spec, data)
            for argument, spec in zip(function.arguments, request["arguments"])
        ]
        return {"results": [_read(value) for value in stablehlo.eval_module(module, values)]}


def _return_bits(function: Any) -> None:
    """Bitcast results of types that Python cannot read to integers of the same width."""
    end = list(function.entry_block.operations)[-1]
    kinds = []
    for i, value in enumerate(end.operands):
        element = value.type.element_type
        if isinstance(element, ir.FloatType) and not isinstance(element, _READABLE):
            bits = ir.IntegerType.get_signless(element.width)
            kind = ir.RankedTensorType.get(value.type.shape, bits)
            with ir.InsertionPoint(end):
                end.operands[i] = ir.Operation.create(
                    "stablehlo.bitcast_convert", results=[kind], operands=[value]
                ).result
        kinds.append(end.operands[i].type)
    kind = ir.FunctionType.get(function.type.inputs, kinds)
    function.attributes["function_type"] = ir.TypeAttr.get(kind)


_READABLE = (ir.F16Type, ir.F32Type, ir.F64Type)


def _constant(kind: Any, spec: dict[str, Any], data: bytes) -> Any:
    import numpy as np

    element = kind.element_type
    width = max(8, element.width) // 8
    count = int(np.prod(spec["shape"]))
    raw = np.frombuffer(data, np.uint8, count * width, spec["offset"])
    if isinstance(element, ir.IntegerType) and element.width == 1:
        return ir.DenseElementsAttr.get(raw.astype(bool).reshape(spec["shape"]))
    return ir.DenseElementsAttr.get(raw, type=kind)


def _read(value: Any) -> tuple[tuple[int, ...], bytes]:
    import numpy as np

    array = np.ascontiguousarray(np.array(value))
    return tuple(ir.ShapedType(value.type).shape), array.tobytes()
