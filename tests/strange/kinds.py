"""Every kind of tensor in PyTorch, as a way to call a function with one. Each takes a function and
a plain f32 tensor of size 4 × 4, and returns something comparable: the result or its contents.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
import torch.autograd.forward_ad as fwd
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

Function = Callable[[Any], Any]
Kind = Callable[[Function, Tensor], Any]
KINDS: dict[str, Kind] = {}


def kind(make: Kind) -> Kind:
    KINDS[make.__name__.replace("_", " ")] = make
    return make


def _plainly(name: str, change: Callable[[Tensor], Any]) -> None:
    """Register a kind that is a plain conversion of the tensor."""
    KINDS[name] = lambda f, x: f(change(x))


class Subclass(Tensor):
    pass


class Wrapper(Tensor):
    """Delegates to an inner tensor and has no storage of its own."""

    inner: Tensor  # type: ignore[assignment]  # torch has a method of that name

    @staticmethod
    def __new__(cls, inner: Tensor) -> Wrapper:
        made = Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
        made.inner = inner
        return made

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        args, kwargs = pytree.tree_map_only(Wrapper, lambda w: w.inner, (args, kwargs or {}))
        return pytree.tree_map_only(Tensor, Wrapper, func(*args, **kwargs))


class Overriding(Tensor):
    """Intercepts every function call."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return super().__torch_function__(func, types, args, kwargs or {})


def _aligned_off(x: Tensor) -> Tensor:
    """Elements at addresses that are not multiples of the element size."""
    memory = bytearray(4 * 16 + 1)
    moved = torch.frombuffer(memory, dtype=torch.float32, offset=1).view(4, 4)
    return moved.copy_(x)


def _overlapping(x: Tensor) -> Tensor:
    return x.contiguous().view(-1)[:7].as_strided((4, 4), (1, 1))


def _negated(x: Tensor) -> Tensor:
    return torch.complex(torch.zeros(4, 4), x).conj().imag


def _read_only(x: Tensor) -> Tensor:
    array = x.numpy().copy()
    array.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.from_numpy(array)


def _hooked(x: Tensor) -> Tensor:
    leaf = x.clone().requires_grad_()
    leaf.register_hook(lambda g: g * 3)
    return leaf


def _storage_of(x: Tensor, size: int) -> Tensor:
    made = x.clone()
    made.untyped_storage().resize_(size)
    return made


def _inference(x: Tensor) -> Tensor:
    with torch.inference_mode():
        return x.clone()


def _quantized(x: Tensor) -> Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.quantize_per_tensor(x, 0.1, 0, torch.qint8)


def _quantized_by_channel(x: Tensor) -> Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scales, zeros = torch.full((4,), 0.1), torch.zeros(4, dtype=torch.int64)
        return torch.quantize_per_channel(x, scales, zeros, 0, torch.qint8)


def _named(x: Tensor) -> Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return x.clone().refine_names("rows", "columns")  # type: ignore[attr-defined]


def _nested(layout: torch.layout) -> Callable[[Tensor], Tensor]:
    return lambda x: torch.nested.nested_tensor([x[0], x[1, :2]], layout=layout)


def _masked(x: Tensor) -> Tensor:
    from torch.masked import masked_tensor

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return masked_tensor(x.clone(), x > 0.5)


TENSORS: dict[str, Callable[[Tensor], Any]] = {
    "plain": Tensor.clone,
    "parameter": lambda x: nn.Parameter(x.clone(), requires_grad=False),
    "buffer": lambda x: nn.Buffer(x.clone()),
    "uninitialized parameter": lambda x: nn.UninitializedParameter(),
    "meta": lambda x: x.to("meta"),
    "ZeroTensor": lambda x: torch._efficientzerotensor((4, 4)),
    "sparse COO": lambda x: x.to_sparse(),
    "sparse CSR": lambda x: x.to_sparse_csr(),
    "sparse CSC": lambda x: x.to_sparse_csc(),
    "sparse BSR": lambda x: x.to_sparse_bsr((2, 2)),
    "sparse BSC": lambda x: x.to_sparse_bsc((2, 2)),
    "mkldnn": lambda x: x.to_mkldnn(),
    "subclass": lambda x: x.clone().as_subclass(Subclass),
    "subclass that sees functions": lambda x: x.clone().as_subclass(Overriding),
    "wrapper subclass": lambda x: Wrapper(x.clone()),
    "masked": _masked,
    "nested, strided": _nested(torch.strided),
    "nested, jagged": _nested(torch.jagged),
    "quantized": _quantized,
    "quantized by channel": _quantized_by_channel,
    "named": _named,
    "negated lazily": _negated,
    "conjugated lazily": lambda x: torch.complex(x, x).conj(),
    "transposed": lambda x: x.clone().t(),
    "sliced": lambda x: torch.cat([x, x], 1)[:, 2:6],
    "at an offset": lambda x: torch.cat([x, x])[3:7],
    "expanded": lambda x: x[0].clone().expand(4, 4),
    "overlapping": _overlapping,
    "misaligned": _aligned_off,
    "with large strides": lambda x: torch.zeros(4, 4 << 16)[:, :: 1 << 16].copy_(x),
    "of another size": lambda x: torch.ones(3, 5),
    "empty": lambda x: x[:0],
    "0-dim": lambda x: x[0, 0].clone(),
    "of numpy": lambda x: torch.from_numpy(np.ascontiguousarray(x.numpy())),
    "read-only": _read_only,
    "in shared memory": lambda x: x.clone().share_memory_(),
    "inference": _inference,
    "leaf with gradient": lambda x: x.clone().requires_grad_(),
    "with a history": lambda x: x.clone().requires_grad_() * 1,
    "with a hook": _hooked,
    "copied on write": lambda x: torch._lazy_clone(x.clone()),
    "freed": lambda x: _storage_of(x, 0),
    "shrunk": lambda x: _storage_of(x, 12),
    "grown": lambda x: _storage_of(x, 1024),
    "a Python number": lambda x: 1.5,
    "numpy array": lambda x: x.numpy().copy(),
    "None": lambda x: None,
}
for _name, _change in TENSORS.items():
    _plainly(_name, _change)
