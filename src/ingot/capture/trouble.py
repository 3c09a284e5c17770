"""Convert torch.export's exceptions to CaptureErrors with the tracer's own message without its
frames, the user's line, and the most likely workaround.
"""

from __future__ import annotations

import logging
import re
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import torch.export._trace as torch_trace
from torch._subclasses.fake_tensor import (
    DynamicOutputShapeException,
    UnsupportedOperatorException,
)

from ingot.errors import CaptureError, Place
from ingot.program.source import is_library

_HINTS: tuple[tuple[str, str], ...] = (
    (
        r"data-dependent|GuardOnDataDependent|\bu\d+\b.*unbacked",
        "the branch depends on a value: use torch.cond or torch.where, or state the condition with "
        "torch._check",
    ),
    (
        r"Constraints violated|specializ",
        "the dimension is not free: give it another Dim, torch.export.Dim.AUTO, or leave it static",
    ),
    (
        r"pytree-flattenable|register_dataclass|pytree",
        "register the type: torch.utils._pytree.register_pytree_node",
    ),
    (r"dynamic_shapes", "dynamic_shapes mirrors the structure of the arguments, one entry each"),
    (r"FakeTensor|fake tensor|\.numpy|\.item|tolist", "keep values in tensors while tracing"),
)
_RESHAPED = re.compile("^list index out of range$|tried to directly modify sizes")
"""What the tracer says when it finds that an input has another number of dimensions than before,
and what a tensor of symbolic sizes says when it is resized."""
_BETWEEN_GRAPHS = (
    "torch.compile(model, backend='ingot') runs it between two graphs; for one graph, make it a "
    "custom op whose register_fake gives the shapes"
)
_NOISE = re.compile(
    r"^(For more information|The following call raised|To fix the error|For more debug|"
    r"For C\+\+ stack|Set TORCH|You can suppress|This is (?:likely )?an internal|Please file)|"
    r"^consider using|TORCH_LOGS|TORCHDYNAMO|from user code|run with",
    re.IGNORECASE,
)
_ASIDES = re.compile(r"\s*\((unhinted|Size-like symbols): .*\)\.?")
_MOST_LINES = 8


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress PyTorch's warnings about its own internals, and its output on failure: the partial
    graph, and that it knows no line for a symbol."""
    log = logging.getLogger("torch.fx.experimental.symbolic_shapes")

    def is_for_users(record: logging.LogRecord) -> bool:
        return not record.msg.startswith("Unable to find user code")

    log.addFilter(is_for_users)
    try:
        with (
            warnings.catch_warnings(),
            mock.patch.object(torch_trace, "print", lambda *_, **__: None, create=True),
        ):
            warnings.filterwarnings("ignore", category=FutureWarning, message=".*LeafSpec.*")
            yield
    finally:
        log.removeFilter(is_for_users)


def capture_error(error: Exception) -> CaptureError:
    if isinstance(error, DynamicOutputShapeException | UnsupportedOperatorException):
        return CaptureError(
            f"PyTorch cannot tell the shapes that {error.func} returns without running it",
            place=error_place(error),
            hints=[_BETWEEN_GRAPHS],
        )
    text = str(error)
    if _RESHAPED.search(text) and is_library(
        traceback.extract_tb(error.__traceback__)[-1].filename
    ):
        return CaptureError(
            "an input or a tensor of a dynamic size is given another shape in place",
            place=error_place(error),
            hints=["use a view or a copy of it: x.unsqueeze(0) instead of x.unsqueeze_(0)"],
        )
    hints = [hint for pattern, hint in _HINTS if re.search(pattern, text)][:1]
    return CaptureError(_why(error, text), place=error_place(error), hints=hints)


def _why(error: Exception, text: str) -> str:
    lines = []
    for line in text.splitlines():
        if re.match(r"\s*File \"|\s*Traceback|User Stack|While executing|\s*Caused by", line):
            break
        line = _ASIDES.sub("", line.rstrip())
        if line.strip() and not _NOISE.search(line):
            lines.append(line)
    lines = lines[:_MOST_LINES] or [type(error).__name__]
    return "\n  ".join(lines)


def error_place(error: Exception) -> Place | None:
    """The innermost frame of the user's in the traceback of the error or of its causes."""
    cause: BaseException | None = error
    while cause is not None:
        frames = traceback.extract_tb(cause.__traceback__)
        own = [frame for frame in frames if not is_library(frame.filename)]
        if own:
            last = own[-1]
            return Place(last.filename, last.lineno or 0, last.line or "")
        cause = cause.__cause__ or cause.__context__
    return None
