# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Resources for expensive passes, set by the compiler: threads and a cache.

The default is one thread without a cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from ...support.disk_cache import DiskCache


class Means(NamedTuple):
    #: Maximum number of parallel jobs.
    jobs: int = 1
    #: Cache of results, or None.
    cache: DiskCache | None = None


_means: ContextVar[Means] = ContextVar("means", default=Means())  # noqa: B039  # it does not change


def means() -> Means:
    return _means.get()


@contextmanager
def working_with(means: Means) -> Iterator[None]:
    """Provide passes with these resources inside the `with` statement."""
    token = _means.set(means)
    try:
        yield
    finally:
        _means.reset(token)
