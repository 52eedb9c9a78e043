# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sizes in a module's text, made smaller everywhere at once: the types of values that belong together change alike."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial

_SHAPED = re.compile(r"\b(?:tensor|memref|vector)<(?:[^<>\"]|\"[^\"]*\"|<(?:[^<>\"]|\"[^\"]*\")*>)*>")
_SIZE = re.compile(r"(?<![\w.])([0-9]+)(?=x)|(?<=x)([0-9]+)(?=x)")
_NUMBER = re.compile(r"(?<![\w.%#@!\"-])[0-9]+(?![\w.\"])")
_FOREIGN = re.compile(r'"(?:[^"\\\n]|\\.)*"|[%@#!^][\w.$-]+')


def smaller_texts(text: str) -> Iterator[str]:
    """The text with one size smaller: 1, or half of it, in types alone, or wherever the number stands."""
    sizes = sorted({int(size) for shaped in _SHAPED.findall(text) for size in _sizes(shaped)}, reverse=True)
    for size in sizes:
        for smaller in dict.fromkeys((1, size // 2)):
            if 0 < smaller < size:
                in_types = _replaced(text, size, smaller)
                yield in_types
                everywhere = _outside_of_names(in_types, partial(_numbers, size=size, smaller=smaller))
                if everywhere != in_types:
                    yield everywhere


def _sizes(shaped: str) -> list[str]:
    return [found[0] or found[1] for found in _SIZE.findall(shaped)]


def _replaced(text: str, size: int, smaller: int) -> str:
    def in_type(match: re.Match[str]) -> str:
        return _SIZE.sub(lambda found: str(smaller) if int(found[0]) == size else found[0], match[0])

    return _SHAPED.sub(in_type, text)


def _numbers(part: str, size: int, smaller: int) -> str:
    return _NUMBER.sub(lambda found: str(smaller) if int(found[0]) == size else found[0], part)


def _outside_of_names(text: str, change: Callable[[str], str]) -> str:
    """Changes what is neither a string nor the name of a value, a symbol or an alias."""
    parts, position = [], 0
    for match in _FOREIGN.finditer(text):
        parts += [change(text[position : match.start()]), match[0]]
        position = match.end()
    return "".join([*parts, change(text[position:])])
