# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small C functions that programs use, each written only where it is: what C has no operator for, or leaves open.

C does not say what becomes of signed integers that wrap around, or of floats that do not fit into an integer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

_NAME, _PLACE = re.compile(r"(\w+)\("), re.compile("@(?:LIMIT|TRUNC|[WVF])")


def helper_texts(names: Iterable[str]) -> list[str]:
    """The functions of these names, in the library's order."""
    wanted = set(names)
    return [text for name, text in helpers().items() if name in wanted]


@cache
def helpers() -> dict[str, str]:
    """All of them by name."""
    _, *patterns = Path(__file__).with_name("helpers.c").read_text(encoding="utf-8").split("\n\nstatic")
    found = {}
    for text in (filled for pattern in patterns for filled in _filled(f"static{pattern.rstrip()}")):
        name = _NAME.search(text)
        assert name is not None, text
        found[name[1]] = text
    return found


def _filled(pattern: str) -> Iterator[str]:
    widths = (8, 16, 32, 64) if "@W" in pattern else (0,)
    floats = ((32, "float", "f"), (64, "double", "")) if "@V" in pattern else ((0, "", ""),)
    for width in widths:
        for bits, type_, suffix in floats:
            limit = f"{float(1 << max(width - 1, 0)):.1f}{suffix}"
            words = {
                "@W": str(width),
                "@V": str(bits),
                "@F": type_,
                "@LIMIT": limit,
                "@TRUNC": f"trunc{suffix}",
            }
            yield _replaced(pattern, words)


def _replaced(pattern: str, words: Mapping[str, str]) -> str:
    return _PLACE.sub(lambda place: words[place[0]], pattern)
