# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Short scripts: the command `graphs FILE` prints a file's functions as modules, with their types in full.

    # RUN: graphs %s | relax-opt - --relax-inline | FileCheck %s
    def main(x: f32[n, 4], y: i64) -> f32[2 * n, 4]:
        return R.concat((x, x), axis=0)

The functions of each part between lines `# -----` form a module. A function without decorator is a graph function.
A part with a class stays a module of that class.
"""

from __future__ import annotations

import ast
import re
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

DTYPES = {
    "bool": "bool",
    "bf16": "bfloat16",
    **{f"f{bits}": f"float{bits}" for bits in (16, 32, 64)},
    **{f"i{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"u{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
}
COMMAND = re.compile(r"^# RUN: .*\bgraphs %s ", re.MULTILINE)
_HEAD = "from relax_mlir.script import ir as I, relax as R, tir as T\n"
_PART = re.compile(r"^# -----\n", re.MULTILINE)


def expand(text: str) -> str:
    """Return the modules of a file of short scripts."""
    return f"{_HEAD}\n" + "\n# -----\n".join(map(_module, _PART.split(text)))


def _module(text: str) -> str:
    """Return the module of one part. Lines keep their order, so that comments stay with their code."""
    tree = ast.parse(text)
    lines = text.splitlines()
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    functions = [node for part in (tree, *classes) for node in part.body if isinstance(node, ast.FunctionDef)]
    for function in reversed(functions):
        for node, full in reversed(list(_types(function))):
            line = lines[node.lineno - 1]
            assert node.lineno == node.end_lineno, f"{ast.unparse(node)}: a type is on one line"
            lines[node.lineno - 1] = line[: node.col_offset] + full + line[node.end_col_offset :]
        if not function.decorator_list:
            lines.insert(_first_comment(lines, function.lineno - 1), "@R.function")
    docstring = tree.body[0].end_lineno if isinstance(tree.body[0], ast.Expr) else 0
    body = "\n".join(lines[docstring:])
    return body if classes else "@I.ir_module(ssa=True)\nclass Module:\n" + textwrap.indent(body, "    ")


def _first_comment(lines: list[str], place: int) -> int:
    """Return the place of the comments right above a function: `@+1` in them is the function's line."""
    while place and lines[place - 1].startswith("#"):
        place -= 1
    return place


def _types(function: ast.FunctionDef) -> Iterator[tuple[ast.expr, str]]:
    """Yield the short types of a function in the order of the text, with their full forms."""
    room = "T" if any("prim_func" in ast.unparse(each) for each in function.decorator_list) else "R"
    places = [node for root in _typed(function) for node in ast.walk(root) if isinstance(node, ast.expr)]
    inside = {id(inner) for node in places if isinstance(node, ast.Subscript) for inner in ast.walk(node.value)}
    for node in sorted(places, key=lambda each: (each.lineno, each.col_offset)):
        name = node.value if isinstance(node, ast.Subscript) else node
        if isinstance(name, ast.Name) and name.id in DTYPES and id(node) not in inside:
            shape = _shape(node.slice) if isinstance(node, ast.Subscript) else "()"
            yield node, f'{room}.Tensor({shape}, "{DTYPES[name.id]}")'


def _typed(function: ast.FunctionDef) -> Iterator[ast.expr]:
    """Yield the expressions that contain types."""
    for node in ast.walk(function):
        if isinstance(node, ast.FunctionDef) and node.returns:
            yield node.returns
        elif isinstance(node, (ast.arg, ast.AnnAssign)) and node.annotation:
            yield node.annotation
        elif isinstance(node, ast.keyword) and node.arg == "out_sinfo":
            yield node.value


def _shape(slice_: ast.expr) -> str:
    sizes = slice_.elts if isinstance(slice_, ast.Tuple) else [slice_]
    words = [str(each.value) if isinstance(each, ast.Constant) and isinstance(each.value, int) else f'"{_size(each)}"'
             for each in sizes]  # fmt: skip
    return f"({', '.join(words)}{',' if len(words) == 1 else ''})"


def _size(size: ast.expr) -> str:
    return size.value if isinstance(size, ast.Constant) and isinstance(size.value, str) else ast.unparse(size)


def run(argv: Sequence[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    """Print the modules of a file."""
    (path,) = argv
    stdout.write(expand(Path(path).read_text("utf-8")))
    return 0


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:], sys.stdin, sys.stdout, sys.stderr))
