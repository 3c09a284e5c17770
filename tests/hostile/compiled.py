"""Compiled programs in files, taken apart so that every member can be changed, and attacks on them.
Digests are those of the changed members unless an attack is about digests.
"""

from __future__ import annotations

import hashlib
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ingot.artifact.archive import read_archive
from ingot.codegen.jit.code_store import Module, packed_source, read_module

MANIFEST, TENSORS = "manifest.json", "tensors.safetensors"
HEADER, SECTION, SYMBOL = 64, 64, 24


@dataclass
class Artifact:
    """Documents and texts of one file with code for one instruction set."""

    manifest: Any
    table: Any
    plan: str
    modules: dict[str, Module]
    """In the order of the file."""
    others: dict[str, bytes]
    where: str
    raw: dict[str, bytes] = field(default_factory=dict)
    """Members as they are written, in place of those above."""
    sizes: bool = True
    """Whether the table gets the sizes of the modules."""

    @staticmethod
    def read(path: Path) -> Artifact:
        members = {name: bytes(data) for name, data in read_archive(path).items()}
        plan = next(name for name in members if name.endswith("/plan.txt"))
        where = plan.removesuffix("/plan.txt")
        table = json.loads(members.pop(f"{where}/code.json"))
        data, at, modules = members.pop(f"{where}/modules.bin"), 0, {}
        for row in table["modules"]:
            modules[row["key"]] = read_module(data[at : at + row["bytes"]])
            at += row["bytes"]
        manifest = json.loads(members.pop(MANIFEST))
        return Artifact(manifest, table, members.pop(plan).decode(), modules, members, where)

    def members(self) -> dict[str, bytes]:
        entries = [module.entry() for module in self.modules.values()]
        if self.sizes:
            for row, entry in zip(self.table["modules"], entries):
                row["bytes"] = len(entry)
        code = {
            f"{self.where}/plan.txt": self.plan.encode("utf-8", "surrogatepass"),
            f"{self.where}/code.json": json.dumps(self.table).encode(),
            f"{self.where}/modules.bin": b"".join(entries),
        }
        code |= {name: data for name, data in self.raw.items() if name in code}
        if isinstance(self.manifest, dict) and isinstance(self.manifest.get("code"), dict):
            digests = {name: hashlib.sha256(data).hexdigest() for name, data in code.items()}
            self.manifest["code"] = {**digests, **self.manifest.get("keep", {})}
            self.manifest.pop("keep", None)
        return {MANIFEST: json.dumps(self.manifest).encode(), **code, **self.others, **self.raw}

    def write(self, path: Path) -> Path:
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in self.members().items():
                archive.writestr(zipfile.ZipInfo(name), data)
        return path

    def kernel(self) -> str:
        """The key of a module that is linked and not run when the file is loaded."""
        return str(next(iter(self.table["kernels"].values()))["module"])

    def edit_object(self, edit: Callable[[bytearray], None]) -> None:
        key = self.kernel()
        data = bytearray(self.modules[key].object)
        edit(data)
        self.modules[key] = replace(self.modules[key], object=bytes(data))


@dataclass(frozen=True)
class Attack:
    name: str
    names: str
    """A regular expression for the error message."""
    make: Callable[[Artifact, Path], None]


ATTACKS: list[Attack] = []


def attack(names: str) -> Callable[[Any], Any]:
    """Register a function that changes an Artifact, or that writes the attacked file itself."""

    def add(change: Callable[..., Any]) -> Callable[..., Any]:
        def make(file: Artifact, target: Path) -> None:
            if change.__code__.co_argcount == 2:
                change(file, target)
            else:
                change(file)
                file.write(target)

        ATTACKS.append(Attack(change.__name__, names, make))
        return change

    return add


# -- the archive -----------------------------------------------------------------------------------


@attack(r"the members are .*\.\./\.\./x/plan\.txt")
def a_path_outside(file: Artifact) -> None:
    file.others["code/../../x/plan.txt"] = b""


@attack(r"the members are")
def a_second_manifest_elsewhere(file: Artifact) -> None:
    file.others["code/manifest.json"] = b"{}"


@attack(r"the members are")
def a_member_twice(file: Artifact, target: Path) -> None:
    with zipfile.ZipFile(target, "w") as archive:
        for name, data in file.members().items():
            archive.writestr(zipfile.ZipInfo(name), data)
        archive.writestr(zipfile.ZipInfo(MANIFEST), b"{}")


