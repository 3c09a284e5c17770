"""The container: a zip archive with known, uncompressed members, one after the other from the first
byte to the last. Without compression a member is never larger than the file, and it can be mapped
to memory where it lies. Every other form of a zip archive is rejected before its directory is read.

A program has three members; what was compiled from it has a manifest besides, and for each
instruction set a plan and its code.
"""

from __future__ import annotations

import mmap
import os
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Collection, Mapping
from typing import IO

from ingot.errors import FileError

GRAPH, PROGRAM, TENSORS = "graph.json", "program.json", "tensors.safetensors"
MEMBERS = (GRAPH, PROGRAM, TENSORS)
MANIFEST = "manifest.json"
PLAN, CODE, MODULES = "plan.txt", "code.json", "modules.bin"
_CODE_MEMBER = re.compile(rf"code/[a-z0-9-]{{1,20}}/({PLAN}|{CODE}|{MODULES})", re.ASCII)
MOST_MEMBERS = 32
ALIGNMENT = 64
"""Of the data of each member in the file."""
_PADDING = 0xD935
"""The kind of an extra field that only aligns."""

_END = struct.Struct("<4s4H2LH")
"""End of central directory: signature, disk, disk of directory, entries here, entries, size and
offset of the directory, length of the comment."""
_END64 = struct.Struct("<4sQ2H2L4Q")
"""The same for files beyond 4 GB: the last two are the size and the offset of the directory."""
_LOCATOR64 = 20
_MOST_DIRECTORY = 4096
_LOCAL = struct.Struct("<4s5H3L2H")
"""Local header: …, lengths of the name and of the extra field."""


def write_archive(path: str | os.PathLike[str], members: Mapping[str, bytes]) -> None:
    def write(partial: str) -> None:
        with zipfile.ZipFile(partial, "w", zipfile.ZIP_STORED) as archive:
            for name, data in members.items():
                info = zipfile.ZipInfo(name)
                assert archive.fp is not None
                info.extra = _padding(archive.fp.tell(), name)
                archive.writestr(info, data)

    write_beside(path, write)


def write_beside(path: str | os.PathLike[str], write: Callable[[str], object]) -> None:
    """Write a file beside `path` and rename it, so that `path` is complete or absent."""
    target = os.fspath(path)
    partial = f"{target}.{os.getpid()}.partial"
    try:
        write(partial)
        os.replace(partial, target)
    finally:
        if os.path.exists(partial):
            os.unlink(partial)


def _padding(start: int, name: str) -> bytes:
    """An extra field that aligns the data of a member whose header begins at `start`."""
    data = start + _LOCAL.size + len(name) + 4
    room = -data % ALIGNMENT
    return struct.pack("<HH", _PADDING, room) + bytes(room)


def read_archive(path: str | os.PathLike[str]) -> dict[str, memoryview]:
    """The bytes of each member, in a private mapping of the file. A missing file, a directory and a
    file without read permission raise the errors of `open`; any other defect raises a FileError.
    The caller checks the bytes of TENSORS if there is a manifest; those of all others are checked
    here."""
    name = os.fspath(path)
    mode = os.stat(name).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # opening a pipe would block
        raise FileError(f"{name}: not a regular file")
    with open(name, "rb") as file:
        try:
            return _members(file, name)
        except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError,
                RuntimeError, ValueError, OverflowError, LookupError) as error:  # fmt: skip
            if isinstance(error, FileError):
                raise
            raise FileError(f"{name}: not a zip archive, or a damaged one: {error}") from None


def _members(file: IO[bytes], name: str) -> dict[str, memoryview]:
    size = file.seek(0, os.SEEK_END)
    _check_end(file, size, name)
    with zipfile.ZipFile(file) as archive:
        infos = archive.infolist()
        names = [info.filename for info in infos]
        _check_names(names, name)
        for info in infos:
            _check_member(info, size, name)
        _check_apart(infos, archive.start_dir, name)
    view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
    found = {info.filename: _data(view, info, name) for info in infos}
    for info in infos:
        checked_later = info.filename == TENSORS and MANIFEST in found
        if not checked_later and zlib.crc32(found[info.filename]) != info.CRC:
            raise FileError(f"{name}: {info.filename}: damaged: the checksum is wrong")
    return found


