"""`ingot.export`: a PyTorch callable as a whole Program. Comes in: a module or function with
example arguments; goes out: a Program at the level asked for, that is called like the model and
equals it. Non-strict tracing is tried first, strict tracing where that fails. What holds:
parameters, buffers and constants are the model's own tensors, outside of the graph; the model is
left as it was.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cache, wraps
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch._functorch import eager_transforms
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import FakeTensor
from torch.autograd import forward_ad
from torch.export import ExportedProgram

from ingot.capture.attributes import refusing_changes, writing_attributes_back
from ingot.capture.autocast import casting_parts
from ingot.capture.checks import Check, noting_checks, restore_texts
from ingot.capture.draws import order_draws
from ingot.capture.example_sizes import check_example
from ingot.capture.exported import (
    buffers_of_written_constants,
    program_from_exported,
    shared_outputs,
)
from ingot.capture.hidden_aliases import reveal_aliases, shared_by_strides
from ingot.capture.plain_checks import plain_checks
from ingot.capture.regions import keeping_toggles
from ingot.capture.same_tensor import in_own_memory, one_input_each
from ingot.capture.structures import register_structures
from ingot.capture.trouble import capture_error, error_place, quiet
from ingot.capture.unseen import data_is_detached
from ingot.errors import CaptureError, CompileError, OptionError, did_you_mean
from ingot.exclusive import exclusively, exporting_here
from ingot.options import Options, make_options
from ingot.program.program import Level, Program
from ingot.program.quantized import why_uncertain
from ingot.program.source import is_library
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
    """The model as a Program. `dynamic_shapes` is torch.export's own form; `level` is one of
    "pre-dispatch" (composite operations kept), "aten" and "core". With `train` the first single
    number that the model returns is the loss, and a call of the program also adds the gradients of
    all parameters, as loss.backward() does. `keep` are composite operations outside of ATen whose
    schema the caller vouches for: pre-dispatch level keeps them too; and dispatched operations that
    are to stay whole, where by default they become their implementations."""
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
        return _captured(model, args, kwargs, dynamic_shapes, program,
                         refuse=level == "pre-dispatch")  # fmt: skip


@exclusively()
def export_to_run(
    model: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any] | None,
    dynamic_shapes: Any, options: Options,
) -> Program:  # fmt: skip
    """At core level, for native code: recurrent layers stay whole. Where lowering to that level
    fails, at PyTorch's own; where that fails as well, NotLowered, or with `strict` the failure."""
    from ingot.capture.recurrent import whole_layers
    from ingot.fallback.boundary import Boundary
    from ingot.fallback.reproducer import Source

    def make(exported: ExportedProgram) -> Program:
        check_example(exported)
        uncertain = why_uncertain(exported.graph_module)
        if uncertain is not None and options.strict:
            raise CaptureError(uncertain)
        if uncertain is not None:
            raise NotLowered(exported, CompileError(uncertain))
        boundary = Boundary(Source(exported.graph_module, "aten"), options)

        def plain(error: Exception) -> Program:
            try:
                program = _functional(exported, {}, False)
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
        return _captured(model, args, kwargs, dynamic_shapes, make)


class NotLowered(Exception):
    """PyTorch captured the program but cannot make it functional (two inputs that share memory and
    one of which is written, an input whose shape is changed in place), or not tell what dtypes its
    values have."""

    def __init__(self, exported: ExportedProgram, failure: Exception):
        super().__init__(str(failure))
        self.exported, self.failure = exported, failure


def _captured(
    model: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any] | None,
    dynamic_shapes: Any, make: Callable[[ExportedProgram], Program], *, refuse: bool = False,
) -> Program:  # fmt: skip
    """`refuse`: changes of the model that have no place in a program."""
    from ingot.capture.recurrent import dropout_between_layers

    checks: list[Check] = []
    exported = _trace(model, tuple(args), dict(kwargs or {}), dynamic_shapes, checks, refuse)
    with dropout_between_layers():
        program = make(exported)
    restore_texts(program.graph, checks)
    verify(program)
    return program


