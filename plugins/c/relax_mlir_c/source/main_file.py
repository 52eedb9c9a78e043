# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""main.c: calls the first function with zeros or the bytes of files, and prints its results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relax_mlir.dialects.core.infos import TensorInfo

from .expressions import binary, integer, name, of_size
from .interface import Interface, InterfaceArgument, count_of

_HEAD = """\
/* Calls {function} on zeros, or on the bytes of files, one for each input in their order; prints the first numbers of
   each result, and writes all of it to a file of numpy's, result.npy. Sizes are given as n=4. */

#include "{name}.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Memory for a tensor, with the bytes of a file in it, or zeros. */
static void *tensor(const char *path, size_t bytes) {{
    void *data = calloc(bytes > 0 ? bytes : 1, 1);
    if (data == 0) {{
        fprintf(stderr, "no memory for %lu bytes\\n", (unsigned long)bytes);
        exit(1);
    }}
    if (path != 0) {{
        FILE *file = fopen(path, "rb");
        if (file == 0 || fread(data, 1, bytes, file) != bytes || fgetc(file) != EOF) {{
            fprintf(stderr, "%s: expected a file of %lu bytes\\n", path, (unsigned long)bytes);
            exit(1);
        }}
        fclose(file);
    }}
    return data;
}}
"""

_SIZE = """
/* A size that is given as name=4, or else the default. */
static int64_t size_of(int count, char **words, const char *name, int64_t otherwise) {
    const size_t length = strlen(name);
    for (int i = 1; i < count; i++) {
        if (strncmp(words[i], name, length) == 0 && words[i][length] == '=') {
            return strtoll(words[i] + length + 1, 0, 10);
        }
    }
    return otherwise;
}
"""

_PATH = """
/* The path of an input, 0 where there are fewer. */
static const char *path_of(int count, char **words, int position) {
    for (int i = 1; i < count; i++) {
        if (strchr(words[i], '=') == 0 && position-- == 0) {
            return words[i];
        }
    }
    return 0;
}
"""

_SAVE = """
/* Writes a file that numpy.load reads: a tensor's element type and sizes, then its bytes. */
static void save(const char *path, const char *type, int rank, const int64_t *sizes, const void *data, size_t bytes) {
    const uint16_t one = 1;
    char head[1014];
    int end = snprintf(head, sizeof head, "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
                       *(const char *)&one ? '<' : '>', type);
    for (int i = 0; i < rank; i++) {
        end += snprintf(head + end, sizeof head - (size_t)end, "%lld,", (long long)sizes[i]);
    }
    snprintf(head + end, sizeof head - (size_t)end, ")}");
    FILE *file = fopen(path, "wb");
    if (file == 0 || fwrite("\\x93NUMPY\\x01\\0\\xf6\\x03", 1, 10, file) != 10 ||
        fprintf(file, "%-1013s\\n", head) != 1014 || fwrite(data, 1, bytes, file) != bytes ||
        fclose(file) != 0) {
        fprintf(stderr, "%s: cannot be written\\n", path);
        exit(1);
    }
}
"""

# NumPy's names of element types. All others are integers with C's types.
_NUMPY_TYPES = {"f16": "f2", "f32": "f4", "f64": "f8", "i1": "b1"}


