# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Python's garbage collector, which looks at all that is alive again and again while much is made."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

# So many modules have more in them than a program of some operators.
_MANY = 8


@contextmanager
def uncollected() -> Iterator[None]:
    """Without garbage collection inside: for what makes many objects, few of which are cycles.

    What is to go then should be gone at the end: the collector looks at what is there, but where modules have been
    imported, which stay: what there is then counts as old, for the next look at all.
    """
    was_enabled, imported = gc.isenabled(), len(sys.modules)
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            if len(sys.modules) > imported + _MANY and not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
            gc.enable()
