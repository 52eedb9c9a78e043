# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The names of a graph, and of the graphs around it."""

from __future__ import annotations

from typing import Any

from ...bindings.ir import Location, Operation
from ...emit.kernels import FreshSymbols
from ...support.errors import ModelError, RelaxError
from ...support.suggest import suggest
from .limits import Room
from .problems import Problems, shown
from .values import Held, Value


class Scope:
    """A graph that is imported: what its names stand for, and what nodes know of it."""

    def __init__(
        self,
        problems: Problems,
        symbols: FreshSymbols,
        kernels: dict[Any, str],
        room: Room,
        outer: Scope | None = None,
        region_of: Operation | None = None,
    ):
        """`outer` knows the names of the graph around; `region_of` is the operation whose region is built, if any."""
        self.problems = problems
        self.symbols = symbols
        #: The PrimFuncs that converters have brought into the module, by what they were made of.
        self.kernels = kernels
        #: How much the model may still become.
        self.room = room
        self._outer = outer
        self._region_of = region_of
        self._values: dict[str, Held | None] = {}
        #: Where all nodes come from, in a function that is not the model's: the names in it are unknown to users.
        self._origin: Location | None = None if outer is None else outer._origin

    def define(self, name: str, value: Held | None) -> None:
        if name in self._values:
            raise ModelError(f"'{shown(name)}' is defined twice: names of a graph are unique")
        if isinstance(value, Value) and not value.name and self._origin is None:
            value.name = shown(name)
        self._values[name] = value

    def lookup(self, name: str) -> Held | None:
        """What a name stands for here or in a graph around; None for one that could not be imported."""
        if name in self._values:
            return self._values[name]
        if self._outer is not None:
            value = self._outer.lookup(name)
            if self._region_of is not None and value is not None:
                value = self._values[name] = value.inside(self._region_of)
            return value
        raise ModelError(f"nothing defines '{shown(name)}'{suggest(name, self._values)}")

    def output(self, name: str) -> Held | None:
        """What an output of the graph stands for."""
        if not name:
            raise ModelError("an output of the graph has no name")
        try:
            return self.lookup(name)
        except RelaxError as error:
            raise ModelError(f"output '{shown(name)}': {error.message}") from None

    def knows(self, name: str) -> bool:
        """Whether a name is defined by now, here or in a graph around."""
        return name in self._values or (self._outer is not None and self._outer.knows(name))
