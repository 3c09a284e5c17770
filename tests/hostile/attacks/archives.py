"""Attacks on the zip archive."""

from __future__ import annotations

import json
import os
import struct
import zipfile
from pathlib import Path

from ..files import GRAPH, PROGRAM, TENSORS, File, write_members
from .registry import attack, canary_of


def _members(file: File) -> dict[str, bytes]:
    graph, program = json.dumps(file.graph).encode(), json.dumps(file.program).encode()
    return {GRAPH: graph, PROGRAM: program, TENSORS: file.tensors}


@attack(r"graph\.json: the member is compressed")
def a_bomb(file: File) -> None:
    file.compression = zipfile.ZIP_DEFLATED
    file.graph = b" " * (200 << 20) + b"{}"


@attack(r"the members are .*'more'")
def one_member_more(file: File) -> None:
    file.extra["more"] = b""


@attack(r"the archive has 60000 members")
def many_members(file: File, target: Path) -> None:
    write_members(target, {**_members(file), **{f"{i}": b"" for i in range(59_997)}})


@attack(r"the members are")
def a_path_as_a_member(file: File, target: Path) -> None:
    members = _members(file)
    members["../../graph.json"] = members.pop(GRAPH)
    write_members(target, members)


@attack(r"the members are")
def a_member_twice(file: File, target: Path) -> None:
    with zipfile.ZipFile(target, "w") as archive:
        for name in (GRAPH, PROGRAM, PROGRAM):
            archive.writestr(zipfile.ZipInfo(name), _members(file)[name])


@attack(r"graph\.json: the member is not a regular file")
def a_symbolic_link(file: File, target: Path) -> None:
    with zipfile.ZipFile(target, "w") as archive:
        for name, data in _members(file).items():
            info = zipfile.ZipInfo(name)
            info.create_system, info.external_attr = 3, 0o120777 << 16
            archive.writestr(info, data)


@attack(r"trailing data")
def trailing_data(file: File, target: Path) -> None:
    file.write(target)
    with target.open("ab") as out:
        out.write(b"more")


@attack(r"does not begin where it should|not a zip archive")
def data_before_the_archive(file: File, target: Path) -> None:
    file.write(target)
    target.write_bytes(b"#!/bin/sh\n" + target.read_bytes())


@attack(r"not a zip archive")
def half_a_file(file: File, target: Path) -> None:
    file.write(target)
    target.write_bytes(target.read_bytes()[:3000])


@attack(r"not a zip archive")
def an_empty_file(file: File, target: Path) -> None:
    target.write_bytes(b"")


@attack(r"not a zip archive")
def a_pickle(file: File, target: Path) -> None:
    target.write_bytes(b"cos\nsystem\n(S'touch " + str(canary_of(target)).encode() + b"'\ntR.")


@attack(r"not a zip archive|damaged")
def a_wrong_checksum(file: File, target: Path) -> None:
    file.write(target)
    data = bytearray(target.read_bytes())
    data[200] ^= 0xFF
    target.write_bytes(bytes(data))


def _patched(file: File, target: Path, offset: int, form: str, value: int) -> None:
    """Write the file with one changed field in the first entry of the central directory."""
    file.write(target)
    data = bytearray(target.read_bytes())
    struct.pack_into(form, data, data.index(b"PK\x01\x02") + offset, value)
    target.write_bytes(bytes(data))


@attack(r"graph\.json: the member claims")
def a_member_larger_than_the_file(file: File, target: Path) -> None:
    _patched(file, target, 24, "<L", 0xFFFF_FFF0)


@attack(r"graph\.json: the member is encrypted")
def an_encrypted_member(file: File, target: Path) -> None:
    _patched(file, target, 8, "<H", 1)


@attack(r"does not begin where it should|not a zip archive")
def members_that_overlap(file: File, target: Path) -> None:
    _patched(file, target, 42, "<L", 5)


@attack(r"the directory of the archive has")
def a_directory_as_large_as_the_file(file: File, target: Path) -> None:
    file.write(target)
    data = bytearray(target.read_bytes())
    struct.pack_into("<L", data, len(data) - 10, len(data) - 22)
    target.write_bytes(bytes(data))


@attack(r"not a regular file")
def a_pipe(file: File, target: Path) -> None:
    os.mkfifo(target)


@attack(r"No such file|not a regular file", "static")
def a_link_to_a_device(file: File, target: Path) -> None:
    target.symlink_to("/dev/zero")
