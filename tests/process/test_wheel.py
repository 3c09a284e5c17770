"""The distribution: a wheel in a fresh environment, away from the checkout, runs the README's first
snippet and the command line."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

import ingot

from ..docs.documents import README, ROOT, blocks_of

pytestmark = pytest.mark.slow

PARTS = ("pyproject.toml", "README.md", "LICENSE", "src")
BUILD = """
import sys
from setuptools import build_meta
folder = sys.argv[1]  # setuptools changes sys.argv
build_meta.build_sdist(folder)
build_meta.build_wheel(folder)
"""
"""What `python -m build` calls, without the environment that it downloads setuptools into."""
MODEL = """
import torch
def make_model():
    return torch.nn.Linear(4, 3).eval(), (torch.randn(2, 4),)
"""
WHERE = """
import importlib.metadata, ingot
print(ingot.__file__, ingot.__version__, importlib.metadata.version("ingot"))
"""


def run(*command: object, cwd: Path) -> str:
    outside = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, timeout=600,
        env={**outside, "INGOT_CACHE_DIR": str(cwd / "cache"), "INGOT_TUNING": str(cwd)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both archives."""
    tree, out = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("dist")
    for name in PARTS:
        if (ROOT / name).is_dir():
            unwanted = shutil.ignore_patterns("__pycache__", "*.egg-info")
            shutil.copytree(ROOT / name, tree / name, ignore=unwanted)
        else:
            shutil.copy(ROOT / name, tree / name)
    shutil.copytree(ROOT / "tests" / "unit", tree / "tests" / "unit")
    run(sys.executable, "-c", BUILD, out, cwd=tree)
    return out


@pytest.fixture(scope="module")
def environment(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel. The dependencies are those of this process: its
    site-packages are appended to the path, where the installed ingot comes before another one."""
    home = tmp_path_factory.mktemp("environment")
    venv.create(home, symlinks=True)
    (wheel,) = built.glob("*.whl")
    variables = {"base": str(home), "platbase": str(home)}
    site = Path(sysconfig.get_path("purelib", "venv", variables))
    run(
        sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check",
        "--python", home / "bin" / "python", "install", "--no-deps", "--no-index", wheel,
        cwd=home,
    )  # fmt: skip
    for k, path in enumerate({sysconfig.get_path(name) for name in ("purelib", "platlib")}):
        (site / f"dependencies{k}.pth").write_text(f"{path}\n")
    return home


def test_the_archives_hold_the_package_and_no_tests(built: Path) -> None:
    (wheel,), (source,) = built.glob("*.whl"), built.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        assert f"\nVersion: {ingot.__version__}\n" in archive.read(metadata).decode()
    modules = {f"ingot/{path.relative_to(ROOT / 'src' / 'ingot')}" for path in sources()}
    tops = {name.partition("/")[0] for name in names}
    data = {"py.typed", "explain/page.html", "program/schema_violations.json"}
    assert modules | {f"ingot/{name}" for name in data} <= set(names)
    assert tops == {"ingot", f"ingot-{ingot.__version__}.dist-info"}
    with tarfile.open(source) as archive:
        unpacked = {name.partition("/")[2] for name in archive.getnames()}
    assert {f"src/{name}" for name in modules} | {"pyproject.toml", "LICENSE"} <= unpacked


def sources() -> list[Path]:
    return sorted((ROOT / "src" / "ingot").rglob("*.py"))


def test_the_wheel_works_away_from_the_checkout(environment: Path) -> None:
    python, ingot_command = (environment / "bin" / name for name in ("python", "ingot"))
    file, *versions = run(python, "-c", WHERE, cwd=environment).split()
    assert Path(file).is_relative_to(environment)
    assert versions == [ingot.__version__, ingot.__version__]

    snippet = environment / "snippet.py"
    snippet.write_text(next(b.code for b in blocks_of(README) if b.language == "python"))
    assert "kernel" in run(python, snippet, cwd=environment)
    assert ingot.__version__ in run(ingot_command, "--version", cwd=environment)
    doctor = run(ingot_command, "doctor", cwd=environment)
    assert "ingot.backend.dynamo:ingot" in doctor and "✗" not in doctor

    model = environment / "net.py"
    model.write_text(MODEL)
    compiled = run(
        ingot_command, "compile", "net.py:make_model", "-o", "net.ingot", cwd=environment
    )
    assert "equal to eager's" in compiled
    model.unlink()
    assert "float32[2, 3]" in run(ingot_command, "run", "net.ingot", "--check", cwd=environment)
    words = ("bench", "net.ingot", "--rounds", "3", "--plot", "net.svg")
    assert "| ingot file" in run(ingot_command, *words, cwd=environment)
    assert "</svg>" in (environment / "net.svg").read_text()
    assert "complete" in run(ingot_command, "completion", "bash", cwd=environment)
