# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names of SSA values: unique where they can be seen, free again after their region."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_INDICES = "ijkl"


class Names:
    """The names within one function."""

    def __init__(self) -> None:
        self._names: dict[Any, str] = {}
        self._taken: set[str] = set()
        self._next: dict[str, int] = {}
        # What the innermost scope has to undo: names that it took, counters as they were.
        self._own: list[str] = []
        self._counters: dict[str, int] = {}

    def get(self, value: Any) -> str | None:
        return self._names.get(value)

    def bind(self, value: Any, name: str) -> None:
        """Gives a value a name that is another's already."""
        self._names[value] = name

    def reserve(self, name: str) -> None:
        self._taken.add(name)

    def exact(self, wanted: str) -> str:
        """The wanted name, or the first free one of `wanted_1`, `wanted_2`, ..."""
        if wanted not in self._taken:
            return self._take(wanted)
        return self.numbered(f"{wanted}_", first=1)

    def numbered(self, prefix: str, first: int = 0, keep: bool = False) -> str:
        """The first free one of `prefix0`, `prefix1`, ...; `keep` holds it beyond the scope."""
        number = self._next.get(prefix, first)
        self._counters.setdefault(prefix, number)
        while f"{prefix}{number}" in self._taken:
            number += 1
        self._next[prefix] = number + 1
        return self._take(f"{prefix}{number}", keep)

    def index(self) -> str:
        """A loop's variable."""
        for letter in _INDICES:
            if letter not in self._taken:
                return self._take(letter)
        return self.numbered("i")

    def _take(self, name: str, keep: bool = False) -> str:
        self._taken.add(name)
        if not keep:
            self._own.append(name)
        return name

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Names taken inside are free again afterwards."""
        own, counters = self._own, self._counters
        self._own, self._counters = [], {}
        yield
        self._taken.difference_update(self._own)
        self._next.update(self._counters)
        self._own, self._counters = own, counters
