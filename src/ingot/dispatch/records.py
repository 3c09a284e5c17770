"""What was measured, in memory and on disk. Comes in and goes out: a Record for each setting, that
is the dtypes and sizes of arguments that are not dispatched on. What holds: a tuning file is used
only for the machine, the source and the versions it was made with; one that is damaged or of
another kind is ignored with a line in the log; it is written whole or not at all.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import logging
import os
import platform
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from ingot.dispatch.narrow import expression
from ingot.dispatch.ranges import Range, Row, Table
from ingot.options import Options, make_options

if TYPE_CHECKING:
    from ingot.dispatch.declare import Dispatch

FORMAT = 1
log = logging.getLogger("ingot.dispatch")


@dataclass(frozen=True)
class Sample:
    """What one size cost."""

    sizes: tuple[int, ...]
    seconds: Mapping[str, float]
    """Of each candidate that was measured there."""


@dataclass(frozen=True)
class Record:
    setting: str
    table: Table
    samples: tuple[Sample, ...] = ()
    disqualified: Mapping[str, str] = field(default_factory=dict)
    """Candidates that were not chosen among, and why."""

    def joined(self, other: Record) -> Record:
        """With the rows and samples of the other, which are newer."""
        new = {row.box for row in other.table.rows}
        rows = [*(row for row in self.table.rows if row.box not in new), *other.table.rows]
        rows.sort(key=lambda row: [part.low for part in row.box])
        sizes = {sample.sizes for sample in other.samples}
        samples = [*(s for s in self.samples if s.sizes not in sizes), *other.samples]
        return Record(
            self.setting,
            Table(tuple(rows)),
            tuple(sorted(samples, key=lambda s: s.sizes)),
            {**self.disqualified, **other.disqualified},
        )


def setting_of(dispatch: Dispatch, bound: Mapping[str, Any]) -> str:
    """The arguments but for what is dispatched on, as text."""
    parts = []
    for name, value in bound.items():
        if isinstance(value, torch.Tensor):
            parts.append(f"{name}: {_tensor_text(dispatch, name, value)}")
        else:
            parts.append(f"{name}: {_example(value)!r}")
    return "; ".join(parts)


def _tensor_text(dispatch: Dispatch, name: str, tensor: torch.Tensor) -> str:
    free = _free_dimensions(dispatch, name, tensor.dim())
    sizes = ["*" if k in free else str(_example(n)) for k, n in enumerate(tensor.shape)]
    dtype = str(tensor.dtype).removeprefix("torch.")
    strides = [_example(n) for n in tensor.stride()]
    order = sorted(range(tensor.dim()), key=lambda k: (-strides[k], k))
    laid = "" if order == sorted(order) else f" by {order}"
    return f"{dtype}[{', '.join(sizes)}]{laid}"


def _free_dimensions(dispatch: Dispatch, name: str, rank: int) -> set[int]:
    found: set[int] = set()
    for axis in dispatch.axes:
        for tensor, dimension in axis.dimensions:
            if tensor == name:
                found |= set(range(rank)) if dimension is None else {dimension % rank}
    return found


def _example(number: Any) -> Any:
    expr = expression(number)
    if not isinstance(number, torch.SymInt):
        return expr
    return int(expr.xreplace(dict(number.node.shape_env.backed_var_to_val)))


# -- files -----------------------------------------------------------------------------------------


def known_record(
    dispatch: Dispatch, bound: Mapping[str, Any], options: Options | None = None
) -> Record | None:
    """What is known without measuring."""
    path = tuning_file(dispatch, options)
    if path not in dispatch.files:
        dispatch.files.add(path)
        for name, record in _loaded(dispatch, path).items():
            dispatch.records.setdefault(name, record)
    return dispatch.records.get(setting_of(dispatch, bound))


def remember(dispatch: Dispatch, record: Record, options: Options | None = None) -> None:
    dispatch.records[record.setting] = record
    dispatch.chosen.clear()
    path = tuning_file(dispatch, options)
    content = {
        "format": FORMAT,
        "made for": made_for(dispatch),
        "records": [asdict(each) for each in dispatch.records.values()],
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", dir=path.parent, suffix=".json", delete=False
        ) as file:
            json.dump(content, file, indent=1)
        os.replace(file.name, path)
    except OSError as error:
        log.warning("the tuning file %s cannot be written: %s", path, error)


def tuning_file(dispatch: Dispatch, options: Options | None = None) -> Path:
    home = f"{dispatch.reference.__module__}.{dispatch.reference.__qualname__}"
    return tuning_folder(options) / f"{dispatch.name}-{_digest(home)}.json"


def tuning_folder(options: Options | None = None) -> Path:
    folder = (options or make_options()).tuning
    return Path(folder) if folder else Path.home() / ".cache" / "ingot" / "tuning"


def made_for(dispatch: Dispatch) -> dict[str, str]:
    """All that a measurement holds for."""
    return {
        "machine": _machine(),
        "threads": str(torch.get_num_threads()),
        "source": _digest("\n".join(_sources(dispatch))),
        "torch": torch.__version__,
        "torch-mlir": version("torch-mlir"),
        "ingot": version("ingot"),
    }


def _loaded(dispatch: Dispatch, path: Path) -> dict[str, Record]:
    try:
        content = json.loads(path.read_text())
        if content["format"] != FORMAT:
            raise ValueError(f"its format is {content['format']}, not {FORMAT}")
        made, now = content["made for"], made_for(dispatch)
        for key, value in now.items():
            if made[key] != value:
                raise ValueError(f"it was made for {key} {made[key]}, not {value}")
        records = [_record(each) for each in content["records"]]
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        log.warning("the tuning file %s is ignored: %s", path, error)
        return {}
    return {record.setting: record for record in records}


def _record(each: Any) -> Record:
    rows = tuple(
        Row(
            tuple(Range(part["low"], part["high"]) for part in row["box"]),
            str(row["serves"]),
            float(row["confidence"]),
            str(row["why"]),
        )
        for row in each["table"]["rows"]
    )
    samples = tuple(
        Sample(tuple(s["sizes"]), {str(k): float(v) for k, v in s["seconds"].items()})
        for s in each["samples"]
    )
    return Record(str(each["setting"]), Table(rows), samples, dict(each["disqualified"]))


def _sources(dispatch: Dispatch) -> list[str]:
    texts = [repr(dispatch.ranges), repr([axis.text for axis in dispatch.axes]), *dispatch.code]
    for candidate in dispatch.candidates.values():
        function = getattr(candidate.function, "func", candidate.function)
        when = "" if candidate.when is None else candidate.when.text
        texts += [candidate.name, when, getattr(function, "mlir_text", "") or _source(function)]
    return texts


def _source(function: Any) -> str:
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        code = getattr(function, "__code__", None)
        return repr(function) if code is None else f"{code.co_code!r} {code.co_consts!r}"


@cache
def _machine() -> str:
    from ingot.codegen.machine import this_machine

    machine = this_machine()
    flags = _digest(" ".join(sorted(machine.features)))
    return f"{platform.machine()} {machine.vector_bits} bits {flags}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
