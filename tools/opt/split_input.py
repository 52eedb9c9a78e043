# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`--split-input-file`: one file as several, each with the line numbers that it has in the file."""

from __future__ import annotations

import re
from typing import NamedTuple

SPLIT_MARKER = "// -----"
#: The same where comments are Python's.
SCRIPT_MARKER = "# -----"


class Chunk(NamedTuple):
    """A part of a file. `text` begins with as many empty lines as stand before it in the file."""

    text: str
    first_line: int  # where the part itself begins, from 1


def split_input(text: str, marker: str = SPLIT_MARKER) -> list[Chunk]:
    """Splits behind each line that ends in the marker; a text without markers is one chunk.

    As in mlir-opt a marker may follow other text on its line. A comment that goes on behind it is none.
    """
    markers = list(re.finditer(re.escape(marker) + r"[ \t\r]*(?:\n|\Z)", text))
    begins = [0, *(match.end() for match in markers)]
    ends = [*(match.start() for match in markers), len(text)]
    chunks = []
    for begin, end in zip(begins, ends, strict=True):
        lines_before = text.count("\n", 0, begin)
        chunks.append(Chunk("\n" * lines_before + text[begin:end], lines_before + 1))
    return chunks


def near_split_markers(text: str, marker: str = SPLIT_MARKER) -> list[int]:
    """The lines that were probably meant to split: the marker with a character too few or too many."""
    almost = {marker[:-1], marker + marker[-1], marker.replace(" ", "")}
    return [number for number, line in enumerate(text.split("\n"), 1) if line.strip() in almost]
