# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registries by name: rules, schedules, converters, passes. Each entry knows its source location."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .blaming import place_of
from .errors import OptionError, RelaxError
from .importing import imported_module, is_being_imported
from .plugins import announced_names, load_plugins, missing_plugin, plugin_problems
from .suggest import suggest

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

Entry = TypeVar("Entry")
Thing = TypeVar("Thing")
#: Key that distinguishes entries with the same name.
Sort = tuple[Any, ...]
Function = TypeVar("Function", bound=Callable[..., object])

#: Entries registered by other packages, in order.
_FOREIGN: list[object] = []
#: Lock for adding entries: two threads may import modules that register the same name.
_adding = threading.RLock()


def extensions_digest() -> str | None:
    """Return a hash of all foreign entries, or None if the behaviour of an entry cannot be determined."""
    from .object_digest import digest_of  # lists in tools need no hashes

    return digest_of(*_FOREIGN)


class Registry(Generic[Entry]):
    """Entries by name, and for equal names by sort (a target, a version, ...).

    A second entry of equal name and sort is refused, unless it has the same source location, as in a reloaded module.
    """

    def __init__(
        self,
        key: Callable[[Entry], Sort],
        refusal: Callable[[Entry, Entry], str],
        *,
        clash: Callable[[Entry, Entry], bool] = lambda entry, taken: True,
        place: Callable[[Entry], str] = attrgetter("place"),
        families: str = "",
        announced: str = "",
    ):
        """Create a registry.

        `key(entry)` returns the name followed by the sort.

        `refusal(entry, taken)` returns the error message for a second entry. `clash(entry, taken)` checks whether two
        entries of equal sort exclude each other. `families` names packages whose modules register entries. `announced`
        is the kind under which plug-ins announce such modules.
        """
        self._key = key
        self._refusal = refusal
        self._clash = clash
        self._place = place
        self._families, self._announced = families, announced
        self._is_loaded = not (families or announced)
        #: Threads that are importing the families.
        self._loading: set[int] = set()
        #: Modules of this project that registered entries during import, and may still be incomplete.
        self._incomplete: dict[str, ModuleSpec] = {}
        self.entries: dict[Any, dict[Sort, list[Entry]]] = {}

    def registering(self, make: Callable[[Any, str], Sequence[Entry]]) -> Callable[[Function], Function]:
        """Return a decorator for functions. `make(function, place)` creates the entries."""

        def register(function: Function) -> Function:
            self.add(make(function, place_of(function)))
            return function

        return register

    def add(self, entries: Sequence[Entry]) -> None:
        """Add all entries, or none if one is refused. Raise RelaxError for a refused entry."""
        module = imported_module()
        with _adding:
            for entry in entries:
                self._check_free(entry)
            if module is not None:
                self._incomplete[module.name] = module
            for entry in entries:
                name, *sort = self._key(entry)
                of_name = self.entries.setdefault(name, {})
                others = [other for other in of_name.get(tuple(sort), ()) if self._place(other) != self._place(entry)]
                of_name[tuple(sort)] = [*others, entry]
            if module is None:  # entries of this project are added during imports of its modules
                _FOREIGN.extend(entries)

    def _check_free(self, entry: Entry) -> None:
        name, *sort = self._key(entry)
        for taken in self.entries.get(name, {}).get(tuple(sort), ()):
            if self._place(taken) != self._place(entry) and self._clash(entry, taken):
                second = getattr(entry, "label", self._place(entry))
                raise RelaxError(self._refusal(entry, taken), notes=[f"the second one is {second}"])

    def load(self) -> None:
        """Import the families and the announced modules, which register entries.

        Each thread imports all families, and Python makes the thread wait for imports in other threads. Families that
        call this function during their own import return at once.
        """
        thread = threading.get_ident()
        if self._is_loaded or thread in self._loading:
            return
        self._loading.add(thread)
        try:
            import pkgutil  # slow to import and rarely needed

            for package in self._families.split():
                for family in pkgutil.iter_modules(importlib.import_module(package).__path__):
                    importlib.import_module(f"{package}.{family.name}")
            if self._announced:
                load_plugins(self._announced)
            self._is_loaded = True
        finally:
            self._loading.discard(thread)

    def _await_modules(self) -> None:
        """Wait until other threads have imported the modules of the entries, whose functions need complete modules."""
        for name, module in list(self._incomplete.items()):
            if is_being_imported(module):
                importlib.import_module(name)
            if not is_being_imported(module):  # otherwise this thread imports it
                self._incomplete.pop(name, None)

    def find(self, name: object) -> Entry | None:
        """Return the only entry of a name, or None."""
        self.load()
        return next(iter(self.tried(name)), None)

    def tried(self, name: object, sorts: Iterable[Sort] = ((),)) -> list[Entry]:
        """Return the entries of a name in the order of the sorts."""
        sorts = tuple(sorts)
        found = self._entered(name, sorts)
        if not self._incomplete:  # read last: `add` records a module before it adds entries
            return found
        self._await_modules()
        return self._entered(name, sorts)

    def _entered(self, name: object, sorts: Iterable[Sort]) -> list[Entry]:
        of_name = self.entries.get(name, {})
        return [entry for sort in sorts for entry in of_name.get(sort, ())]

    def by_name(self, sorts: Sequence[Sort]) -> dict[Any, list[Entry]]:
        """Return the result of `tried` for every name that has entries, sorted by name."""
        found = ((name, self.tried(name, sorts)) for name in sorted(self.entries))
        return {name: entries for name, entries in found if entries}

    def all(self) -> list[Entry]:
        """Return all entries, sorted by name and sort."""
        self.load()
        return [
            entry
            for _, of_name in sorted(self.entries.items())
            for _, entries in sorted(of_name.items())
            for entry in entries
        ]


