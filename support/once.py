# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that run once per process."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

X = TypeVar("X")


class Once(Generic[X]):
    """Function that runs once for equal arguments.

    Other threads wait for the result.

    `functools.cache` runs the function in each thread that calls it before the first result exists, and returns
    different results.
    """

    def __init__(self, function: Callable[..., X]) -> None:
        functools.update_wrapper(self, function)
        self._cached, self._lock = functools.cache(function), threading.RLock()

    def __call__(self, *arguments: Hashable) -> X:
        with self._lock:
            return self._cached(*arguments)

    def cache_clear(self) -> None:
        """Forget the cached results."""
        self._cached.cache_clear()


def once(function: Callable[..., X]) -> Once[X]:
    """Decorate a function that opens a device or changes a library's state."""
    return Once(function)