def _pre_dispatch(exported: ExportedProgram, train: bool, keep: frozenset[OpOverload]) -> Program:
    from ingot.capture.functionalize import pre_dispatch_program

    return pre_dispatch_program(exported, keep)


def _aten(exported: ExportedProgram, train: bool, keep: frozenset[OpOverload]) -> Program:
    return _resolved(_functional(exported, {}, train), {}, keep)


def _core(exported: ExportedProgram, train: bool, keep: frozenset[OpOverload]) -> Program:
    from ingot.passes.base import run_passes
    from ingot.passes.decompose import decomposition_table
    from ingot.passes.native import core_passes

    program = _functional(exported, decomposition_table(), train)
    return run_passes(_resolved(program, decomposition_table(), keep), core_passes())


def _resolved(program: Program, table: Mapping[Any, Any], keep: frozenset[Any]) -> Program:
    """With the implementations of dispatched operations in their place."""
    from ingot.dispatch.resolve import Resolve, has_dispatch

    if not has_dispatch(program):
        return program
    return Resolve(make_options(), table, keep).run(program)


_LEVELS: dict[str, Callable[[ExportedProgram, bool, frozenset[OpOverload]], Program]] = {
    "pre-dispatch": _pre_dispatch,
    "aten": _aten,
    "core": _core,
}


def _trace(
    model: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    dynamic_shapes: Any,
    checks: list[Check],
    refuse: bool,
) -> ExportedProgram:
    """`checks` is filled with the texts of torch._check. With `refuse` a change of the model that a
    program has no place for is an error."""
    module = model if isinstance(model, nn.Module) else _Function(model)
    register_structures((args, kwargs))
    first: Exception | None = None
    for strict in (False, True):
        try:
            seeing = _strictly(refuse) if strict else _seeing(module, checks, refuse)
            named = _naming_keywords(module, kwargs, dynamic_shapes)
            with (
                _transforms_left(),
                _structures_of_results(module),
                _user_lines(),
                quiet(),
                seeing,
                named,
                plain_checks(),
            ):
                exported = torch.export.export(
                    module, args, kwargs, dynamic_shapes=dynamic_shapes, strict=strict
                )
            if not any(map(_is_traced, exported.constants.values())):
                return one_input_each(exported)
            # The tracer lost sight of a tensor, and took it for a constant.
            first = first or CaptureError(
                "torch.export lost sight of a tensor and took it for a constant, as it does where "
                "a function differentiates (torch.func)",
                hints=['torch.compile(backend="ingot") captures functions of torch.func'],
            )
        except CaptureError as error:  # our own: strict tracing would not see what it is about
            place = error.place or error_place(error)
            raise CaptureError(error.why, place=place, hints=error.hints) from None
        except Exception as error:
            first = first or error
    assert first is not None
    if isinstance(first, CaptureError):
        raise first
    raise capture_error(first) from first


def _is_traced(value: Any) -> bool:
    """Is it a tensor of the tracer's own, wrapped by a transform or not?"""
    if isinstance(value, torch.Tensor) and not isinstance(value, FakeTensor):
        while torch._C._functorch.is_functorch_wrapped_tensor(value):
            value = torch._C._functorch.get_unwrapped(value)
    return isinstance(value, FakeTensor)


@contextmanager
def _seeing(module: nn.Module, checks: list[Check], refuse: bool) -> Iterator[None]:
    """What the tracer would forget."""
    with (
        noting_checks(checks),
        writing_attributes_back(module, refuse),
        data_is_detached(),
        exporting_here(),
    ):
        yield


def _strictly(refuse: bool) -> AbstractContextManager[None]:
    return refusing_changes() if refuse else nullcontext()


class _Function(nn.Module):
    """A plain function for torch.export, which takes modules, under its own signature."""

    def __init__(self, function: Callable[..., Any]):
        super().__init__()
        try:
            inspect.signature(function)
        except ValueError:  # a builtin
            self.forward = lambda *args: function(*args)
        else:
            self.forward = function


