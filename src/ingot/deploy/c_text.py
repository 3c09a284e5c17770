"""The text of the files beside the code: header, example, CMakeLists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import sympy
import torch

from ingot.deploy.c_functions import LEVEL_NUMBERS
from ingot.deploy.interface import MEANINGS, Interface, Status, TensorArgument
from ingot.plan.sizes import SizePrinter
from ingot.program.shapes import Size

_MORE = {torch.bool: "0 or 1", torch.float16: "bits of f16", torch.bfloat16: "bits of bf16"}


class _CPrinter(SizePrinter):
    """Sizes, which are not negative, as C text."""

    def _print_Function(self, expr: Any) -> str:
        text = super()._print_Function(expr)
        return text.replace("//", "/")

    def _print_Pow(self, expr: Any, rational: bool = False) -> str:
        return " * ".join([f"({self._print(expr.base)})"] * int(expr.exp))


class _Text:
    def __init__(self, interface: Interface):
        self.interface = interface
        names = {size.symbol: size.name for size in interface.sizes}
        self._names = names

    def size(self, size: Size) -> str:
        if isinstance(size, int):
            return str(size)
        names = {symbol: self._names[symbol.name] for symbol in size.free_symbols}
        return str(_CPrinter(names).doprint(size))

    def shape(self, tensor: TensorArgument) -> str:
        return "".join(f"[{self.size(size)}]" for size in tensor.shape)

    def layout(self, tensor: TensorArgument) -> str:
        """What the comment on an argument says."""
        text = f"{str(tensor.dtype).removeprefix('torch.')}{self.shape(tensor)}"
        more = [_MORE[tensor.dtype]] if tensor.dtype in _MORE else []
        if tensor.offset or not _is_contiguous(tensor):
            strides = ", ".join(map(self.size, tensor.strides))
            more.append(f"strides {strides}, from element {self.size(tensor.offset)}")
        return f"{text} ({'; '.join(more)})" if more else text

    def arguments(self) -> list[tuple[str, str]]:
        """Of the sizes and tensors: (declaration, comment)."""
        rows = [
            (f"int64_t {size.name}", f"{size.meaning}, {size.least} to {size.most}")
            for size in self.interface.sizes
        ]
        for tensor in self.interface.pointers():
            const = "" if tensor.written else "const "
            given = tensor in self.interface.inputs
            use = "in" if not tensor.written else "in and out" if given else "out"
            comment = f"{use}: {self.layout(tensor)}"
            rows.append((f"{const}{tensor.c_type} *{tensor.name}", comment))
        return rows

    def other_outputs(self) -> Iterator[str]:
        for tensor in self.interface.outputs:
            if tensor.memory_of is not None:
                yield f"{tensor.name} lies in {tensor.memory_of}: {self.layout(tensor)}"


def _is_contiguous(tensor: TensorArgument) -> bool:
    expected: Size = 1
    for size, stride in zip(reversed(tensor.shape), reversed(tensor.strides)):
        if size != 1 and sympy.simplify(stride - expected) != 0:
            return False
        expected = expected * size
    return True


def _macros(interface: Interface, levels: Sequence[str]) -> Iterator[str]:
    upper = interface.name.upper()
    for status in Status:
        name = status.name if status is Status.OK else f"ERROR_{status.name}"
        yield f"#define {upper}_{name} {status.value} /* {MEANINGS[status]} */"
    yield ""
    yield f"#define {upper}_BEST 0 /* the best level that the processor supports */"
    for level in levels:
        name = level.upper().replace("-", "_")
        yield f"#define {upper}_{name} {LEVEL_NUMBERS[level]}"


def header_text(interface: Interface, levels: Sequence[str], openmp: bool) -> str:
    text, name = _Text(interface), interface.name
    upper = name.upper()
    arguments = text.arguments()
    sizes = "".join(f"int64_t {size.name}, " for size in interface.sizes)
    rows = "".join(f"    {declared}, /* {comment} */\n" for declared, comment in arguments)
    others = "".join(f" * {line}.\n" for line in text.other_outputs())
    cases = "".join(
        f'    case {status.value}: return "{meaning}";\n' for status, meaning in MEANINGS.items()
    )
    threads = (
        "`threads`: how many OpenMP threads this call may use; 0: as many as OpenMP allows."
        if openmp
        else "The code runs on the calling thread; `threads` is not read."
    )
    return f"""/* {name}: a program that ingot compiled. Levels: {", ".join(levels)}. */
#ifndef INGOT_{upper}_H
#define INGOT_{upper}_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

{chr(10).join(_macros(interface, levels))}

/* The code and the weights. Nothing writes to it between open and close: any number of threads may
 * run one model at once, each with its own workspace and outputs. */
