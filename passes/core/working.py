# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What passes that do long work may use: threads, processes, a cache. Who compiles says it; else there is none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from ...support.disk_cache import DiskCache

if TYPE_CHECKING:
    from ...support.processes.pool import Ahead


class Means:
    """What there is for one compilation."""

    def __init__(self, jobs: int = 1, cache: DiskCache | None = None, code_level: int = 0) -> None:
        #: How much may be done at once.
        self.jobs = jobs
        #: Where results are found again; None: nowhere.
        self.cache = cache
        #: The level at which code will be made.
        self.code_level = code_level
        #: What is made in other processes already; None: nothing yet.
        self.ahead: Ahead | None = None


_means: ContextVar[Means] = ContextVar("means", default=Means())  # noqa: B039  # it does not change


def means() -> Means:
    return _means.get()


@contextmanager
def working_with(means: Means) -> Iterator[None]:
    """Inside, passes have these. Where that fails, what was begun ahead is ended."""
    token = _means.set(means)
    try:
        yield
    except BaseException:
        if means.ahead is not None:
            means.ahead.end()
        raise
    finally:
        _means.reset(token)
    if means.ahead is not None:
        means.ahead.close()