@attack(r"modules\.bin: the member is compressed")
def a_bomb(file: Artifact, target: Path) -> None:
    file.raw[f"{file.where}/modules.bin"] = bytes(200 << 20)
    with zipfile.ZipFile(target, "w") as archive:
        for name, data in file.members().items():
            kind = zipfile.ZIP_DEFLATED if name.endswith(".bin") else zipfile.ZIP_STORED
            archive.writestr(zipfile.ZipInfo(name), data, kind)


@attack(r"plan\.txt: the member is not a regular file")
def a_symbolic_link(file: Artifact, target: Path) -> None:
    with zipfile.ZipFile(target, "w") as archive:
        for name, data in file.members().items():
            info = zipfile.ZipInfo(name)
            if name.endswith("plan.txt"):
                info.create_system, info.external_attr = 3, 0o120777 << 16
            archive.writestr(info, data)


@attack(r"the member claims \d+ bytes|not a zip archive")
def a_huge_declared_size(file: Artifact, target: Path) -> None:
    file.write(target)
    data = bytearray(target.read_bytes())
    at = data.index(b"PK\x01\x02")
    struct.pack_into("<II", data, at + 20, 0xFFFFFFF0, 0xFFFFFFF0)
    target.write_bytes(data)


@attack(r"the members reach into the directory|does not begin where it should|damaged|differs")
def members_that_overlap(file: Artifact, target: Path) -> None:
    file.write(target)
    data = bytearray(target.read_bytes())
    first = data.index(b"PK\x01\x02")
    second = data.index(b"PK\x01\x02", first + 4)
    struct.pack_into("<I", data, second + 42, 10)
    target.write_bytes(data)


@attack(r"the archive has \d+ members|the members are")
def many_members(file: Artifact) -> None:
    file.others |= {f"code/x{k}/plan.txt": b"" for k in range(60)}


@attack(r"modules\.bin: damaged: the digest is wrong")
def other_code(file: Artifact) -> None:
    name = f"{file.where}/modules.bin"
    file.manifest["keep"] = {name: hashlib.sha256(file.members()[name]).hexdigest()}
    file.edit_object(lambda data: data.__setitem__(200, data[200] ^ 1))


@attack(r"'code/.*plan\.txt' is missing")
def a_digest_missing(file: Artifact, target: Path) -> None:
    members = file.members()
    file.manifest["code"] = {}
    members[MANIFEST] = json.dumps(file.manifest).encode()
    with zipfile.ZipFile(target, "w") as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data)


# -- the manifest ----------------------------------------------------------------------------------


@attack(r"manifest\.json: not valid JSON")
def no_json(file: Artifact) -> None:
    file.raw[MANIFEST] = b"__import__('os').system('true')"


@attack(r"manifest\.json: not valid JSON|nested")
def a_deep_manifest(file: Artifact) -> None:
    file.raw[MANIFEST] = b"[" * 100_000 + b"]" * 100_000


@attack(r"expected an object")
def a_list_as_manifest(file: Artifact) -> None:
    file.manifest = []


@attack(r"\$\.format: ")
def a_format_that_is_no_number(file: Artifact) -> None:
    file.manifest["format"] = True


@attack(r"\$\.format: ")
def a_huge_format(file: Artifact) -> None:
    file.manifest["format"] = 2**62


@attack(r"'state' is missing")
def no_state(file: Artifact) -> None:
    del file.manifest["state"]


@attack(r"vector_bits: 384 is not the width of a vector")
def odd_vectors(file: Artifact) -> None:
    file.manifest["targets"][0]["vector_bits"] = 384


@attack(r"l2_bytes: ")
def no_cache(file: Artifact) -> None:
    file.manifest["targets"][0]["l2_bytes"] = 0


@attack(r"there is no code for x86-64-v[23]|it has code for")
def code_for_another_target(file: Artifact) -> None:
    level = file.manifest["targets"][0]["level"]
    file.manifest["targets"][0]["level"] = "x86-64-v2" if level != "x86-64-v2" else "x86-64-v3"


@attack(r"\$\.contract\.no_history: ")
def a_contract_with_lines(file: Artifact) -> None:
    file.manifest["contract"]["no_history"] = "one\ntwo"


@attack(r"\$\.weights: unknown key")
def digests_of_other_files(file: Artifact) -> None:
    file.manifest["weights"]["/etc/passwd"] = 0


@attack(r"\$\.weights\.inside: ")
def a_digest_as_text(file: Artifact) -> None:
    file.manifest["weights"]["inside"] = "0"


