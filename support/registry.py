# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is registered by name: rules, schedules, converters, passes. Each entry knows its place in Python source."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Generic, TypeVar

from .blaming import place_of
from .errors import OptionError, RelaxError
from .importing import imported_module, is_being_imported
from .plugins import announced_names, load_plugins, plugin_problems
from .suggest import suggest

Entry = TypeVar("Entry")
Thing = TypeVar("Thing")
#: What distinguishes entries of one name.
Sort = tuple[Any, ...]
Function = TypeVar("Function", bound=Callable[..., object])

#: What others than this project have registered, in their order.
_FOREIGN: list[object] = []
#: Held while an entry is added: two threads may import modules that register under one name.
_adding = threading.RLock()


def extensions_digest() -> str | None:
    """Return a hash of all that others have registered; None where it cannot be known what their objects do."""
    from .object_digest import digest_of  # the tools' lists need no hashes

    return digest_of(*_FOREIGN)


class Registry(Generic[Entry]):
    """Entries by name, and of one name by sort: a target, a version, whatever distinguishes them.

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

        `clash(entry, taken)`: whether two of one sort exclude each other. `families`: packages whose modules register
        entries.
        """
        self._key = key
        self._refusal = refusal
        self._clash = clash
        self._place = place
        self._families = families
        self._is_loaded = not families
        #: The threads that import the families now.
        self._loading: set[int] = set()
        #: This project's modules that registered something while they were imported, and may not be complete yet.
        self._incomplete: set[str] = set()
        self.entries: dict[Any, dict[Sort, list[Entry]]] = {}

    def registering(self, make: Callable[[Any, str], Sequence[Entry]]) -> Callable[[Function], Function]:
        """A decorator for functions; `make(function, place)` gives the entries."""

        def register(function: Function) -> Function:
            self.add(make(function, place_of(function)))
            return function

        return register

    def add(self, entries: Sequence[Entry]) -> None:
        """All of them, or none where one is refused."""
        module = imported_module()
        with _adding:
            for entry in entries:
                self._check_free(entry)
            if module is not None:
                self._incomplete.add(module)
            for entry in entries:
                self._enter(entry)
            if module is None:  # this project's are registered while its modules are imported
                _FOREIGN.extend(entries)

    def _enter(self, entry: Entry) -> None:
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
        """Import this project's families, which register themselves meanwhile.

        Each thread imports all of them, and Python makes it wait for those that another thread is importing. Families
        that call this function while they are imported go on at once.
        """
        thread = threading.get_ident()
        if self._is_loaded or thread in self._loading:
            return
        self._loading.add(thread)
        try:
            import pkgutil  # slow to import, and seldom needed

            for package in self._families.split():
                for family in pkgutil.iter_modules(importlib.import_module(package).__path__):
                    importlib.import_module(f"{package}.{family.name}")
            self._is_loaded = True
        finally:
            self._loading.discard(thread)

    def _await_modules(self) -> None:
        """Wait until other threads have imported the modules of the entries: their functions need all of a module."""
        for module in list(self._incomplete):
            if is_being_imported(module):
                importlib.import_module(module)
            if not is_being_imported(module):  # else this thread imports it
                self._incomplete.discard(module)

    def find(self, name: object) -> Entry | None:
        """The entry of a name, where each name has one."""
        self.load()
        return next(iter(self.tried(name)), None)

    def tried(self, name: object, sorts: Iterable[Sort] = ((),)) -> list[Entry]:
        """The entries of a name, in the order of these sorts."""
        sorts = tuple(sorts)
        found = self._entered(name, sorts)
        if not self._incomplete:  # asked last: `add` tells of a module before it enters anything
            return found
        self._await_modules()
        return self._entered(name, sorts)

    def _entered(self, name: object, sorts: Iterable[Sort]) -> list[Entry]:
        of_name = self.entries.get(name, {})
        return [entry for sort in sorts for entry in of_name.get(sort, ())]

    def by_name(self, sorts: Sequence[Sort]) -> dict[Any, list[Entry]]:
        """`tried` for every name that has any, sorted by name."""
        found = ((name, self.tried(name, sorts)) for name in sorted(self.entries))
        return {name: entries for name, entries in found if entries}

    def all(self) -> list[Entry]:
        """Every entry, sorted by name and sort."""
        self.load()
        return [
            entry
            for _, of_name in sorted(self.entries.items())
            for _, entries in sorted(of_name.items())
            for entry in entries
        ]


