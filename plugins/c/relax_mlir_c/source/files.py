# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files of a program: model.h, model.c, model_data.c, main.c and a Makefile, plus the files of large constants."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence

from relax_mlir.bindings.ir import Operation
from relax_mlir.dialects.core.infos import TensorInfo

from .data import declaration, definition
from .ffi import entries_file
from .functions import FunctionsWriter, Written
from .helpers import helper_texts
from .interface import Interface, InterfaceArgument
from .main_file import main_file
from .options import SourceOptions
from .program import LoweredProgram
from .weights import is_in_file, weight_files
from .writer import words_in

_MADE = "/* Written by relax-mlir{version}: {what} */"
#: Most numbers that a failed check shows.
MOST_NUMBERS = 4

_HEAP = """\
/* Memory of a call: one block for what has known places, and those whose sizes are dynamic. */
struct memory {
    uint8_t *arena;
    struct block *blocks;
};

struct block {
    struct block *before, *behind;
    int64_t padding[6];
};
"""

_HEAP_FUNCTIONS = {
    "begin_memory": """\
static bool begin_memory(struct memory *memory) {{
    memory->arena = (uint8_t *)malloc({size});
    return memory->arena != 0;
}}""",
    "take_memory": """\
static void *take_memory(struct memory *memory, int64_t bytes) {{
    struct block *made = bytes < 0 ? 0 : (struct block *)malloc(sizeof(struct block) + (size_t)bytes);
    if (made == 0) {{
        return 0;
    }}
    made->before = 0;
    made->behind = memory->blocks;
    if (memory->blocks != 0) {{
        memory->blocks->before = made;
    }}
    memory->blocks = made;
    return made + 1;
}}""",
    "give_memory_back": """\
static void give_memory_back(struct memory *memory, void *data) {{
    struct block *block = (struct block *)data - 1;
    if (block->behind != 0) {{
        block->behind->before = block->before;
    }}
    if (block->before != 0) {{
        block->before->behind = block->behind;
    }} else {{
        memory->blocks = block->behind;
    }}
    free(block);
}}""",
    "end_memory": """\
static void end_memory(struct memory *memory) {{
    while (memory->blocks != 0) {{
        struct block *block = memory->blocks;
        memory->blocks = block->behind;
        free(block);
    }}
    free(memory->arena);
}}""",
}

#: Above some size, GCC reorders the loops of products, which then take ten times as long.
_OPTIMIZATION = """\
/* Loops are in the order that is fast. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-loop-interchange")
#endif"""

_MAKEFILE = """\
# make && ./{name}: runs it on zeros; ./{name} x.bin: on the bytes of files, one for each input.
CC ?= cc
CFLAGS ?= -O3 -std=c99 -Wall -Wextra
{extern}
{name}: main.o {name}.o {name}_data.o{weights}
\t$(CC) $(CFLAGS) -o $@ $^{link} -lm

%.o: %.c {name}.h
\t$(CC) $(CFLAGS) -c -o $@ $<

{rule}clean:
\trm -f {name} *.o

.PHONY: clean
"""


#: make does not know which files the assembler includes.
_WEIGHTS_RULE = """\
{name}_weights.o: {name}_weights.S {name}_weights.bin
\t$(CC) -c -o $@ $<

"""


_EXTERN = """\
# C functions that the model calls: sources, objects, libraries that have them.
EXTERN ?={libraries}
"""


def source_files(
    module: Operation, options: SourceOptions, version: str = "", libraries: Sequence[str] = ()
) -> dict[str, str | bytes]:
    """Return the files of a program by name.

    `libraries` contain the C functions that the program calls. Raises RelaxError with the location for constructs
    without C.
    """
    program = LoweredProgram(module, options)
    functions = FunctionsWriter(program).write_all()
    name = options.name
    interfaces = [function.interface for function in functions if function.interface is not None]
    constants = {key: op for key, op in program.globals.items() if key in program.used_constants}
    apart = is_in_file(constants, options)
    named = {program.constant_name(key): op for key, op in constants.items() if key in apart}
    weights = weight_files(name, named) if named else {}
    texts = {
        f"{name}.h": ("what to call", _header(program, functions)),
        f"{name}.c": ("kernels and functions", _code(program, functions)),
        f"{name}_data.c": ("constants", _data(program, apart)),
    }
    rule, needed = (_WEIGHTS_RULE.format(name=name), f" {name}_weights.o") if named else ("", "")
    made = f" {version}" if version else ""
    return {
        **{file: f"{_MADE.format(version=made, what=what)}\n\n{text}" for file, (what, text) in texts.items()},
        "main.c": main_file(name, interfaces),
        "Makefile": _MAKEFILE.format(name=name, weights=needed, rule=rule, **_make_link_lines(program, libraries)),
        **weights,
        **({f"{name}_ffi.c": entries_file(name, options.part, interfaces)} if options.is_for_ffi else {}),
    }


def _make_link_lines(program: LoweredProgram, libraries: Sequence[str]) -> dict[str, str]:
    """Return the Makefile lines for external C functions, or empty lines if the program calls none."""
    if not program.externs.lines():
        return {"extern": "", "link": ""}
    words = "".join(f" {library if os.path.dirname(library) else f'-l:{library}'}" for library in libraries)
    return {"extern": _EXTERN.format(libraries=words), "link": " $(EXTERN)"}


