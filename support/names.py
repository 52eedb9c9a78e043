# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Generation of unused names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable


def fresh_name(wanted: str, taken: Container[str]) -> str:
    """Return the wanted name, or the name with the first free numeric suffix."""
    name, count = wanted, 0
    while name in taken:
        count += 1
        name = f"{wanted}_{count}"
    return name


class FreshNames:
    """Generator of unused names that remembers the names it has returned."""

    def __init__(self, taken: Iterable[str]):
        self._taken = set(taken)
        #: Last suffix of each stem: many weights may want the same name.
        self._numbers: Counter[str] = Counter()

    def of(self, wanted: str) -> str:
        name = wanted
        while name in self._taken:
            self._numbers[wanted] += 1
            name = f"{wanted}_{self._numbers[wanted]}"
        self._taken.add(name)
        return name
