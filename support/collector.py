# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Control of Python's cyclic garbage collector, whose repeated full scans slow down large allocations."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Disable garbage collection for work that creates many objects, few of them in cycles.

    Free large objects before the end: the collector then scans all remaining objects. With several threads, collection
    is enabled again as soon as one thread leaves; otherwise threads that compile constantly would keep garbage for
    ever.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
