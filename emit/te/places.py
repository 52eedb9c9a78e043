# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Source locations: lines of programs that define a tensor, for errors and for operations."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from ...bindings.ir import Location
from ...bindings.mlir import ir
from ...support.errors import RelaxError


@dataclass(frozen=True, eq=False)
class SourcePlace:
    """Line of the program that defines a tensor."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    @property
    def location(self) -> Location:
        """Return the MLIR location in the current context."""
        return ir.Location.file(self.file, self.line, 1)

    def problem(self, message: str) -> RelaxError:
        return RelaxError(message, location=str(self))


#: Modules that are skipped in the search for the caller's line.
_OWN = [f"{__package__.partition('.')[0]}.{name}" for name in ("emit.te", "frontends.te", "passes.legalize.call")]


def place_of_caller() -> SourcePlace:
    """Return the line that called a function of te."""
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_own(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
    return SourcePlace(frame.f_code.co_filename, frame.f_lineno)


def _is_own(module: str) -> bool:
    return any(module == own or module.startswith(f"{own}.") for own in _OWN)
