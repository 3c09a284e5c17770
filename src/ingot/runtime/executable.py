"""A whole program, compiled ahead of time and called like the model. Arguments that the program was
not made for are rejected before anything runs. Tensors whose strides differ from the example's are
copied to the layout that the code expects, and copied back if the program writes them. The model
itself runs the calls that native code cannot: a dynamic size of zero, for which the tracer's
assumptions do not hold; tensors without memory and wrapped ones; another autocast; an active mode
or transform. If gradients are recorded, results have a history.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NoReturn

import sympy
import torch
from torch.utils import _pytree as pytree

from ingot.errors import IngotError, InputError
from ingot.extensions import extension
from ingot.fallback.boundary import Boundary
from ingot.fallback.reproducer import CapturedGraph
from ingot.options import Options, make_options
from ingot.plan.prepared import refresh
from ingot.plan.sizes import evaluator, symbols_in
from ingot.program.assumptions import check_aliases
from ingot.program.call import (
    accumulate,
    bind,
    call_spec,
    in_order,
    match,
    objects_of,
    shares_objects,
    trains,
)
from ingot.program.graph import forget_real_tensors, placeholders
from ingot.program.overlap import overlaps_itself
from ingot.program.plain_tensor import memory_fault
from ingot.program.program import Fixed, Program
from ingot.program.shapes import shape_of, strides_of
from ingot.runtime.binding import UNFIT, failed_to_bind, quick_call
from ingot.runtime.call_state import CallState
from ingot.runtime.eager_call import EagerCall, is_strange
from ingot.runtime.history import History, why_no_history
from ingot.runtime.model_state import ModelState
from ingot.runtime.strides import apart, stride_symbols
from ingot.stages import Compiled, Loaded

NO_GRAD = (
    "call it under torch.no_grad() where no gradients are wanted; to train, use torch.compile or "
    "ingot.export(..., train=True)"
)

ALIASED = "an input that is written shares memory with another"
OTHER_STRIDES = (
    "an input has other strides than the example's, and with them results or writes share memory "
    "with other tensors"
)
SAME_STRIDES = "compile it with strides like these as well"
SAME_STATE = "compile it in the state in which it is called"


@dataclass(frozen=True)
class Contract:
    """What a call needs to know of the graph besides its signature."""

    settles: bool
    """Whether results have to become the objects that eager returns."""
    no_history: str | None
    """Why a call cannot be differentiated by a rerun; None if it can."""

    @staticmethod
    def of(program: Program) -> Contract:
        return Contract(shares_objects(program), why_no_history(program))


class Executable:
    """A compiled program; `exe(*args, **kwargs)` returns what the model returns."""

    def __init__(
        self,
        program: Program,
        compiled: Compiled | Loaded,
        model: Callable[..., Any],
        boundary: Boundary | None = None,
        contract: Contract | None = None,
        state: CallState | None = None,
    ):
        """`contract`: that of the program, if its graph is not at hand. `state`: the thread state
        under which it was made, if that is not the current one."""
        source = CapturedGraph(program.graph_module, program.level.value)
        self._boundary = boundary or Boundary(source, make_options())
        self.contract = contract or Contract.of(program)
        self.compiled = compiled
        self._inputs = placeholders(program.graph)
        self._layouts = _Layouts(program)
        self._run = _Arranged(self._layouts, compiled)
        self._result = _result_maker(call_spec(program).out_spec)
        self.call_state = state or CallState.now()
        self._eager = EagerCall(model)
        self._bind_model(program, ModelState(program.state, model))
        forget_real_tensors(program.graph)

    def _bind_model(self, program: Program, model_state: ModelState) -> None:
        """Takes the tensors of the model as they are now."""
        fits = model_state.fits(program)
        self.program = program = replace(program, state=model_state.state)
        self._model_state = model_state
        current = None if model_state.is_empty() else model_state.is_current
        self._settle = objects_of(program) if self.contract.settles else None
        quick = quick_call(
            program, self.call_state, self.compiled.run, self._result, current, self._settle
        )
        self._trains = trains(program)
        self._quick = quick if fits and not self._trains else None
        self._history = History(program, self._eager.model, self._run, self.call_state)

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        targets: Sequence[str] | None = None,
        weights: str | os.PathLike[str] = "inside",
    ) -> None:
        """Write the program, its weights and its machine code to one file, which `ingot.load` reads
        in another process or on another machine. `targets`: the instruction sets to compile for,
        psABI levels such as "x86-64-v3"; by default the highest that this machine supports.
        `weights`: "inside", "beside" for a safetensors file next to it, or the path of one in the
        same folder that several programs share; if it is there, it has to have these weights."""
        extension("Executable.save")(self, path, targets, weights)

    def save_c(
        self,
        folder: str | os.PathLike[str],
        *,
        targets: Sequence[str] | None = None,
        threads: str = "openmp",
        name: str = "model",
    ) -> None:
        """Write the program for C to a folder: a static library, a header, the weights and an
        example. It needs neither PyTorch nor Python. `targets`: as for `save`; the library chooses
        among them when the model is opened. `threads`: "openmp", or "single" for the calling
        thread alone. `name`: of the library, and the prefix of its functions."""
        extension("Executable.save_c")(self, folder, targets, threads, name)

    @property
    def options(self) -> Options:
        return self._boundary.options

    def refresh(self) -> None:
        """Rebuild packed weights in the next call, regardless of the weight guard."""
        refresh([t for t in self.program.state.values() if isinstance(t, torch.Tensor)])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._quick is not None and not kwargs:
            try:
                result = self._quick(args)
            except Exception as error:
                if not failed_to_bind(error) or not self._boundary.catches(error):
                    raise
                self._fell_back("calls are bound the long way", error)
                self._quick = None
            else:
                if result is not UNFIT:
                    return result
        return self._call(args, kwargs)

    def _fell_back(self, scope: str, error: Exception) -> None:
        error.__dict__.setdefault("ingot_stage", "binding")
        self._boundary.fell_back(scope, error)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The slow path, for every call that misses the fast one."""
        try:
            run = self._way(args, kwargs)
        except Exception as error:
            if not self._boundary.catches(error):
                raise
            self._fell_back("the call runs in eager", error)
            run = partial(self._eager, args, kwargs)
        return run()

    def _way(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[[], Any]:
        """A function that runs this call. Nothing is written before it is called."""
        args, kwargs = in_order(call_spec(self.program), args, kwargs)
        if not self._model_state.is_current():
            self._bind_model(self.program, self._model_state.renewed())
        values = self._matched(args, kwargs)
        eager = partial(self._eager, args, kwargs)
        if values is None or self.call_state.is_traced() or is_strange(self._inputs, values):
            return eager
        difference = self.call_state.difference()
        if difference is not None:
            return self._warned(difference, SAME_STATE, args, kwargs)
        self._check_memory(values)
        tracked = torch.is_grad_enabled() and any(map(_requires_grad, values)) and not self._trains
        if tracked and self.contract.no_history is not None:
            why = f"gradients are recorded, and {self.contract.no_history}"
            return self._warned(why, NO_GRAD, args, kwargs)
        if self._aliased(values):
            return self._warned(ALIASED, "give it copies", args, kwargs)
        if self._layouts.shares_otherwise(values):
            return self._warned(OTHER_STRIDES, SAME_STRIDES, args, kwargs)
        values = bind(self.program, args, kwargs)
        if tracked:
            return lambda: self._result(self._history.call(args, kwargs, values))
        settle, inputs = self._settle, list(values)
        run = self._run.arranged(values)
        if self._trains:
            run = partial(self._step, inputs, run)
        if settle is None:
            return lambda: self._result(run())
        return lambda: self._result(settle(inputs, run()))

    def _step(self, inputs: list[Any], run: Callable[[], Sequence[Any]]) -> list[Any]:
        """A training step, which accumulates gradients."""
        with torch.no_grad():
            results = run()
        return accumulate(self.program, inputs, results)

    def _warned(
        self, why: str, hint: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Callable[[], Any]:
        return partial(self._eager.with_warning, why, hint, args, kwargs)

    def _matched(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any] | None:
        """A value for each input; None if a dynamic size is zero."""
        try:
            return None if self._is_empty(args, kwargs) else match(self.program, args, kwargs)[0]
        except IngotError:
            raise
        except Exception as error:  # a tensor without a shape: a nested one
            raise InputError(f"the arguments could not be compared: {error}") from error

    def _aliased(self, values: Sequence[Any]) -> bool:
        """Does a written input share memory with another?"""
        try:
            check_aliases(self.program, values)
        except InputError:
            return True
        return False

    def _check_memory(self, values: Sequence[Any]) -> None:
        for spec, value in zip(self.program.signature.inputs, values, strict=True):
            plain = isinstance(value, torch.Tensor) and value.layout is torch.strided
            why = memory_fault(value) if plain else None
            if why is not None:
                raise InputError(f"{spec.name} {why}")

    def __deepcopy__(self, memo: dict[int, Any]) -> Executable:
        """Itself, as for functions: it belongs to the model that it was made from."""
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a compiled program is machine code of this process and cannot be pickled; "
            "write it to a file with save(path), or pickle the model"
        )

    def _is_empty(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Is a size zero that may be zero?"""
        leaves = pytree.tree_leaves((args, kwargs))
        for value, wanted in zip(leaves, call_spec(self.program).arguments, strict=False):
            if not isinstance(value, torch.Tensor) or isinstance(wanted, Fixed):
                continue
            for given, size in zip(value.shape, shape_of(self._inputs[wanted]), strict=False):
                known = self.program.symbols.get(str(size))
                if given == 0 and known is not None and known.lower == 0:
                    return True
        return False


class EagerExecutable(Executable):
    """The model itself, if it could not be lowered or its arguments could not be bound to native
    code."""

    def __init__(self, model: Callable[..., Any], program: Program | None = None):
        self._eager = EagerCall(model)
        if program is not None:
            self.program = program

    def refresh(self) -> None:
        """Does nothing: there are no packed weights."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._eager(args, kwargs)


class _Arranged:
    """Runs with tensors in the layouts that the code expects. A separate class: a bound method
    would keep the executable in a reference cycle, and its code alive until the next collection."""

    def __init__(self, layouts: _Layouts, compiled: Compiled | Loaded):
        self.layouts, self.compiled = layouts, compiled

    def __call__(self, values: list[Any]) -> Sequence[Any]:
        return self.arranged(values)()

    def arranged(self, values: list[Any]) -> Callable[[], Sequence[Any]]:
        moved = self.layouts.arrange(values)

        def run() -> Sequence[Any]:
            results = self.compiled.run(list(values))
            for original, copy in moved:
                original.copy_(copy)
            return results

        return run


class _Layouts:
    """The strides of the inputs that the code expects."""

    def __init__(self, program: Program):
        self._tensors = [
            (i, node)
            for i, node in enumerate(placeholders(program.graph))
            if isinstance(node.meta["val"], torch.Tensor)
            and node.meta["val"].layout is torch.strided
        ]
        strides = [s for _, node in self._tensors for s in strides_of(node)]
        self._symbols = symbols_in(strides)
        self._evaluate = evaluator(strides, self._symbols)
        self._written = {spec.target for spec in program.signature.outputs}
        self._names = [spec.name for spec in program.signature.inputs]
        decided = "sharing" in call_spec(program).assumes
        self._shared = {s.alias_of for s in program.signature.outputs}
        if decided:
            self._shared |= self._written

    def shares_otherwise(self, values: Sequence[Any]) -> bool:
        """Would a copy in another layout change which tensors share memory?"""
        return any(i in self._shared for i, _ in self._unfit(values))

    def arrange(self, values: list[Any]) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Replaces tensors of other layouts by copies. Returns (original, copy) of those that are
        written."""
        moved = []
        for i, wanted in self._unfit(values):
            tensor = values[i]
            copy = torch.empty_strided(tensor.shape, wanted, dtype=tensor.dtype)
            if overlaps_itself(copy):
                raise InputError(
                    f"{self._names[i]} has strides {list(tensor.stride())}; the program was made "
                    f"for {list(wanted)}, in which elements share memory",
                    hints=["compile it with an example that is not expanded"],
                )
            values[i] = copy.copy_(tensor)
            if i in self._written:
                moved.append((tensor, copy))
        return moved

    def _unfit(self, values: Sequence[Any]) -> list[tuple[int, tuple[int, ...]]]:
        """Tensors whose strides differ from those the code expects, and the expected strides. A
        stride symbol takes its value from a tensor that fits, or one for which a copy does not
        overlap itself."""
        known = self._size_values(values)
        layouts = [(i, strides_of(node)) for i, node in self._tensors]
        told = {s: values[i].stride(d) for s, i, d in stride_symbols(layouts, known)}
        unfit = self._compared(values, {**known, **told})
        chosen = {
            symbol: value
            for i, _ in unfit
            for symbol, value in apart(values[i], dict(layouts)[i], known).items()
        }
        return self._compared(values, {**known, **told, **chosen}) if chosen else unfit

    def _compared(
        self, values: Sequence[Any], known: Mapping[sympy.Symbol, int]
    ) -> list[tuple[int, tuple[int, ...]]]:
        strides = iter(self._evaluate([known[symbol] for symbol in self._symbols]))
        found = []
        for i, _ in self._tensors:
            tensor = values[i]
            wanted = tuple(next(strides) for _ in tensor.shape)
            if tensor.stride() != wanted or tensor.is_neg() or tensor.is_conj():
                found.append((i, wanted))
        return found

    def _size_values(self, values: Sequence[Any]) -> dict[sympy.Symbol, int]:
        known: dict[sympy.Symbol, int] = {}
        for i, node in self._tensors:
            for size, given in zip(shape_of(node), values[i].shape, strict=True):
                if isinstance(size, sympy.Symbol):
                    known.setdefault(size, given)
        return known


def _requires_grad(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.requires_grad


def _result_maker(spec: pytree.TreeSpec) -> Callable[[Sequence[Any]], Any]:
    if spec.is_leaf():
        return lambda results: results[0]
    if spec.type is tuple and all(child.is_leaf() for child in spec.children()):
        return tuple
    return lambda results: pytree.tree_unflatten(list(results), spec)
