# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Import errors: what of a model cannot be imported, all of it at once."""

from __future__ import annotations

import textwrap
from typing import NamedTuple

from ...support.errors import ModelError
from ...support.registry import table
from ...support.suggest import counted
from .tensor_data import NodeProto


class Problem(NamedTuple):
    """A node that cannot be imported."""

    node: str
    domain: str
    op: str
    version: int
    attribute: str
    reason: str
    #: What would help, where that takes more than a line.
    help: str = ""
    #: Of an exception that a converter did not foresee; it keeps its traceback.
    cause: BaseException | None = None

    @property
    def operator(self) -> str:
        return f"{self.domain}.{self.op}" if self.domain else self.op


def shown(name: str) -> str:
    """A name as it may stand in a line: what cannot be printed, an end of line above all, by its escapes."""
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in name)


def shown_node(proto: NodeProto) -> str:
    """A node by its name, or its first output's, and its operator."""
    name = proto.name or next((each for each in proto.output if each), "")
    return f"'{shown(name)}' ({shown(proto.op_type)})"


_HEAD = ["operator", "opset", "nodes", "first node", "attribute", "reason"]


def _paragraph(row: list[str], width: int) -> str:
    operator, version, count, node, attribute, reason = row
    where = f"{count} nodes, the first is '{node}'" if count != "1" else f"node '{node}'"
    about = "" if attribute == "-" else f"attribute '{attribute}': "
    texts = [(f"{operator}, opset {version}: {where}", "    "), (f"  {about}{reason}", "  ")]
    lines = [textwrap.wrap(text, width, subsequent_indent=indent) for text, indent in texts]
    return "\n".join(line for wrapped in lines for line in wrapped)


class Problems:
    """The problems of one import."""

    def __init__(self) -> None:
        self.found: list[Problem] = []
        #: What may be the reason for all of them.
        self.notes: list[str] = []

    def add(self, problem: Problem) -> None:
        self.found.append(problem)

    def table(self, width: int | None = None) -> str:
        """One line for each operator and reason, the most frequent first, with the first node that has it.

        Where that is wider than `width`, as a terminal may be narrow, a paragraph for each.
        """
        groups: dict[tuple[str, int, str, str], list[str]] = {}
        for each in self.found:
            groups.setdefault((each.operator, each.version, each.attribute, each.reason), []).append(each.node)
        rows = []
        for (operator, version, attribute, reason), nodes in sorted(groups.items(), key=lambda item: -len(item[1])):
            cells = (operator, str(version), str(len(nodes)), nodes[0], attribute or "-", reason)
            rows.append([shown(cell) for cell in cells])
        lines = table(_HEAD, *rows).splitlines()
        if width is None or max(map(len, lines)) <= width:
            return "\n".join(lines)
        return "\n".join(_paragraph(row, width) for row in rows)

    def check(self) -> None:
        """Raises one RelaxError for all of them."""
        if self.found:
            nodes = counted(len(self.found), "node")
            # One operator's stands for those of the others.
            helps = [each.help for each in self.found if each.help]
            cause = next((each.cause for each in self.found if each.cause is not None), None)
            raise ModelError(
                f"{nodes} of the model cannot be imported:\n{self.table()}", notes=[*helps[:1], *self.notes]
            ) from cause
