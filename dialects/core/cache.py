# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memoisation per MLIR context: decoded types and attributes, inferred results, verified signatures.

They hold the context alive (each MLIR type does), so the owner of a context drops them with `drop`; for
contexts that are never dropped, the oldest go when there are more than a handful.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import Any

from ...bindings.ir import Attribute, Context

_MOST_CONTEXTS = 8
# Reached only by IR with hundreds of thousands of distinct signatures; then starting over is cheap enough.
_MOST_ENTRIES = 200_000


class Table(dict[Hashable, Any]):
    """A memo keyed by MLIR types and attributes, which are unique in a context."""

    def remember(self, key: Hashable, value: object) -> Any:
        if len(self) >= _MOST_ENTRIES:
            self.clear()
        self[key] = value
        return value


class ContextCache:
    """The memo tables of one context, by what they remember."""

    __slots__ = (
        "arrays",
        "attributes",
        "canonical",
        "encoded",
        "inferred",
        "infos",
        "resource_names",
        "resources",
        "structured",
        "symbols",
        "verified",
        "weights",
    )

    def __init__(self) -> None:
        self.infos = Table()
        self.encoded = Table()
        #: The types that write their sizes in another way than this project does, and what it would write.
        self.canonical = Table()
        self.attributes = Table()
        self.inferred = Table()
        self.verified = Table()
        #: The names of symbolic sizes in types.
        self.symbols = Table()
        #: Which operands of convolutions and products may be weights, by their types and attributes.
        self.weights = Table()
        #: Loops, accesses and sizes of linalg.generic, by its maps and its operands' types.
        self.structured = Table()
        #: The arrays behind large constants, by resource name: the bindings do not give their bytes back.
        self.resources: dict[str, Any] = {}
        #: The same by the attribute, of those that were made in this process.
        self.arrays: dict[Attribute, Any] = {}
        #: How many of them were to have each name.
        self.resource_names: Counter[str] = Counter()


# Keyed by identity: a cached context cannot die, so its id cannot be taken by another.
_caches: dict[int, tuple[Context, ContextCache]] = {}


def cache_of(context: Context) -> ContextCache:
    entry = _caches.get(id(context))
    if entry is not None and entry[0] is context:
        return entry[1]
    while len(_caches) >= _MOST_CONTEXTS:
        _caches.pop(next(iter(_caches)), None)
    cache = ContextCache()
    _caches[id(context)] = (context, cache)
    return cache


def drop(context_id: int) -> None:
    """Forgets the context with this id, so that its memory can go."""
    _caches.pop(context_id, None)
