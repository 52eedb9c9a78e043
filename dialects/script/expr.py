# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pieces of text: names, tuples, expressions with their precedence, and lines."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from .words import Sign

_NO_NAME = re.compile(r"\W+", re.ASCII)
_MOST_NAME = 40
#: Shortened names may get a number, and must stay unchanged when they are parsed again.
_MOST_KEPT = 60
#: Wider calls and signatures are wrapped.
WIDTH = 110
_INDENT = "    "


def as_name(text: str) -> str:
    """Return an identifier similar to the text, or an empty string if no character is usable."""
    if len(text) <= _MOST_KEPT and is_name(text):
        return text
    name = _NO_NAME.sub("_", text).strip("_")[:_MOST_NAME]
    if name[:1].isdecimal():
        name = f"_{name}"
    return f"{name}_" if keyword.iskeyword(name) else name


def is_name(text: str) -> bool:
    return text.isidentifier() and text.isascii() and not keyword.iskeyword(text)


def as_tuple(items: Sequence[str]) -> str:
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"


class Level:
    """Precedence of an expression's outermost operator, as in Python."""

    ANY = 0
    COMPARE = 4
    BIT_OR = 5
    BIT_XOR = 6
    BIT_AND = 7
    SHIFT = 8
    SUM = 9
    PRODUCT = 10
    SIGN = 11
    ATOM = 12


class Expr(NamedTuple):
    """Text of a value."""

    text: str
    level: int = Level.ATOM
    #: For a number: its text where the context determines the type.
    bare: str = ""

    def at(self, level: int) -> str:
        """Return the text, in parentheses if its precedence is below the required level."""
        return self.text if self.level >= level else f"({self.text})"

    def plain(self) -> Expr:
        """Return a number without its type."""
        return Expr(self.bare, Level.SIGN if self.bare.startswith("-") else Level.ATOM) if self.bare else self


def infix(left: Expr, sign: Sign, right: Expr) -> Expr:
    """Return an infix expression, grouped from the left; comparisons do not chain.

    A number omits its type if the other operand determines it.
    """
    if left.bare and not right.bare:
        left = left.plain()
    elif right.bare:
        right = right.plain()
    left_level = sign.level + 1 if sign.level == Level.COMPARE else sign.level
    return Expr(f"{left.at(left_level)} {sign.text} {right.at(sign.level + 1)}", sign.level)


class Writer:
    """Collector of lines."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 0

    @property
    def margin(self) -> str:
        return _INDENT * self.depth

    def line(self, text: str) -> None:
        self.lines.append(_INDENT * self.depth + text)

    def gap(self) -> None:
        """Add an empty line, unless the last line is empty."""
        if self.lines and self.lines[-1]:
            self.lines.append("")

    def call(self, head: str, items: Sequence[str], tail: str, *, each: bool = False) -> None:
        """Write `head` + items + `tail`, wrapped if the line is too long.

        With `each`, a wrapped call has one item per line.
        """
        text = f"{head}{', '.join(items)}{tail}"
        if not items or len(_INDENT) * self.depth + len(text) <= WIDTH:
            self.line(text)
            return
        self.line(head)
        with self.indented():
            for row in items if each else self._rows(items):
                self.line(f"{row},")
        self.line(tail)

    def _rows(self, items: Sequence[str]) -> Iterator[str]:
        row = items[0]
        for item in items[1:]:
            if len(_INDENT) * self.depth + len(row) + len(item) + 3 <= WIDTH:
                row = f"{row}, {item}"
            else:
                yield row
                row = item
        yield row

    @contextmanager
    def indented(self) -> Iterator[None]:
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1
