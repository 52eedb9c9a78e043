# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Equality constraints between sizes, by operators: inference refuses what cannot hold; a listener gets all."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar

from ...support.context import holding
from .symbols import Dim, equal

Listener = Callable[[Dim, Dim], None]
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


def contradict(one: Dim, other: Dim) -> bool:
    """Whether two sizes that must be the same never are. Where that is open, it is checked while the program runs."""
    listener = _listener.get()
    if listener is not None and one is not None and other is not None:
        listener(one, other)
    return equal(one, other) is False


def reporting_to(listener: Listener) -> AbstractContextManager[None]:
    """Inference inside reports to `listener` each two sizes that must be the same."""
    return holding(_listener, listener)
