"""Entries in files: whole or absent, whatever other processes do; limited in size; never an error
where the folder cannot be used."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from ingot.cache import disk, settings, transfer
from ingot.cache.disk import DiskCache, disk_cache
from ingot.errors import CacheError, FileError, OptionError


def any_entry(key: str, entry: bytes) -> None:
    """Accepts every content; what the entries of modules must be is tested with them."""


KEYS = [f"{k:032x}" for k in range(1, 40)]


@pytest.fixture
def cache(tmp_path: Path) -> DiskCache:
    return DiskCache(tmp_path / "code", 1 << 20)


@pytest.fixture
def ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DiskCache:
    """The cache of this process, in a folder of the test's."""
    monkeypatch.setenv(settings.FOLDER, str(tmp_path / "ours"))
    monkeypatch.setenv(settings.SIZE, "4")
    disk_cache.cache_clear()
    yield disk_cache()
    disk_cache.cache_clear()


def test_entries_are_kept(cache: DiskCache) -> None:
    assert cache.find(KEYS[0]) is None
    cache.keep(KEYS[0], b"code")
    cache.keep(KEYS[1], b"")
    assert (cache.find(KEYS[0]), cache.find(KEYS[1])) == (b"code", b"")
    found = cache.stats()
    assert (found.entries, found.hits, found.misses, found.written) == (2, 2, 1, 2)
    again = DiskCache(cache.folder, 1 << 20)
    assert again.find(KEYS[0]) == b"code"
    assert oct(cache.folder.stat().st_mode & 0o777) == "0o700" or os.umask(0o77) is not None


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "other", "folder", "link"])
def test_damaged_entries_are_absent(cache: DiskCache, damage: str, tmp_path: Path) -> None:
    cache.keep(KEYS[0], b"code" * 100)
    path = cache.path(KEYS[0])
    data = path.read_bytes()
    if damage == "cut":
        path.write_bytes(data[:-1])
    elif damage == "flipped":
        path.write_bytes(data[:60] + bytes([data[60] ^ 1]) + data[61:])
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "other":
        path.write_bytes(b"ELF")
    elif damage == "folder":
        path.unlink()
        path.mkdir()
    else:
        path.unlink()
        os.mkfifo(tmp_path / "pipe")
        path.symlink_to(tmp_path / "absent")
    assert cache.find(KEYS[0]) is None
    if damage != "folder":
        cache.keep(KEYS[0], b"anew")
        assert cache.find(KEYS[0]) == b"anew"


def test_the_longest_unused_go_first(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, 10_000)
    now = time.time()
    for k, key in enumerate(KEYS[:8]):
        cache.keep(key, bytes(2000))
        os.utime(cache.path(key), (now - 1000 + k, now - 1000 + k))
    assert cache.find(KEYS[0]) is not None  # used now
    cache.trim()
    kept = {path.name for path, _ in cache.entries()}
    assert KEYS[0] in kept and KEYS[1] not in kept and KEYS[7] in kept
    assert cache.stats().bytes <= 10_000


def test_what_ended_processes_left_is_removed(cache: DiskCache) -> None:
    cache.keep(KEYS[0], b"code")
    folder = cache.path(KEYS[0]).parent
    old, new = folder / "a.partial", folder / "b.partial"
    for path in (old, new):
        path.touch()
    os.utime(old, (0, 0))
    cache.trim()
    assert not old.exists() and new.exists() and cache.find(KEYS[0]) == b"code"


