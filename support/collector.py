# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Python's garbage collector, which looks at all that is alive again and again while much is made."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Switch garbage collection off for work that makes many objects, few of them in cycles.

    Free large objects before the end: the collector then looks at all that are left. It works again as soon as one of
    several threads leaves, or threads that always compile would keep garbage for ever.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
