"""Attribute changes of a model while it is traced. A tensor that replaces another of its type, in a
buffer, a plain attribute or a container at any depth, becomes a write at the end of the graph.
Every other tensor or plain value that a call would change is an error or a warning at the user's
line, because a program has no place for it. The model is restored when tracing is over. Objects of
other types are not inspected.

torch.export itself writes back buffers of the outermost module only, and forgets the rest.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.export._trace as torch_trace
from torch import Tensor, nn
from torch._ops import _get_dispatch_mode_pre_dispatch
from torch.fx.experimental.proxy_tensor import disable_proxy_modes_tracing, get_proxy_slot
from torch.utils import _pytree as pytree

from ingot.errors import CaptureError, Place
from ingot.exclusive import only_here, replaced
from ingot.program.graph import same_numbers
from ingot.program.source import node_place, running_place
from ingot.program.text import value_type

Path = tuple[Any, ...]
"""The name of an attribute, followed by the keys into its containers."""

_PLAIN = (
    bool, int, float, complex, str, bytes, type(None), torch.SymInt, torch.SymFloat, torch.SymBool,
)  # fmt: skip
_HINTS = (
    "return it, or keep it in a buffer of fixed type",
    "if it only fills a cache, call the model once before the export",
)
_OF_MODULES = frozenset(vars(nn.Module())) - {"training"}
_DEEPEST = 8
"""Nesting limit of containers: a list may contain itself."""

REBOUND = "an attribute is bound to another tensor"
"""Meta key of a node that writes such a tensor back."""


class _Nothing:
    """The value of an attribute that does not exist."""


_NOTHING = _Nothing()


@dataclass(frozen=True, eq=False)
class _Change:
    module: nn.Module
    path: Path
    old: Any
    new: Any

    def is_write(self) -> bool:
        """Whether both are tensors of one type, so that the new one can be written over the old
        one."""
        old, new = self.old, self.new
        return (
            isinstance(old, Tensor)
            and isinstance(new, Tensor)
            and (old.dtype, old.device, old.layout) == (new.dtype, new.device, new.layout)
            and same_numbers(old.shape, new.shape)
            and not (old.is_leaf and old.requires_grad)
        )


@dataclass
class _Watch:
    root: nn.Module
    refuses: bool
    """A change that cannot be written back is an error, not a warning."""
    before: dict[nn.Module, dict[Path, Any]] = field(default_factory=dict)
    """The leaves of each module's attributes when the call began."""
    contents: list[tuple[Any, Any]] = field(default_factory=list)
    """Every container of attributes, with a copy of its contents."""
    places: dict[tuple[nn.Module, str], Place | None] = field(default_factory=dict)
    """The source line of each attribute's last assignment."""
    made: set[nn.Module] = field(default_factory=set)
    """Modules that the call itself created."""
    registered: dict[Any, tuple[nn.Module, str]] = field(default_factory=dict)
    """Owner and name of parameters and buffers, and of the tensors that the tracer substitutes."""

    def keep(self, root: nn.Module) -> None:
        self.register(root)
        for module in root.modules():
            for container in (vars(module), module._buffers, module._parameters):
                self.contents += _containers(container)

    def register(self, root: nn.Module) -> None:
        for module in root.modules():
            for name, tensor in (*module._parameters.items(), *module._buffers.items()):
                self.registered.setdefault(tensor, (module, name))

    def enter(self, root: nn.Module) -> None:
        """The outermost module is called, or one that is reached through a function only."""
        if root in self.before or root in self.made:
            return
        if root is not self.root:
            self.keep(root)
        self.register(root)
        for module in root.modules():
            self.before.setdefault(module, _leaves_of(module))

    def restore(self) -> None:
        for container, content in self.contents:
            if isinstance(container, list):
                container[:] = content
                continue
            for key in container.keys() - content.keys():
                del container[key]
            container.update(content)

    def finish(self, _: nn.Module, __: Any, result: Any) -> Any:
        """The result of the call, copied if it lies in memory that is written to."""
        changes = [
            _Change(module, path, old.get(path, _NOTHING), new.get(path, _NOTHING))
            for module, old in self.before.items()
            for new in (_leaves_of(module),)
            for path in {**old, **new}
        ]
        changes = [change for change in changes if self.differs(change.old, change.new)]
        troubles = {change: self.trouble(change) for change in changes}
        for trouble in filter(None, troubles.values()):
            if self.refuses:
                raise trouble
            warnings.warn(str(trouble), stacklevel=2)
        written = [change for change, trouble in troubles.items() if trouble is None]
        return self.write(written, result) if written else result

    def differs(self, old: Any, new: Any) -> bool:
        if old is new:
            return False
        if isinstance(old, Tensor) or isinstance(new, Tensor):
            names = [self.registered.get(v) if isinstance(v, Tensor) else None for v in (old, new)]
            return names[0] is None or names[0] != names[1]
        plain = isinstance(new, _PLAIN) or (new is _NOTHING and isinstance(old, _PLAIN))
        return plain and (type(old) is not type(new) or old != new)

    def write(self, changes: Sequence[_Change], result: Any) -> Any:
        seen = [_seen(change.old) for change in changes]
        memories = {_memory(tensor) for tensor in seen}

        def apart(tensor: Tensor) -> Tensor:
            return tensor.clone() if _memory(_seen(tensor)) in memories else tensor

        contents = [apart(change.new) for change in changes]
        result = pytree.tree_map_only(Tensor, apart, result)
        for change, content in zip(changes, contents):
            _add_write(change.old, content, self.place(change))
        return result

    def trouble(self, change: _Change) -> CaptureError | None:
        """Why the change cannot be written back; None if it can."""
        name = self.name(change.module, change.path)
        if not change.is_write():
            why = f"{name} was {_words(change.old)} and is {_words(change.new)} after the call, "
            why += "which a program has no place for"
            return CaptureError(why, place=self.place(change), hints=_HINTS)
        if other := self.other_owner(change):
            why = f"{other} lies in the memory that {name} is taken from, where a program writes "
            why += "the new value"
            hint = "give each its own memory: .clone()"
            return CaptureError(why, place=self.place(change), hints=[hint, _HINTS[1]])
        return None

    def other_owner(self, change: _Change) -> str | None:
        """Another attribute in the memory that would be overwritten."""
        known = [
            (module, path, leaf)
            for module, leaves in self.before.items()
            for path, leaf in leaves.items()
        ]
        known += [(module, (name,), leaf) for leaf, (module, name) in self.registered.items()]
        for module, path, leaf in known:
            itself = (module, path) == (change.module, change.path)
            if not itself and isinstance(leaf, Tensor) and _memory(leaf) == _memory(change.old):
                return self.name(module, path)
        return None

    def place(self, change: _Change) -> Place | None:
        """The line that assigned the attribute, or that created the value put into a container."""
        known = self.places.get((change.module, change.path[0]))
        return known or _made_at(change.new)

    def name(self, module: nn.Module, path: Path) -> str:
        owners = (name for name, known in self.root.named_modules() if known is module)
        owner = next(owners, None)
        start = type(module).__name__ if owner is None else "self" + (owner and f".{owner}")
        return f"{start}.{path[0]}" + "".join(f"[{key!r}]" for key in path[1:])


