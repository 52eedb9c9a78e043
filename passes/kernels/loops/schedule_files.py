# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files of schedules: Python with one function per kernel, which is parsed and never run.

# schedule 1


def fused_matmul_relu(sch):
    C = sch.get_block("C")
    i, j, k = sch.get_loops(C)
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from itertools import takewhile
from keyword import iskeyword
from typing import NamedTuple

from ....dialects.script.syntax import parsed
from ....support.errors import RelaxError
from .trace import HEADER

_LINE = re.compile(r"line (\d+) of the schedule, ")


class KernelSchedule(NamedTuple):
    """Lines of a kernel's schedule, as in its attribute, and the place of each in the file: "kernels.py:3"."""

    lines: list[str]
    places: list[str]


def is_writable(kernel: str) -> bool:
    """Return True if a Python function can have the kernel's name."""
    return kernel.isidentifier() and not iskeyword(kernel)


def file_of(schedules: Mapping[str, str], left_out: Mapping[str, str], about: str) -> str:
    """Return the text of a file. `schedules` are traces by kernel; `left_out` says why other kernels have none."""
    pieces = [f"{HEADER}\n# {about}\n"]
    for kernel, trace in schedules.items():
        body = "".join(f"    {line}\n" for line in trace.splitlines()[1:]) or "    pass\n"
        pieces.append(f"\n\ndef {kernel}(sch):\n{body}")
    if left_out:
        pieces.append("\n\n# Without steps:\n")
        pieces += [f"#   {kernel}: {reason}\n" for kernel, reason in left_out.items()]
    return "".join(pieces)


def read_file(text: str, name: str) -> dict[str, KernelSchedule]:
    """Return the schedules by kernel. Raises RelaxError, which names the line."""
    head = takewhile(lambda line: line.startswith("#") or not line.strip(), text.splitlines())
    if HEADER not in map(str.strip, head):
        raise RelaxError(f"{name}:1: a file of schedules begins with the line '{HEADER}', which is its version")
    try:
        body = parsed(text).body
    except SyntaxError as error:
        raise RelaxError(f"{name}:{error.lineno}: {error.msg}") from None
    file: dict[str, KernelSchedule] = {}
    for statement in body:
        if not isinstance(statement, ast.FunctionDef) or [arg.arg for arg in statement.args.args] != ["sch"]:
            shown = ast.unparse(statement).partition("\n")[0]
            raise RelaxError(f"{name}:{statement.lineno}: expected 'def <kernel>(sch):', got '{shown}'")
        if statement.name in file:
            raise RelaxError(f"{name}:{statement.lineno}: '{statement.name}' already has a schedule")
        steps = [each for each in statement.body if not isinstance(each, ast.Pass)]
        lines = [HEADER, *map(ast.unparse, steps)]
        file[statement.name] = KernelSchedule(lines, [f"{name}:{step.lineno}" for step in (statement, *steps)])
    return file


def at_file(error: RelaxError, kernel: str, places: Sequence[str]) -> RelaxError:
    """Return an error of a kernel's schedule with the place in the schedule's file."""
    where = _LINE.match(error.message)
    problem = error.message[where.end() :] if where else error.message
    place = places[int(where[1]) - 1 if where else 0]
    return RelaxError(f"{place}: {problem} (kernel {kernel})", notes=error.notes)
