# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names of values: unique in their scope, and reusable after their region."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...bindings.ir import Location, Operation, Type
from ...bindings.mlir import ir, readable
from ..core.dialect import row_of
from .expr import as_name
from .types import is_tensor

_INDICES = "ijkl"
_MOST_PREFIX = 32
#: Names of results, by operation.
_WORDS = {"constant": "const", "for": "loop", "forall": "loop", "while": "loop", "if": "branch"}
#: Names with another meaning in a script.
_RESERVED = frozenset({"I", "R", "T", "cls", "range", "True", "False", "None", "float"})
# Depth limit for the names in a location.
_MOST_DEPTH = 8


class ValueNames:
    """Names within one function."""

    def __init__(self) -> None:
        self._taken: set[str] = set(_RESERVED)
        self._next: dict[str, int] = {}
        # State that the innermost scope restores: the names that it took, and previous counters.
        self._own: list[str] = []
        self._counters: dict[str, int] = {}

    def exact(self, wanted: str) -> str:
        """Return the wanted name, or the first free one of `wanted_1`, `wanted_2`, ..."""
        return self._take(wanted) if wanted not in self._taken else self.numbered(f"{wanted}_", first=1)

    def numbered(self, prefix: str, first: int = 0) -> str:
        """Return the first free name of `prefix0`, `prefix1`, ..."""
        number = self._next.get(prefix, first)
        self._counters.setdefault(prefix, number)
        while f"{prefix}{number}" in self._taken:
            number += 1
        self._next[prefix] = number + 1
        return self._take(f"{prefix}{number}")

    def index(self) -> str:
        """Return a name for a loop variable."""
        for letter in _INDICES:
            if letter not in self._taken:
                return self._take(letter)
        return self.numbered("i")

    def _take(self, name: str) -> str:
        self._taken.add(name)
        self._own.append(name)
        return name

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Release the names taken inside at the end of the scope."""
        own, counters = self._own, self._counters
        self._own, self._counters = [], {}
        try:
            yield
        finally:
            self._taken.difference_update(self._own)
            self._next.update(self._counters)
            self._own, self._counters = own, counters


def result_prefix(op: Operation, index: int, type_: Type) -> str:
    """Return the prefix of a result's name, from the operation or its callee; `v` for values that are not tensors."""
    definition = row_of(op)
    if definition is not None and len(definition.results) > 1 and len(definition.results) == len(op.results):
        return f"{definition.results[index].name}_"
    if not is_tensor(type_) and definition is None:
        return "v"
    word = op.name.rpartition(".")[2]
    word = _callee(op) or _WORDS.get(word, word)
    return f"{as_name(word[:_MOST_PREFIX]).rstrip('_') or 'v'}_"


def _callee(op: Operation) -> str:
    for name in ("func", "callee"):
        if "call" in op.name and name in op.attributes:
            attribute = op.attributes[name]
            if isinstance(attribute, (ir.FlatSymbolRefAttr, ir.SymbolRefAttr, ir.StringAttr)):
                return str(attribute).rpartition("@")[2].strip('"').rpartition(".")[2]
    return ""


def name_in(location: Location) -> str:
    """Return an identifier from the name in a location, or an empty string."""
    return as_name(location_name(location))


def location_name(location: Location, depth: int = 0) -> str:
    """Return the name, or the names of a fused location (a model's nodes), or an empty string."""
    if isinstance(location, ir.NameLoc):
        return readable(lambda: str(location.name_str))
    if depth > _MOST_DEPTH:
        return ""
    if isinstance(location, ir.CallSiteLoc):
        return location_name(location.callee, depth + 1)
    if not isinstance(location, ir.FusedLoc):
        return ""
    names = dict.fromkeys(location_name(inner, depth + 1) for inner in location.locations)
    return " + ".join(name for name in names if name)
