"""`Program.verify`: runs emitted MLIR and compares it with eager. Upstream passes lower the module
to linalg, to LLVM and to machine code, which the helper process runs on the bytes of the inputs.
The result is a Comparison with the program under PyTorch, or a MismatchError.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Node

from ingot.emit import isolate
from ingot.emit.difference import TOLERANCES, Difference, as_bytes, compare
from ingot.emit.emit import to_mlir
from ingot.emit.importer import FUNCTION
from ingot.emit.legalize import Expansion
from ingot.emit.levels import TO_LLVM
from ingot.emit.module import MlirModule
from ingot.emit.pairs import as_pairs
from ingot.emit.problems import first_line
from ingot.errors import EmitError, MismatchError
from ingot.program.call import bind
from ingot.program.graph import memory_root, output_values, placeholders, views_between
from ingot.program.program import Program


@dataclass(frozen=True)
class Comparison:
    dialect: str
    differences: tuple[Difference, ...]

    def as_text(self) -> str:
        return "\n".join(d.as_text() for d in self.differences)


def verify_program(
    program: Program,
    dialect: str,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    limits: isolate.Limits = isolate.USUAL,
    decompositions: Mapping[Any, Expansion] | None = None,
    checks: bool = False,
) -> Comparison:
    module = to_mlir(program, dialect, limits, decompositions, checks=checks)
    values = [copied(v) for v in bind(program, args, kwargs)]
    names = [spec.name for spec in program.signature.inputs]
    with torch.no_grad():
        expected = _with_writes(program, program.graph_module(*[copied(v) for v in values]))
    got = run_module(module, dict(zip(names, values)), limits)
    return _judge(program, module, expected, got)


def _with_writes(program: Program, results: Sequence[Any]) -> list[Any]:
    """Replace outputs that are mutated inputs, or views of them, by the values written."""
    inputs = placeholders(program.graph)
    written = {
        inputs[spec.target]: result
        for spec, result in zip(program.signature.outputs, results)
        if spec.kind == "mutation" and spec.target is not None
    }
    outputs = output_values(program.graph)[: program.signature.user_outputs()]
    of_written = [
        _seen_through(value, written[memory_root(value)])
        if isinstance(value, Node) and memory_root(value) in written
        else result
        for value, result in zip(outputs, results)
    ]
    return [*of_written, *results[len(outputs) :]]


def _seen_through(value: Node, source: Any) -> Any:
    """Apply the views that lead to `value` to another source."""
    for view in views_between(value):
        source = view.target(source, *view.args[1:], **view.kwargs)  # type: ignore[operator]
    return source


def run_module(
    module: MlirModule, inputs: Mapping[str, Any], limits: isolate.Limits = isolate.USUAL
) -> list[Any]:
    """Results of the module's function, one for each of `returned`; inputs by placeholder name."""
    legal = module.program
    values = [
        as_pairs(node, inputs[spec.name])
        for spec, node in zip(legal.signature.inputs, placeholders(legal.graph))
    ]
    with tempfile.NamedTemporaryFile(dir=_memory_folder()) as file:
        arguments = _write_arguments(file, values)
        results = _results(module, arguments, file.name, limits)
    outputs = output_values(legal.graph)
    return [_as_value(result, outputs[i]) for i, result in zip(module.returned, results)]


def _results(
    module: MlirModule, arguments: list[dict[str, Any]], file: str, limits: isolate.Limits
) -> list[Any]:
    """From machine code or, if upstream has no lowering, from the dialect's interpreter."""
    dialect = module.dialect
    refine = not dialect.sizes
    try:
        return isolate.run(
            module.runnable, FUNCTION, dialect.to_linalg, TO_LLVM, arguments, file, limits,
            refine=refine,
        )  # fmt: skip
    except isolate.PipelineError as error:
        refused = error
    if dialect.interpreted is not None:
        try:
            return isolate.interpret(
                module.text, FUNCTION, [dialect.interpreted], arguments, file, limits
            )
        except isolate.PipelineError as error:
            refused = error
    raise EmitError(
        f"{dialect.name} was written, but upstream passes have no way to run it: "
        f"{first_line(refused)}"
    )


def _memory_folder() -> str | None:
    return "/dev/shm" if os.path.isdir("/dev/shm") else None


def _write_arguments(file: Any, values: Sequence[Any]) -> list[dict[str, Any]]:
    arguments: list[dict[str, Any]] = []
    offset = 0
    for value in values:
        if not isinstance(value, torch.Tensor):
            arguments.append({"value": int(value)})
            continue
        data = as_bytes(value).numpy().tobytes() if value.numel() else b""
        file.write(data)
        arguments.append({"shape": tuple(value.shape), "offset": offset})
        padding = -len(data) % 64
        file.write(bytes(padding))
        offset += len(data) + padding
    file.write(bytes(64))  # an empty file cannot be mapped
    file.flush()
    return arguments


def _as_value(result: Any, node: Node) -> Any:
    if not isinstance(result, tuple):
        return result
    shape, data = result
    dtype = node.meta["val"].dtype
    if not data:
        return torch.empty(shape, dtype=dtype)
    return torch.frombuffer(bytearray(data), dtype=dtype).reshape(shape)


def _judge(
    program: Program, module: MlirModule, expected: Sequence[Any], got: Sequence[Any]
) -> Comparison:
    tolerance = coarsest(program)
    differences = [
        compare(
            f"output {i} ({program.signature.outputs[i].kind})",
            from_pairs(value, expected[i]),
            expected[i],
            tolerance,
        )
        for i, value in zip(module.returned, got)
    ]
    wrong = [d for d in differences if d.why]
    if wrong:
        text = "\n  ".join(d.as_text() for d in wrong)
        raise MismatchError(f"{module.dialect.name}, run natively:\n  {text}")
    return Comparison(module.dialect.name, tuple(differences))


def from_pairs(got: Any, want: Any) -> Any:
    """Complex again, if the dialect returns pairs."""
    complex_wanted = isinstance(want, torch.Tensor) and want.dtype.is_complex
    return torch.view_as_complex(got) if complex_wanted and not got.is_complex() else got


def coarsest(program: Program) -> float:
    """The tolerance of the narrowest floating-point dtype the program computes in."""
    vals = [node.meta.get("val") for node in program.graph.nodes if node.op == "call_function"]
    return max(
        (TOLERANCES.get(val.dtype, 0.0) for val in vals if isinstance(val, torch.Tensor)),
        default=0.0,
    )


def copied(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, torch.Tensor) else value
