# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Long functions of scripts in pieces: statements are parsed when they are read, some hundred lines at a time.

A syntax tree is fifty times as large as its text, and half of the parser's time goes into memory that no cache holds. A
piece's tree is freed once it is read, and the next tree takes its place.

Text is cut at lines with the indentation of the first statement, and statements stay at their lines. Text that is
Python in pieces is the same Python as a whole; after a wrong cut a piece does not parse. If anything fails, the reader
reads the whole, so that errors are the same as in a short script.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable

from .source import MOST_TEXT, Source

#: Characters of a piece: its tree fits into a cache of one processor.
_SIZE = 4_000
#: Length from which a function is cut into pieces.
_LONG = 4 * _SIZE
#: Each piece has as many empty lines before it as the text has. With more pieces they would take longer than they save.
_MOST_PIECES = 100
#: Text that would make a line depend on the line before it, or change the line count.
_JOINING = ('"""', "'''", "\\\n", "\t", "\r", "\f", "\0")
_HEADER = re.compile(r"^( *)def .*?:(?=\n)", re.MULTILINE | re.DOTALL)
_FIRST = re.compile(r"\n( +)[^ \n#]")

#: Function that returns the statements of a function.
StatementsOf = Callable[[ast.FunctionDef], Iterable[ast.stmt]]


def statements_of(function: ast.FunctionDef) -> Iterable[ast.stmt]:
    """Return the statements of a function in a script that is parsed as a whole."""
    return function.body


class Pieces:
    """Text of a script without the statements of its long functions, and these statements in pieces."""

    def __init__(self, source: Source, text: str):
        self._source = source
        #: Pieces of a function with their line numbers, by the line of the function's first statement.
        self._found: dict[int, list[tuple[int, str]]] = {}
        self._read: set[int] = set()
        is_cut = _LONG < len(text) <= MOST_TEXT and not any(each in text for each in _JOINING)
        self.text = "".join(self._cut(text)) if is_cut else text

    def __bool__(self) -> bool:
        return bool(self._found)

    @property
    def are_read(self) -> bool:
        """Check whether all pieces have been read."""
        return len(self._read) == len(self._found)

    def statements(self, function: ast.FunctionDef) -> Iterable[ast.stmt]:
        """Yield the statements of a function, parsed on demand. Raises ScriptError."""
        first = function.body[0].lineno
        if first not in self._found or len(function.body) > 1:
            yield from function.body
            return
        self._read.add(first)
        for line, text in self._found[first]:
            (whole,) = self._source.parse("\n" * (line - 2) + "if 1:\n" + text).body
            assert isinstance(whole, ast.If)
            yield from whole.body

    def _cut(self, text: str) -> Iterable[str]:
        """Yield the text with `pass` in place of the statements of long functions.

        The number of lines stays the same.
        """
        least = max(_SIZE, len(text) // _MOST_PIECES)
        at, line = 0, 1
        while (header := _HEADER.search(text, at)) is not None:
            behind = re.compile(f"\n {{0,{len(header.group(1))}}}[^ \n#]").search(text, header.end())
            start, end = header.end() + 1, len(text) if behind is None else behind.start() + 1
            yield text[at:start]
            line += text.count("\n", at, start)
            at = end
            if (first := _FIRST.search(text, start - 1, end)) is None or end - start < _LONG:
                yield text[start:end]
                line += text.count("\n", start, end)
                continue
            yield f"{first.group(1)}pass" + "\n" * text.count("\n", start, end)
            pieces = self._found[line] = []
            # No cut between an `if` and its `else`.
            begin = re.compile(f"\n{first.group(1)}(?!el(?:se|if)\\b)[A-Za-z_]")
            while start < end:
                stop = begin.search(text, min(max(start + least, first.end()), end), end)
                part = text[start : end if stop is None else stop.start() + 1]
                pieces.append((line, part))
                line += part.count("\n")
                start += len(part)
        yield text[at:]
