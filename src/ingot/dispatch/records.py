"""Measurements in memory and on disk: a TuningRecord for each setting, that is the dtypes and sizes
of arguments that are not dispatched on. A tuning file is used only for the machine, the source and
the versions it was made with; a damaged, hostile or foreign one is ignored with a line in the log.
Writes are atomic. Text in a file is compared and shown, never evaluated.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import logging
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from ingot.cache.environment import answers, ask
from ingot.dispatch.declaration import Declaration
from ingot.dispatch.folders import (
    has_tuning_files,
    read_tuning_file,
    tuning_folder,
    write_tuning_file,
)
from ingot.dispatch.narrow import expression
from ingot.dispatch.ranges import Range, RangeTable, Row
from ingot.dispatch.tuning_record import Sample, TuningRecord
from ingot.document import Part, parse, shown
from ingot.errors import FileError
from ingot.options import Options, make_options
from ingot.version import __version__

FORMAT = 1
MOST_RECORDS = 100_000
log = logging.getLogger("ingot.dispatch")
log.addHandler(logging.NullHandler())  # silent unless the user adds a handler


def setting_of(dispatch: Declaration, bound: Mapping[str, Any]) -> str:
    """The arguments as text, without the dispatched sizes."""
    parts = []
    for name, value in bound.items():
        if isinstance(value, torch.Tensor):
            parts.append(f"{name}: {_tensor_text(dispatch, name, value)}")
        else:
            parts.append(f"{name}: {_example(value)!r}")
    return "; ".join(parts)


def _tensor_text(dispatch: Declaration, name: str, tensor: torch.Tensor) -> str:
    free = _free_dimensions(dispatch, name, tensor.dim())
    sizes = ["*" if k in free else str(_example(n)) for k, n in enumerate(tensor.shape)]
    dtype = str(tensor.dtype).removeprefix("torch.")
    strides = [_example(n) for n in tensor.stride()]
    order = sorted(range(tensor.dim()), key=lambda k: (-strides[k], k))
    laid = "" if order == sorted(order) else f" by {order}"
    return f"{dtype}[{', '.join(sizes)}]{laid}"


def _free_dimensions(dispatch: Declaration, name: str, rank: int) -> set[int]:
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
    dispatch: Declaration, bound: Mapping[str, Any], options: Options | None = None
) -> TuningRecord | None:
    """The record, if it is known without measuring."""
    path = tuning_file(dispatch, options)
    if path is not None and path not in dispatch.files:
        dispatch.files.add(path)
        for name, record in _loaded(dispatch, path).items():
            dispatch.records.setdefault(name, record)
    return dispatch.records.get(setting_of(dispatch, bound))


def remember(dispatch: Declaration, record: TuningRecord, options: Options | None = None) -> None:
    dispatch.records[record.setting] = record
    dispatch.chosen.clear()
    path = tuning_file(dispatch, options)
    if path is None:
        return
    content = {
        "format": FORMAT,
        "made for": made_for(dispatch),
        "records": [asdict(each) for each in dispatch.records.values()],
    }
    write_tuning_file(path, json.dumps(content, indent=1))


def tuning_file(dispatch: Declaration, options: Options | None = None) -> Path | None:
    """None if there is no folder for it."""
    folder = tuning_folder((options or make_options()).tuning)
    home = f"{dispatch.reference.__module__}.{dispatch.reference.__qualname__}"
    return None if folder is None else folder / f"{dispatch.name}-{_digest(home)}.json"


# -- questions of the cache of compiled programs ---------------------------------------------------

_FOLDER, _RECORD = "tuning files", "tuning record"


def ask_for_folder() -> None:
    ask(_FOLDER)


@answers(_FOLDER)
def _has_folder(rest: Sequence[str], tuning: str) -> str:
    return str(has_tuning_files(tuning))


def ask_for_record(dispatch: Declaration, bound: Mapping[str, Any], options: Options) -> None:
    path = tuning_file(dispatch, options)
    if path is not None:
        ask(_RECORD, path.name, setting_of(dispatch, bound))


@answers(_RECORD)
def _record_digest(rest: Sequence[str], tuning: str) -> str:
    """Of the record in the file and of what it was made for, with the number of threads, with which
    alone it is used; empty if there is none."""
    name, setting = rest
    folder = tuning_folder(tuning)
    data = None if folder is None else read_tuning_file(folder / name)
    try:
        content = json.loads(data or b"{}")
        records = [r for r in content.get("records", ()) if r["setting"] == setting]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return ""  # read as no record
    if not records:
        return ""
    made = json.dumps([content.get("made for"), records], sort_keys=True)
    return f"{_digest(made)} with {torch.get_num_threads()} threads"


# -- what files were made for ----------------------------------------------------------------------


def made_for(dispatch: Declaration) -> dict[str, str]:
    """Everything that a measurement depends on."""
    return {
        "machine": _machine(),
        "threads": str(torch.get_num_threads()),
        "source": _digest("\n".join(_sources(dispatch))),
        "torch": torch.__version__,
        "torch-mlir": version("torch-mlir"),
        "ingot": __version__,
    }


class _OtherThreads(Exception):
    """Of no interest to a user: the number of threads changes from run to run."""


def _loaded(dispatch: Declaration, path: Path) -> dict[str, TuningRecord]:
    text = read_tuning_file(path)
    if text is None:
        return {}
    try:
        content = parse(text, path.name)
        records = _records(dispatch, content)
    except _OtherThreads as error:
        log.debug("%s is ignored: %s", path, error)
        return {}
    except ValueError as error:
        why = error.why if isinstance(error, FileError) else str(error)
        log.warning("the tuning file %s is ignored: %s", path, why)
        return {}
    return {record.setting: record for record in records}


def _records(dispatch: Declaration, content: Part) -> list[TuningRecord]:
    given = content.entries()
    if "format" not in given or given["format"].value != FORMAT:
        content.fail(f"its format is not {FORMAT}")
    fields = content.fields("format", "made for", "records")
    now = made_for(dispatch)
    made = fields["made for"].fields(*now)
    for key, value in now.items():
        if made[key].value != value and key == "threads":
            raise _OtherThreads(f"it was made for {shown(made[key].value)} threads, not {value}")
        if made[key].value != value:
            content.fail(f"it was made for {key} {shown(made[key].value)}, not {value}")
    return [_record(dispatch, each) for each in fields["records"].items(most=MOST_RECORDS)]


def _record(dispatch: Declaration, each: Part) -> TuningRecord:
    fields = each.fields("setting", "table", "samples", "disqualified")
    rows = fields["table"].fields("rows")["rows"].items(most=MOST_RECORDS)
    samples = fields["samples"].items(most=MOST_RECORDS)
    return TuningRecord(
        fields["setting"].text(),
        RangeTable(tuple(_row(dispatch, row) for row in rows)),
        tuple(_sample(dispatch, sample) for sample in samples),
        {name: why.text() for name, why in fields["disqualified"].entries().items()},
    )


def _row(dispatch: Declaration, row: Part) -> Row:
    fields = row.fields("box", "serves", "confidence", "why")
    serves = fields["serves"].text()
    if serves not in dispatch.candidates:
        fields["serves"].fail(f"{shown(serves)} is not an implementation of {dispatch.name}")
    box = tuple(_range(part) for part in fields["box"].items(len(dispatch.axes)))
    return Row(box, serves, _number(fields["confidence"]), fields["why"].text())


def _range(part: Part) -> Range:
    fields = part.fields("low", "high")
    low = fields["low"].integer(0)
    return Range(low, None if fields["high"].value is None else fields["high"].integer(low))


def _sample(dispatch: Declaration, sample: Part) -> Sample:
    fields = sample.fields("sizes", "seconds")
    sizes = tuple(size.integer(0) for size in fields["sizes"].items(len(dispatch.axes)))
    return Sample(sizes, {k: _number(v) for k, v in fields["seconds"].entries().items()})


def _number(part: Part) -> float:
    if type(part.value) not in (int, float) or part.value < 0:
        part.fail(f"expected a non-negative number, found {shown(part.value)}")
    return float(part.value)


def _sources(dispatch: Declaration) -> list[str]:
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
    from ingot.machine import this_machine

    machine = this_machine()
    flags = _digest(" ".join(sorted(machine.features)))
    return f"{platform.machine()} {machine.vector_bits} bits {flags}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
