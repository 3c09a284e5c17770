"""Capture by torch.export: a PyTorch callable is traced into a functional Program that is called
like the model. Non-strict tracing is tried first, strict tracing if that fails. Parameters, buffers
and constants are the model's own tensors, outside of the graph; the model is left unchanged.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import wraps
from typing import Any

import torch
from torch import nn
from torch._functorch import eager_transforms
from torch._inductor import config as inductor_config
from torch._subclasses.fake_tensor import FakeTensor
from torch.autograd import forward_ad
from torch.export import ExportedProgram

from ingot.capture.attributes import refusing_changes, writing_attributes_back
from ingot.capture.check_messages import CapturedCheck, noting_checks, restore_texts
from ingot.capture.foreach_writes import order_foreach_writes
from ingot.capture.hidden_aliases import reveal_aliases, shared_by_strides
from ingot.capture.operands_apart import separate_operands
from ingot.capture.overlapping_writes import refuse_overlapping_writes
from ingot.capture.plain_checks import plain_checks
from ingot.capture.plain_writes import write_plainly
from ingot.capture.reshaped_inputs import refuse_reshaped_inputs
from ingot.capture.resized_outputs import replace_resizing_ops
from ingot.capture.same_tensor import one_input_each
from ingot.capture.shared_outputs import (
    buffers_of_written_constants,
    same_objects,
    shared_outputs,
)
from ingot.capture.structures import register_structures
from ingot.capture.trouble import capture_error, error_place, quiet
from ingot.capture.unseen import data_is_detached
from ingot.errors import CaptureError
from ingot.exclusive import exporting_here
from ingot.passes.composites import casting_parts, composite_table
from ingot.passes.decompositions.random_ops import (
    keeping_control_flow,
    order_random_ops,
    random_decompositions,
)
from ingot.passes.decompositions.recurrent import dropout_between_layers
from ingot.program.from_exported import program_from_exported
from ingot.program.program import Level, Program
from ingot.program.source import is_library
from ingot.program.verify import verify


def capture(
    model: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any] | None,
    dynamic_shapes: Any, make: Callable[[ExportedProgram], Program], *, refuse: bool = False,
) -> Program:  # fmt: skip
    """The program that `make` builds from the model's trace. With `refuse`, a change of the model
    that a program cannot represent is an error."""
    checks: list[CapturedCheck] = []
    exported = _trace(model, tuple(args), dict(kwargs or {}), dynamic_shapes, checks, refuse)
    with dropout_between_layers():
        program = make(exported)
    restore_texts(program.graph, checks)
    verify(program)
    return program


def _trace(
    model: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    dynamic_shapes: Any,
    checks: list[CapturedCheck],
    refuse: bool,
) -> ExportedProgram:
    """Fills `checks` with the messages of torch._check. With `refuse`, a change of the model that a
    program cannot represent is an error."""
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
                _keeping_random_ops(),
            ):
                exported = torch.export.export(
                    module, args, kwargs, dynamic_shapes=dynamic_shapes, strict=strict
                )
            if not any(map(_is_traced, exported.constants.values())):
                return one_input_each(exported)
            # The tracer lost track of a tensor, and took it for a constant.
            first = first or CaptureError(
                "torch.export lost sight of a tensor and took it for a constant, as it does where "
                "a function differentiates (torch.func)",
                hints=['torch.compile(backend="ingot") captures functions of torch.func'],
            )
        except CaptureError as error:  # our own: strict tracing would miss the cause
            place = error.place or error_place(error)
            raise CaptureError(error.why, place=place, hints=error.hints) from None
        except Exception as error:
            first = first or error
    assert first is not None
    if isinstance(first, CaptureError):
        raise first
    raise capture_error(first) from first


@contextmanager
def _keeping_random_ops() -> Iterator[None]:
    """Otherwise random ops without a use are dropped, and the generator is not advanced."""
    with inductor_config.patch(fallback_random=True), keeping_control_flow():
        yield


def _is_traced(value: Any) -> bool:
    """Whether it is a fake tensor of the tracer's, wrapped by a transform or not."""
    if isinstance(value, torch.Tensor) and not isinstance(value, FakeTensor):
        while torch._C._functorch.is_functorch_wrapped_tensor(value):
            value = torch._C._functorch.get_unwrapped(value)
    return isinstance(value, FakeTensor)


