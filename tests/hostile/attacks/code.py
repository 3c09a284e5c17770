"""Code in place of data."""

from __future__ import annotations

from ..files import File
from .registry import attack, edited


@attack(r"graph\.json: \$\.graph\.nodes\[0\]\.val\.shape\[0\]: not a size expression", "dynamic")
@edited
def code_as_a_size(file: File, text: str) -> None:
    file.graph["graph"]["nodes"][0]["val"]["shape"][0] = text


@attack(r"graph\.json: .*\.strides\[0\]: not a size expression", "dynamic")
@edited
def code_as_a_stride(file: File, text: str) -> None:
    file.graph["graph"]["nodes"][0]["val"]["strides"][0] = text


@attack(r"graph\.json: .*\.int: not a size expression", "dynamic")
@edited
def code_as_a_symbolic_number(file: File, text: str) -> None:
    node = next(n for n in file.graph["graph"]["nodes"] if isinstance(n["val"].get("int"), str))
    node["val"]["int"] = text


@attack(r"program\.json: \$\.guards\[0\]: not a size expression", "dynamic")
@edited
def code_as_a_guard(file: File, text: str) -> None:
    file.program["guards"] = [text]


@attack(r"program\.json: \$\.symbols\[0\]\.name: .* is not an identifier", "dynamic")
@edited
def code_as_a_symbol(file: File, text: str) -> None:
    file.program["symbols"][0]["name"] = text


@attack(r"program\.json: \$\.symbols\[0\]\.range\[0\]: expected an integer", "dynamic")
@edited
def code_as_a_bound(file: File, text: str) -> None:
    file.program["symbols"][0]["range"][0] = text


@attack(r"program\.json: \$\.symbols\[0\]\.example: expected an integer", "dynamic")
@edited
def code_as_an_example(file: File, text: str) -> None:
    file.program["symbols"][0]["example"] = text


@attack(r"graph\.json: \$\.graph\.nodes\[\d+\]\.target: .* names no operator")
@edited
def code_as_an_operator(file: File, text: str) -> None:
    file.call()["target"] = text


@attack(r"nodes\[\d+\]\.name: .* is not an identifier")
@edited
def code_as_a_node_name(file: File, text: str) -> None:
    file.call()["name"] = text


@attack(r"nodes\[0\]\.name: .* is not an identifier")
@edited
def code_as_an_input_name(file: File, text: str) -> None:
    file.graph["graph"]["nodes"][0]["name"] = text
    file.program["inputs"][0]["name"] = text


@attack(r"nodes\[\d+\].*: .* is not an identifier")
@edited
def code_as_a_keyword(file: File, text: str) -> None:
    file.call()["kwargs"] = {text: 1}


@attack(r"program\.json: \$\.calling\.out.*\.class: .* is not the name of a class", "structured")
@edited
def code_as_a_class(file: File, text: str) -> None:
    file.program["calling"]["out"]["class"] = text


@attack(r"calling\.out\.class: \d+ children, and fields a, b, c, d, e", "structured")
def a_function_as_a_class(file: File) -> None:
    """The name of a class that is not registered is data; its fields have to fit."""
    file.program["calling"]["out"] |= {"class": "os.system", "context": ["a", "b", "c", "d", "e"]}


@attack(r"calling\.out\.factory: unknown factory", "structured")
@edited
def code_as_a_factory(file: File, text: str) -> None:
    spec = {"kind": "defaultdict", "keys": [1], "factory": text, "children": ["*"]}
    file.program["calling"]["out"] = spec


@attack(r"bodies\[.*: .* is not an identifier", "control")
@edited
def code_as_the_name_of_a_body(file: File, text: str) -> None:
    bodies = file.graph["graph"]["bodies"]
    name = next(iter(bodies))
    bodies[text.replace(".", "")] = bodies.pop(name)


@attack(r"traces\[0\]\[0\]\[0\]: a file name with a quotation mark")
def a_file_name_that_ends_its_quotation(file: File) -> None:
    file.graph["traces"][0][0][0] = 'x", line 1\n"""; import os #'.replace("\n", " ")


@attack(r"traces\[0\]\[0\]\[2\]: expected a single line")
def code_of_more_than_one_line(file: File) -> None:
    file.graph["traces"][0][0][2] = "x\nimport os"


@attack(r"val\.tensor: unknown dtype")
@edited
def code_as_a_dtype(file: File, text: str) -> None:
    file.graph["graph"]["nodes"][0]["val"]["tensor"] = text