@contextmanager
def _transforms_left() -> Iterator[None]:
    """Tracing that fails inside of a transform of torch.func does not leave it, and whatever runs
    next in this thread would be transformed."""
    depth, level = torch._C._functorch.get_dynamic_layer_stack_depth(), forward_ad._current_level
    nesting = eager_transforms.JVP_NESTING
    try:
        yield
    finally:
        while forward_ad._current_level > level:
            forward_ad.exit_dual_level()
        if level < 0:  # the level below may have been left in Python alone
            with suppress(RuntimeError):
                torch._C._exit_dual_level(level=0)
        eager_transforms.JVP_NESTING = nesting
        if torch._C._functorch.get_dynamic_layer_stack_depth() > depth:
            torch._C._functorch.pop_dynamic_layer_stack_and_undo_to_depth(depth)


@contextmanager
def _structures_of_results(module: nn.Module) -> Iterator[None]:
    """What the model returns is registered before torch.export looks at it."""
    hook = module.register_forward_hook(lambda _, __, result: register_structures(result))
    try:
        yield
    finally:
        hook.remove()


@contextmanager
def _naming_keywords(module: nn.Module, kwargs: dict[str, Any], shapes: Any) -> Iterator[None]:
    """Keywords that `forward` takes as `**kwargs` and that `shapes` has an entry for are arguments
    of its own while it is traced: torch.export finds no place for them in any form of shapes."""
    signature = inspect.signature(module.forward)
    named = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    known = {p.name for p in named}
    more = [name for name in kwargs if name not in known]
    if not isinstance(shapes, Mapping) or not any(name in shapes for name in more):
        yield
        return
    forward, before = module.forward, module.__dict__.get("forward")
    names = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in more]

    @wraps(forward)
    def explicit(*args: Any, **kwargs: Any) -> Any:
        return forward(*args, **kwargs)

    explicit.__signature__ = signature.replace(parameters=[*named, *names])  # type: ignore[attr-defined]
    module.forward = explicit
    try:
        yield
    finally:
        del module.forward
        if before is not None:
            module.forward = before


class _UserFrames:
    """Contains (file, function) if the file is the user's."""

    def __contains__(self, frame: tuple[str, str]) -> bool:
        return not is_library(frame[0])


@contextmanager
def _user_lines() -> Iterator[None]:
    """Nodes remember every line of the user's. By itself the tracer keeps only frames of functions
    that are called `forward`, and those it is told of as anchors."""
    anchors = torch.fx.proxy._STACK_TRACE_ANCHORS
    torch.fx.proxy._STACK_TRACE_ANCHORS = _UserFrames()  # type: ignore[assignment]
    try:
        yield
    finally:
        torch.fx.proxy._STACK_TRACE_ANCHORS = anchors


def _functional(exported: ExportedProgram, table: Mapping[Any, Any], train: bool) -> Program:
    """At aten level, with the ops of `table` taken apart."""
    from ingot.capture.joint import with_gradients
    from ingot.passes.decompositions.draws import draws_in_order

    order_draws(exported.graph_module)
    _forget_bases(exported)
    table = {**draws_in_order, **table}
    exported = buffers_of_written_constants(reveal_aliases(exported))
    shared = {} if train else shared_outputs(exported)
    by_strides = shared_by_strides(exported)
    with quiet(), plain_checks(), exporting_here():
        if train:
            functional = with_gradients(exported, table)
        else:
            with casting_parts(composite_table()) as composites:
                functional = exported.run_decompositions({**composites, **table})
    return program_from_exported(functional, Level.ATEN, shared, by_strides)


def _forget_bases(exported: ExportedProgram) -> None:
    """An example that is a view has a base, and torch.export may put a guard on its sizes; the
    arguments of a call, and the fakes that decompositions are traced with, have none."""
    exported._guards_code = [guard for guard in exported._guards_code if "._base." not in guard]


@cache
def composite_table() -> dict[Any, Any]:
    """The ops that autograd takes apart, each with how."""
    from torch._export.utils import (
        _collect_all_valid_cia_ops_for_aten_namespace,
        _get_decomp_for_cia,
    )

    return {op: _get_decomp_for_cia(op) for op in _collect_all_valid_cia_ops_for_aten_namespace()}
