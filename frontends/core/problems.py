# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Import errors: what of a model cannot be imported, all of it at once."""

from __future__ import annotations

import textwrap
from typing import NamedTuple

from ...support.errors import ModelError
from ...support.registry import table
from ...support.suggest import counted


class Words(NamedTuple):
    """What a front end calls what cannot be imported."""

    #: What a problem is of, and what that is a part of.
    node: str = "node"
    whole: str = "the model"
    attribute: str = "attribute"
    #: What versions of operators are called, where they have some.
    version: str = ""


class Problem(NamedTuple):
    """A node that cannot be imported, or another place, by its name."""

    node: str
    #: As it is shown.
    operator: str
    version: int | None
    attribute: str
    reason: str
    #: What would help, where that takes more than a line.
    help: str = ""
    #: Of an exception that a converter did not foresee; it keeps its traceback.
    cause: BaseException | None = None


def shown(name: str) -> str:
    """A name as it may stand in a line: what cannot be printed, an end of line above all, by its escapes."""
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in name)


class Problems:
    """The problems of one import."""

    def __init__(self, words: Words) -> None:
        self._words = words
        self.found: list[Problem] = []
        #: What may be the reason for all of them.
        self.notes: list[str] = []

    def add(self, problem: Problem) -> None:
        self.found.append(problem)

    def table(self, width: int | None = None) -> str:
        """One line for each operator and reason, the most frequent first, with the first node that has it.

        Where that is wider than `width`, as a terminal may be narrow, a paragraph for each.
        """
        groups: dict[tuple[str, int | None, str, str], list[str]] = {}
        for each in self.found:
            groups.setdefault((each.operator, each.version, each.attribute, each.reason), []).append(each.node)
        rows = []
        for (operator, version, attribute, reason), nodes in sorted(groups.items(), key=lambda item: -len(item[1])):
            cells = (operator, str(version), str(len(nodes)), nodes[0], attribute or "-", reason)
            rows.append([shown(cell) for cell in cells])
        words = self._words
        head = ["operator", words.version, f"{words.node}s", f"first {words.node}", words.attribute, "reason"]
        columns = [index for index, name in enumerate(head) if name]
        lines = table(*([row[index] for index in columns] for row in (head, *rows))).splitlines()
        if width is None or max(map(len, lines)) <= width:
            return "\n".join(lines)
        return "\n".join(self._paragraph(row, width) for row in rows)

    def _paragraph(self, row: list[str], width: int) -> str:
        operator, version, count, node, attribute, reason = row
        words = self._words
        named = f"{operator}, {words.version} {version}" if words.version else operator
        where = f"{count} {words.node}s, the first is '{node}'" if count != "1" else f"{words.node} '{node}'"
        about = "" if attribute == "-" else f"{words.attribute} '{attribute}': "
        texts = [(f"{named}: {where}", "    "), (f"  {about}{reason}", "  ")]
        lines = [textwrap.wrap(text, width, subsequent_indent=indent) for text, indent in texts]
        return "\n".join(line for wrapped in lines for line in wrapped)

    def check(self) -> None:
        """Raises one RelaxError for all of them."""
        if self.found:
            count = counted(len(self.found), self._words.node)
            # One operator's stands for those of the others.
            helps = [each.help for each in self.found if each.help]
            cause = next((each.cause for each in self.found if each.cause is not None), None)
            raise ModelError(
                f"{count} of {self._words.whole} cannot be imported:\n{self.table()}", notes=[*helps[:1], *self.notes]
            ) from cause
