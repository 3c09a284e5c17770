"""Writes `ar` archives in the GNU format, with the index of symbols that linkers search."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

_MAGIC = b"!<arch>\n"
_HEAD = 60
_LONGEST_NAME = 15


def write_archive(members: Mapping[str, tuple[bytes, Sequence[str]]]) -> bytes:
    """`members`: by name, with the symbols that each defines."""
    symbols = [(name, symbol) for name, (_, known) in members.items() for symbol in known]
    texts = b"".join(symbol.encode() + b"\0" for _, symbol in symbols)
    index = 4 + 4 * len(symbols) + len(texts)
    at, places = len(_MAGIC) + _HEAD + index + index % 2, {}
    for name, (data, _) in members.items():
        places[name] = at
        at += _HEAD + len(data) + len(data) % 2
    numbers = [len(symbols), *(places[name] for name, _ in symbols)]
    written = _MAGIC + _member("/", struct.pack(f">{len(numbers)}I", *numbers) + texts)
    return written + b"".join(_member(f"{name}/", data) for name, (data, _) in members.items())


def _member(name: str, data: bytes) -> bytes:
    """Times, users and groups are 0, so that equal programs give equal files."""
    assert len(name) <= _LONGEST_NAME + 1
    head = f"{name:<16}{0:<12}{0:<6}{0:<6}{644:<8}{len(data):<10}`\n".encode()
    return head + data + b"\n" * (len(data) % 2)
