"""The fast path of a whole program's call: a Python function generated for this program, from the
user's arguments to the result. It returns UNFIT if any argument misses the fast path (other dtypes,
sizes or layouts, tensors that are not plain, a thread state that changes the meaning of the call);
the slow path then reports why, copies, or calls the model. Tensors equal in every respect to some
that fitted fit as well: one call of PyTorch's TensorGuards checks that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sympy
import torch
from torch import fx
from torch._C._dynamo.guards import TensorGuards
from torch.autograd import forward_ad
from torch.utils import _pytree as pytree

from ingot.codegen.support.launcher import thread_state
from ingot.codegen.support.thread_state import GRAD
from ingot.plan.sizes import SizePrinter
from ingot.program.call import call_spec
from ingot.program.graph import placeholders
from ingot.program.plain_tensor import PLAIN_TYPES, memory_fault, why_not_plain
from ingot.program.program import Fixed, Program
from ingot.program.shapes import Size, shape_of, size_of, strides_of
from ingot.runtime.apart import apart, written_first
from ingot.runtime.call_state import CHANGES_MEANING, CallState
from ingot.runtime.strides import stride_symbols

UNFIT = object()
BINDING = "<ingot binding>"
Run = Callable[[list[Any]], Sequence[Any]]
QuickCall = Callable[[tuple[Any, ...]], Any]


def quick_call(
    program: Program,
    state: CallState,
    run: Run,
    result: Callable[[Sequence[Any]], Any],
    is_current: Callable[[], bool] | None = None,
    settle: Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]] | None = None,
) -> QuickCall | None:
    """For a plain list of tensors and sizes; None for other arguments. `state` is that of the
    thread in which the program was made. `is_current` tells whether the model still has the tensors
    that the program took from it, if any. `settle` makes outputs the objects that eager returns."""
    calling, nodes = call_spec(program), placeholders(program.graph)
    positions = [a for a in calling.arguments if not isinstance(a, Fixed)]
    plain = pytree.tree_structure(((None,) * len(positions), {}))
    if calling.in_spec != plain or len(positions) != len(calling.arguments):
        return None
    given = [nodes[position] for position in positions]
    if not all(_is_simple(node.meta["val"]) for node in given):
        return None
    writer = _Writer(program, state)
    for k, node in enumerate(given):
        writer.check_kind(k, node)
    writer.check_sizes()
    held = [program.state.get(s.target) if s.target else None for s in program.signature.inputs]
    writer.scope |= {"state": held, "run": run, "result": result}
    if is_current is not None:
        writer.scope["is_current"] = is_current
    if settle is not None:
        writer.scope["settle"] = settle
    return writer.function(positions)


def failed_to_bind(error: Exception) -> bool:
    """Was this raised by the text of a quick call before it ran the program?"""
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename == BINDING:
            return trace.tb_lineno < max(line for *_, line in code.co_lines() if line is not None)
        trace = trace.tb_next
    return False


def _is_simple(value: Any) -> bool:
    if isinstance(value, torch.SymInt):
        return isinstance(size_of(value), sympy.Symbol)
    plain = isinstance(value, torch.Tensor) and value.layout is torch.strided
    return plain and value.device.type == "cpu" and not value.is_conj() and not value.is_neg()


class _Writer:
    def __init__(self, program: Program, state: CallState):
        self.program = program
        self.state = state
        self.lines: list[str] = []
        self.scope: dict[str, Any] = {"UNFIT": UNFIT}
        self._tensors: list[str] = []
        """Names of the tensor arguments."""
        self._kinds: list[tuple[torch.dtype, int]] = []
        """The dtype and number of dimensions that each of them must have."""
        self._names: dict[sympy.Symbol, str] = {}
        self._printer = SizePrinter(self._names)
        self._equal: list[tuple[str, Size]] = []
        """Texts and the sizes they must equal; checked once every symbol is known."""
        self._laid_out: list[tuple[int, tuple[Size, ...]]] = []

    def check_kind(self, k: int, node: fx.Node) -> None:
        """Checks the type of a value and records the symbols that it defines."""
        value = node.meta["val"]
        if not isinstance(value, torch.Tensor):
            self.refuse(f"type(a{k}) is not int")
            self._learn(f"a{k}", size_of(value))
            return
        self._tensors.append(f"a{k}")
        self._kinds.append((value.dtype, value.dim()))
        sizes = [f"a{k}_{i}" for i in range(value.dim())]
        if sizes:
            self.lines.append(f"{', '.join(sizes)}, = a{k}.shape")
        for name, size in zip(sizes, shape_of(node), strict=True):
            self._learn(name, size)
        self._laid_out.append((k, strides_of(node)))

    def _learn(self, name: str, size: Size) -> None:
        if isinstance(size, sympy.Symbol) and size not in self._names:
            self._names[size] = name
        elif isinstance(size, int):
            self.refuse(f"{name} != {size}")
        else:
            self._equal.append((name, size))

    def _text(self, size: Size) -> str:
        return str(size) if isinstance(size, int) else self._printer.doprint(size)

    def check_sizes(self) -> None:
        for symbol, k, dim in stride_symbols(self._laid_out, self._names):
            self._names[symbol] = f"a{k}.stride({dim})"
        for symbol, name in self._names.items():
            known = self.program.symbols.get(symbol.name)
            self.refuse(f"{name} < {max(1, known.lower if known is not None else 0)}")
            if known is not None and known.upper is not None:
                self.refuse(f"{name} > {known.upper}")
        for name, size in self._equal:
            self.refuse(f"{name} != {self._text(size)}")
        for k, strides in self._laid_out:
            self.refuse(f"a{k}.stride() != ({''.join(f'{self._text(s)}, ' for s in strides)})")
        for guard in self.program.guards:
            self.refuse(f"not {self._printer.doprint(guard.condition)}")

    def refuse(self, condition: str) -> None:
        self.lines.append(f"if {condition}: return UNFIT")

    def function(self, positions: Sequence[int]) -> QuickCall:
        count = len(positions)
        unpack = [f"{''.join(f'a{k}, ' for k in range(count))}= args"] if count else []
        body = [
            f"if len(args) != {count}: return UNFIT",
            *unpack,
            f"mode = thread_state({', '.join(self._tensors)})",
            *self._state_lines(),
            *(["if not is_current(): return UNFIT"] if "is_current" in self.scope else []),
            *self._fit_lines(count),
            *self._apart_lines(positions),
            "values = state[:]",
            *(f"values[{position}] = a{k}" for k, position in enumerate(positions)),
            "return result(settle(values, run(values[:])))"
            if "settle" in self.scope
            else "return result(run(values))",
        ]
        self.scope |= {
            "alike": None, "tracked": None, "kind": None, "call_key": _CallKey(),
            "kind_of": _Kind(self._kinds, self._writes()), "thread_state": thread_state(),
            "ad": forward_ad,
        }  # fmt: skip
        text = "def call(args):\n    " + "\n    ".join(body)
        exec(compile(text, BINDING, "exec"), self.scope)
        call: QuickCall = self.scope.pop("call")  # no cycle: the last reference frees the code
        return call

    def _writes(self) -> bool:
        return any(spec.kind == "mutation" for spec in self.program.signature.outputs)

    def _state_lines(self) -> list[str]:
        """Checks for a thread state that changes the meaning of the call."""
        usual = self.state.bits & CHANGES_MEANING
        lines = [f"if mode & {CHANGES_MEANING} != {usual} or ad._current_level >= 0: return UNFIT"]
        if usual:
            self.scope["same_dtypes"] = self.state.same_dtypes
            lines.append("if not same_dtypes(): return UNFIT")
        trained = [
            t for t in self.program.state.values() if t.is_floating_point() or t.is_complex()
        ]
        if trained:
            self.scope["tracks"] = lambda: any(t.requires_grad for t in trained)
            lines.append(f"if mode & {GRAD} and tracks(): return UNFIT")
        return lines

    def _apart_lines(self, positions: Sequence[int]) -> list[str]:
        """Checks that no written argument shares memory with another argument, and no argument with
        a written buffer."""
        names = {position: f"a{k}" for k, position in enumerate(positions)}
        signature, tensors = self.program.signature, []
        for i, node in enumerate(placeholders(self.program.graph)):
            if isinstance(node.meta["val"], torch.Tensor):
                tensors.append(i)
        written = {s.target for s in signature.outputs if s.kind == "mutation"}
        known = [i for i in tensors if i in names or i in written]
        if not any(i in names for i in known) or not written or len(known) < 2:
            return []
        order = written_first([i for i in known if i in written], known)
        self.scope["apart"] = apart(len(written), len(order))
        given = ", ".join(names.get(i, f"state[{i}]") for i in order)
        return [f"if apart({given}): return UNFIT"]

    def _fit_lines(self, count: int) -> list[str]:
        """Checks that the arguments fit the program. `alike` recognises all properties of tensors
        without gradients, `tracked` those of tensors that require gradients while none are
        recorded, `kind` all properties but sizes and strides."""
        tensors = ", ".join(self._tensors)
        if not tensors:
            return self.lines
        only = len(self._tensors) == count
        learn = [
            f"    if kind is None or not kind({tensors}):",
            f"        known = kind_of(({tensors},))",
            "        if known is None: return UNFIT",
            "        fresh, gradients = known",
            f"        if gradients and mode & {GRAD}: return UNFIT",
            "        if not gradients: kind = fresh",
            "    else: gradients = False",
            *(f"    {line}" for line in self.lines),
        ]
        if not only:
            return ["global kind", "if True:", *learn]
        return [
            "global alike, tracked, kind",
            f"if (alike is None or not alike(*args)) and (mode & {GRAD} or tracked is None "
            "or not tracked(*args)):",
            *learn,
            "    if gradients: tracked = call_key(args)",
            "    else: alike = call_key(args)",
        ]


class _Kind:
    """From plain tensors of the right dtypes and ranks to a guard that accepts tensors of the same
    kind, of any size, and whether some require gradients; None for other tensors."""

    def __init__(self, wanted: Sequence[tuple[torch.dtype, int]], writes: bool):
        self._wanted = wanted
        self._writes = writes

    def __call__(self, tensors: tuple[Any, ...]) -> tuple[Callable[..., bool], bool] | None:
        for tensor, (dtype, rank) in zip(tensors, self._wanted, strict=True):
            if type(tensor) not in PLAIN_TYPES or tensor.dtype is not dtype or tensor.dim() != rank:
                return None
            if why_not_plain(tensor) is not None or memory_fault(tensor) is not None:
                return None
            if self._writes and tensor.is_inference() and not torch.is_inference_mode_enabled():
                return None  # must not be written; guards distinguish the modes
        anything: Any = [[None] * rank for _, rank in self._wanted]
        guards = TensorGuards(*tensors, dynamic_dims_sizes=anything, dynamic_dims_strides=anything)
        return guards.check, any(tensor.requires_grad for tensor in tensors)


class _CallKey:
    """From tensors to a guard that accepts tensors equal to them. Guards also depend on modes
    (inference_mode), so several may be needed; a caller that changes modes in every call gets at
    most MOST."""

    MOST = 16

    def __init__(self) -> None:
        self._made = 0

    def __call__(self, args: tuple[torch.Tensor, ...]) -> Callable[..., bool] | None:
        self._made += 1
        if self._made > self.MOST:
            return None
        sizes: Any = [list(t.shape) for t in args]
        strides: Any = [list(t.stride()) for t in args]
        return TensorGuards(*args, dynamic_dims_sizes=sizes, dynamic_dims_strides=strides).check
