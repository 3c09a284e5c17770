"""State of the calling thread that changes the meaning of a call (grad mode, autocast, functorch
transforms, dispatch and function modes, the default dtype), and whether its tensors are plain. One
native function reads all of it, so that every compiled call can check it. If PyTorch's symbols are
not as expected, Python reads it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from ingot.codegen.mlir.builder import Builder
from ingot.linkage import declared, has_symbol
from ingot.ops.values import Val
from ingot.program.plain_tensor import is_eager_plain

GRAD = 1
AUTOCAST = 2
"""On the CPU."""
TRANSFORM = 4
"""vmap, grad, jvp … of torch.func."""
DISPATCH_MODE = 8
FUNCTION_MODE = 16
OTHER_DTYPE = 32
"""The default dtype is not float32."""

STRANGE = 64
"""One of the tensors is not plain: another class, device or layout, wrapped, lazily negated."""

ThreadState = Callable[..., int]
_KEYS = torch._C.DispatchKey
_FLOAT = 6
"""The number of float32 in c10::ScalarType."""


@dataclass(frozen=True)
class _Question:
    """A function of PyTorch, and the bit that is set if a comparison of its result holds."""

    symbol: str
    dtype: torch.dtype
    predicate: str
    other: int
    bit: int
    argument: int | None = None


_QUESTIONS = (
    _Question("_ZN3c108GradMode10is_enabledEv", torch.int8, "ne", 0, GRAD),
    _Question(
        "_ZN3c104impl28tls_is_dispatch_key_excludedENS_11DispatchKeyE", torch.int8,
        "eq", 0, AUTOCAST, _KEYS.AutocastCPU.value,
    ),
    _Question(
        "_ZN3c104impl28tls_is_dispatch_key_includedENS_11DispatchKeyE", torch.int8,
        "ne", 0, TRANSFORM, _KEYS.FuncTorchDynamicLayerFrontMode.value,
    ),
    _Question(
        "_ZN3c104impl20TorchDispatchModeTLS9stack_lenEv", torch.int64, "ne", 0, DISPATCH_MODE
    ),
    _Question(
        "_ZN2at4impl22PythonTorchFunctionTLS9stack_lenEv", torch.int64, "ne", 0, FUNCTION_MODE
    ),
    _Question("_ZN3c1017get_default_dtypeEv", torch.int16, "ne", _FLOAT, OTHER_DTYPE),
)  # fmt: skip


def state_in_python(*tensors: object) -> int:
    """The result of the native function, computed in Python."""
    return (
        GRAD * torch.is_grad_enabled()
        | AUTOCAST * torch.is_autocast_enabled("cpu")
        | TRANSFORM * (torch._C._functorch.peek_interpreter_stack() is not None)
        | DISPATCH_MODE * (torch._C._len_torch_dispatch_stack() > 0)
        | FUNCTION_MODE * (torch._C._len_torch_function_stack() > 0)
        | OTHER_DTYPE * (torch.get_default_dtype() is not torch.float32)
        | STRANGE * (not all(isinstance(t, torch.Tensor) and is_eager_plain(t) for t in tensors))
    )


def state_declarations() -> list[str]:
    return [
        declared(q.symbol, "()" if q.argument is None else "(i16)", f" -> {Val('', q.dtype).type}")
        for q in _QUESTIONS
    ]


def is_state_readable() -> bool:
    """Whether native code can read the state: PyTorch has all symbols."""
    return all(has_symbol(question.symbol) for question in _QUESTIONS)


def write_state(b: Builder) -> Val:
    """The bits of the thread."""
    total = none = b.const(0, torch.int64)
    for q in _QUESTIONS:
        given = [] if q.argument is None else [b.const(q.argument, torch.int16)]
        found = b.invoke_value(q.symbol, given, q.dtype)
        holds = b.cmp(q.predicate, found, b.const(q.other, q.dtype))
        total = b.or_(total, b.select(holds, b.const(q.bit, torch.int64), none))
    return total


def tells_the_truth(state: ThreadState) -> bool:
    """Whether it agrees with Python in each state by itself."""

    class Dispatch(TorchDispatchMode):
        def __init__(self) -> None:
            super().__init__()  # type: ignore[no-untyped-call]

    class Function(TorchFunctionMode):
        pass

    answers: list[bool] = []

    def ask(x: torch.Tensor | None = None) -> torch.Tensor | None:
        answers.append(state() == state_in_python())
        return x

    ask()
    with _disable_current_modes():
        for mode in (
            torch.no_grad(), torch.enable_grad(), torch.inference_mode(), Dispatch(), Function(),
            torch.autocast("cpu", dtype=torch.bfloat16), torch.autocast("cpu", enabled=False),
        ):  # fmt: skip
            with mode:
                ask()
        torch.vmap(ask)(torch.empty(1))
        answers += [state(each) & STRANGE == STRANGE * strange for each, strange in _samples()]
    return all(answers)


def _samples() -> list[tuple[object, bool]]:
    """Objects, and whether they count as not plain."""
    plain = torch.empty(2, 2)
    with torch.inference_mode():
        inference = torch.empty(2)
    lazy = torch.empty(2, dtype=torch.complex64).conj()
    return [
        (plain, False), (plain[:, 1], False), (torch.nn.Parameter(plain), False),
        (inference, False), (lazy, True), (lazy.imag, True), (torch.empty(2, device="meta"), True),
        (torch._efficientzerotensor(2), True), (plain.to_sparse(), True), (1, True), (None, True),
    ]  # fmt: skip
