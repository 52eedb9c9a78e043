# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memoisation per MLIR context: decoded types and attributes, inferred results, verified signatures.

Each thread has memo tables of its own, so that no thread takes away what another one is in the middle of using. The
arrays behind constants are shared by all threads. Tables hold the context alive (each MLIR type does), so the owner of
a context drops them with `drop`. For contexts that nobody drops, the oldest go when there are more than a handful.
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
    """The memo tables of one context in one thread."""

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


class ContextArrays:
    """The arrays behind one context's large constants: the bindings do not give their bytes back."""

    __slots__ = ("by_attribute", "by_name", "counts")

    def __init__(self) -> None:
        #: The arrays of constants that this process made.
        self.by_attribute: dict[Attribute, Any] = {}
        #: The same arrays by resource name.
        self.by_name: dict[str, Any] = {}
        #: The number of constants that asked for each name.
        self.counts: Counter[str] = Counter()


# Keyed by identity: a cached context cannot die, so its id cannot be taken by another.
_Known = dict[int, tuple[Context, X]]

#: The memo tables of each thread, by its identifier. A threading.local would free MLIR's objects while Python ends the
#: state of a thread that is not Python's own, such as those of XLA: that crashes.
_threads: dict[int, _Known[ContextCache]] = {}
_arrays: _Known[ContextArrays] = {}


def cache_of(context: Context) -> ContextCache:
    """Return this thread's memo tables of a context."""
    caches = _threads.get(get_ident())
    if caches is None:
        caches = _new_thread()
    entry = caches.get(id(context))
    if entry is not None:
        return entry[1]
    # Another thread may drop contexts meanwhile.
    for oldest in list(caches)[: max(0, len(caches) - _MOST_CONTEXTS + 1)]:
        caches.pop(oldest, None)
    return caches.setdefault(id(context), (context, ContextCache()))[1]


def _new_thread() -> _Known[ContextCache]:
    """Return empty memo tables for this thread, and forget those of threads that have ended."""
    alive = sys._current_frames()
    for ended in [each for each in list(_threads) if each not in alive]:
        _threads.pop(ended, None)
    return _threads.setdefault(get_ident(), {})


def arrays_of(context: Context) -> ContextArrays:
    """Return the arrays behind a context's constants, for all threads.

    Each step on `_arrays` is atomic, so there is no lock that a fork could leave behind.
    """
    entry = _arrays.get(id(context))
    if entry is not None:
        return entry[1]
    unowned = [key for key in list(_arrays) if not is_owned(key)]
    for key in unowned[: max(0, len(unowned) - _MOST_CONTEXTS + 1)]:
        _arrays.pop(key, None)
    return _arrays.setdefault(id(context), (context, ContextArrays()))[1]


def drop(context_id: int) -> None:
    """Forgets the context with this id in every thread, so that its memory can go."""
    _arrays.pop(context_id, None)
    for caches in list(_threads.values()):
        caches.pop(context_id, None)
