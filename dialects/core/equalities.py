# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Equality constraints between sizes, from operators.

Inference rejects contradictions; a listener receives all constraints.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar

from ...support.context import holding
from .symbols import Dim, equal

Listener = Callable[[Dim, Dim], None]
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


def contradict(one: Dim, other: Dim) -> bool:
    """Return True if two sizes that must agree never do. Undecided cases are checked at run time."""
    listener = _listener.get()
    if listener is not None and one is not None and other is not None:
        listener(one, other)
    return equal(one, other) is False


def reporting_to(listener: Listener) -> AbstractContextManager[None]:
    """Report each pair of sizes that must agree to `listener`, while the context manager is active."""
    return holding(_listener, listener)
