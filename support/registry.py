# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is registered by name: rules, schedules, converters, passes. Each entry knows its place in Python source."""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, Generic, TypeVar

from .errors import RelaxError

Entry = TypeVar("Entry")
#: What tells entries of one name apart.
Sort = tuple[Any, ...]
Function = TypeVar("Function", bound=Callable[..., Any])


def place_of(function: Callable[..., Any]) -> str:
    """`folder/file.py:line` of a function, without its decorators; its module where it has no code of its own."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    code = getattr(function, "__code__", None)
    if code is None:
        return getattr(function, "__module__", "?")
    return _shown_place(code.co_filename, code.co_firstlineno)


def place_of_caller(depth: int) -> str:
    """The same of the line that is running now: of who called the function that asks (1), of its caller (2)."""
    frame = sys._getframe(depth + 1)
    return _shown_place(frame.f_code.co_filename, frame.f_lineno)


def _shown_place(file: str, line: int) -> str:
    folder, name = os.path.split(file)
    return f"{os.path.basename(folder)}/{name}:{line}"


class Registry(Generic[Entry]):
    """Entries by name, and of one name by sort: a target, a version, whatever tells them apart.

    A second one of a name and sort is refused, unless it comes from the same place, as when a module is reloaded.
    """

    def __init__(
        self,
        key: Callable[[Entry], Sort],
        refusal: Callable[[Entry, Entry], str],
        *,
        clash: Callable[[Entry, Entry], bool] = lambda entry, taken: True,
        place: Callable[[Entry], str] = attrgetter("place"),
        families: str = "",
    ):
        """`key(entry)` is its name, then its sort; `refusal(entry, taken)` says what is wrong with a second one.

        `clash(entry, taken)`: whether two of one sort exclude each other. `families`: a package whose modules
        register entries.
        """
        self._key = key
        self._refusal = refusal
        self._clash = clash
        self._place = place
        self._families = families
        self._is_loaded = not families
        self.entries: dict[Any, dict[Sort, list[Entry]]] = {}

    def registering(self, make: Callable[[Any, str], Sequence[Entry]]) -> Callable[[Function], Function]:
        """A decorator for functions; `make(function, place)` gives the entries."""

        def register(function: Function) -> Function:
            self.add(make(function, place_of(function)))
            return function

        return register

    def add(self, entries: Sequence[Entry]) -> None:
        """All of them, or none where one is refused."""
        for entry in entries:
            self._check_free(entry)
        for entry in entries:
            name, *sort = self._key(entry)
            of_name = self.entries.setdefault(name, {})
            others = [other for other in of_name.get(tuple(sort), ()) if self._place(other) != self._place(entry)]
            of_name[tuple(sort)] = [*others, entry]

    def _check_free(self, entry: Entry) -> None:
        name, *sort = self._key(entry)
        for taken in self.entries.get(name, {}).get(tuple(sort), ()):
            if self._place(taken) != self._place(entry) and self._clash(entry, taken):
                second = getattr(entry, "label", self._place(entry))
                raise RelaxError(self._refusal(entry, taken), notes=[f"the second one is {second}"])

    def load(self) -> None:
        """Imports this project's families, once; they register themselves meanwhile."""
        if self._is_loaded:
            return
        self._is_loaded = True
        try:
            for family in pkgutil.iter_modules(importlib.import_module(self._families).__path__):
                importlib.import_module(f"{self._families}.{family.name}")
        except BaseException:
            self._is_loaded = False
            raise

    def tried(self, name: Any, sorts: Iterable[Sort] = ((),)) -> list[Entry]:
        """The entries of a name, in the order of these sorts."""
        of_name = self.entries.get(name, {})
        return [entry for sort in sorts for entry in of_name.get(sort, ())]

    def by_name(self, sorts: Sequence[Sort]) -> dict[Any, list[Entry]]:
        """`tried` for every name that has any, sorted by name."""
        found = ((name, self.tried(name, sorts)) for name in sorted(self.entries))
        return {name: entries for name, entries in found if entries}

    def all(self) -> list[Entry]:
        """Every entry, sorted by name and sort."""
        return [
            entry
            for _, of_name in sorted(self.entries.items())
            for _, entries in sorted(of_name.items())
            for entry in entries
        ]


def names_of(name: str | Sequence[str]) -> list[str]:
    """One name or several, as registrations take them."""
    return [name] if isinstance(name, str) else list(name)


def table(*rows: Sequence[str]) -> str:
    """Rows as lines of text, the columns below one another."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)
