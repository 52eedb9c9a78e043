# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memoization per MLIR context: decoded types and attributes, inferred results, verified signatures.

Each thread has its own memo tables, so that no thread drops a table that another thread uses. All threads share the
arrays behind constants.

Tables keep the context alive, because each MLIR type does. The owner of a context therefore drops the tables with
`drop`. Contexts without an owner are dropped, oldest first, when there are more than a handful.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Hashable
from threading import get_ident
from typing import Any, TypeVar

from ...bindings.handles import is_owned
from ...bindings.ir import Attribute, Context

X = TypeVar("X")

_MOST_CONTEXTS = 8
# Only IR with hundreds of thousands of distinct signatures reaches this limit. Starting over is cheap enough then.
_MOST_ENTRIES = 200_000


class Table(dict[Hashable, Any]):
    """Memo table keyed by MLIR types and attributes, which are unique in a context."""

    def remember(self, key: Hashable, value: object) -> Any:
        if len(self) >= _MOST_ENTRIES:
            self.clear()
        self[key] = value
        return value


class ContextCache:
    """Memo tables of one context in one thread."""

    __slots__ = (
        "attributes",
        "canonical",
        "encoded",
        "inferred",
        "infos",
        "structured",
        "symbols",
        "verified",
        "weights",
    )

    def __init__(self) -> None:
        self.infos = Table()
        self.encoded = Table()
        #: Types with a non-canonical spelling of their sizes, and the canonical type.
        self.canonical = Table()
        self.attributes = Table()
        self.inferred = Table()
        self.verified = Table()
        #: Names of symbolic sizes in types.
        self.symbols = Table()
        #: Operands of convolutions and products that may be weights, by types and attributes.
        self.weights = Table()
        #: Loops, accesses and sizes of linalg.generic, by its maps and operand types.
        self.structured = Table()


class ContextArrays:
    """Arrays behind one context's large constants. The bindings do not return their bytes."""

    __slots__ = ("by_attribute", "by_name", "counts")

    def __init__(self) -> None:
        #: Arrays of constants that this process created.
        self.by_attribute: dict[Attribute, Any] = {}
        #: The same arrays by resource name.
        self.by_name: dict[str, Any] = {}
        #: Number of constants that asked for each name.
        self.counts: Counter[str] = Counter()


# Keyed by identity: a cached context cannot die, so no other context can reuse its id.
_Known = dict[int, tuple[Context, X]]

#: Memo tables of each thread, by its identifier. A threading.local would free MLIR's objects while Python destroys the
#: state of a foreign thread, such as a thread of XLA: that crashes.
_threads: dict[int, _Known[ContextCache]] = {}
_arrays: _Known[ContextArrays] = {}


def cache_of(context: Context) -> ContextCache:
    """Return this thread's memo tables of a context."""
    if (caches := _threads.get(get_ident())) is None:
        caches = _new_thread()
    if (entry := caches.get(id(context))) is not None:
        return entry[1]
    # Another thread may drop contexts meanwhile.
    for oldest in list(caches)[: max(0, len(caches) - _MOST_CONTEXTS + 1)]:
        caches.pop(oldest, None)
    return caches.setdefault(id(context), (context, ContextCache()))[1]


def _new_thread() -> _Known[ContextCache]:
    """Return empty memo tables for this thread, and drop the tables of threads that have ended."""
    alive = sys._current_frames()
    for ended in [thread for thread in list(_threads) if thread not in alive]:
        _threads.pop(ended, None)
    return _threads.setdefault(get_ident(), {})


def arrays_of(context: Context) -> ContextArrays:
    """Return the arrays behind a context's constants, for all threads.

    Each step on `_arrays` is atomic, so there is no lock that a fork could leave behind.
    """
    if (entry := _arrays.get(id(context))) is not None:
        return entry[1]
    unowned = [key for key in list(_arrays) if not is_owned(key)]
    for key in unowned[: max(0, len(unowned) - _MOST_CONTEXTS + 1)]:
        _arrays.pop(key, None)
    return _arrays.setdefault(id(context), (context, ContextArrays()))[1]


def drop(context_id: int) -> None:
    """Drop the tables of the context with this id in every thread, so that its memory can be freed."""
    _arrays.pop(context_id, None)
    for caches in list(_threads.values()):
        caches.pop(context_id, None)
