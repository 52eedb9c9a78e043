# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gives PrimFuncs the schedules of a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from ..bindings.ir import Operation
from ..bindings.navigation import symbol_name
from ..dialects.core.ir_attributes import SCHEDULE, SCHEDULE_PLACES
from ..dialects.tir.prim_func import prim_funcs_in, set_schedule_lines
from ..support.errors import RelaxError
from ..support.suggest import suggest
from .core.base import Pass
from .core.registry import register_pass


@register_pass
@dataclass(frozen=True)
class UseSchedules(Pass):
    """Gives PrimFuncs the schedules that a file has for them, in place of what rules of a target choose."""

    name: ClassVar[str] = "tir-use-schedules"
    anchor: ClassVar[str] = "builtin.module"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "bufferization", "linalg", "memref", "scf", "tensor")

    #: Python with a function for each kernel; what it is called where `content` is given.
    file: str = ""
    #: What is in the file, where it has been read.
    content: str = ""

    def run(self, op: Operation) -> None:
        from .loops.schedule_files import at_file, read_file  # seldom needed
        from .loops.trace import read_requests

        functions = {symbol_name(each): each for each in prim_funcs_in(op)}
        for kernel, schedule in read_file(self.content or _content(self.file), self.file).items():
            if kernel not in functions:
                known = ", ".join(functions)
                problem = f"there is no kernel '{kernel}'{suggest(kernel, functions)} (there are {known})"
                raise RelaxError(f"{schedule.places[0]}: {problem}")
            function = functions[kernel]
            if SCHEDULE in function.attributes:
                del function.attributes[SCHEDULE]
            set_schedule_lines(function, schedule.lines)
            set_schedule_lines(function, schedule.places, SCHEDULE_PLACES)
            try:
                if all(each.primitive.startswith("get_") for each in read_requests(schedule.lines)):
                    _only_look(function)
            except RelaxError as error:
                raise at_file(error, kernel, schedule.places) from None


def _only_look(function: Operation) -> None:
    """A schedule that changes nothing is none, if it is right: the target's choice stays."""
    from .loops.schedule import Schedule

    Schedule(function)
    for name in (SCHEDULE, SCHEDULE_PLACES):
        del function.attributes[name]


def _content(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise RelaxError(f"{file}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
