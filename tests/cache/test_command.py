"""`ingot cache` as users call it: what it prints, its exit codes, and its answers where the cache
is absent, read-only, full or damaged."""

from __future__ import annotations

import errno
import json
import os
import random
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from ingot.cache import settings
from ingot.cache.disk import DiskCache, disk_cache
from ingot.cache.programs import ProgramKey, program_entry, questions_entry
from ingot.cli import main
from ingot.codegen.jit.code_store import Module, Origin, packed_source

OBJECT = b"\x7fELF"
"""Damaged: the tests that need an object compile one."""
HERE = Origin("3", "torch-mlir 1", "x86-64-v3", "builtin.module(a)")
BODY = [f"    %c{k} = arith.constant {k} : i64" for k in range(20)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv(settings.FOLDER, str(tmp_path / "code"))
    monkeypatch.setenv(settings.SIZE, "4")
    disk_cache.cache_clear()
    yield tmp_path / "code"
    disk_cache.cache_clear()


@pytest.fixture
def disk(folder: Path) -> DiskCache:
    found = disk_cache()
    assert found is not None
    return found


def ingot(*words: str, code: int = 0, typed: str | None = None) -> Result:
    result = CliRunner().invoke(main, ["cache", *words], input=typed)
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def put(disk: DiskCache, origin: Origin, lines: list[str], name: str = "f") -> str:
    """A module of one function, as code_store keeps it; returns its key."""
    function = "\n".join([f"  llvm.func internal @{name}() {{", *lines, "    llvm.return", "  }"])
    text = json.dumps([["  llvm.func @sin(f64) -> f64"], {name: function}, []])
    key = origin.key(text)
    disk.keep(key, Module(packed_source(text), OBJECT, origin.encoded()).entry())
    return key


# -- stats, clear ----------------------------------------------------------------------------------


def test_stats(disk: DiskCache) -> None:
    put(disk, HERE, BODY)
    put(disk, HERE, BODY[1:])
    put(disk, Origin("3", "torch-mlir 2", "0123456789abcdef", ""), BODY)
    disk.keep("a" * 32, b"b" * 32)  # the key of a kernel
    text = ingot("stats").output
    assert str(disk.folder) in text and "entries  4" in text and "of 4.0 MB" in text
    assert "2 for torch-mlir 1, x86-64-v3" in text
    assert "1 for torch-mlir 2, exactly the CPU 0123456789abcdef" in text
    found = json.loads(ingot("stats", "--json").output)
    assert (found["entries"], found["limit"], found["trouble"]) == (4, 4 << 20, "")
    assert [(row["isa"], row["modules"]) for row in found["modules"]] == [
        ("x86-64-v3", 2), ("0123456789abcdef", 1),
    ]  # fmt: skip
    assert found["bytes"] > sum(row["bytes"] for row in found["modules"]) > 0


def test_stats_leave_damaged_entries_out(disk: DiskCache) -> None:
    paths = [disk.path(put(disk, HERE, BODY[k:])) for k in range(4)]
    paths[0].write_bytes(b"")
    paths[1].write_bytes(paths[1].read_bytes()[:-1])
    disk.keep("b" * 32, b"ingotmo2" + bytes(3))
    disk.keep("c" * 32, Module(b"", b"", b"[1, 2]").entry())
    disk.keep("d" * 32, Module(b"", b"", b'["3", "a\\u001b[2J", "c", "d"]').entry())
    assert [row["modules"] for row in json.loads(ingot("stats", "--json").output)["modules"]] == [2]


def test_clear_asks(disk: DiskCache) -> None:
    put(disk, HERE, BODY)
    assert "remove 1 entries" in ingot("clear", code=1, typed="n\n").output
    ingot("clear", code=1, typed="")
    assert disk.stats().entries == 1
    assert "removed 1 entries" in ingot("clear", typed="y\n").output
    put(disk, HERE, BODY)
    disk.missed("a" * 32)
    assert "removed 1 entries" in ingot("clear", "--yes").output
    assert disk.stats().entries == 0 and disk.runs() == []
    assert "removed 0 entries" in ingot("clear").output  # nothing to ask about


# -- export, import --------------------------------------------------------------------------------


def exported(path: Path, **entries: bytes) -> str:
    with zipfile.ZipFile(path, "w") as archive:
        for key, entry in entries.items():
            archive.writestr(key, entry)
    return str(path)


def test_export_and_import(disk: DiskCache, tmp_path: Path) -> None:
    from ingot.codegen.jit.jit import compile_module

    name = f"f{random.getrandbits(64):x}"
    native = compile_module([], {name: f"  llvm.func internal @{name}() {{ llvm.return }}"})
    entry = disk.find(native.key)
    disk.keep("a" * 32, native.key.encode())
    file = str(tmp_path / "all.zip")
    assert "wrote 2 entries" in ingot("export", file).output
    ingot("clear", "--yes")
    assert "imported 2 entries" in ingot("import", file).output
    assert entry is not None and disk.find(native.key) == entry
    data = bytearray(Path(file).read_bytes())
    draw = random.Random(0)
    for _ in range(300):
        at = draw.randrange(len(data))
        damaged = data[:at] + bytes([data[at] ^ 1 << draw.randrange(8)]) + data[at + 1 :]
        Path(file).write_bytes(damaged[: draw.choice([len(data), at])])
        result = CliRunner().invoke(main, ["cache", "import", file])
        assert result.exit_code in (0, 1) and isinstance(result.exception, SystemExit | None)
        assert disk.find(native.key) == entry


@pytest.mark.parametrize("way", ["key", "object", "reference", "origin"])
def test_entries_that_do_not_fit_their_key_are_refused(
    disk: DiskCache, tmp_path: Path, way: str
) -> None:
    """All or none: a good entry before a bad one is not taken over either."""
    good = put(disk, HERE, BODY)
    entry = disk.find(good)
    assert entry is not None
    disk.clear()
    bad = {
        "key": ("f" * 32, entry, "the key does not fit the text"),
        "object": (good, entry, ""),
        "reference": ("f" * 32, b"../../etc", "not the key of a module"),
        "origin": ("f" * 32, Module(b"", b"", b"{}").entry(), "a damaged origin"),
    }
    key, content, reason = bad[way]
    file = exported(tmp_path / "bad.zip", **{"a" * 32: b"b" * 32, key: content})
    assert reason in ingot("import", file, code=1).output
    assert disk.stats().entries == 0


def test_files_that_are_no_exports(disk: DiskCache, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello")
    assert "not a file of cache entries" in ingot("import", str(tmp_path / "text"), code=1).output
    assert "does not exist" in ingot("import", str(tmp_path / "absent"), code=2).output
    assert "absent" in ingot("export", str(tmp_path / "absent" / "x"), code=1).output
    packed = tmp_path / "packed.zip"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("a" * 32, b"b" * 32)
    assert "is not an entry" in ingot("import", str(packed), code=1).output


# -- absent, read-only, full -----------------------------------------------------------------------


@pytest.mark.parametrize("way", ["off", "home", "file", "name"])
def test_without_a_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, folder: Path, way: str
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "any.zip").touch()
    names = {"file": tmp_path / "file", "name": tmp_path / ("a" * 300), "off": folder}
    if way == "off":
        monkeypatch.setenv(settings.SIZE, "0")
    if way == "home":
        monkeypatch.delenv(settings.FOLDER)
        monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    else:
        monkeypatch.setenv(settings.FOLDER, str(names[way]))
    reasons = {
        "off": "INGOT_CACHE_MB=0", "home": "no home", "file": "not a folder", "name": "too long",
    }  # fmt: skip
    reason = reasons[way]
    disk_cache.cache_clear()
    assert reason in ingot("stats").output and reason in ingot("clear", "--yes").output
    assert reason in json.loads(ingot("stats", "--json").output)["trouble"]
    for words in (["export", str(tmp_path / "x")], ["import", str(tmp_path / "any.zip")], ["why"]):
        assert reason in ingot(*words, code=1).output
    assert not (tmp_path / "x").exists()


def fail(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Every attempt to write a file of the cache fails."""

    def failing(*args: Any, **kwargs: Any) -> Any:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("ingot.cache.disk.tempfile.mkstemp", failing)
    monkeypatch.setattr("ingot.cache.disk.os.unlink", failing)
    monkeypatch.setattr("ingot.cache.misses.os.open", failing)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_a_folder_that_cannot_be_written(
    disk: DiskCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    key = put(disk, HERE, BODY)
    file = exported(tmp_path / "all.zip", **{"a" * 32: b"b" * 32})
    fail(monkeypatch, number)
    assert "entries  1" in ingot("stats").output
    assert f"is not written: {os.strerror(number)}" in ingot("import", file, code=1).output
    assert "1 entries in" in ingot("clear", "--yes", code=1).output
    disk.missed(key)
    assert "no process is known" in ingot("why").output


# -- why -------------------------------------------------------------------------------------------


def ran(disk: DiskCache, monkeypatch: pytest.MonkeyPatch, script: str, *keys: str) -> None:
    """Log the misses of another process."""
    ran.count += 1  # type: ignore[attr-defined]
    with monkeypatch.context() as patch:
        patch.setattr("ingot.cache.misses._started", ran.count * 10**9)  # type: ignore[attr-defined]
        patch.setattr(sys, "argv", [f"/some/folder/{script}"])
        for key in keys:
            disk.missed(key)


ran.count = 0  # type: ignore[attr-defined]


def part_of(*words: str) -> dict[str, Any]:
    (miss,) = json.loads(ingot("why", "--json", *words).output)["misses"]
    return miss["difference"]


@pytest.mark.parametrize(
    ("other", "part"),
    [
        (Origin("2", "torch-mlir 0", "x86-64-v4", "b"), "format"),
        (Origin("3", "torch-mlir 0", "x86-64-v4", "b"), "compiler"),
        (Origin("3", "torch-mlir 1", "x86-64-v4", "b"), "instruction set"),
        (Origin("3", "torch-mlir 1", "x86-64-v3", "b"), "lowering"),
    ],
)
def test_the_first_part_that_differs(
    disk: DiskCache, monkeypatch: pytest.MonkeyPatch, other: Origin, part: str
) -> None:
    put(disk, other, BODY)
    put(disk, HERE, ["    %unlike = arith.constant 1.0 : f64"], "unlike")
    ran(disk, monkeypatch, "model.py", put(disk, HERE, BODY))
    found = part_of()
    assert found["part"] == part and found["here"] != found["there"]
    assert f"{part} differs from" in ingot("why").output


def test_the_first_line_that_differs(disk: DiskCache, monkeypatch: pytest.MonkeyPatch) -> None:
    """Digests in names, which follow from the rest, do not count."""
    put(disk, HERE, BODY, f"kernel_{'1' * 16}")
    changed = [*BODY[:7], "    %c7 = arith.constant 8 : i64", *BODY[8:]]
    ran(disk, monkeypatch, "model.py", put(disk, HERE, changed, f"kernel_{'2' * 16}"))
    assert part_of() == {
        "part": "text", "line": 10,
        "here": "%c7 = arith.constant 8 : i64", "there": "%c7 = arith.constant 7 : i64",
    }  # fmt: skip
    assert "text, line 10 differs from" in ingot("why").output


def test_names_alone_can_differ(disk: DiskCache, monkeypatch: pytest.MonkeyPatch) -> None:
    put(disk, HERE, [*BODY, f"    llvm.call @ingot_{'1' * 32}_f()"])
    ran(disk, monkeypatch, "a.py", put(disk, HERE, [*BODY, f"    llvm.call @ingot_{'2' * 32}_f()"]))
    assert part_of()["here"] == f"llvm.call @ingot_{'2' * 32}_f()"


def test_the_run_is_chosen_by_its_script(disk: DiskCache, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was compiled later is no entry that could have been found."""
    put(disk, HERE, BODY)
    first = put(disk, HERE, BODY[1:])
    ran(disk, monkeypatch, "first.py", first)
    ran(disk, monkeypatch, "second.py", put(disk, HERE, BODY[1:-1]))
    assert part_of("first.py")["there"] == BODY[0].strip()
    assert part_of("second.py")["there"] == BODY[-1].strip()
    assert "second.py" in ingot("why").output
    assert "no process that ran third.py is known" in ingot("why", "third.py").output
    assert json.loads(ingot("why", "third.py", "--json").output) == {
        "run": None, "programs": [], "not_kept": [], "misses": [],
    }  # fmt: skip


def test_nothing_to_compare(disk: DiskCache, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "no process is known" in ingot("why").output
    ran(disk, monkeypatch, "a.py", "e" * 32)
    assert "its entry is no longer there" in ingot("why").output
    key = put(disk, HERE, BODY)
    ran(disk, monkeypatch, "b.py", key)
    assert "there was no other module" in ingot("why").output
    put(disk, HERE, ["    %x = arith.constant 1.0 : f64"] * 9, "unlike")
    assert "no module has the same functions" in ingot("why").output


def test_damaged_logs_are_read_as_far_as_they_go(disk: DiskCache) -> None:
    disk.missed("a" * 32)
    log = disk.folder / "misses"
    whole = log.read_bytes()
    bad = [b"[", b"1\n", b'["a"]\n', b'["1", -1, "x", "' + b"a" * 32 + b'"]\n', b"\xff\0\n",
           b'["1", 1, "\\u001b[2J", "' + b"a" * 32 + b'"]\n', b'["1", 1, 2, 3]\n']  # fmt: skip
    log.write_bytes(b"[" * 5000 + b"\n" + whole + b"".join(bad) + b"\n" + whole[:-9])
    (run,) = disk.runs()
    assert run.keys == ("a" * 32,)


def test_the_log_is_limited(disk: DiskCache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingot.cache.misses.MOST_LOG", 2000)
    for k in range(200):
        disk.missed(f"{k:032x}")
    (run,) = disk.runs()
    assert run.keys[-1] == f"{199:032x}" and 10 < len(run.keys) < 60
    assert sum(path.stat().st_size for path in disk.folder.glob("misses*")) < 5000


MODEL = """
import sys, torch, ingot
size = int(sys.argv[1])
f = torch.compile(lambda x: (x * size).sin().sum(-1), backend="ingot")
f(torch.randn(3, 40))
"""


@pytest.mark.slow
def test_why_a_program_was_compiled_again(disk: DiskCache, tmp_path: Path) -> None:
    """Another constant is another line of MLIR; another instruction set is named first."""
    script = tmp_path / "model.py"
    script.write_text(MODEL)

    def started(size: str, **environment: str) -> list[Any]:
        command = [sys.executable, str(script), size]
        subprocess.run(command, check=True, env={**os.environ, **environment}, timeout=300)
        return json.loads(ingot("why", "model.py", "--json").output)["misses"]

    assert len(started("2")) > 1
    (miss,) = started("3")
    assert miss["difference"]["part"] == "text" and "constant" in miss["difference"]["here"]
    assert all(
        miss["difference"]["part"] == "instruction set"
        for miss in started("3", INGOT_MACHINE="x86-64-v2")
    )


# -- programs --------------------------------------------------------------------------------------

GRAPH = "\n".join(f"node{k} aten.sin.default(%x)" for k in range(10))
PROGRAM = ProgramKey(
    "1", "0.1.0", "2.13", "torch-mlir 1", "x86-64-v3", "torch.float32", "strict=False", "static []",
    "s0 2..64", "", GRAPH,
)  # fmt: skip


def put_program(disk: DiskCache, key: ProgramKey = PROGRAM, **parts: str) -> str:
    key = replace(key, **parts)
    disk.keep(key.key(), program_entry(key, b"a program"))
    return key.key()


@pytest.mark.parametrize(
    ("part", "there", "line"),
    [
        ("ingot", "0.0.9", 0), ("torch", "2.12", 0), ("machine", "x86-64-v4", 0),
        ("options", "strict=True", 0), ("signature", "static [1]", 0), ("symbols", "s0 2..65", 0),
        ("constants", "held 12ab", 0), ("environment", '[["threads", "2"]]', 0),
        ("graph", GRAPH.replace("node7 aten.sin", "node7 aten.cos"), 8),
    ],
)  # fmt: skip
def test_why_a_program_was_compiled(disk: DiskCache, part: str, there: str, line: int) -> None:
    near = put_program(disk, **{part: there})
    put_program(disk, graph="other\nnodes", options="strict=True")
    key = put_program(disk)
    disk.missed(key)
    disk.missed(put(disk, HERE, BODY))
    found = json.loads(ingot("why", "--json").output)
    (miss,) = found["programs"]
    assert [miss["key"] for miss in found["misses"]] == [put(disk, HERE, BODY)]
    assert (miss["key"], miss["nearest"]) == (key, near)
    difference = miss["difference"]
    assert (difference["part"], difference["line"]) == (part, line)
    assert difference["here"] != difference["there"]
    assert difference["there"] in there.splitlines()
    text = ingot("why").output
    assert (
        "1 programs and 1 modules" in text and f"{part}" in text and "a graph of 10 nodes" in text
    )
    assert f"  {part}" in text and "programs 3" in ingot("stats").output


def test_why_a_program_is_not_kept(disk: DiskCache) -> None:
    disk.missed("", "a Generator among the arguments")
    text = ingot("why").output
    assert "1 programs and 0 modules" in text
    assert "a program that is not kept: a Generator among the arguments" in text
    assert json.loads(ingot("why", "--json").output)["not_kept"] == [
        "a Generator among the arguments"
    ]


def test_programs_without_a_neighbour(disk: DiskCache) -> None:
    disk.missed(put_program(disk))
    assert "there was no other program" in ingot("why").output
    disk.clear()
    put_program(disk, graph="other\nnodes")
    disk.missed(put_program(disk))
    assert "no program has half of the nodes" in ingot("why").output


@pytest.mark.parametrize("way", ["key", "cut", "header", "questions"])
def test_programs_that_do_not_fit_their_key_are_refused(
    disk: DiskCache, tmp_path: Path, way: str
) -> None:
    key = put_program(disk)
    entry = disk.find(key)
    assert entry is not None
    disk.clear()
    bad = {
        "key": ("f" * 32, entry), "cut": (key, entry[:-3]), "header": (key, entry[:20]),
        "questions": (key, b"ingotqu1{}"),
    }  # fmt: skip
    ingot("import", exported(tmp_path / "bad.zip", **dict([bad[way]])), code=1)
    assert disk.stats().entries == 0
    good = exported(tmp_path / "good.zip", **{key: entry, "a" * 32: questions_entry(["threads"])})
    assert "imported 2 entries" in ingot("import", good).output
