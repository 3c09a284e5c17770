"""Machine code by content. A key is a digest of MLIR text and of all else that its code depends on:
the lowering, the compiler's version and the instruction set. An entry is a module (its text and a
relocatable object) or, under the key of a kernel's text, the key of the module that contains the
kernel. Entries come from files that were loaded and from the cache on disk, which is given every
new entry.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import re
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache

from ingot.cache.disk import disk_cache
from ingot.errors import CompileError
from ingot.forks import fork_safe_lock

KEY = re.compile(r"[0-9a-f]{32}", re.ASCII)
MOST_SOURCE = 1 << 26
"""Bytes of a module's text."""

_FORMAT = 2
_COMPILER = "torch-mlir"
_PINNED = "20261001"
"""The release whose code artifacts hold; it need not be installed where they are loaded."""
_MAGIC = b"ingotmod"
_HEAD = struct.Struct("<8sQ")
_provided: dict[str, bytes] = {}
_lock = fork_safe_lock()


class EntryError(CompileError):
    """A damaged entry."""


@dataclass(frozen=True)
class Module:
    source: bytes
    """Its text, compressed to a tenth."""
    object: bytes

    def entry(self) -> bytes:
        return _HEAD.pack(_MAGIC, len(self.source)) + self.source + self.object


def read_module(entry: bytes) -> Module:
    if len(entry) < _HEAD.size:
        raise EntryError("an entry without a header")
    magic, length = _HEAD.unpack_from(entry)
    end = _HEAD.size + length
    if magic != _MAGIC or end > len(entry):
        raise EntryError("an entry of another form, or cut off")
    return Module(entry[_HEAD.size : end], entry[end:])


def read_reference(entry: bytes) -> str:
    """The key of the module that a kernel is in."""
    text = entry.decode("ascii", "replace")
    if not KEY.fullmatch(text):
        raise EntryError("not the key of a module")
    return text


def packed_source(text: str) -> bytes:
    return zlib.compress(text.encode(), 1)


def unpacked_source(data: bytes) -> str:
    try:
        inflate = zlib.decompressobj()
        text = inflate.decompress(data, MOST_SOURCE)
        if not inflate.eof:
            raise EntryError("a text too long, or cut off")
        return text.decode()
    except (zlib.error, UnicodeDecodeError) as error:
        raise EntryError(f"a damaged text: {error}") from None


@cache
def compiler() -> str:
    """The compiler whose code this process makes and accepts."""
    try:
        version = importlib.metadata.version(_COMPILER)
    except importlib.metadata.PackageNotFoundError:
        version = _PINNED
    return f"{_COMPILER} {version}"


def code_key(isa: str, *texts: str) -> str:
    digest = hashlib.sha256(f"{_FORMAT} {compiler()} {isa}".encode())
    for text in texts:
        digest.update(b"\0")
        digest.update(text.encode())
    return digest.hexdigest()[:32]


def text_digest(text: str | bytes) -> str:
    """Names a text within a program."""
    data = text.encode() if isinstance(text, str) else text
    return hashlib.sha256(data).hexdigest()[:16]


def provide(entries: Mapping[str, bytes]) -> None:
    """Make the entries of a loaded file known to this process."""
    with _lock:
        _provided.update(entries)


def stored(keys: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """The known entries of these keys, in their order."""
    disk = disk_cache()
    for key in keys:
        found = _provided.get(key)
        if found is None and disk is not None:
            found = disk.find(key)
        if found is not None:
            yield key, found


def keep(key: str, entry: bytes) -> None:
    disk = disk_cache()
    if disk is not None:
        disk.keep(key, entry)


def building(key: str) -> AbstractContextManager[None]:
    """Held while an entry is built, so that other processes wait for it."""
    disk = disk_cache()
    return nullcontext() if disk is None else disk.building(key)
