# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Long scripts in pieces: the statements of functions are parsed when they are read, some hundred lines at a time.

A syntax tree has fifty times the size of its text, and half of the parser's time goes into memory that no cache holds.
A piece's tree is gone once it is read, and the next one takes its place.

Functions' statements are cut out where lines begin as far left as the first of them, and stay at their lines. What is
Python in pieces is the same as a whole; where a cut is wrong, a piece is no Python. Whoever reads pieces reads the
whole where anything fails, so that errors are told as they are of a short script.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from .source import MOST_TEXT, Source

#: Characters of a piece: its tree fits into a cache of one processor.
_SIZE = 4_000
#: Each piece has as many empty lines before it as the text has: with more pieces that would take longer than they save.
_MOST_PIECES = 100
#: What would make a line depend on the one before it, or be counted otherwise.
_JOINING = ('"""', "'''", "\\\n", "\t", "\r", "\f", "\0")
_HEADER = re.compile(r"^( *)def .*?:(?=\n)", re.MULTILINE | re.DOTALL)
_FIRST = re.compile(r"\n( +)([^ \n#]+)")
#: Functions in functions are blocks that are known before the statements around them.
_INNER = "def "

#: The statements of a function.
StatementsOf = Callable[[ast.FunctionDef], Iterable[ast.stmt]]


def statements_of(function: ast.FunctionDef) -> Iterable[ast.stmt]:
    """Those of a script that is parsed as a whole."""
    return function.body


def can_be_cut(text: str) -> bool:
    return 4 * _SIZE < len(text) <= MOST_TEXT and not any(each in text for each in _JOINING)


@dataclass(eq=False)
class _Piece:
    """Statements of one function, or of several: first lines and texts."""

    parts: list[tuple[int, str]] = field(default_factory=list)
    size: int = 0

    def add(self, line: int, text: str) -> int:
        """Where in the piece it is."""
        self.parts.append((line, text))
        self.size += len(text)
        return len(self.parts) - 1

    @property
    def text(self) -> str:
        """As Python, each part at its lines below an `if`."""
        texts, at = [], 1
        for line, text in self.parts:
            texts += ["\n" * (line - 1 - at), "if 1:\n", text]
            at = line + text.count("\n")
        return "".join(texts)


class Pieces:
    """A script's text without the statements of its functions, and these."""

    def __init__(self, source: Source, text: str):
        self._source = source
        #: By the line on which a function's statements begin, in which pieces they are, and where in these.
        self._found: dict[int, list[tuple[_Piece, int]]] = {}
        self._read: set[int] = set()
        #: The piece that was parsed last, and its parts.
        self._parsed: tuple[_Piece, list[list[ast.stmt]]] | None = None
        self.text = "".join(self._cut(text))

    @property
    def are_read(self) -> bool:
        """Whether all that was cut out was asked for."""
        return len(self._read) == len(self._found)

    def statements(self, function: ast.FunctionDef) -> Iterable[ast.stmt]:
        """The statements of a function, parsed as they are asked for. Raises ScriptError."""
        first = function.body[0].lineno
        found = self._found.get(first)
        if found is None or len(function.body) > 1:
            yield from function.body
            return
        self._read.add(first)
        for piece, position in found:
            yield from self._tree(piece)[position]

    def _tree(self, piece: _Piece) -> list[list[ast.stmt]]:
        if self._parsed is None or self._parsed[0] is not piece:
            self._parsed = None  # its memory is taken again
            tree = self._source.parse(piece.text)
            self._parsed = piece, [each.body for each in tree.body if isinstance(each, ast.If)]
        return self._parsed[1]

    def _cut(self, text: str) -> Iterable[str]:
        """The text with `pass` for the statements of its functions, and as many lines."""
        least = max(_SIZE, len(text) // _MOST_PIECES)
        piece, at, line = _Piece(), 0, 1
        while (header := _HEADER.search(text, at)) is not None:
            behind = re.compile(f"\n {{0,{len(header.group(1))}}}[^ \n#]").search(text, header.end())
            start, end = header.end() + 1, len(text) if behind is None else behind.start() + 1
            yield text[at:start]
            line += text.count("\n", at, start)
            first = _FIRST.search(text, start - 1, end)
            if first is None or first.group(2) == "..." or text.find(_INNER, start, end) >= 0:
                yield text[start:end]
                line += text.count("\n", start, end)
            else:
                yield f"{first.group(1)}pass" + "\n" * text.count("\n", start, end)
                found = self._found[line] = []
                # Not between an `if` and its `else`.
                begin = re.compile(f"\n{first.group(1)}(?!el(?:se|if)\\b)[A-Za-z_]")
                while start < end:
                    if piece.size >= least:
                        piece = _Piece()
                    stop = begin.search(text, min(start + least - piece.size, end), end)
                    part = text[start : end if stop is None else stop.start() + 1]
                    found.append((piece, piece.add(line, part)))
                    line += part.count("\n")
                    start += len(part)
            at = end
        yield text[at:]
