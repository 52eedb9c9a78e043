# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Export errors: all the operations of a module that cannot be exported are reported at once."""

from __future__ import annotations

from typing import NamedTuple

from ....bindings.diagnostics import locate, place_text
from ....bindings.ir import Operation
from ....support.errors import RefusalError
from ....support.registry import table
from ....support.suggest import counted
from ...core.node import Unsupported
from ...core.problems import shown

_HEAD = ["operation", "number", "first", "attribute", "reason"]


class Problem(NamedTuple):
    """Operation that cannot be exported, with its place and the reason."""

    operation: str
    place: str
    attribute: str
    reason: str


class Problems:
    """Problems of one export."""

    def __init__(self) -> None:
        self.found: list[Problem] = []

    def add(self, operation: Operation, problem: Unsupported) -> None:
        self.found.append(Problem(operation.name, _place(operation), problem.attribute, problem.reason))

    def check(self) -> None:
        """Raise one error for all problems, with a line for each operator and reason, and the first place."""
        if not self.found:
            return
        groups: dict[tuple[str, str, str], list[str]] = {}
        for each in self.found:
            groups.setdefault((each.operation, each.attribute, each.reason), []).append(each.place)
        rows = [
            [shown(cell) for cell in (name, str(len(places)), places[0], attribute or "-", reason)]
            for (name, attribute, reason), places in sorted(groups.items(), key=lambda item: -len(item[1]))
        ]
        count = counted(len(self.found), "operation")
        raise RefusalError(f"{count} cannot be exported to ONNX:\n{table(_HEAD, *rows)}")


def _place(operation: Operation) -> str:
    file, line, column, name = locate(operation.location)
    place = place_text(file, line, column) if file else ""
    return " at ".join(part for part in (f'"{name}"' if name else "", place) if part) or "-"
