# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Syntax highlighting of scripts: keywords, vocabulary words, strings, numbers and comments."""

from __future__ import annotations

import io
import keyword
import tokenize
from collections.abc import Iterator
from typing import NamedTuple

#: Colours in the order of their numbers in `marks`. Each has a contrast of at least 4 on white and on dark grey.
COLOURS = {"keyword": "#b055ce", "word": "#2f7fda", "string": "#2f8e37", "number": "#cf5a17", "comment": "#7d7d7d"}
_KINDS = {tokenize.STRING: "string", tokenize.NUMBER: "number", tokenize.COMMENT: "comment"}
_VOCABULARIES = frozenset("IRT")


class Piece(NamedTuple):
    """Coloured range of a text."""

    start: int
    end: int
    kind: str


def pieces(script: str) -> Iterator[Piece]:
    """Yield the coloured pieces in order. Text that is not valid Python, such as a truncated end, gets no colour."""
    begins = [0]
    for line in io.StringIO(script):
        begins.append(begins[-1] + len(line))
    chain: Piece | None = None  # a dotted name such as `R.nn.conv2d`, still incomplete
    try:
        for token in tokenize.generate_tokens(io.StringIO(script).readline):
            start, end = (begins[row - 1] + column for row, column in (token.start, token.end))
            if chain is not None and start == chain.end and (token.string == "." or script[start - 1] == "."):
                chain = chain._replace(end=end)
                continue
            if chain is not None:
                yield chain
            chain = None
            is_first = script[end : end + 1] == "." and script[max(start - 1, 0) : start] != "."
            if token.string in _VOCABULARIES and is_first:
                chain = Piece(start, end, "word")
            elif token.type == tokenize.NAME and keyword.iskeyword(token.string):
                yield Piece(start, end, "keyword")
            elif token.type in _KINDS:
                yield Piece(start, end, _KINDS[token.type])
    # UnicodeEncodeError: MLIR's names can hold any bytes
    except (tokenize.TokenError, SyntaxError, UnicodeEncodeError):
        return


def highlighted(script: str) -> str:
    """Return the text as HTML with inline colours."""
    import html

    parts, done = [], 0
    for start, end, kind in pieces(script):
        parts.append(html.escape(script[done:start]))
        parts.append(f'<span style="color:{COLOURS[kind]}">{html.escape(script[start:end])}</span>')
        done = end
    return "".join([*parts, html.escape(script[done:])])


def marks(script: str) -> list[int]:
    """Encode the pieces as numbers for a browser: characters before each piece, its length, its kind."""
    found, done = [], 0
    kinds = list(COLOURS)
    for start, end, kind in pieces(script):
        found += [start - done, end - start, kinds.index(kind)]
        done = end
    return found
