"""Source trees of this repository, and the interpreters that run them: the work tree, and any
commit in a temporary `git worktree`. A commit that declares the same dependencies as the work tree
shares this interpreter; another gets its own virtual environment.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ingot.bench.tree import Tree

ROOT = Path(__file__).parents[1]


@contextmanager
def tree_at(commit: str) -> Iterator[Tree]:
    """The commit, checked out while the context is open."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "tree")
        git("worktree", "add", "--detach", "--quiet", str(path), commit)
        try:
            interpreter = interpreter_for(path, Path(folder, "venv"))
            yield Tree(path / "src", interpreter)
        finally:
            git("worktree", "remove", "--force", str(path))


def interpreter_for(path: Path, venv: Path) -> str:
    if needs_of(path) == needs_of(ROOT):
        return sys.executable
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    interpreter = str(venv / "bin" / "python")
    install = [interpreter, "-m", "pip", "install", "--quiet", "--editable", f"{path}[hf]"]
    subprocess.run(install, check=True)
    return interpreter


def needs_of(path: Path) -> tuple[Any, ...]:
    """The dependencies and entry points that the commit declares."""
    project = tomllib.loads((path / "pyproject.toml").read_text())["project"]
    return project.get("dependencies"), project.get("entry-points")


def git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
