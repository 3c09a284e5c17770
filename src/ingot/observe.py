"""Notify `explain` and the tests of compiled programs, and write the text of each stage for the
option `dump`."""

from __future__ import annotations

from pathlib import Path

from ingot.codegen.code_store import text_digest
from ingot.codegen.kernels import Kernels
from ingot.listeners import Listeners
from ingot.options import Options
from ingot.stages import Compiled

_programs: Listeners[Compiled] = Listeners()
listening = _programs.listening


def compiled(result: Compiled, options: Options) -> None:
    _programs.tell(result)
    if options.dump:
        _dump(result, Path(options.dump))


def _dump(result: Compiled, folder: Path) -> None:
    """Write the text of each stage to a file of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    number = len(list(folder.glob("*.program.txt")))
    texts = {
        "program.txt": result.fused.program.as_text(),
        "fused.txt": result.fused.as_text(),
        "runner.py": result.source,
    }
    if result.plan is not None:
        texts["plan.txt"] = result.plan.as_text()
        texts["plan_journal.txt"] = result.plan_journal.as_text()
    if result.native is not None:
        texts |= _kernels(result.native)
    for name, text in texts.items():
        (folder / f"{number:03d}.{name}").write_text(text + "\n")


def _kernels(kernels: Kernels) -> dict[str, str]:
    """The MLIR of generated kernels, under their names in the plan."""
    found = (kernel for each in kernels.by_region.values() for kernel in (each, each.whole))
    return {f"loops.{text_digest(k.text)}.mlir": k.text for k in found if k is not None}
