# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Locks that give one thread at a time access to a context, its modules, diagnostics and verifiers.

Threads with separate contexts run in parallel. A module and its copies share a context, so threads that compile the
same module take turns.
"""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from typing import Any
from weakref import WeakKeyDictionary

from .ir import Context

_locks: WeakKeyDictionary[Context, Any] = WeakKeyDictionary()


def lock_context(context: Context) -> AbstractContextManager[object]:
    """Return the context's reentrant lock, for use in a `with` statement."""
    if (found := _locks.get(context)) is None:
        found = _locks.setdefault(context, threading.RLock())  # atomic: two threads get the same lock
    lock: AbstractContextManager[object] = found
    return lock
