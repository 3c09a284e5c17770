"""`ingot.export`: a PyTorch callable as a whole Program at the requested level, with dispatched ops
resolved. Also the capture for `ingot.compile`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from torch._ops import OpOverload
from torch.export import ExportedProgram

from ingot.capture.example_sizes import check_example
from ingot.capture.mode_changes import keeping_toggles
from ingot.capture.same_tensor import in_own_memory
from ingot.capture.tracing import capture, functional
from ingot.errors import CaptureError, CompileError, OptionError, did_you_mean
from ingot.exclusive import exclusively
from ingot.fallback.boundary import Boundary
from ingot.fallback.reproducer import CapturedGraph
from ingot.options import Options, make_options
from ingot.passes.decompositions.recurrent import whole_layers
from ingot.program.program import Program
from ingot.program.quantized import why_uncertain
from ingot.program.verify import verify

if TYPE_CHECKING:
    from ingot.dispatch.declare import Dispatch


@exclusively()
def export(
    model: Callable[..., Any],
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    level: str = "aten",
    train: bool = False,
    keep: Iterable[OpOverload | Dispatch] = (),
) -> Program:
    """The model as a Program. `dynamic_shapes` has torch.export's own form; `level` is one of
    "pre-dispatch" (composite ops kept), "aten" and "core". With `train`, the first scalar that the
    model returns is the loss, and a call of the program also accumulates the gradients of all
    parameters, as loss.backward() does. `keep` lists composite ops outside ATen whose schema the
    caller vouches for, which the pre-dispatch level then keeps too, and dispatched ops to keep
    whole; by default these are replaced by their implementations."""
    make = _LEVELS.get(level)
    if make is None:
        raise OptionError(f"level={level!r}", hints=[did_you_mean(level, _LEVELS)])
    if train and level == "pre-dispatch":
        raise OptionError("train=True at level='pre-dispatch'", hints=["use level='aten'"])
    kept = frozenset(op if isinstance(op, OpOverload) else op.target for op in keep)

    def program(exported: ExportedProgram) -> Program:
        uncertain = why_uncertain(exported.graph_module)
        if uncertain is not None:
            raise CaptureError(uncertain)
        return make(exported, train, kept)

    with keeping_toggles() if level == "pre-dispatch" else nullcontext():
        return capture(model, args, kwargs, dynamic_shapes, program,
                       refuse=level == "pre-dispatch")  # fmt: skip


@exclusively()
def export_to_run(
    model: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any] | None,
    dynamic_shapes: Any, options: Options,
) -> Program:  # fmt: skip
    """Capture for native code, at core level; recurrent layers stay whole. Falls back to PyTorch's
    own lowering; if that fails too, raises NotLowered, or with `strict` the failure."""

    def make(exported: ExportedProgram) -> Program:
        check_example(exported)
        uncertain = why_uncertain(exported.graph_module)
        if uncertain is not None and options.strict:
            raise CaptureError(uncertain)
        if uncertain is not None:
            raise NotLowered(exported, CompileError(uncertain))
        boundary = Boundary(CapturedGraph(exported.graph_module, "aten"), options)

        def plain(error: Exception) -> Program:
            try:
                program = functional(exported, {}, False)
                verify(program)
            except Exception:
                raise NotLowered(exported, error) from error
            boundary.fell_back("PyTorch lowers the program by its own rules", error)
            return program

        def core() -> Program:
            program = _core(exported, False, frozenset())
            verify(program)
            return program

        return boundary.attempt("lowering", core, plain)

    args, kwargs = in_own_memory((tuple(args), dict(kwargs or {})))
    with whole_layers():
        return capture(model, args, kwargs, dynamic_shapes, make)


class NotLowered(Exception):
    """PyTorch captured the program but cannot make it functional (two inputs share memory and one
    is written, or the shape of an input is changed in place), or the dtypes of its values are
    uncertain."""

    def __init__(self, exported: ExportedProgram, failure: Exception):
        super().__init__(str(failure))
        self.exported, self.failure = exported, failure


def _pre_dispatch(exported: ExportedProgram, train: bool, keep: frozenset[OpOverload]) -> Program:
    from ingot.capture.functionalize.pre_dispatch import pre_dispatch_program

    return pre_dispatch_program(exported, keep)


def _aten(exported: ExportedProgram, train: bool, keep: frozenset[OpOverload]) -> Program:
    return _resolved(functional(exported, {}, train), {}, keep)


def _core(exported: ExportedProgram, train: bool, keep: frozenset[OpOverload]) -> Program:
    # Not needed at the other levels, and slow to import.
    from ingot.passes.base import run_passes
    from ingot.passes.decompose import decomposition_table
    from ingot.passes.native import core_passes

    program = functional(exported, decomposition_table(), train)
    return run_passes(_resolved(program, decomposition_table(), keep), core_passes())


def _resolved(program: Program, table: Mapping[Any, Any], keep: frozenset[Any]) -> Program:
    """Replace dispatched ops by their implementations."""
    from ingot.dispatch.resolve import Resolve, has_dispatch

    if not has_dispatch(program):
        return program
    return Resolve(make_options(), table, keep).run(program)


_LEVELS: dict[str, Callable[[ExportedProgram, bool, frozenset[OpOverload]], Program]] = {
    "pre-dispatch": _pre_dispatch,
    "aten": _aten,
    "core": _core,
}
