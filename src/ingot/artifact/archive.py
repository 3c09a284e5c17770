"""The container: a zip archive with exactly three uncompressed members, one after the other from
the first byte to the last. Without compression a member is never larger than the file. Every other
form of a zip archive is rejected before its directory is read.
"""

from __future__ import annotations

import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Mapping
from typing import IO

from ingot.errors import FileError

GRAPH, PROGRAM, TENSORS = "graph.json", "program.json", "tensors.safetensors"
MEMBERS = (GRAPH, PROGRAM, TENSORS)

_END = struct.Struct("<4s4H2LH")
"""End of central directory: signature, disk, disk of directory, entries here, entries, size and
offset of the directory, length of the comment."""
_END64 = struct.Struct("<4sQ2H2L4Q")
"""The same for files beyond 4 GB: the last two are the size and the offset of the directory."""
_LOCATOR64 = 20
_MOST_DIRECTORY = 4096


def write_archive(path: str | os.PathLike[str], members: Mapping[str, bytes]) -> None:
    """Write a file beside `path` and rename it, so that `path` is complete or absent."""
    target = os.fspath(path)
    partial = f"{target}.{os.getpid()}.partial"
    try:
        with zipfile.ZipFile(partial, "w", zipfile.ZIP_STORED) as archive:
            for name in MEMBERS:
                archive.writestr(zipfile.ZipInfo(name), members[name])
        os.replace(partial, target)
    finally:
        if os.path.exists(partial):
            os.unlink(partial)


def read_archive(path: str | os.PathLike[str]) -> dict[str, bytes]:
    """The bytes of each member. A missing file, a directory and a file without read permission
    raise the errors of `open`; any other defect raises a FileError."""
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


def _members(file: IO[bytes], name: str) -> dict[str, bytes]:
    size = file.seek(0, os.SEEK_END)
    _check_end(file, size, name)
    with zipfile.ZipFile(file) as archive:
        infos = archive.infolist()
        names = [info.filename for info in infos]
        if sorted(names) != sorted(MEMBERS):
            raise FileError(f"{name}: the members are {names}, not {list(MEMBERS)}")
        for info in infos:
            _check_member(info, size, name)
        _check_apart(infos, archive.start_dir, name)
        return {info.filename: archive.read(info) for info in infos}


def _check_end(file: IO[bytes], size: int, name: str) -> None:
    """The archive ends where the file ends, and its directory is as small as three members need."""
    file.seek(max(0, size - _END.size))
    data = file.read(_END.size)
    if len(data) < _END.size or data[:4] != b"PK\x05\x06":
        raise FileError(f"{name}: not a zip archive, or one with trailing data or cut off")
    _, disk, first, here, entries, length, _, comment = _END.unpack(data)
    if (disk, first, comment) != (0, 0, 0) or here != entries or entries != len(MEMBERS):
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