@attack(r"tensors\.safetensors: damaged: the digest is wrong")
def another_weight(file: Artifact) -> None:
    data = bytearray(file.others[TENSORS])
    data[-1] ^= 64
    file.others[TENSORS] = bytes(data)


def _weights_file(file: Artifact, name: str) -> None:
    program = json.loads(file.others["program.json"])
    program["weights"] = {"file": name, "checksum": 0}
    file.others["program.json"] = json.dumps(program).encode()
    file.manifest["weights"]["beside"] = 0


@attack(r"'\.\./\.\./etc/passwd' is not a file in the same folder")
def weights_above(file: Artifact) -> None:
    _weights_file(file, "../../etc/passwd")


@attack(r"'/etc/passwd' is not a file in the same folder")
def weights_of_the_system(file: Artifact) -> None:
    _weights_file(file, "/etc/passwd")


@attack(r"elsewhere\.safetensors: the weights are not there")
def weights_that_are_not_there(file: Artifact) -> None:
    _weights_file(file, "elsewhere.safetensors")


@attack(r"not safetensors|damaged")
def weights_in_the_file_itself(file: Artifact, target: Path) -> None:
    _weights_file(file, target.name)
    file.write(target)


# -- the plan --------------------------------------------------------------------------------------


@attack(r"plan\.txt: .*(codec|utf-8)")
def no_text(file: Artifact) -> None:
    file.plan = "\ud800"


@attack(r"plan\.txt: line 1")
def code_as_a_plan(file: Artifact) -> None:
    file.plan = "import os\n" + file.plan


@attack(r"plan\.txt: ")
def a_deep_size(file: Artifact) -> None:
    size = "(" * 5000 + "s31" + ")" * 5000
    file.plan = re.sub(r"f32\[s\d+, 96\] live", f"f32[{size}, 96] live", file.plan)


@attack(r"plan\.txt: ")
def a_tower_of_powers(file: Artifact) -> None:
    file.plan = re.sub(r"f32\[s\d+, 96\] live", "f32[9**9**9**9, 96] live", file.plan)


@attack(r"plan\.txt: the text is longer|plan\.txt: ")
def a_long_plan(file: Artifact) -> None:
    file.plan = file.plan + " " * (100 << 20)


@attack(r"plan\.txt: .*overlap")
def buffers_that_overlap(file: Artifact) -> None:
    file.plan = re.sub(r"f32\[s\d+, 96\] live", r"f32[64, 96] live", file.plan)
    file.plan = re.sub(r"(live \d+\.\.\d+)\n", r"\1 at 0\n", file.plan)


@attack(r"plan\.txt: ")
def a_read_after_free(file: Artifact) -> None:
    lines = file.plan.splitlines(keepends=True)
    free = next(k for k, line in enumerate(lines) if line.startswith("  free "))
    segment = next(k for k, line in enumerate(lines) if line.startswith("  segment"))
    lines.insert(segment, lines.pop(free))
    file.plan = "".join(lines)


@attack(r"plan\.txt: ")
def nothing_is_written(file: Artifact) -> None:
    start, end = file.plan.index("  segment {"), file.plan.index("  free ")
    file.plan = file.plan[:start] + file.plan[end:]


@attack(r"plan\.txt: ")
def no_return(file: Artifact) -> None:
    file.plan = re.sub(r"  return .*\n", "", file.plan)


@attack(r"plan\.txt: 2 results; the program has 1")
def more_results(file: Artifact) -> None:
    file.plan = re.sub(r"return (%\w+)", r"return \1, \1", file.plan)


@attack(r"plan\.txt: .*os\.system")
def a_call_of_the_system(file: Artifact) -> None:
    file.plan = file.plan.replace("  free ", "  os.system.default(1)\n  free ", 1)


@attack(r"plan\.txt: .*reaches outside of the program|plan\.txt: .*from_file")
def a_call_that_makes_files(file: Artifact) -> None:
    call = '  aten.from_file.default("canary", True, 4)\n'
    file.plan = file.plan.replace("  free ", f"{call}  free ", 1)


@attack(r"plan\.txt: ")
def a_packing_of_another_kind(file: Artifact) -> None:
    file.plan = file.plan.replace("packing panels{", "packing winograd{")


@attack(r"plan\.txt: .*no record")
def an_unknown_record(file: Artifact) -> None:
    file.plan = file.plan.replace("packing panels{", "packing system{")


