"""JSON that ingot never writes."""

from __future__ import annotations

import json

from ..files import File
from .registry import attack


@attack(r"graph\.json: nested too deeply")
def deep_json(file: File) -> None:
    file.graph = b"[" * 100_000 + b"]" * 100_000


@attack(r"graph\.json: nested too deeply")
def deep_objects(file: File) -> None:
    file.graph = b'{"a":' * 900 + b"1" + b"}" * 900


@attack(r"graph\.json: not valid JSON: NaN")
def nan_in_json(file: File) -> None:
    file.graph = json.dumps(file.graph).encode()[:-1] + b', "x": NaN}'


@attack(r"graph\.json: not valid JSON: .*out of range")
def infinity_in_json(file: File) -> None:
    file.graph = json.dumps(file.graph).encode()[:-1] + b', "x": 1e999}'


@attack(r"graph\.json: not valid JSON: a number of 5000 digits")
def a_number_of_many_digits(file: File) -> None:
    file.graph = b'{"graph": ' + b"9" * 5000 + b"}"


@attack(r"program\.json: not valid JSON: the key 'format' occurs twice")
def a_key_twice(file: File) -> None:
    file.program = b'{"format": 4, ' + json.dumps(file.program).encode()[1:]


@attack(r"program\.json: not valid JSON")
def no_utf8(file: File) -> None:
    file.program = b"\xff\xfe\x00"


@attack(r"program\.json: not valid JSON")
def nothing(file: File) -> None:
    file.program = b""


@attack(r"program\.json: \$: expected an object, found a list")
def a_list(file: File) -> None:
    file.program = b"[]"


@attack(r"half of a surrogate pair")
def half_a_surrogate(file: File) -> None:
    file.program["level"] = "\ud800"


@attack(r"graph\.json: too many values")
def millions_of_lists(file: File) -> None:
    file.graph = b"[" + b"[]," * 3_000_000 + b"[]]"


@attack(r"graph\.json: \d+ bytes, more than")
def a_large_document(file: File) -> None:
    file.graph = b'"' + b"x" * (80 << 20) + b'"'
