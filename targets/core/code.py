# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Code generation of targets: backend of the target or its host, optimization level, number of processes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from ...bindings.ir import Module
from ...bindings.navigation import operations_of, symbol_name
from ...dialects.core.ir_attributes import C_FUNCTION
from ...passes.core.external import taken_externals
from ...passes.core.instruments import Instrument
from ...passes.core.stages import Stage, Stages
from ...support.collector import uncollected
from ...support.disk_cache import DiskCache
from ...support.errors import OptionError, RefusalError, RelaxError
from .backend import Backend, ChosenTarget
from .registry import all_targets, host_chain, libraries_of, parse_target

if TYPE_CHECKING:
    from ...runtime.artifact import Artifact
    from ...runtime.libraries import Libraries


#: Default level, of -O0 to -O3.
USUAL_LEVEL = 2


def check_opt_level(level: object) -> None:
    if not isinstance(level, int) or isinstance(level, bool) or not 0 <= level <= 3:
        raise OptionError(f"opt_level {level!r}: expected 0 to 3")


def find_backend(target: str) -> Backend:
    """Return the backend of a target or its nearest host. Raise RelaxError if there is none."""
    found = _nearest(target)
    if found is not None:
        return _made(found)
    able = [each.name for each in all_targets() if _nearest(each.name) is not None]
    raise RefusalError(
        f"target '{target}' has no code generator: neither it nor a parent of it names one",
        notes=[f"targets with one: {', '.join(able)}"],
    )


def _nearest(target: str) -> type[Backend] | None:
    return next((step.backend for step in host_chain(target) if step.backend is not None), None)


@cache
def _made(backend: type[Backend]) -> Backend:
    return backend()


def stages_of(target: str, opt_level: int = USUAL_LEVEL) -> Stages:
    """Return the lowering stages of a target, with or without options, at a level."""
    check_opt_level(opt_level)
    chosen = parse_target(target)
    backend = find_backend(chosen.name)
    own = tuple(backend.stages(chosen))
    wrong = next((each for each in own if not isinstance(each, Stage)), None)
    if wrong is not None:
        raise RelaxError(f"{type(backend).__name__}.stages() must return rx.Stage objects, got {type(wrong).__name__}")
    stages = Stages(str(chosen), own, own)
    for step in reversed(host_chain(chosen.name)):
        if step.stages is not None:
            stages = step.stages(stages)
            if not isinstance(stages, Stages):
                raise RelaxError(f"target '{step.name}': stages= must return Stages, got {type(stages).__name__}")
    return stages.at(opt_level)


@uncollected()
def build(module: Module, target: ChosenTarget, options: CodeOptions, version: str) -> Artifact:
    """Build the program of a lowered module, which is modified, and record the compiler's version."""
    from ...runtime.artifact import Artifact

    backend = find_backend(target.name)
    externals, objects = taken_externals(module.operation)
    libraries = _libraries(module, target)
    made: object = backend.build(module, target, options)
    if not isinstance(made, Artifact):
        name = type(backend).__name__
        raise RelaxError(f"{name}.build() must return an rx.runtime.Artifact, got {type(made).__name__}")
    all_objects = (*made.objects, *objects)
    return replace(made, version=version, externals=externals, objects=all_objects, libraries=libraries)


def _libraries(module: Module, target: ChosenTarget) -> Libraries:
    """Return the target's C libraries and the functions that the program calls by tir.call_extern.

    Without such calls, no library is returned.
    """
    from ...runtime.libraries import Libraries

    declared = [op for op in operations_of(module.body) if C_FUNCTION in op.attributes]
    called = tuple(sorted(symbol_name(op) for op in declared))
    return Libraries(libraries_of(target.name), called) if called else Libraries()


# ---- options as users give them ----


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


def available_cpus() -> int:
    """Return the number of CPUs that this process may use."""
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
    raise OptionError(f"cache={cache!r}: expected a folder, False for none, or None for the user's own")
