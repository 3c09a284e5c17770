"""Machine code by content. A key is a digest of MLIR text and of all else that its code depends on:
the lowering, the compiler's version and the instruction set. An entry is a module (its text and a
relocatable object, and the other parts of its key) or, under the key of a kernel's text, the key of
the module that contains the kernel. Entries come from files that were loaded and from the cache on
disk, which is given every new entry.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import re
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache

from ingot.cache.disk import disk_cache
from ingot.cache.programs import is_program
from ingot.errors import CompileError
from ingot.forks import fork_safe_lock

KEY = re.compile(r"[0-9a-f]{32}", re.ASCII)
MOST_SOURCE = 1 << 26
"""Bytes of a module's text."""

_FORMAT = 3
_COMPILER = "torch-mlir"
_PINNED = "20261001"
"""The release whose code artifacts hold; it need not be installed where they are loaded."""
_MAGIC = b"ingotmo2"
_HEAD = struct.Struct("<8sQQ")
_MOST_ORIGIN = 1 << 12
_provided: dict[str, bytes] = {}
_has_programs = False
"""Are there programs among them?"""
_on_use: list[Callable[[str, bytes], None]] = []
_lock = fork_safe_lock()


class EntryError(CompileError):
    """A damaged entry."""


@dataclass(frozen=True)
class Origin:
    """The parts of a module's key beside its text, in the order in which they are compared."""

    format: str
    """Of entries, and of the code in them."""
    compiler: str
    isa: str
    lowering: str

    def key(self, *texts: str) -> str:
        digest = hashlib.sha256(f"{self.format} {self.compiler} {self.isa}".encode())
        for text in (self.lowering, *texts):
            digest.update(b"\0")
            digest.update(text.encode())
        return digest.hexdigest()[:32]

    def encoded(self) -> bytes:
        return json.dumps([self.format, self.compiler, self.isa, self.lowering]).encode()


def read_origin(data: bytes) -> Origin:
    try:
        parts = json.loads(data)
    except (ValueError, RecursionError):
        parts = None
    if not isinstance(parts, list) or len(parts) != 4 or not all(map(_is_plain, parts)):
        raise EntryError("a damaged origin")
    return Origin(*parts)


def _is_plain(part: object) -> bool:
    return isinstance(part, str) and part.isascii() and part.isprintable()


@dataclass(frozen=True)
class Module:
    source: bytes
    """Its text, compressed to a tenth."""
    object: bytes
    origin: bytes = b""
    """An Origin, to tell entries apart; no code depends on it."""

    def entry(self) -> bytes:
        head = _HEAD.pack(_MAGIC, len(self.origin), len(self.source))
        return head + self.origin + self.source + self.object


def read_module(entry: bytes) -> Module:
    if len(entry) < _HEAD.size:
        raise EntryError("an entry without a header")
    magic, origin, source = _HEAD.unpack_from(entry)
    start = _HEAD.size + origin
    end = start + source
    if magic != _MAGIC or origin > _MOST_ORIGIN or end > len(entry):
        raise EntryError("an entry of another form, or cut off")
    return Module(entry[start:end], entry[end:], entry[_HEAD.size : start])


def is_module(entry: bytes) -> bool:
    """Is it a module, or the key of one?"""
    return entry.startswith(_MAGIC)


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


def origin_here(isa: str, lowering: str) -> Origin:
    return Origin(str(_FORMAT), compiler(), isa, lowering)


def code_key(isa: str, lowering: str, text: str) -> str:
    return origin_here(isa, lowering).key(text)


def text_digest(text: str | bytes) -> str:
    """Names a text within a program."""
    data = text.encode() if isinstance(text, str) else text
    return hashlib.sha256(data).hexdigest()[:16]


def provide(entries: Mapping[str, bytes]) -> None:
    """Make the entries of a loaded file known to this process."""
    global _has_programs
    with _lock:
        _provided.update(entries)
        _has_programs = _has_programs or any(map(is_program, entries.values()))


def stored(keys: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """The known entries of these keys, in their order."""
    disk = disk_cache()
    for key in keys:
        found = _provided.get(key)
        if found is None and disk is not None:
            found = disk.find(key)
        if found is not None:
            _used(key, found)
            yield key, found


def entry(key: str) -> bytes | None:
    """The known entry of this key."""
    return next((found for _, found in stored([key])), None)


def takes_programs() -> bool:
    """May compiled programs be found, or kept?"""
    return _has_programs or disk_cache() is not None


def discard(key: str) -> None:
    """Remove an entry that turned out to be of no use."""
    with _lock:
        _provided.pop(key, None)
    disk = disk_cache()
    if disk is not None:
        disk.remove(key)


def on_use(function: Callable[[str, bytes], None]) -> None:
    """Call the function with every entry that is found or made from now on."""
    _on_use.append(function)


def _used(key: str, entry: bytes) -> None:
    for function in _on_use:
        function(key, entry)


def keep(key: str, entry: bytes) -> None:
    _used(key, entry)
    disk = disk_cache()
    if disk is not None:
        disk.keep(key, entry)


def missed(key: str) -> None:
    """Record that a module or a program was compiled because there was no entry for it."""
    disk = disk_cache()
    if disk is not None:
        disk.missed(key)


def not_kept(why: str) -> None:
    """Record that a program was compiled which cannot be kept."""
    disk = disk_cache()
    if disk is not None:
        disk.missed("", why)


def building(key: str) -> AbstractContextManager[None]:
    """Held while an entry is built, so that other processes wait for it."""
    disk = disk_cache()
    return nullcontext() if disk is None else disk.building(key)
