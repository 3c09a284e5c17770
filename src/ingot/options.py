"""Options: one frozen record, checked on construction and part of every cache key. Environment
variables are read only here; each is the default of the option of the same name.
"""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Mapping
from dataclasses import InitVar, dataclass, fields, replace
from math import inf
from typing import Any

from ingot.errors import OptionError, did_you_mean


@dataclass(frozen=True)
class Options:
    strict: bool = False
    """Raise if a stage of the compiler fails, instead of falling back with a warning."""
    fuse: bool = True
    """Generate native kernels. Off: every op runs through PyTorch's own kernel."""
    verify: bool = False
    """Verify the Program and the Plan after every pass, not only between stages."""
    vector_bits: int = 0
    """Vector width of generated code: 128, 256, 512; 0 = the machine's; 1 = scalar code."""
    profile: bool = False
    """Time every step of a run, for `explain`."""
    dump: str = ""
    """Folder for the text of every stage and the MLIR of every kernel; empty = none is written."""
    dump_assembly: bool = False
    """Write the assembly of every kernel there too, by objdump or llvm-objdump."""
    target: str = ""
    """The target that runs the ops it supports: "iree"; empty = this CPU alone."""
    tune: float = 0.1
    """Share of compile time that measuring built-in variants may take; 0 = none is measured, inf =
    all unknown ones are."""
    variants: str = ""
    """Built-in variants fixed by hand, such as "matmul=library, reduction=split"."""
    weights: str = ""
    """Storage of the weights of linear layers: "int8", with one scale per column; empty = as they
    are. For inference: the error of a weight is at most 1/254 of the largest in its column."""
    weight_guard: str = "exact"
    """Detection of writes to weights that PyTorch does not count: "exact": all of them; "sampled":
    by 128 bytes of each weight; "off": none."""
    tuning: str = ""
    """Folder of tuning files; empty = .cache/ingot/tuning in the user's home."""

    checks: str = ""
    """"bounds": check every load and store of generated code against the buffers of its step, and
    raise for one outside. For debugging: 10 to 50 times slower; empty = no checks."""

    ways: InitVar[str | None] = None
    """The former name of `variants`; deprecated."""

    def __post_init__(self, ways: str | None) -> None:
        if ways is not None:
            _warn_of_former("ways", "variants")
            object.__setattr__(self, "variants", ways)

    def key(self) -> str:
        """Stable text for cache keys."""
        return ",".join(f"{f.name}={getattr(self, f.name)!r}" for f in fields(self))


FORMER_NAMES = {"ways": "variants"}
"""Deprecated option names, with the current ones."""
_CHOICES: dict[str, tuple[Any, ...]] = {
    "vector_bits": (0, 1, 128, 256, 512),
    "target": ("", "iree"),
    "weights": ("", "int8"),
    "checks": ("", "bounds"),
    "weight_guard": ("exact", "sampled", "off"),
}


MODES: dict[str, dict[str, Any]] = {
    "default": {},
    "lite": {"tune": 0.0},
    "reduce-overhead": {},
    "max-autotune": {"tune": inf},
    "max-autotune-no-cudagraphs": {"tune": inf},
}
"""torch.compile's modes, as options. Modes for lower call overhead change nothing: there is none
left to remove."""


def options_of_mode(mode: str) -> dict[str, Any]:
    if mode not in MODES:
        raise OptionError(f"mode={mode!r}", hints=[did_you_mean(mode, MODES)])
    return MODES[mode]


def make_options(given: Mapping[str, Any] | None = None) -> Options:
    """Options from a user's mapping, over the environment, over the defaults."""
    known = {f.name: f.type for f in fields(Options)}
    defaults = Options()
    values = {
        name: value for name in known if (value := _from_environment(name, defaults)) is not None
    }
    for given_name, value in (given or {}).items():
        name = FORMER_NAMES.get(given_name, given_name)
        if name != given_name:
            _warn_of_former(given_name, name)
        if name not in known:
            raise OptionError(f"{name!r}", hints=[did_you_mean(name, known)])
        values[name] = _checked(name, value, type(getattr(defaults, name)))
    return replace(defaults, **values)


def _checked(name: str, value: Any, kind: type) -> Any:
    if kind is float and type(value) is int:
        value = float(value)
    if type(value) is not kind:
        raise OptionError(
            f"{name}={value!r}",
            hints=[f"{name} takes a {kind.__name__}, not a {type(value).__name__}"],
        )
    if name in _CHOICES and value not in _CHOICES[name]:
        raise OptionError(
            f"{name}={value!r}", hints=[f"one of {', '.join(map(str, _CHOICES[name]))}"]
        )
    if name == "vector_bits" and isinstance(value, int) and value > 128:
        _check_width(value)
    return value


def _check_width(bits: int) -> None:
    """LLVM aborts the process if it cannot split vectors wider than the machine's."""
    from ingot.machine import this_machine

    widest = this_machine().vector_bits
    if bits > widest:
        raise OptionError(f"vector_bits={bits}", hints=[f"this machine has {widest} at most"])


def _warn_of_former(former: str, name: str) -> None:
    message = f"the option {former!r} is called {name!r} now"
    warnings.warn(message, DeprecationWarning, stacklevel=_frames_of_ingot())


def _frames_of_ingot() -> int:
    """The `stacklevel` at which a warning points to the caller of ingot."""
    frame, count = inspect.currentframe(), 0
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "ingot":
        frame, count = frame.f_back, count + 1
    return count


def _variable(name: str) -> str | None:
    """The environment variable that sets an option, under its current or a former name."""
    variable = f"INGOT_{name.upper()}"
    if variable in os.environ:
        return variable
    for former, now in FORMER_NAMES.items():
        if now == name and (variable := f"INGOT_{former.upper()}") in os.environ:
            _warn_of_former(former, name)
            return variable
    return None


def _from_environment(name: str, defaults: Options) -> Any:
    variable = _variable(name)
    text = None if variable is None else os.environ[variable]
    if text is None:
        return None
    return _parsed(name, text, str(variable), defaults)


def parse_option(name: str, text: str) -> Any:
    """The value of an option that is given as text, as on a command line."""
    name = FORMER_NAMES.get(name, name)
    known = [f.name for f in fields(Options)]
    if name not in known:
        raise OptionError(f"{name!r}", hints=[did_you_mean(name, known)])
    return _parsed(name, text, name, Options())


def _parsed(name: str, text: str, shown: str, defaults: Options) -> Any:
    """`shown`: how the user spelt the name."""
    kind = type(getattr(defaults, name))
    if kind is bool:
        if text.lower() not in ("0", "1", "true", "false"):
            raise OptionError(f"{shown}={text!r}", hints=["one of 0, 1, true, false"])
        return text.lower() in ("1", "true")
    try:
        value = kind(text)
    except ValueError as error:
        raise OptionError(f"{shown}={text!r}", hints=[f"{name} takes a {kind.__name__}"]) from error
    return _checked(name, value, kind)
