# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pieces of text: quoted, shortened, made names; expressions that know how strongly they bind; lines of them."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from ...bindings.ir import Attribute

#: Longer texts of attributes and types are cut.
MOST_TEXT = 120
_NO_NAME = re.compile(r"\W+", re.ASCII)
#: Calls and signatures that are wider are wrapped.
WIDTH = 110
#: Where comments start, so that they can be read down the page.
COMMENT_COLUMN = 56
_INDENT = "    "


def shorten(text: str, most: int = MOST_TEXT) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."


def few(items: Sequence[str], most: int) -> list[str]:
    """So many of them, and that there are more."""
    return list(items) if len(items) <= most else [*items[:most], "..."]


def one_line(text: str) -> str:
    """The text with what does not print escaped."""
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{shorten(one_line(escaped))}"'


def decoded(attribute: Attribute) -> str:
    """The value of a string attribute, which need not be UTF-8."""
    return attribute.value_bytes.decode("utf-8", "backslashreplace")


def as_name(text: str) -> str:
    """An identifier like the text; empty where nothing in it could stand in one."""
    name = _NO_NAME.sub("_", text).strip("_")[:40]
    if name[:1].isdecimal():
        name = f"_{name}"
    return f"{name}_" if keyword.iskeyword(name) else name


def as_tuple(items: Sequence[str]) -> str:
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"


class Level:
    """How strongly an expression's outermost operator binds, as in Python."""

    ANY = 0
    OR = 1
    AND = 2
    NOT = 3
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
    """The text of a value.

    `reads`: it looks at memory, so it must stay before what writes. `part`: it is a part of another tensor or buffer.
    """

    text: str
    level: int = Level.ATOM
    reads: bool = False
    part: bool = False

    def at(self, level: int) -> str:
        """The text, in parentheses where it binds less strongly than its place asks for."""
        return self.text if self.level >= level else f"({self.text})"


def infix(left: Expr, symbol: str, right: Expr, level: int) -> Expr:
    """`left symbol right`, grouping from the left; comparisons do not chain."""
    left_level = level + 1 if level == Level.COMPARE else level
    if symbol == "+" and right.level == Level.SIGN and right.text[1:2].isdecimal():
        return Expr(f"{left.at(left_level)} - {right.text[1:]}", level)
    return Expr(f"{left.at(left_level)} {symbol} {right.at(level + 1)}", level)


def literal(text: str) -> Expr:
    """A number, which may have a sign."""
    return Expr(text, Level.SIGN if text.startswith("-") else Level.ATOM)


def call(name: str, *items: str) -> Expr:
    return Expr(f"{name}({', '.join(items)})")


_SYMBOLS = {"floordiv": "//", "mod": "%"}
_AFFINE_WORD = re.compile(r"\b(?:[ds]\d+|floordiv|mod)\b")
_GROUP = re.compile(r"\([^()]*\)")


def affine(text: str, values: dict[str, Expr]) -> Expr:
    """MLIR's text of an affine expression with values in the place of `d0`, `s0`, ..."""
    if text in values:
        return values[text]

    def replace(match: re.Match[str]) -> str:
        word = match.group()
        return values[word].at(Level.ATOM) if word in values else _SYMBOLS.get(word, word)

    if text.lstrip("-").isdecimal():
        return literal(text)
    return Expr(_AFFINE_WORD.sub(replace, text), _affine_level(text))


def _affine_level(text: str) -> int:
    while "(" in text:
        text = _GROUP.sub("", text)
    if " + " in text or " - " in text:
        return Level.SUM
    return Level.PRODUCT if " " in text else Level.SIGN


def affine_values(dims: Sequence[Expr], symbols: Sequence[Expr] = ()) -> dict[str, Expr]:
    values = {f"d{index}": value for index, value in enumerate(dims)}
    values.update((f"s{index}", value) for index, value in enumerate(symbols))
    return values


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
