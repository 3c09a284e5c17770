"""Runs MLIR pass pipelines in the helper process. The request holds a module as text or bytecode
and named steps. The reply holds the resulting text, or the diagnostics of the first step that
failed.
"""

from __future__ import annotations

from typing import Any

from torch_mlir import ir, passmanager
from torch_mlir._mlir_libs import _stablehlo as stablehlo
from torch_mlir.dialects import torch as torch_dialect

Request = dict[str, Any]
Reply = dict[str, Any]


def lower(request: Request) -> Reply:
    """Run the pipelines in `steps` over `module` and print the result."""
    with ir.Context() as context:
        module = parse(context, request["module"])
        failed = run_steps(module, request["steps"], request["calls"])
        return failed or {"text": module.operation.get_asm(enable_debug_info=False)}


def parse(context: ir.Context, data: bytes | str) -> ir.Module:
    torch_dialect.register_dialect(context)
    stablehlo.register_dialect(context)
    context.enable_multithreading(False)
    # The tm_tensor dialect has no bindings: running a pass that uses it loads it.
    with ir.Location.unknown():
        passmanager.PassManager.parse("builtin.module(func.func(tm-tensor-bufferize))").run(
            ir.Module.create().operation
        )
    return ir.Module.parse(data)


def fix_sizes(function: Any, arguments: list[dict[str, Any]]) -> None:
    """Set the types of the function's arguments to the sizes of this run; upstream passes propagate
    them to all other values."""
    kinds = []
    for argument, spec in zip(function.arguments, arguments):
        if "shape" in spec:
            element = argument.type.element_type
            with ir.Location.unknown():
                argument.set_type(ir.RankedTensorType.get(spec["shape"], element))
        kinds.append(argument.type)
    kind = ir.FunctionType.get(kinds, function.type.results)
    function.attributes["function_type"] = ir.TypeAttr.get(kind)


CALLS_REFUSED = ("failed to legalize operation 'func.call'", "Module does not conform to the")
"""Diagnostics about calls from the verification pass that ends torch-mlir's pipelines."""


def run_steps(module: ir.Module, steps: list[tuple[str, str]], calls: bool = False) -> Reply:
    for name, pipeline in steps:
        try:
            passmanager.PassManager.parse(pipeline).run(module.operation)
        except ir.MLIRError as error:
            heard = [d.message for d in error.error_diagnostics]
            if calls and heard and all(text.startswith(CALLS_REFUSED) for text in heard):
                continue
            said = [(str(d.location), d.message) for d in error.error_diagnostics]
            return {"failed": name, "diagnostics": said or [("", str(error))]}
    return {}
