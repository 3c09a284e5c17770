"""Attacks on operators, the signature and size expressions, and values that do not match their
ops."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..files import File
from .registry import ATTACKS, Attack, attack


def _target(name: str) -> Callable[[File], None]:
    def change(file: File) -> None:
        file.call()["target"] = name

    return change


for _name in (
    "builtins.eval", "builtins.exec", "builtins.getattr", "operator.attrgetter",
    "operator.methodcaller", "torch.load", "os.system", "torch.ops.aten.add.Tensor",
    "math.__loader__", "_operator.add", "higher_order.call_torchbind", "#x:y", "aten.add", "",
):  # fmt: skip
    ATTACKS.append(
        Attack(
            f"operator {_name}",
            "static",
            r"nodes\[\d+\]\.target: .* names no operator",
            lambda source, target, name=_name: _changed(source, target, _target(name)),  # type: ignore[misc]
        )
    )


def _changed(source: Path, target: Path, change: Callable[[File], None]) -> None:
    file = File.read(source)
    change(file)
    file.write(target)


@attack(r"nodes\[\d+\]\.target: aten\.from_file\.default reaches outside")
def an_operator_that_opens_files(file: File) -> None:
    file.call().update(target="aten.from_file.default", args=["some_file", True, 8])


@attack(r"nodes\[\d+\]\.target: no operator no\.such\.op is registered")
def an_unknown_operator(file: File) -> None:
    file.call()["target"] = "no.such.op"


@attack(r"graph\.json: .*writes to its arguments")
def an_operator_that_writes(file: File) -> None:
    call = file.call("aten.relu")
    call["target"] = "aten.relu_.default"


@attack(r"nodes\[\d+\]: aten\.\S+ takes \d+ arguments, not 50")
def too_many_arguments(file: File) -> None:
    call = file.call("aten")
    call["args"] = call["args"][:1] * 50


@attack(r"nodes\[\d+\]: aten\.\S+ needs ")
def too_few_arguments(file: File) -> None:
    file.call("aten")["args"] = []


@attack(r"nodes\[\d+\]: aten\.\S+ takes a ")
def an_argument_of_another_type(file: File) -> None:
    file.call("aten")["args"][0] = "text"


@attack(r"nodes\[\d+\]: aten\.\S+ has no argument 'bogus'")
def an_unknown_keyword(file: File) -> None:
    file.call("aten")["kwargs"] = {"bogus": 1}


@attack(r"args\[0\]\.node: no node nothing comes before")
def a_node_that_is_not_there(file: File) -> None:
    file.call()["args"][0] = {"node": "nothing"}


@attack(r"args\[0\]\.node: no node \S+ comes before")
def a_node_that_uses_itself(file: File) -> None:
    call = file.call()
    call["args"][0] = {"node": call["name"]}


@attack(r"nodes\[\d+\]\.name: \S+ is there twice")
def two_nodes_of_one_name(file: File) -> None:
    file.call()["name"] = file.graph["graph"]["nodes"][0]["name"]


@attack(r"nodes\[\d+\]\.name: lambda is a keyword")
def a_node_called_lambda(file: File) -> None:
    file.call()["name"] = "lambda"


@attack(r"the output has to be the last node")
def no_output(file: File) -> None:
    file.graph["graph"]["nodes"].pop()


@attack(r"cannot be the name of an attribute", "control")
def a_body_in_the_place_of_a_method(file: File) -> None:
    bodies = file.graph["graph"]["bodies"]
    bodies["forward"] = bodies.pop(next(iter(bodies)))


@attack(r"cannot be the name of an attribute", "control")
def a_body_in_the_place_of_the_class(file: File) -> None:
    bodies = file.graph["graph"]["bodies"]
    bodies["__class__"] = bodies.pop(next(iter(bodies)))


@attack(r"inputs\[0\]\.target: no such tensor")
def a_target_that_is_not_there(file: File) -> None:
    file.program["inputs"][0]["target"] = "__class__"


@attack(r"outputs\[\d+\]\.target: 99 is not in 0\.\.")
def a_mutation_of_no_input(file: File) -> None:
    next(o for o in file.program["outputs"] if o["kind"] == "mutation")["target"] = 99


@attack(r"\$\.calling\.arguments: they give the inputs")
def an_argument_in_the_place_of_a_weight(file: File) -> None:
    file.program["calling"]["arguments"][0] = 0


@attack(r"\$\.calling\.out: 3 leaves for 1 outputs")
def more_results_than_outputs(file: File) -> None:
    file.program["calling"]["out"] = {"kind": "tuple", "children": ["*"] * 3}


@attack(r"graph\.json: .*(dtype|shape)")
def an_output_that_is_no_alias(file: File) -> None:
    mutation = next(o for o in file.program["outputs"] if o["kind"] == "mutation")
    mutation["target"] = 0


@attack(r"\$\.format: format 2; this version")
def an_old_format(file: File) -> None:
    file.program["format"] = 2


@attack(r"\$: unknown key 'more'")
def an_unknown_key(file: File) -> None:
    file.program["more"] = 1


@attack(r"\$: 'symbols' is missing")
def a_missing_key(file: File) -> None:
    del file.program["symbols"]


def _size(text: Any, names: str, label: str) -> None:
    def change(file: File) -> None:
        file.graph["graph"]["nodes"][0]["val"]["shape"][0] = text

    make = lambda source, target: _changed(source, target, change)  # noqa: E731
    ATTACKS.append(Attack(f"size {label}", "dynamic", r"shape\[0\]: " + names, make))


_size("(" * 5000 + "1" + ")" * 5000, "not a size expression", "nested")
_size("2**" * 3000 + "2", "not a size expression", "tower")
_size("9" * 3000, "not a size expression", "digits")
_size("s0**999999999", "not a size expression", "power")
_size("*".join(["(1+2)"] * 900), "not a size expression", "product")
_size("99**64 * 99**64", "not a size expression", "large")
_size("1 // 0", "not a size expression", "nothing")
_size("nowhere + 1", "not a size expression: unknown symbol", "symbol")
_size("1 < 2", "it is a condition, not a number", "condition")
_size("1/2", "it is not an integer", "half")
_size(-1, "-1 is not in 0", "negative")
_size(2**63, "9223372036854775808 is not in 0", "beyond 63 bits")
_size(1.5, "expected text", "float")
_size(None, "expected text", "null")
_size("", "not a size expression", "empty")


@attack(r"\$\.symbols\[0\]\.range: 9\.\.1 is empty", "dynamic")
def an_empty_range(file: File) -> None:
    file.program["symbols"][0]["range"] = [9, 1]


@attack(r"\$\.symbols\[0\]\.example: .* is not in the range", "dynamic")
def an_example_out_of_range(file: File) -> None:
    file.program["symbols"][0]["range"] = [1000, 2000]


@attack(r"assumptions: they contradict", "dynamic")
def assumptions_that_contradict(file: File) -> None:
    file.program["symbols"][0]["assumptions"] = {"positive": True, "nonnegative": False}


@attack(r"program\.json: .*symbols.*more than", "dynamic")
def many_symbols(file: File) -> None:
    file.program["symbols"] = file.program["symbols"][:1] * 20_000


@attack(r"graph\.json: relu: a size is 2, not 1000000")
def a_result_larger_than_it_is(file: File) -> None:
    file.node("relu")["val"]["shape"][0] = 1_000_000


@attack(r"graph\.json: relu: a stride is 4, not 4000")
def a_stride_longer_than_it_is(file: File) -> None:
    file.node("relu")["val"]["strides"][0] = 4000


@attack(r"graph\.json: \S+: an offset is 0, not 9999")
def an_offset_that_is_not_there(file: File) -> None:
    file.call("aten.t.default")["val"]["offset"] = 9999


@attack(r"graph\.json: relu: the result is float32\[2, 4\], not float64")
def a_result_of_another_dtype(file: File) -> None:
    file.node("relu")["val"]["tensor"] = "float64"


@attack(r"graph\.json: relu: the result is float32\[2, 4\], not int")
def a_result_that_is_a_number(file: File) -> None:
    file.node("relu")["val"] = 3


@attack(r"graph\.json: \S+: it cannot run: RuntimeError")
def a_product_of_shapes_that_do_not_fit(file: File) -> None:
    call = file.call("aten.mm")
    call["args"][1] = call["args"][0]


@attack(r"graph\.json: \S+: a (result|size) is \S+, not 77", "dynamic")
def a_size_that_is_another(file: File) -> None:
    call = file.call("aten.sym_size")
    call["val"] = 77


@attack(r"stands for float32\[1000000\] in its body", "control")
def a_body_that_takes_more(file: File) -> None:
    body = next(iter(file.graph["graph"]["bodies"].values()))
    for node in body["nodes"]:
        if "shape" in node.get("val", {}):
            node["val"]["shape"] = [1_000_000 if n == 3 else n for n in node["val"]["shape"]]


@attack(r"values for a body of", "control")
def a_body_that_takes_less(file: File) -> None:
    call = file.call("higher_order.cond")
    call["args"][3] = []
