# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options of code generation: optimization level, number of processes, cache."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from ...passes.core.instruments import Instrument
from ...runtime.cpu import available_cpus
from ...support.disk_cache import DiskCache
from ...support.errors import OptionError

#: Default level, of -O0 to -O3.
USUAL_LEVEL = 2


def check_opt_level(level: object) -> None:
    if not isinstance(level, int) or isinstance(level, bool) or not 0 <= level <= 3:
        raise OptionError(f"opt_level {level!r}: expected 0 to 3")


@dataclass(frozen=True)
class CodeOptions:
    """Options for a target's backend. Only the level and `one_object` change the code."""

    #: From 0 (fast compilation) to 3 (fast code).
    opt_level: int = USUAL_LEVEL
    #: Maximum number of processes; 1 for this process alone.
    jobs: int = 1
    #: Cache of code, or None.
    cache: DiskCache | None = None
    #: Instruments called for each piece of code.
    instruments: tuple[Instrument, ...] = ()
    #: True for a single object file.
    one_object: bool = False
    #: Kernels that `Backend.separate` has taken out of the module.
    kernels: object = None


def code_options(
    opt_level: int,
    jobs: int | None,
    cache: DiskCache | str | os.PathLike[str] | bool | None,
    instruments: Iterable[Instrument] = (),
    *,
    one_object: bool = False,
) -> CodeOptions:
    """Check options as given by users.

    `jobs=None` uses all CPUs. `cache` is a folder, or False for none.

    Raises RelaxError for other values.
    """
    check_opt_level(opt_level)
    return CodeOptions(opt_level, _checked_jobs(jobs), _cache(cache), tuple(instruments), one_object)


def _checked_jobs(jobs: int | None) -> int:
    if jobs is None:
        return available_cpus()
    if not isinstance(jobs, int) or isinstance(jobs, bool) or jobs < 1:
        raise OptionError(f"jobs={jobs!r}: expected a number of processes, at least 1")
    return jobs


def _cache(cache: DiskCache | str | os.PathLike[str] | bool | None) -> DiskCache | None:
    if cache is False:
        return None
    if cache is None or cache is True:
        return DiskCache()
    if isinstance(cache, DiskCache):
        return cache
    if isinstance(cache, (str, os.PathLike)) and os.fspath(cache):
        return DiskCache(cache)
    raise OptionError(f"cache={cache!r}: expected a folder, False for none, or None for the user's own")