@contextmanager
def _seeing(module: nn.Module, checks: list[CapturedCheck], refuse: bool) -> Iterator[None]:
    """Record what the tracer would forget."""
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
    """A plain function as a module, which torch.export takes, with its own signature."""

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
    """Leave the torch.func transforms that failed tracing left active, so that the next code to run
    in this thread is not transformed."""
    depth, level = torch._C._functorch.get_dynamic_layer_stack_depth(), forward_ad._current_level
    nesting = eager_transforms.JVP_NESTING
    try:
        yield
    finally:
        while forward_ad._current_level > level:
            forward_ad.exit_dual_level()
        if level < 0:  # level 0 may have been left in Python alone
            with suppress(RuntimeError):
                torch._C._exit_dual_level(level=0)
        eager_transforms.JVP_NESTING = nesting
        if torch._C._functorch.get_dynamic_layer_stack_depth() > depth:
            torch._C._functorch.pop_dynamic_layer_stack_and_undo_to_depth(depth)


@contextmanager
def _structures_of_results(module: nn.Module) -> Iterator[None]:
    """Register the structures that the model returns before torch.export inspects them."""
    hook = module.register_forward_hook(lambda _, __, result: register_structures(result))
    try:
        yield
    finally:
        hook.remove()


@contextmanager
def _naming_keywords(module: nn.Module, kwargs: dict[str, Any], shapes: Any) -> Iterator[None]:
    """Turn keywords that `forward` takes as `**kwargs` and that have an entry in `shapes` into
    explicit arguments while tracing: torch.export matches them with no form of shapes otherwise."""
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
    """Make nodes record every line of the user's. By default the tracer keeps only frames of
    functions named `forward`, and those registered as anchors."""
    anchors = torch.fx.proxy._STACK_TRACE_ANCHORS
    torch.fx.proxy._STACK_TRACE_ANCHORS = _UserFrames()  # type: ignore[assignment]
    try:
        yield
    finally:
        torch.fx.proxy._STACK_TRACE_ANCHORS = anchors


def functional(exported: ExportedProgram, table: Mapping[Any, Any], train: bool) -> Program:
    """The program at aten level, with the ops of `table` decomposed."""
    from ingot.capture.joint import with_gradients

    refuse_reshaped_inputs(exported)
    order_random_ops(exported.graph_module)
    order_foreach_writes(exported.graph_module)
    write_plainly(exported.graph_module)
    separate_operands(exported.graph_module)
    _forget_bases(exported)
    table = {**random_decompositions, **table}
    exported = reveal_aliases(replace_resizing_ops(exported))
    refuse_overlapping_writes(exported)
    exported = buffers_of_written_constants(exported)
    shared = {} if train else shared_outputs(exported)
    same = {} if train else same_objects(exported)
    by_strides = shared_by_strides(exported)
    with quiet(), plain_checks(), exporting_here(), _keeping_random_ops(), _empty_examples():
        if train:
            functional = with_gradients(exported, table)
        else:
            with casting_parts(composite_table()) as composites:
                functional = exported.run_decompositions({**composites, **table})
    return program_from_exported(functional, Level.ATEN, shared, by_strides, same)


@contextmanager
def _empty_examples() -> Iterator[None]:
    """PyTorch's meta functions divide by strides, which are 0 in an example with a dynamic size of
    0."""
    try:
        yield
    except ZeroDivisionError as error:
        raise CaptureError(
            "PyTorch divides by a dynamic size that is 0 in the example",
            hints=["pass an example whose dynamic sizes are not 0, or leave the size static"],
        ) from error


def _forget_bases(exported: ExportedProgram) -> None:
    """An example that is a view has a base, and torch.export may guard on its sizes. The arguments
    of a call, and the fakes that decompositions are traced with, have no base."""
    exported._guards_code = [guard for guard in exported._guards_code if "._base." not in guard]