# ---- model.h ----


def _header(program: LoweredProgram, functions: list[Written]) -> str:
    name, upper = program.options.name, program.options.name.upper()
    kind = "taken from the system while a call runs" if program.options.is_heap else "in an array of the program"
    parts = [
        f"#ifndef {upper}_H\n#define {upper}_H\n\n#include <stdbool.h>\n#include <stdint.h>\n",
        '#ifdef __cplusplus\nextern "C" {\n#endif\n',
        f"/* Bytes for what functions compute on the way, {kind}. */",
        f"#define {upper}_ARENA_BYTES {program.arena.size}\n",
        *(
            f"/* Bytes in the memory '{memory}'. */\n#define {upper}_{text.macro}_BYTES {text.bytes}\n"
            for memory, text in program.memories.items()
        ),
        f"/* What a status that is not 0 stands for; %lld is where {name}_numbers belong, in their order. */",
        f"const char *{name}_message(int status);",
        f"extern int64_t {name}_numbers[{MOST_NUMBERS}];\n",
        *(
            f"{_document_parameters(function.interface)}\n{function.prototype}\n"
            for function in functions
            if function.interface is not None
        ),
        "#ifdef __cplusplus\n}\n#endif\n\n#endif\n",
    ]
    return "\n".join(parts)


def _document_parameters(interface: Interface) -> str:
    """Return the comment that describes the parameters, one per line."""
    lines = [f"/* {interface.label}: 0, or a status. Tensors lie row by row; results are written to."]
    for size in interface.sizes:
        least, most = size.bounds
        within = f", {least or 0} to {most}" if most is not None else ""
        lines.append(f"   {size.name}: the size {size.label}{within}")
    lines += [f"   {_describe(value)}" for value in (*interface.inputs, *interface.results)]
    return "\n".join([line.replace("*/", "* /") for line in lines]) + " */"


def _describe(argument: InterfaceArgument) -> str:
    called = "" if argument.label == argument.name or argument.label.startswith("result") else f" ({argument.label})"
    if not isinstance(argument.info, TensorInfo):
        return f"{argument.name}{called}: a number"
    sizes = ", ".join("?" if size is None else str(size) for size in argument.info.shape or ())
    return f"{argument.name}{called}: {argument.info.dtype}[{sizes}]"


# ---- model.c ----


def _code(program: LoweredProgram, functions: list[Written]) -> str:
    name = program.options.name
    body = "\n\n".join(function.text for function in functions)
    constants = [
        f"extern {declaration(op, program.constant_name(key))};"
        for key, op in program.globals.items()
        if key in program.used_constants
    ]
    includes = ["#include <math.h>", "#include <stdbool.h>", "#include <stdint.h>"]
    headers = program.externs.headers | ({"stdlib"} if program.options.is_heap else set())
    includes += [f"#include <{header}.h>" for header in sorted(headers)]
    parts = [
        "\n".join([f'#include "{name}.h"\n', *includes]),
        _OPTIMIZATION,
        "\n".join(program.externs.lines()),
        "\n".join(constants),
        _memory(program, body),
        *(memory.text for memory in program.memories.values()),
        _numbers(program),
        *helper_texts(program.helpers),
        body,
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _memory(program: LoweredProgram, body: str) -> str:
    words = words_in([body])
    if not program.options.is_heap:
        size = program.arena.size
        if "arena" not in words:
            return ""
        return (
            "/* What is computed on the way. Aligned for any number: calls must not run at the same time. */\n"
            f"static union {{\n    uint8_t bytes[{size}];\n    int64_t integer;\n    double number;\n}} arena;"
        )
    size = max(program.arena.size, 1)
    used = {key: text.format(size=size) for key, text in _HEAP_FUNCTIONS.items()}
    kept = [text for key, text in used.items() if key in words]
    return "\n\n".join([_HEAP.rstrip(), *kept])


def _numbers(program: LoweredProgram) -> str:
    name = program.options.name
    texts = ['    "",'] + [f'    "{_quote(message.kind)}: {_quote(message.text)}",' for message in program.messages]
    count = len(texts)
    return (
        f"int64_t {name}_numbers[{MOST_NUMBERS}];\n\n"
        f"static const char *const {name}_messages[] = {{\n" + "\n".join(texts) + "\n};\n\n"
        f"const char *{name}_message(int status) {{\n"
        f'    return status < 0 || status >= {count} ? "unknown status" : {name}_messages[status];\n}}'
    )


def _quote(text: str) -> str:
    plain = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("{}", "%lld")
    return "".join(each if each.isprintable() and each.isascii() else "?" for each in plain)


# ---- model_data.c ----


def _data(program: LoweredProgram, apart: Collection[str]) -> str:
    parts = [f'#include "{program.options.name}.h"\n\n#include <math.h>']
    for name, op in program.globals.items():
        if name in program.used_constants and name not in apart:
            chosen = program.constant_name(name)
            parts.append(f"extern {declaration(op, chosen)};\n\n{definition(op, chosen)}")
    return "\n\n".join(parts) + "\n"
