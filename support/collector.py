# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Python's garbage collector, which looks at all that is alive again and again while much is made."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Without garbage collection inside: for what makes many objects, few of which are cycles.

    What is to go then should be gone at the end: the collector looks at what is there.
    """
    was_enabled, modules = gc.isenabled(), len(sys.modules)
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            if len(sys.modules) > modules:
                _count_as_old()
            gc.enable()


def _count_as_old() -> None:
    """Spares a look at all that is new: after imports it is functions and classes for the most part, which stay.

    What was frozen before, as servers do ahead of a fork, would be no more: nothing is done then.
    """
    if not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()
