# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Python's warnings, which a process has one list of filters for."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from .callbacks import fragile


class _Ignoring:
    """The filters of the process, kept while threads are inside of `ignoring_warnings`."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._threads = 0
        self._kept = warnings.catch_warnings()

    @fragile
    def begin(self) -> None:
        with self._lock:
            if not self._threads:
                self._kept = warnings.catch_warnings()
                self._kept.__enter__()
                warnings.simplefilter("ignore")
            self._threads += 1

    @fragile
    def end(self) -> None:
        with self._lock:
            self._threads -= 1
            if not self._threads:
                self._kept.__exit__(None, None, None)


_ignoring = _Ignoring()


@contextmanager
def ignoring_warnings() -> Iterator[None]:
    """Ignore warnings inside.

    `warnings.catch_warnings` puts back the filters that it has found. Of two threads that overlap, the second one finds
    the filters of the first one, and leaves them behind for good. Here the last thread puts the first one's back.
    """
    _ignoring.begin()
    try:
        yield
    finally:
        _ignoring.end()
