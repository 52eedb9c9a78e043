# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedules for PrimFuncs from a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from ...bindings.ir import Operation
from ...bindings.navigation import symbol_name
from ...dialects.core.ir_attributes import SCHEDULE, SCHEDULE_PLACES
from ...dialects.tir.prim_func import prim_funcs_in, set_schedule_lines
from ...support.errors import RelaxError
from ...support.suggest import suggest
from ..core.base import Pass
from ..core.registry import register_pass


@register_pass
@dataclass(frozen=True)
class UseSchedules(Pass):
    """Set the schedules of a file on PrimFuncs. Schedules override the target's rules."""

    name: ClassVar[str] = "tir-use-schedules"
    anchor: ClassVar[str] = "builtin.module"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "bufferization", "linalg", "memref", "scf", "tensor")

    #: Python file with a function for each kernel. With `content`, the name of the file in errors.
    file: str = ""
    #: Text of the file, if it has been read already.
    content: str = ""

    def run(self, op: Operation) -> None:
        from .loops.schedule_files import at_file, read_file  # rarely needed
        from .loops.trace import read_requests

        functions = {symbol_name(func): func for func in prim_funcs_in(op)}
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
                if all(request.primitive.startswith("get_") for request in read_requests(schedule.lines)):
                    _only_look(function)
            except RelaxError as error:
                raise at_file(error, kernel, schedule.places) from None


def _only_look(function: Operation) -> None:
    """Check a schedule that changes nothing, and remove it, so that the target's choice stays."""
    from .loops.schedule import Schedule

    Schedule(function)
    for name in (SCHEDULE, SCHEDULE_PLACES):
        del function.attributes[name]


def _content(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise RelaxError(f"{file}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