def test_a_folder_that_cannot_be_written(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").touch()
    cache = DiskCache(tmp_path / "file" / "code", 1 << 20)
    with caplog.at_level("INFO", "ingot.cache"):
        for key in KEYS[:5]:
            cache.keep(key, b"code")
            with cache.building(key):
                assert cache.find(key) is None
    assert len(caplog.records) == 1
    assert cache.stats().entries == 0


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o722])
def test_folders_of_others_are_not_used(
    mode: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(mode)
    for folder in (shared, tmp_path / "file" / "x"):
        (tmp_path / "file").touch()
        monkeypatch.setenv(settings.FOLDER, str(folder))
        monkeypatch.setenv(settings.SIZE, "4")
        disk_cache.cache_clear()
        assert disk_cache() is None
    disk_cache.cache_clear()


def test_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(settings.SIZE, "3")
    assert settings.cache_bytes() == 3 << 20
    for bad in ("-1", "much", "1e3"):
        monkeypatch.setenv(settings.SIZE, bad)
        with pytest.raises(OptionError, match=settings.SIZE):
            settings.cache_bytes()
    monkeypatch.delenv(settings.FOLDER, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert settings.cache_folder() == tmp_path / "ingot" / "code"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert settings.cache_folder() is None


def test_export_and_import(ours: DiskCache, tmp_path: Path) -> None:
    for key in KEYS[:5]:
        ours.keep(key, key.encode() * 10)
    assert transfer.export(tmp_path / "all.zip") == 5
    assert transfer.clear().entries == 5 and transfer.stats().entries == 0
    assert transfer.import_(tmp_path / "all.zip", any_entry) == 5
    assert ours.find(KEYS[3]) == KEYS[3].encode() * 10


@pytest.mark.parametrize("name", ["../../evil", "/evil", "0" * 31, "G" * 32, f"{KEYS[0]}/x"])
def test_hostile_exports_are_refused(ours: DiskCache, tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as archive:
        archive.writestr(KEYS[0], b"fine")
        archive.writestr(name, b"x")
    with pytest.raises(FileError, match="not an entry"):
        transfer.import_(tmp_path / "bad.zip", any_entry)
    assert ours.stats().entries == 0


def test_files_that_are_no_exports(ours: DiskCache, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello")
    with pytest.raises(FileError):
        transfer.import_(tmp_path / "text", any_entry)
    with pytest.raises(FileNotFoundError):
        transfer.import_(tmp_path / "absent", any_entry)
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(KEYS[0], bytes(8 << 20))
    with pytest.raises(FileError, match="more than fit"):
        transfer.import_(tmp_path / "bomb.zip", any_entry)


def test_without_a_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(settings.SIZE, "0")
    disk_cache.cache_clear()
    assert transfer.stats().entries == 0 and transfer.clear().entries == 0
    with pytest.raises(CacheError, match="INGOT_CACHE_MB=0"):
        transfer.export(tmp_path / "x")
    disk_cache.cache_clear()


WORKER = """
import random, sys, time
from pathlib import Path
from ingot.cache.disk import DiskCache

cache = DiskCache(Path(sys.argv[1]), 1 << 14)
chance = random.Random(int(sys.argv[2]))
built = 0
for _ in range(400):
    key = f"{chance.randrange(40):032x}"
    expected = key.encode() * 50
    with cache.building(key):
        found = cache.find(key)
        if found is None:
            built += 1
            cache.keep(key, expected)
    assert found in (None, expected), found
    if chance.random() < 0.05:
        cache.trim()
print(built)
"""


def test_eight_processes(tmp_path: Path) -> None:
    """No error and no torn entry while entries are written, read and removed."""
    command = [sys.executable, "-c", WORKER, str(tmp_path / "code")]
    running = [
        subprocess.Popen([*command, str(k)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for k in range(8)
    ]
    for process in running:
        out, error = process.communicate(timeout=300)
        assert process.returncode == 0, error.decode()
        assert int(out) > 0
    leftover = [p for p in (tmp_path / "code").rglob("*") if p.suffix in (".partial", ".lock")]
    assert not leftover


BUILDER = """
import sys, time
from pathlib import Path
from ingot.cache.disk import DiskCache

cache, key = DiskCache(Path(sys.argv[1]), 1 << 20), "a" * 32
with cache.building(key):
    if cache.find(key) is None:
        time.sleep(0.5)
        cache.keep(key, b"code")
        print("built")
"""


def test_one_process_builds_and_the_others_wait(tmp_path: Path) -> None:
    command = [sys.executable, "-c", BUILDER, str(tmp_path / "code")]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(5)]
    texts = [process.communicate(timeout=120)[0] for process in running]
    assert sorted(texts) == [b"", b"", b"", b"", b"built\n"]


def test_a_dead_builder_holds_nobody_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lock goes with its process; its file does not."""
    cache = DiskCache(tmp_path, 1 << 20)
    lock = cache.path(KEYS[0]).with_suffix(".lock")
    lock.parent.mkdir(parents=True)
    lock.touch()
    start = time.monotonic()
    with cache.building(KEYS[0]):
        pass
    assert time.monotonic() - start < 5
    monkeypatch.setattr(disk, "PATIENCE", 0.2)
    with cache.building(KEYS[1]), cache.building(KEYS[1]):  # waits, then goes on
        pass
