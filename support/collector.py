# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Python's garbage collector, which looks at all that is alive again and again while much is made."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Without garbage collection inside: for what makes many objects, few of which are cycles.

    What is to go then should be gone at the end: the collector looks at what is there.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
