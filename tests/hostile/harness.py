"""Loads files one after the other in another process and reports the outcome of each. If the
process dies or hangs, the report names the file that caused it.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

MOST_SECONDS = 20.0
MOST_MEGABYTES = 400
"""Above the peak reached by earlier files in the same process."""


@dataclass(frozen=True)
class Outcome:
    file: str
    error: str
    """The type of the error; empty if the file was loaded."""
    is_ours: bool
    message: str
    seconds: float
    megabytes: float


def load_all(
    files: Sequence[Path], folder: Path, seconds: float = 600, how: str = "program"
) -> list[Outcome]:
    """One outcome for each file; raises if the process dies. `how`: "program" with its verifier, or
    "compiled"."""
    listed = folder / "files.json"
    listed.write_text(json.dumps([str(file) for file in files]))
    done = subprocess.run(
        [sys.executable, "-m", "tests.hostile.harness", str(listed), how],
        capture_output=True,
        text=True,
        timeout=seconds,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "HOSTILE": "1"},
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    outcomes = [Outcome(**json.loads(line)) for line in lines]
    if len(outcomes) < len(files):
        raise AssertionError(
            f"exit code {done.returncode} at {files[len(outcomes)]}\n{done.stderr[-2000:]}"
        )
    return outcomes


def check(
    outcome: Outcome, seconds: float = MOST_SECONDS, megabytes: float = MOST_MEGABYTES
) -> None:
    """Conditions on every file: no foreign error, bounded time and memory."""
    assert outcome.is_ours or not outcome.error, f"{outcome.file}: a raw {outcome.error}: {outcome}"
    assert outcome.seconds < seconds, f"{outcome.file} took {outcome.seconds:.0f} s"
    assert outcome.megabytes < megabytes, f"{outcome.file} took {outcome.megabytes:.0f} MB"


def _load(file: str, how: str) -> dict[str, object]:
    import ingot
    from ingot.program.verify import verify

    error: BaseException | None = None
    # CPU time: others load the machine. Whatever waits meets the limit of the whole process.
    before, start = _peak(), time.process_time()
    try:
        if how == "program":
            verify(ingot.Program.load(file))
        else:
            ingot.load(file)
    except BaseException as caught:
        error = caught
    return {
        "file": file,
        "error": "" if error is None else type(error).__name__,
        "is_ours": isinstance(error, ingot.IngotError | OSError),
        "message": str(error)[:2000],
        "seconds": time.process_time() - start,
        "megabytes": _peak() - before,
    }


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(listed: str, how: str) -> None:
    from tests.hostile import corpus

    torch_structures(corpus)
    files = json.loads(Path(listed).read_text())
    _load(files[0], how)  # imports triggered by the first load are not charged to that file
    for file in files:
        print(json.dumps(_load(file, how)), flush=True)


def torch_structures(corpus: object) -> None:
    import torch

    torch.export.register_dataclass(corpus.Result)  # type: ignore[attr-defined]


if __name__ == "__main__":
    main(*sys.argv[1:])
