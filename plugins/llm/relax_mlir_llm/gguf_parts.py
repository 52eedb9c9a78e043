# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names of the parts of a split GGUF file, such as model-00001-of-00003.gguf."""

from __future__ import annotations

import re
from pathlib import Path

_FIRST = re.compile(r"(.*-)00001(-of-(\d{5})\.gguf)")


def part_paths(first: Path) -> list[Path]:
    """Return the paths of all parts by the name of the first one. Another name is a file of one part."""
    found = _FIRST.fullmatch(first.name)
    if found is None:
        return [first]
    begin, end, count = found.groups()
    return [first.with_name(f"{begin}{number:05}{end}") for number in range(1, int(count) + 1)]