@dataclass(frozen=True)
class Named(Generic[Thing]):
    """Object registered under a name. `place` is its source location."""

    name: str
    thing: Thing
    place: str


class NamedRegistry(Registry[Named[Thing]]):
    """Registry with one object per name, such as codegens or planners. Other packages may announce entries."""

    def __init__(
        self,
        what: str,
        *,
        clash: Callable[[Named[Thing], Named[Thing]], bool] = lambda entry, taken: True,
        families: str = "",
        source: Callable[[str | None], object] = lambda name: None,
        plugins: str = "",
    ):
        """Create a registry of `what`, a noun for messages such as "a planner".

        `source(name)` imports the module that registers a name, or all modules for None. `plugins` is the kind under
        which other packages announce entries.
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
        """Register an object. Raise RelaxError if the name is taken."""
        self.add([Named(name, thing, place_of(thing))])

    def find(self, name: Any) -> Named[Thing] | None:
        """Return the entry of a name and import its module if necessary.

        Return None for an unknown name.

        Raises RelaxError if the import fails, or if an announcing plug-in does not register the name.
        """
        if not self.tried(name):
            self.load()
            self._source(name)
            if not self.tried(name) and self._import_plugins(name) and not self.tried(name):
                raise RelaxError(f"a plug-in announces the {self._what} '{name}', but does not register it")
        return next(iter(self.tried(name)), None)

    def get(self, name: str) -> Thing:
        """Return the object of a name. Raise OptionError with the nearest name and all names if it is unknown."""
        if (found := self.find(name)) is None:
            if missing := missing_plugin(f"{self._plugins}.{name}"):
                raise OptionError(f"{self._what} '{name}': {missing}", notes=plugin_problems())
            known = self.names()
            listed = ", ".join(known) or "none"
            problem = f"unknown {self._what} '{name}'{suggest(name, known)} (registered: {listed})"
            raise OptionError(problem, notes=plugin_problems())
        return found.thing

    def names(self) -> list[str]:
        """Return all names, sorted, including names that other packages announce."""
        self.load()
        self._source(None)
        return sorted({*self.entries, *(announced_names(self._plugins) if self._plugins else ())})

    def all(self) -> list[Named[Thing]]:
        """Return all entries, sorted by name. Skip packages that cannot be imported (`plugin_problems` lists them)."""
        self._source(None)
        self._import_plugins(None)
        return super().all()

    def _import_plugins(self, name: str | None) -> bool:
        return bool(self._plugins) and load_plugins(self._plugins, name)


def entering(functions: dict[str, Function]) -> Callable[..., Callable[[Function], Function]]:
    """Return a decorator that adds a function to a dictionary under one or several names."""

    def words(*names: str) -> Callable[[Function], Function]:
        def enter(function: Function) -> Function:
            functions.update(dict.fromkeys(names, function))
            return function

        return enter

    return words


def names_of(name: str | Sequence[str]) -> list[str]:
    """Return a list of names from one name or a sequence. Raise OptionError for other types."""
    if isinstance(name, str):
        return [name]
    if not isinstance(name, Sequence) or not all(isinstance(each, str) for each in name):
        raise OptionError(f"expected a name, or a list of names, got {type(name).__name__} {name!r}")
    return list(name)


def table(*rows: Sequence[str]) -> str:
    """Format rows as lines of text with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)