@attack(r"the input \S+ is not what the program says")
def another_input(file: Artifact) -> None:
    file.plan = re.sub(r"(input %p_0_bias: f32)\[96\]", r"\1[9600000]", file.plan)


# -- the table of kernels, and modules -------------------------------------------------------------


@attack(r"it is not the code of digest")
def kernels_swapped(file: Artifact) -> None:
    kernels = file.table["kernels"]
    first, second = list(kernels)[:2]
    kernels[first], kernels[second] = kernels[second], kernels[first]


@attack(r"no such module in the file|not the code")
def a_kernel_elsewhere(file: Artifact) -> None:
    next(iter(file.table["kernels"].values()))["module"] = "0" * 32


@attack(r"unknown function")
def a_share_that_is_not_there(file: Artifact) -> None:
    next(iter(file.table["kernels"].values()))["share"] = "system"


@attack(r"the plan's kernel .* is not there")
def no_kernels(file: Artifact) -> None:
    file.table["kernels"] = {}


@attack(r"unknown function 'main'|not the code of digest")
def another_function(file: Artifact) -> None:
    next(iter(file.table["kernels"].values()))["function"] = "main"


@attack(r"\d+ bytes of modules\.bin belong to no module")
def no_modules(file: Artifact) -> None:
    file.sizes = False
    file.table["modules"] = []


@attack(r"the key does not fit the text")
def another_key(file: Artifact) -> None:
    file.table["modules"][0]["key"] = "0" * 32


@attack(r"not the key of a module, or there twice")
def a_path_as_a_key(file: Artifact) -> None:
    file.table["modules"][0]["key"] = "../../x"


@attack(r"not the key of a module, or there twice")
def a_module_twice(file: Artifact) -> None:
    file.table["modules"][1]["key"] = file.table["modules"][0]["key"]


@attack(r"is not in 0")
def a_module_of_negative_size(file: Artifact) -> None:
    file.sizes = False
    file.table["modules"][0]["bytes"] = -1


@attack(r"expected a list|modules: ")
def modules_as_an_object(file: Artifact) -> None:
    file.sizes = False
    file.table["modules"] = {}


@attack(r"damaged: a text too long")
def a_bomb_of_text(file: Artifact) -> None:
    key = file.kernel()
    bomb = zlib.compress(bytes(1 << 28), 9)
    file.modules[key] = replace(file.modules[key], source=bomb)


@attack(r"the key does not fit the text")
def another_text(file: Artifact) -> None:
    key = file.kernel()
    file.modules[key] = replace(file.modules[key], source=packed_source("[[], {}, []]"))


@attack(r"damaged: an entry of another form|damaged: ")
def a_source_longer_than_the_entry(file: Artifact) -> None:
    file.sizes = False
    name = f"{file.where}/modules.bin"
    data = bytearray(file.members()[name])
    struct.pack_into("<Q", data, 16, 1 << 40)
    file.raw[name] = bytes(data)


# -- objects ---------------------------------------------------------------------------------------


def _sections(data: bytearray) -> list[int]:
    """The offsets of the rows of the section table."""
    start, count = struct.unpack_from("<Q", data, 40)[0], struct.unpack_from("<H", data, 60)[0]
    return [start + k * SECTION for k in range(count)]


def _section(data: bytearray, kind: int, flags: int = 0) -> int:
    for at in _sections(data):
        found = struct.unpack_from("<IQ", data, at + 4)
        if found[0] == kind and found[1] & flags == flags:
            return at
    raise AssertionError(f"no section of kind {kind}")


PROGBITS, SYMTAB, RELA, NOBITS = 1, 2, 4, 8
ALLOC, EXECUTE = 2, 4


def _body(data: bytearray, at: int) -> tuple[int, int]:
    offset, size = struct.unpack_from("<QQ", data, at + 24)
    return int(offset), int(size)


@attack(r"damaged: not a relocatable object")
def an_object_that_is_a_library(file: Artifact) -> None:
    file.edit_object(lambda data: struct.pack_into("<H", data, 16, 3))


@attack(r"damaged: not a relocatable object")
def an_object_of_another_machine(file: Artifact) -> None:
    file.edit_object(lambda data: struct.pack_into("<H", data, 18, 183))


@attack(r"damaged: (bytes|a section table)")
def sections_outside(file: Artifact) -> None:
    file.edit_object(lambda data: struct.pack_into("<Q", data, 40, 1 << 62))