def main_file(name: str, interfaces: Sequence[Interface]) -> str:
    """Return main.c for the function named main, or for the first function."""
    chosen = next((interface for interface in interfaces if interface.label == "main"), interfaces[0])
    tensors = [each for each in chosen.inputs if each.is_tensor]
    parts = [_HEAD.format(function=chosen.name, name=name)]
    parts += [_SIZE] * bool(chosen.sizes) + [_PATH] * bool(tensors) + [_SAVE] * bool(chosen.results)
    usual = {each.name: _usual(*each.bounds) for each in chosen.sizes}
    lines = ["int main(int count, char **words) {", *_help(usual, tensors, chosen.results)]
    for size, number in usual.items():
        lines.append(f'    const int64_t {size} = size_of(count, words, "{size}", {number});')
    for input_ in chosen.inputs:
        position = tensors.index(input_) if input_ in tensors else 0
        lines.append(f"    {_input(input_, position)}")
    lines += [f"    {_write_allocation(each, '0')}" for each in chosen.results]
    call = f"{chosen.name}({', '.join(chosen.names)})"
    lines.append(f"    const int status = {call};")
    lines.append("    if (status != 0) {")
    numbers = ", ".join(f"(long long){name}_numbers[{place}]" for place in range(4))
    lines.append(f"        fprintf(stderr, {name}_message(status), {numbers});")
    lines.append("        fputc('\\n', stderr);\n    } else {")
    for result in chosen.results:
        lines += [f"    {line}" for line in _print(result)]
    lines.append("    }")
    lines += [f"    free({tensor.name});" for tensor in (*tensors, *chosen.results)]
    lines.append("    return status != 0;\n}\n")
    return "".join(parts) + "\n" + "\n".join(lines)


def _usual(least: int | None, most: int | None) -> int:
    return most if most is not None else max(least or 0, 1)


def _help(
    sizes: Mapping[str, int], inputs: Sequence[InterfaceArgument], results: Sequence[InterfaceArgument]
) -> list[str]:
    words = [f"[{size}={number}]" for size, number in sizes.items()] + [f"[{input_.name}.bin]" for input_ in inputs]
    return [
        '    if (count > 1 && strcmp(words[1], "--help") == 0) {',
        '        printf("usage: %s", words[0]);',
        *(f'        printf(" {word}");' for word in words),
        '        puts("\\nAn input is the bytes of its elements in a file, or zeros. The first numbers of results");',
        '        puts("are printed, and all of them written to a file for numpy.load:");',
        *(f'        puts("  {result.name}.npy");' for result in results),
        "        return 0;",
        "    }",
    ]


def _numpy_type(argument: InterfaceArgument) -> str:
    assert isinstance(argument.info, TensorInfo)
    whole = argument.c_type[0] + str(int(argument.c_type.strip("uint_")) // 8) if "int" in argument.c_type else ""
    return _NUMPY_TYPES.get(argument.info.dtype, whole)


def _input(argument: InterfaceArgument, position: int) -> str:
    if not argument.is_tensor:
        return f"const {argument.c_type} {argument.name} = 0;"
    return _write_allocation(argument, f"path_of(count, words, {position})")


def _bytes(argument: InterfaceArgument) -> str:
    return f"sizeof({argument.c_type}) * (size_t){count_of(argument.sizes).atom}"


def _write_allocation(argument: InterfaceArgument, path: str) -> str:
    return f"{argument.c_type} *{argument.name} = ({argument.c_type} *)tensor({path}, {_bytes(argument)});"


def _print(argument: InterfaceArgument) -> list[str]:
    is_float = argument.c_type in ("float", "double")
    shown = "%g" if is_float else "%lld"
    value = f"({'double' if is_float else 'long long'}){argument.name}[i]"
    goes_on = binary("&&", binary("<", name("i"), count_of(argument.sizes)), binary("<", name("i"), integer(8)))
    more = binary(">", count_of(argument.sizes), integer(8))
    sizes = ", ".join(of_size(size).text for size in argument.sizes)
    shape = f"{len(argument.sizes)}, " + (f"(const int64_t[]){{{sizes}}}" if sizes else "0")
    return [
        f'    printf("{argument.name}:");',
        f"    for (int64_t i = 0; {goes_on.text}; i++) {{",
        f'        printf(" {shown}", {value});',
        "    }",
        f'    puts({more.text} ? " ... (all in {argument.name}.npy)" : "");',
        f'    save("{argument.name}.npy", "{_numpy_type(argument)}", {shape}, {argument.name}, {_bytes(argument)});',
    ]