for _dtype in (
    torch.float64, torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2,
    torch.float8_e8m0fnu, torch.uint8, torch.int8, torch.uint16, torch.uint32, torch.uint64,
    torch.int64, torch.bool, torch.complex64, torch.complex32,
):  # fmt: skip
    _plainly(str(_dtype), partial(Tensor.to, dtype=_dtype))


@kind
def fake(f: Function, x: Tensor) -> Any:
    with FakeTensorMode() as mode:
        return f(mode.from_tensor(x))


@kind
def fake_outside_of_its_mode(f: Function, x: Tensor) -> Any:
    return f(FakeTensorMode().from_tensor(x))


@kind
def under_vmap(f: Function, x: Tensor) -> Any:
    return torch.vmap(f)(torch.stack([x, x + 1]))


@kind
def under_two_vmaps(f: Function, x: Tensor) -> Any:
    return torch.vmap(torch.vmap(f))(torch.stack([x, x + 1])[None])


@kind
def under_grad(f: Function, x: Tensor) -> Any:
    return torch.func.grad(lambda y: f(y).sum())(x.clone())


@kind
def under_jvp(f: Function, x: Tensor) -> Any:
    return torch.func.jvp(f, (x.clone(),), (torch.ones(4, 4),))


@kind
def under_functionalize(f: Function, x: Tensor) -> Any:
    return torch.func.functionalize(f)(x.clone())


@kind
def under_hessian(f: Function, x: Tensor) -> Any:
    return torch.func.hessian(lambda y: f(y).sum())(x.clone())


@kind
def not_wrapped_under_vmap(f: Function, x: Tensor) -> Any:
    return torch.vmap(lambda y: y + f(x.clone()))(torch.ones(2, 4, 4))


@kind
def dual(f: Function, x: Tensor) -> Any:
    with fwd.dual_level():
        return tuple(fwd.unpack_dual(f(fwd.make_dual(x.clone(), torch.ones(4, 4)))))


@kind
def dual_with_zeros(f: Function, x: Tensor) -> Any:
    with fwd.dual_level():
        made = fwd.make_dual(x.clone(), torch._efficientzerotensor((4, 4)))
        return tuple(fwd.unpack_dual(f(made)))


@kind
def functional(f: Function, x: Tensor) -> Any:
    wrapped = torch._to_functional_tensor(x.clone())
    result = f(wrapped)
    torch._sync(result)
    return torch._from_functional_tensor(result)


@kind
def under_a_dispatch_mode(f: Function, x: Tensor) -> Any:
    seen: list[str] = []

    class Listing(TorchDispatchMode):
        def __torch_dispatch__(
            self, op: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            seen.append(str(op))
            return op(*args, **(kwargs or {}))

    with Listing():
        result = f(x.clone())
    return result, bool(seen)


@kind
def under_a_function_mode(f: Function, x: Tensor) -> Any:
    with torch.device("meta"):
        return f(x.clone()), f(torch.ones(4, 4, device="cpu"))


@kind
def under_autocast(f: Function, x: Tensor) -> Any:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return f(x.clone())


@kind
def under_another_default_dtype(f: Function, x: Tensor) -> Any:
    torch.set_default_dtype(torch.float64)
    try:
        return f(x.clone())
    finally:
        torch.set_default_dtype(torch.float32)


@kind
def under_inference_mode(f: Function, x: Tensor) -> Any:
    with torch.inference_mode():
        return f(x.clone())


@kind
def with_gradients_taken(f: Function, x: Tensor) -> Any:
    leaf = x.clone().requires_grad_()
    result = f(leaf)
    result.sum().backward()
    return result, leaf.grad


@kind
def distributed(f: Function, x: Tensor) -> Any:
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, distribute_tensor
    from torch.testing._internal.distributed.fake_pg import FakeStore

    dist.init_process_group("fake", rank=0, world_size=2, store=FakeStore())
    try:
        mesh = init_device_mesh("cpu", (2,))
        return f(distribute_tensor(x, mesh, [Replicate()])).full_tensor()
    finally:
        dist.destroy_process_group()