typedef struct {name}_model {name}_model;

/* Maps the weights and chooses the code for this processor. */
int {name}_open(const char *weights_path, {name}_model **model);

/* The same for one level, or {upper}_BEST. */
int {name}_open_level(const char *weights_path, int level, {name}_model **model);

/* No call may be running. A null pointer is ignored. */
void {name}_close({name}_model *model);

/* The level that was chosen. */
int {name}_level(const {name}_model *model);

/* The bytes of the workspace that a call with these sizes needs. */
int {name}_workspace_size(const {name}_model *model, {sizes}size_t *bytes);

/* Runs the program. Tensors are row-major unless strides are given; sizes and strides count
 * elements. The workspace is scratch memory, aligned to 64 bytes, for one call at a time; it may be
 * null if its size is 0.
 * {threads}
{others} */
int {name}_run(const {name}_model *model,
{rows}    void *workspace, size_t workspace_bytes, int threads);

static inline const char *{name}_message(int status) {{
    switch (status) {{
{cases}    default: return "unknown status";
    }}
}}

#ifdef __cplusplus
}}
#endif

#endif
"""


def example_text(interface: Interface) -> str:
    """A program that reads inputs from files and writes outputs to files, as raw bytes."""
    text, name = _Text(interface), interface.name
    files = [f"{tensor.name}.bin" for tensor in interface.pointers()]
    sizes = [size.name for size in interface.sizes]
    usage = " ".join(["weights.bin", *sizes, *files])
    count = 2 + len(sizes) + len(files)
    lines = [f"    int64_t {size} = atoll(argv[{number}]);" for number, size in enumerate(sizes, 2)]
    given = {tensor.name for tensor in interface.inputs}
    first = 2 + len(sizes)
    memory, after, call = [], [], [f"model, {''.join(f'{size}, ' for size in sizes)}"]
    for number, tensor in enumerate(interface.pointers(), first):
        size = f"(size_t)({text.size(tensor.nbytes)})"
        path = f"argv[{number}]" if tensor.name in given else "NULL"
        memory.append(f"    {tensor.c_type} *{tensor.name} = memory({size}, {path});")
        call.append(f"{tensor.name}, ")
        if tensor.written:
            after.append(f"    written(argv[{number}], {tensor.name}, {size});")
    size_arguments = "".join(f"{size}, " for size in sizes)
    return f"""/* {" ".join(["Usage: main", usage])} */
#include "{name}.h"

#include <stdio.h>
#include <stdlib.h>

static void check(int status) {{
    if (status == {name.upper()}_OK) return;
    fprintf(stderr, "{name}: %s\\n", {name}_message(status));
    exit(status);
}}

/* Memory of this size; the contents of a file if there is a path. */
static void *memory(size_t bytes, const char *path) {{
    void *data = aligned_alloc(64, (bytes + 64) / 64 * 64);
    FILE *file = path == NULL ? NULL : fopen(path, "rb");
    int complete = path == NULL || (file != NULL && fread(data, 1, bytes, file) == bytes);
    if (data == NULL || !complete) exit((perror(path), 1));
    if (file != NULL) fclose(file);
    return data;
}}

static void written(const char *path, const void *data, size_t bytes) {{
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(data, 1, bytes, file) != bytes) exit((perror(path), 1));
    fclose(file);
}}

int main(int argc, char **argv) {{
    if (argc != {count}) return fprintf(stderr, "usage: %s {usage}\\n", argv[0]), 1;
{chr(10).join([*lines, *memory])}
    {name}_model *model;
    size_t bytes;
    check({name}_open(argv[1], &model));
    check({name}_workspace_size(model, {size_arguments}&bytes));
    check({name}_run({"".join(call)}memory(bytes, NULL), bytes, 0));
{chr(10).join(after)}
    {name}_close(model);
    return 0;
}}
"""


def cmake_text(name: str, openmp: bool) -> str:
    libraries: Mapping[bool, str] = {True: "OpenMP::OpenMP_C m", False: "m"}
    find = "find_package(OpenMP REQUIRED COMPONENTS C)\n" if openmp else ""
    return f"""cmake_minimum_required(VERSION 3.13)
project({name} C)
set(here "${{CMAKE_CURRENT_LIST_DIR}}")
{find}
add_library({name} INTERFACE)
target_include_directories({name} INTERFACE "${{here}}")
target_link_libraries({name} INTERFACE "${{here}}/lib{name}.a" {libraries[openmp]})

add_executable(main main.c)
set_target_properties(main PROPERTIES C_STANDARD 11)
target_link_libraries(main PRIVATE {name})
"""