@dataclass(frozen=True)
class Named(Generic[Thing]):
    """Something that is registered under a name. `place` says where it is written."""

    name: str
    thing: Thing
    place: str


class NamedRegistry(Registry[Named[Thing]]):
    """One thing for each name: codegens, planners. Other packages may announce theirs."""

    def __init__(
        self,
        what: str,
        *,
        clash: Callable[[Named[Thing], Named[Thing]], bool] = lambda entry, taken: True,
        families: str = "",
        source: Callable[[str | None], object] = lambda name: None,
        plugins: str = "",
    ):
        """`what` they are, for messages: "a planner". `source(name)` imports what registers one, or all for None;
        `plugins`: the kind as which other packages announce them.
        """
        super().__init__(
            lambda entry: (entry.name,),
            lambda entry, taken: f"there is {what} '{entry.name}' already: {taken.place}",
            clash=clash,
            families=families,
        )
        self._what = what.partition(" ")[2]
        self._source, self._plugins = source, plugins

    def register(self, name: str, thing: Thing) -> None:
        """Refuses a name that is taken."""
        self.add([Named(name, thing, place_of(thing))])

    def find(self, name: Any) -> Named[Thing] | None:
        """The entry of a name, whose module is imported where it is not yet. Raises RelaxError where that fails."""
        if not self.tried(name):
            self.load()
            self._source(name)
            if not self.tried(name) and self._import_plugins(name) and not self.tried(name):
                raise RelaxError(f"a plug-in announces the {self._what} '{name}', but does not register it")
        return next(iter(self.tried(name)), None)

    def get(self, name: str) -> Thing:
        """What has the name. Raises RelaxError with the nearest one, and all."""
        found = self.find(name)
        if found is None:
            known = self.names()
            listed = ", ".join(known) or "none"
            problem = f"unknown {self._what} '{name}'{suggest(name, known)} (registered: {listed})"
            raise OptionError(problem, notes=plugin_problems())
        return found.thing

    def names(self) -> list[str]:
        """All names, sorted, of what other packages announce too."""
        self.load()
        self._source(None)
        return sorted({*self.entries, *(announced_names(self._plugins) if self._plugins else ())})

    def all(self) -> list[Named[Thing]]:
        """Every entry, sorted by name; packages that cannot be imported are left out (plugins.problems lists them)."""
        self._source(None)
        self._import_plugins(None)
        return super().all()

    def _import_plugins(self, name: str | None) -> bool:
        return bool(self._plugins) and load_plugins(self._plugins, name)


def entering(held: dict[str, Function]) -> Callable[..., Callable[[Function], Function]]:
    """A decorator that enters a function into a dictionary, under one word or several."""

    def words(*names: str) -> Callable[[Function], Function]:
        def enter(function: Function) -> Function:
            held.update(dict.fromkeys(names, function))
            return function

        return enter

    return words


def names_of(name: str | Sequence[str]) -> list[str]:
    """One name or several, as registrations take them."""
    if isinstance(name, str):
        return [name]
    if not isinstance(name, Sequence) or not all(isinstance(each, str) for each in name):
        raise OptionError(f"expected a name, or a list of names, got {type(name).__name__} {name!r}")
    return list(name)


def table(*rows: Sequence[str]) -> str:
    """Rows as lines of text, the columns below one another."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)
