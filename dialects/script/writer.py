# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lines of text: indentation, wrapping, comments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

#: Calls and signatures that are wider are wrapped.
WIDTH = 110
#: Where comments start, so that they can be read down the page.
COMMENT_COLUMN = 56
_INDENT = "    "


class Writer:
    """Collects lines."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._depth = 0

    def line(self, text: str, comment: str = "") -> None:
        code = _INDENT * self._depth + text
        if comment:
            code = f"{code.ljust(COMMENT_COLUMN)}  # {comment}"
        self.lines.append(code)

    def gap(self) -> None:
        """An empty line, but no second one."""
        if self.lines and self.lines[-1]:
            self.lines.append("")

    def call(self, head: str, items: Sequence[str], tail: str, comment: str = "", *, each: bool = False) -> None:
        """`head` + items + `tail`, over several lines where one is too short. `each`: then one item a line."""
        text = f"{head}{', '.join(items)}{tail}"
        if not items or self.fits(text):
            self.line(text, comment)
            return
        self.line(head)
        self.rows(items, each=each)
        self.line(tail, comment)

    def rows(self, items: Sequence[str], *, each: bool = False) -> None:
        """Items, indented, as many as fit on a line."""
        with self.indented():
            for row in items if each else self._rows(items):
                self.line(f"{row},")

    def fits(self, text: str) -> bool:
        return len(_INDENT) * self._depth + len(text) <= WIDTH

    def _rows(self, items: Sequence[str]) -> Iterator[str]:
        row = items[0]
        for item in items[1:]:
            if self.fits(f"{row}, {item},"):
                row = f"{row}, {item}"
            else:
                yield row
                row = item
        yield row

    @contextmanager
    def indented(self) -> Iterator[None]:
        self._depth += 1
        yield
        self._depth -= 1

    @contextmanager
    def captured(self) -> Iterator[list[str]]:
        """Lines written inside go into the list instead."""
        outer, self.lines = self.lines, []
        yield self.lines
        self.lines = outer
