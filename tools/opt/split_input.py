# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Splitting of input files (`--split-input-file`). Each part keeps the line numbers of the file."""

from __future__ import annotations

import re
from typing import NamedTuple

SPLIT_MARKER = "// -----"
#: Marker in scripts, with Python's comment sign.
SCRIPT_MARKER = "# -----"


class Chunk(NamedTuple):
    """A part of a file. `text` begins with one empty line per line before it in the file."""

    text: str
    first_line: int  # first line of the part, from 1


def split_input(text: str, marker: str = SPLIT_MARKER) -> list[Chunk]:
    """Split after each line that ends in the marker. A text without markers is one chunk.

    As in mlir-opt, a marker may follow other text on its line. A marker with text after it does not split.
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
    """Return the lines that look like misspelt markers: with a character too few or too many."""
    almost = {marker[:-1], marker + marker[-1], marker.replace(" ", "")}
    return [number for number, line in enumerate(text.split("\n"), 1) if line.strip() in almost]
