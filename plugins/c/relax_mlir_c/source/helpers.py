# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small C functions for operations that C lacks or leaves undefined. A program contains only the ones it calls.

C does not define signed overflow, or the conversion of floats that do not fit into an integer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

_NAME, _PLACE = re.compile(r"(\w+)\("), re.compile("@(?:LIMIT|TRUNC|[WVF])")


def helper_texts(names: Iterable[str]) -> list[str]:
    """Return the functions with these names, in the library's order."""
    wanted = set(names)
    return [text for name, text in helpers().items() if name in wanted]


@cache
def helpers() -> dict[str, str]:
    """Return all helper functions by name."""
    _, *patterns = Path(__file__).with_name("helpers.c").read_text(encoding="utf-8").split("\n\nstatic")
    found = {}
    for text in (filled for pattern in patterns for filled in _fill_pattern(f"static{pattern.rstrip()}")):
        name = _NAME.search(text)
        assert name is not None, text
        found[name[1]] = text
    return found


def _fill_pattern(pattern: str) -> Iterator[str]:
    widths = (8, 16, 32, 64) if "@W" in pattern else (0,)
    floats = ((32, "float", "f"), (64, "double", "")) if "@V" in pattern else ((0, "", ""),)
    for width in widths:
        for bits, type_, suffix in floats:
            limit = f"{float(1 << max(width - 1, 0)):.1f}{suffix}"
            words = {"@W": str(width), "@V": str(bits), "@F": type_, "@LIMIT": limit, "@TRUNC": f"trunc{suffix}"}
            yield _replace_words(pattern, words)


def _replace_words(pattern: str, words: Mapping[str, str]) -> str:
    return _PLACE.sub(lambda place: words[place[0]], pattern)
