# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One thread at a time works with a context: its modules, diagnostics and verifiers are shared by whoever has it.

Threads with contexts of their own do not wait for each other. A module and its copies have one context, so two threads
that compile one module take turns.
"""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from typing import Any
from weakref import WeakKeyDictionary

from .ir import Context

_locks: WeakKeyDictionary[Context, Any] = WeakKeyDictionary()


def lock_context(context: Context) -> AbstractContextManager[object]:
    """Return the context's lock, to be held in a `with` statement. The thread that holds it may ask again."""
    found = _locks.get(context)
    if found is None:
        found = _locks.setdefault(context, threading.RLock())  # one step: two threads get the same lock
    lock: AbstractContextManager[object] = found
    return lock