def _nothing(*_: Any) -> None:
    """The hook in other threads, which run the model and do not trace it."""


@contextmanager
def writing_attributes_back(module: nn.Module, refuse: bool) -> Iterator[None]:
    """Active while `module` is traced. With `refuse`, a change that cannot be written back is an
    error."""
    watch = _Watch(module, refuse)
    watch.keep(module)
    assign, make, call = nn.Module.__setattr__, nn.Module.__init__, nn.Module._call_impl

    def noting(self: nn.Module, name: str, value: Any) -> None:
        if self in watch.before:
            watch.places[self, name] = running_place()
        assign(self, name, value)

    def making(self: nn.Module, *args: Any, **kwargs: Any) -> None:
        watch.made.add(self)
        make(self, *args, **kwargs)

    def calling(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
        watch.enter(self)
        return call(self, *args, **kwargs)  # type: ignore[no-untyped-call]

    hook = module.register_forward_hook(only_here(watch.finish, _nothing))
    with ExitStack() as stack:
        for owner, name, new in (
            (nn.Module, "__setattr__", noting),
            (nn.Module, "__init__", making),
            # Not a global hook: torch.compile warns of those, in whatever thread it is called.
            (nn.Module, "_call_impl", calling),
            (torch_trace, "_detect_attribute_assignment", lambda _: nullcontext()),
            (torch_trace, "register_buffer_assignment_hook", lambda *_: None),
        ):
            stack.enter_context(replaced(owner, name, new))
        try:
            yield
        finally:
            hook.remove()
            watch.restore()


@contextmanager
def refusing_changes() -> Iterator[None]:
    """Active during strict tracing, which loses attribute changes with a warning: raise instead."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=_FORGETS)
        try:
            yield
        except Exception as error:
            if _FORGETS not in str(error):
                raise
            named = re.findall(r'"(.+?)"', str(error))
            raise CaptureError(
                "strict tracing, which this program needs, forgets what changes in "
                + ", ".join(_as_written(source) for source in named),
                hints=["return what changes, or write to buffers in place"],
            ) from None


_FORGETS = "While compiling, we found certain side effects"


def _as_written(source: str) -> str:
    """L['self']._modules['_export_root']._modules['a'].b as self.a.b"""
    inner = source.removeprefix("L['self']._modules['_export_root']")
    return "self" + re.sub(r"\._modules\['(.+?)'\]", r".\1", inner)


def _leaves_of(module: nn.Module) -> dict[Path, Any]:
    own = {name: value for name, value in vars(module).items() if name not in _OF_MODULES}
    return dict(_leaves((), {**own, **module._buffers, **module._parameters}))


def _leaves(path: Path, value: Any) -> Iterator[tuple[Path, Any]]:
    if len(path) > _DEEPEST:
        return
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves((*path, key), item)
    elif isinstance(value, list | tuple):
        for i, item in enumerate(value):
            yield from _leaves((*path, i), item)
    else:
        yield path, value


def _containers(value: Any, depth: int = 0) -> Iterator[tuple[Any, Any]]:
    """Each list and dict in the value, itself first, with a copy of its current contents."""
    if isinstance(value, list | dict):
        yield value, value.copy()
    if isinstance(value, list | tuple | dict) and depth < _DEEPEST:
        for item in value.values() if isinstance(value, dict) else value:
            yield from _containers(item, depth + 1)


def _memory(tensor: Tensor) -> int:
    return int(tensor.untyped_storage()._cdata) if _is_dense(tensor) else id(tensor)


def _seen(tensor: Tensor) -> Tensor:
    """The tensor as the tracer sees it: while in use, a tensor of the model has a substitute
    there."""
    with disable_proxy_modes_tracing():
        return tensor.detach()


def _is_dense(tensor: Tensor) -> bool:
    return tensor.layout is torch.strided


def _add_write(old: Tensor, content: Tensor, place: Place | None) -> None:
    """Recorded in the graph alone: the model's tensor must not get a history from the tracer."""
    tracer = _tracer()
    given = tracer.unwrap_proxy(old), tracer.unwrap_proxy(content)
    node = tracer.create_proxy("call_function", torch.ops.aten.copy_.default, given, {}).node
    node.meta["val"] = content
    node.meta[REBOUND] = True
    if place is not None:
        node.meta["stack_trace"] = f'  File "{place.file}", line {place.line}\n    {place.code}'


def _tracer() -> Any:
    mode: Any = _get_dispatch_mode_pre_dispatch(torch._C._TorchDispatchModeKey.PROXY)
    return mode.tracer


def _made_at(value: Any) -> Place | None:
    slot = get_proxy_slot(value, _tracer(), None) if isinstance(value, Tensor) else None
    return node_place(slot.proxy.node) if slot is not None else None


def _words(value: Any) -> str:
    if value is _NOTHING:
        return "nothing"
    if not isinstance(value, Tensor):
        return repr(value)
    own = "a leaf that requires grad, " if value.is_leaf and value.requires_grad else ""
    return f"{own}{value_type(value)}"
