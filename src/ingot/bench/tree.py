"""The ingot that a measured process imports."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Tree:
    """The source tree from which a process imports ingot."""

    source: Path | None = None
    """The folder that contains the package; None for the installed package."""
    interpreter: str = sys.executable

    def settings(self) -> dict[str, str]:
        """The environment variables that put the tree before the installed package."""
        if self.source is None:
            return {}
        others = os.environ.get("PYTHONPATH")
        return {"PYTHONPATH": os.pathsep.join([str(self.source), *([others] if others else [])])}

    def write_bytecode(self) -> None:
        """Compiles to bytecode, so that no process pays for it in its first import."""
        command = [self.interpreter, "-m", "compileall", "-q", str(self.source)]
        subprocess.run(command, check=False, stdout=subprocess.DEVNULL)

    def verify(self) -> None:
        """Was ingot imported from here, in this process?"""
        package = sys.modules.get("ingot")
        if self.source is None or package is None or package.__file__ is None:
            return
        if not Path(package.__file__).is_relative_to(self.source):
            raise ImportError(f"ingot was imported from {package.__file__}, not {self.source}")


INSTALLED = Tree()
