# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How a target makes code: at which level, by how many processes, with which cache."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from ...passes.core.instruments import Instrument
from ...support.disk_cache import DiskCache
from ...support.errors import RelaxError


@dataclass(frozen=True)
class CodeOptions:
    """Given to a target's backend. Only the level and `one_object` change the code."""

    #: From 0, fast to compile, to 3, fast to run.
    opt_level: int = 2
    #: How many processes may work at once; 1: this one alone.
    jobs: int = 1
    #: Where code is found again; None: nowhere.
    cache: DiskCache | None = None
    #: Told of each piece of code.
    instruments: tuple[Instrument, ...] = ()
    #: All code in one object file.
    one_object: bool = False


def code_options(
    opt_level: int,
    jobs: int | None,
    cache: DiskCache | str | os.PathLike[str] | bool | None,
    instruments: Iterable[Instrument] = (),
    *,
    one_object: bool = False,
) -> CodeOptions:
    """The options as users give them. `jobs`: None for as many as there are CPUs. `cache`: a folder, False for none.

    Raises RelaxError for what is neither.
    """
    return CodeOptions(opt_level, _checked_jobs(jobs), _cache(cache), tuple(instruments), one_object)


def _checked_jobs(jobs: int | None) -> int:
    if jobs is None:
        return available_cpus()
    if not isinstance(jobs, int) or isinstance(jobs, bool) or jobs < 1:
        raise RelaxError(f"jobs={jobs!r}: expected a number of processes, at least 1")
    return jobs


def available_cpus() -> int:
    """The CPUs that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _cache(cache: DiskCache | str | os.PathLike[str] | bool | None) -> DiskCache | None:
    if cache is False:
        return None
    if cache is None or cache is True:
        return DiskCache()
    if isinstance(cache, DiskCache):
        return cache
    if isinstance(cache, (str, os.PathLike)) and os.fspath(cache):
        return DiskCache(cache)
    raise RelaxError(f"cache={cache!r}: expected a folder, False for none, or None for the user's own")
