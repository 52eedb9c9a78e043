# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What of a model cannot be imported: all of it at once."""

from __future__ import annotations

from typing import NamedTuple

from ...bindings.errors import RelaxError


class Problem(NamedTuple):
    """A node that cannot be imported."""

    node: str
    domain: str
    op: str
    version: int
    attribute: str
    reason: str

    @property
    def operator(self) -> str:
        return f"{self.domain}.{self.op}" if self.domain else self.op


class Problems:
    """The problems of one import."""

    def __init__(self) -> None:
        self.found: list[Problem] = []

    def add(self, problem: Problem) -> None:
        self.found.append(problem)

    def table(self) -> str:
        """One line for each operator and reason, the most frequent first, with the first node that has it."""
        groups: dict[tuple[str, int, str, str], list[str]] = {}
        for each in self.found:
            groups.setdefault((each.operator, each.version, each.attribute, each.reason), []).append(each.node)
        rows = [("operator", "opset", "nodes", "first node", "attribute", "reason")]
        for (operator, version, attribute, reason), nodes in sorted(groups.items(), key=lambda item: -len(item[1])):
            rows.append((operator, str(version), str(len(nodes)), nodes[0], attribute or "-", reason))
        widths = [max(len(row[column]) for row in rows) for column in range(5)]
        return "\n".join(
            "  ".join([*(cell.ljust(width) for cell, width in zip(row[:5], widths, strict=True)), row[5]])
            for row in rows
        )

    def check(self) -> None:
        """Raises one RelaxError for all of them."""
        if self.found:
            count = len(self.found)
            nodes = "1 node" if count == 1 else f"{count} nodes"
            raise RelaxError(f"{nodes} of the model cannot be imported:\n{self.table()}")