def _check_names(names: Collection[str], name: str) -> None:
    known = {*MEMBERS, MANIFEST} if MANIFEST in names else set(MEMBERS)
    odd = [n for n in names if n not in known and not (MANIFEST in names and _is_code(n))]
    missing = [n for n in MEMBERS if n not in names]
    if odd or missing or len(set(names)) < len(names):
        raise FileError(f"{name}: the members are {sorted(names)}, not {list(MEMBERS)}")


def _is_code(name: str) -> bool:
    return _CODE_MEMBER.fullmatch(name) is not None


def _data(view: memoryview, info: zipfile.ZipInfo, name: str) -> memoryview:
    head = _LOCAL.unpack_from(view, info.header_offset)
    start = info.header_offset + _LOCAL.size + head[-2] + head[-1]
    own = bytes(view[info.header_offset + _LOCAL.size :][: head[-2]])
    if head[0] != b"PK\x03\x04" or own != info.filename.encode():
        raise FileError(f"{name}: {info.filename}: the header of the member differs")
    if start + info.file_size > len(view):
        raise FileError(f"{name}: {info.filename}: the member is cut off")
    return view[start : start + info.file_size]


def _check_end(file: IO[bytes], size: int, name: str) -> None:
    """The archive ends where the file ends, and its directory is as small as its members need."""
    file.seek(max(0, size - _END.size))
    data = file.read(_END.size)
    if len(data) < _END.size or data[:4] != b"PK\x05\x06":
        raise FileError(f"{name}: not a zip archive, or one with trailing data or cut off")
    _, disk, first, here, entries, length, _, comment = _END.unpack(data)
    fits = len(MEMBERS) <= entries <= MOST_MEMBERS
    if (disk, first, comment) != (0, 0, 0) or here != entries or not fits:
        raise FileError(f"{name}: the archive has {entries} members, not {len(MEMBERS)}")
    length = max(length, _directory64(file, size))
    if length > _MOST_DIRECTORY:
        raise FileError(f"{name}: the directory of the archive has {length} bytes")


def _directory64(file: IO[bytes], size: int) -> int:
    """The size of the directory in a zip64 record, 0 without one."""
    start = size - _END.size - _LOCATOR64 - _END64.size
    if start < 0:
        return 0
    file.seek(start)
    data = file.read(_END64.size + _LOCATOR64)
    if data[_END64.size :][:4] != b"PK\x06\x07":
        return 0
    return int(_END64.unpack(data[: _END64.size])[8])


def _check_member(info: zipfile.ZipInfo, size: int, name: str) -> None:
    where = f"{name}: {info.filename}"
    if info.compress_type != zipfile.ZIP_STORED:
        raise FileError(f"{where}: the member is compressed")
    if info.flag_bits & 0x1:
        raise FileError(f"{where}: the member is encrypted")
    if info.file_size != info.compress_size or info.file_size > size:
        raise FileError(f"{where}: the member claims {info.file_size} bytes of a file of {size}")
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        raise FileError(f"{where}: the member is not a regular file")


def _check_apart(infos: list[zipfile.ZipInfo], end: int, name: str) -> None:
    """Members follow each other from the start of the file and do not overlap."""
    at = 0
    for info in sorted(infos, key=lambda info: info.header_offset):
        if info.header_offset < at or (at == 0 and info.header_offset != 0):
            raise FileError(f"{name}: {info.filename}: the member does not begin where it should")
        at = info.header_offset + 30 + len(info.filename) + info.file_size
    if at > end:
        raise FileError(f"{name}: the members reach into the directory of the archive")
