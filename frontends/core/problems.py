# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Import errors: all the problems of a model are reported at once."""

from __future__ import annotations

import textwrap
from typing import NamedTuple

from ...support.errors import ModelError
from ...support.registry import table
from ...support.suggest import counted


class Words(NamedTuple):
    """Words of a front end for the things that cannot be imported."""

    #: The place of a problem, and the whole that contains the place.
    node: str = "node"
    whole: str = "the model"
    attribute: str = "attribute"
    #: Word for the version of an operator, if there are versions.
    version: str = ""


class Problem(NamedTuple):
    """Node or other place that cannot be imported, by its name."""

    node: str
    #: Name of the operator in messages.
    operator: str
    version: int | None
    attribute: str
    reason: str
    #: Advice that takes more than a line.
    help: str = ""
    #: Unforeseen exception of a converter, kept for its traceback.
    cause: BaseException | None = None


def shown(name: str) -> str:
    """Return a name with characters that are not printable, such as line ends, as escapes."""
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in name)


class Problems:
    """Problems of one import."""

    def __init__(self, words: Words) -> None:
        self._words = words
        self.found: list[Problem] = []
        #: Possible common reasons of all problems.
        self.notes: list[str] = []

    def add(self, problem: Problem) -> None:
        self.found.append(problem)

    def table(self, width: int | None = None) -> str:
        """Return one line for each operator and reason, the most frequent first, with the first node.

        If a line is wider than `width`, as for narrow terminals, return a paragraph for each.
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
        """Raise one error that lists all problems."""
        if self.found:
            count = counted(len(self.found), self._words.node)
            # The first help represents the others.
            helps = [each.help for each in self.found if each.help]
            cause = next((each.cause for each in self.found if each.cause is not None), None)
            raise ModelError(
                f"{count} of {self._words.whole} cannot be imported:\n{self.table()}", notes=[*helps[:1], *self.notes]
            ) from cause
