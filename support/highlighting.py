# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scripts in colours: what of a text is a keyword, a word of a vocabulary, a string, a number, a comment."""

from __future__ import annotations

import io
import keyword
import tokenize
from collections.abc import Iterator
from typing import NamedTuple

#: In the order of their numbers in `marks`. Each colour can be read on white and on dark grey: a contrast of 4 to both.
COLOURS = {
    "keyword": "#b055ce",
    "word": "#2f7fda",
    "string": "#2f8e37",
    "number": "#cf5a17",
    "comment": "#7d7d7d",
}
_KINDS = {tokenize.STRING: "string", tokenize.NUMBER: "number", tokenize.COMMENT: "comment"}
_VOCABULARIES = frozenset("IRT")


class Piece(NamedTuple):
    """A part of a text that has a colour."""

    start: int
    end: int
    kind: str


def pieces(script: str) -> Iterator[Piece]:
    """In their order. What is no Python, the end of a text that was cut for instance, has no colour."""
    begins = [0]
    for line in io.StringIO(script):
        begins.append(begins[-1] + len(line))
    chain: Piece | None = None  # `R.nn.conv2d` so far
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
    except (tokenize.TokenError, SyntaxError, UnicodeEncodeError):  # the last: MLIR's names can be any bytes
        return


def highlighted(script: str) -> str:
    """The text as HTML that brings its colours along."""
    import html

    parts, done = [], 0
    for start, end, kind in pieces(script):
        parts.append(html.escape(script[done:start]))
        parts.append(f'<span style="color:{COLOURS[kind]}">{html.escape(script[start:end])}</span>')
        done = end
    return "".join([*parts, html.escape(script[done:])])


def marks(script: str) -> list[int]:
    """The pieces as numbers, for who makes elements of them: characters before it, its length, its kind, and so on."""
    found, done = [], 0
    kinds = list(COLOURS)
    for start, end, kind in pieces(script):
        found += [start - done, end - start, kinds.index(kind)]
        done = end
    return found
