# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What passes that do long work may use: threads, and a cache. Who compiles says it; without, there is neither."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from ...support.disk_cache import DiskCache


class Means(NamedTuple):
    #: How much may be done at once.
    jobs: int = 1
    #: Where results are found again; None: nowhere.
    cache: DiskCache | None = None


_means: ContextVar[Means] = ContextVar("means", default=Means())  # noqa: B039  # it does not change


def means() -> Means:
    return _means.get()


@contextmanager
def working_with(means: Means) -> Iterator[None]:
    """Inside, passes have these."""
    token = _means.set(means)
    try:
        yield
    finally:
        _means.reset(token)
