# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names of a graph and of its enclosing graphs."""

from __future__ import annotations

from ...bindings.ir import Location, Operation
from ...emit.kernels import FreshSymbols
from ...support.errors import ModelError, RelaxError
from ...support.suggest import suggest
from .limits import Room
from .problems import Problems, shown
from .values import Held, Value


class Scope:
    """Graph to import: the values of its names, and the state that its nodes share."""

    def __init__(
        self,
        problems: Problems,
        symbols: FreshSymbols,
        kernels: dict[object, str],
        room: Room,
        outer: Scope | None = None,
        region_of: Operation | None = None,
    ):
        """Create a scope.

        `outer` is the enclosing graph; `region_of` is the operation of the region that is built, if any.
        """
        self.problems = problems
        self.symbols = symbols
        #: PrimFuncs that converters have added to the module, by their source.
        self.kernels = kernels
        #: Remaining room below the limits of the import.
        self.room = room
        self._outer = outer
        self._region_of = region_of
        self._values: dict[str, Held | None] = {}
        #: Location of all nodes in a function that is not the model's own. Users do not know the names in such a
        #: function.
        self._origin: Location | None = None if outer is None else outer._origin

    def define(self, name: str, value: Held | None) -> None:
        if name in self._values:
            raise ModelError(f"'{shown(name)}' is defined twice: names of a graph are unique")
        if isinstance(value, Value) and not value.name and self._origin is None:
            value.name = shown(name)
        self._values[name] = value

    def lookup(self, name: str) -> Held | None:
        """Return the value of a name, here or in an enclosing graph, or None if it could not be imported."""
        if name in self._values:
            return self._values[name]
        if self._outer is not None:
            value = self._outer.lookup(name)
            if self._region_of is not None and value is not None:
                value = self._values[name] = value.inside(self._region_of)
            return value
        raise ModelError(f"nothing defines '{shown(name)}'{suggest(name, self._values)}")

    def output(self, name: str) -> Held | None:
        """Return the value of an output of the graph."""
        if not name:
            raise ModelError("an output of the graph has no name")
        try:
            return self.lookup(name)
        except RelaxError as error:
            raise ModelError(f"output '{shown(name)}': {error.message}") from None

    def knows(self, name: str) -> bool:
        """Check whether a name is defined already, here or in an enclosing graph."""
        return name in self._values or (self._outer is not None and self._outer.knows(name))
