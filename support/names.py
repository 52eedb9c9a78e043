# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names that nothing has yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable


def fresh_name(wanted: str, taken: Container[str]) -> str:
    """The name that is wanted, or that with the first number that is free."""
    name, count = wanted, 0
    while name in taken:
        count += 1
        name = f"{wanted}_{count}"
    return name


class FreshNames:
    """The same for many, each of which is taken then."""

    def __init__(self, taken: Iterable[str]):
        self._taken = set(taken)
        #: Up to which numbers those of one stem are taken: many weights may want the same.
        self._numbers: Counter[str] = Counter()

    def of(self, wanted: str) -> str:
        name = wanted
        while name in self._taken:
            self._numbers[wanted] += 1
            name = f"{wanted}_{self._numbers[wanted]}"
        self._taken.add(name)
        return name