@attack(r"damaged: a section table")
def many_sections(file: Artifact) -> None:
    file.edit_object(lambda data: struct.pack_into("<H", data, 60, 0xFFFF))


@attack(r"damaged: bytes")
def a_section_beyond_the_end(file: Artifact) -> None:
    def edit(data: bytearray) -> None:
        struct.pack_into("<Q", data, _section(data, PROGBITS, EXECUTE) + 32, len(data) + 1)

    file.edit_object(edit)


@attack(r"damaged: .*both writable and executable")
def writable_code(file: Artifact) -> None:
    def edit(data: bytearray) -> None:
        struct.pack_into("<Q", data, _section(data, PROGBITS, EXECUTE) + 8, 7)

    file.edit_object(edit)


@attack(r"damaged: .*aligned to 3 bytes")
def an_odd_alignment(file: Artifact) -> None:
    def edit(data: bytearray) -> None:
        struct.pack_into("<Q", data, _section(data, PROGBITS, EXECUTE) + 48, 3)

    file.edit_object(edit)


@attack(r"damaged: .*bytes")
def an_endless_section(file: Artifact) -> None:
    def edit(data: bytearray) -> None:
        at = _section(data, PROGBITS, EXECUTE)
        struct.pack_into("<I", data, at + 4, NOBITS)
        struct.pack_into("<Q", data, at + 32, 1 << 40)

    file.edit_object(edit)


def _relocation(change: Callable[[bytearray, int], None]) -> Callable[[bytearray], None]:
    """Edit the first relocation of code."""

    def edit(data: bytearray) -> None:
        names = _sections(data)
        for at in names:
            kind, info = struct.unpack_from("<I", data, at + 4)[0], 0
            info = struct.unpack_from("<I", data, at + 44)[0]
            if kind == RELA and struct.unpack_from("<Q", data, names[info] + 8)[0] & EXECUTE:
                change(data, _body(data, at)[0])
                return
        raise AssertionError("no relocations")

    return edit


@attack(r"damaged: a relocation outside")
def a_relocation_outside(file: Artifact) -> None:
    file.edit_object(_relocation(lambda data, at: struct.pack_into("<Q", data, at, 1 << 50)))


@attack(r"damaged: a relocation outside")
def a_relocation_to_no_symbol(file: Artifact) -> None:
    file.edit_object(
        _relocation(lambda data, at: struct.pack_into("<I", data, at + 12, 0x7FFFFFFF))
    )


@attack(r"damaged: a relocation of kind 42")
def a_relocation_of_another_kind(file: Artifact) -> None:
    file.edit_object(_relocation(lambda data, at: struct.pack_into("<I", data, at + 8, 42)))


@attack(r"damaged: .*(outside|bytes)")
def a_symbol_outside(file: Artifact) -> None:
    def edit(data: bytearray) -> None:
        offset, size = _body(data, _section(data, SYMTAB))
        for at in range(offset, offset + size, SYMBOL):
            if struct.unpack_from("<H", data, at + 6)[0] not in (0, 0xFFF1):
                struct.pack_into("<Q", data, at + 8, 1 << 40)

    file.edit_object(edit)


@attack(r"damaged: a name outside")
def a_name_outside(file: Artifact) -> None:
    def edit(data: bytearray) -> None:
        offset, _ = _body(data, _section(data, SYMTAB))
        struct.pack_into("<I", data, offset + SYMBOL, 1 << 30)

    file.edit_object(edit)


@attack(r"damaged: the object has \d symbol tables")
def two_symbol_tables(file: Artifact) -> None:
    def edit(data: bytearray) -> None:
        comment = next(
            at
            for at in _sections(data)
            if struct.unpack_from("<I", data, at + 4)[0] == PROGBITS
            and not struct.unpack_from("<Q", data, at + 8)[0] & ALLOC
        )
        struct.pack_into("<I", data, comment + 4, SYMTAB)

    file.edit_object(edit)


@attack(r"imports what it may not|damaged")
def a_forbidden_import(file: Artifact) -> None:
    def edit(data: bytearray) -> None:
        for name in (b"GOMP_parallel", b"omp_get_num_threads", b"aligned_alloc"):
            other = b"system".ljust(len(name), b"_")
            data[:] = data.replace(b"\0" + name + b"\0", b"\0" + other + b"\0")

    file.edit_object(edit)


@attack(r"damaged: ")
def half_an_object(file: Artifact) -> None:
    file.edit_object(lambda data: data.__delitem__(slice(len(data) // 2, None)))
