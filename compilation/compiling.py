# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compilation entry points: rx.compile, rx.lower, rx.stages, rx.chosen and rx.sources."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ..bindings.context_lock import lock_context
from ..bindings.navigation import operations_in
from ..frontends.module import Module
from ..passes.core.instruments import Instrument
from ..passes.core.journal import Journal
from ..passes.core.stages import Stages
from ..runtime import Executable
from ..runtime.artifact import Artifact
from ..support.argument_types import types_checked
from ..support.callbacks import enters
from ..support.collector import uncollected
from ..support.errors import OptionError
from ..support.version import VERSION
from ..targets.core.code import build, find_backend, stages_of
from ..targets.core.code_options import USUAL_LEVEL, CodeOptions
from .device_targets import target_of_machine
from .options import CompileOptions, with_numerics
from .program_cache import cached_program
from .reader_hints import reader_hints
from .steps import check, fit, lower_in_place, lowered_for_code, working

if TYPE_CHECKING:
    from ..passes.partition_stages import Wanted
    from .observing import Observation

#: Minimum number of operations (possible kernels) for which code generation processes start before lowering.
_MANY_OPERATIONS = 100
#: Stack depth of the caller of `compile` behind its decorators, for warnings.
_CALLER = 6


def _observation() -> Observation:
    from .observing import Observation  # imports codegens' parts, which most compilations do not use

    return Observation()


@types_checked
@enters
@uncollected()  # covers the import of the target and its passes, too
def compile(
    module: Module,
    target: str = "llvm",
    *,
    pipeline: Stages | None = None,
    opt_level: int = USUAL_LEVEL,
    instruments: Iterable[Instrument] = (),
    journal: Journal | None = None,
    jobs: int | None = None,
    cache: str | os.PathLike[str] | bool | None = None,
    functions: Mapping[str, Callable[..., object]] | None = None,
    bind: Mapping[str, int | str] | None = None,
    donate: Iterable[str] = (),
    precision: str = "f32",
    numerics: str | None = None,
    partition: Wanted = (),
    strict_partition: bool = False,
    partition_elsewhere: bool = False,
    device: str | None = None,
    graphs: bool | None = None,
    schedules: str | os.PathLike[str] | Mapping[str, object] | None = None,
    tuned: str | os.PathLike[str] | bool | None = None,
    observe: bool = False,
) -> Executable:
    """Compile a module's public functions to an executable.

    `executable["main"](x)` runs a function, and `executable.save(path)` stores the program. The module is not changed.
    Threads may compile at the same time; threads that compile the same module take turns.

    - target: a target with options, such as `llvm{cpu=haswell}`. Without options, the target is this machine's CPU or
      first device.
    - pipeline: modified stages of the target, `rx.stages(target).replace(...)`.
    - opt_level: 0 to 3, the optimization level of the graph and of LLVM.
    - instruments: observers of passes.
    - journal: receives the notes of passes about their work.
    - jobs: number of processes that compile the kernels of large programs. The default is the number of CPUs.
    - cache: folder of the disk cache for kernels and programs, None for the user's own, False for none.
    - functions: functions that the program calls by name (relax.call_dps_packed). Other names are looked up in
      tvm-ffi's registry.
    - bind: values of symbolic sizes of "main", {"n": 8}, or ranges, {"n": "1..64"}. Memory is planned for the largest
      size of a range, and calls with other sizes are refused.
    - donate: arguments of "main", or name patterns like "past*", that grow in place. A call appends rows in a buffer
      with spare capacity, which `executable["main"].cache()` creates, instead of copying the argument.
    - precision: "bf16" or "f16" for the computation of f32 products and operations that can follow them. Sums stay
      f32.
    - numerics: "same" for equal bits on all CPUs, for any batch and number of threads; "fast" for any order of sums;
      None for "same" except where an instruction of the CPU is much faster (docs/numerics.md).
    - partition: external codegens in order of priority, ["mynpu", "dnnl"], or an rx.Partition. A codegen gets the
      parts of the module that match its patterns. The target compiles declined parts. "measured" for the placement
      that relax-tune --partition has put in the folder `tuned`.
    - strict_partition: makes it an error if a codegen declines a part, or if this machine lacks a requirement of a
      part. By default, missing requirements are only reported.
    - partition_elsewhere: skips the check of this machine's requirements.
    - device: device that runs the program, such as "cuda:1". The default is the first device.
    - graphs: launches of functions with static sizes as one unit on CUDA and Vulkan. All (True), none (False), or
      those with an estimated speedup (None).
    - schedules: replacements for the target's schedules of kernels. A file from rx.schedules.chosen or `relax-compile
      --emit=schedules`, or a mapping from kernel names to traces or schedules.
    - tuned: folder of tuned kernels (relax-tune). Their plans override the target's where they fit this machine. The
      target's own tuned kernels come after them; False leaves out all.
    - observe: makes the values of the program observable (relax-observe).
    """
    if not isinstance(module, Module):
        raise OptionError(f"rx.compile takes an rx.Module, got {type(module).__name__}", notes=reader_hints(module))
    options = CompileOptions(
        target=with_numerics(target_of_machine(target, device) if pipeline is None else target, numerics),
        pipeline=pipeline,
        opt_level=opt_level,
        instruments=tuple(instruments),
        journal=journal,
        jobs=jobs,
        cache=cache,
        functions=functions,
        bind=bind,
        donate=donate,
        precision=precision,
        partition=partition,
        strict_partition=strict_partition,
        partition_elsewhere=partition_elsewhere,
        device=device,
        graphs=graphs,
        schedules=schedules,
        tuned=tuned,
        observation=_observation() if observe else None,
    )
    with lock_context(module.context):
        return _compiled(module, options)


def _placed(module: Module, options: CompileOptions) -> CompileOptions:
    if not options.is_measured:
        return options
    from .claimed_regions import with_placement  # most compilations have no measured placement

    return with_placement(options, module)


def _compiled(module: Module, options: CompileOptions) -> Executable:
    find_backend(options.chosen.name)  # an unknown target fails here, before anything is lowered
    options = _placed(module, options)
    code = options.code()
    program = cached_program(module._owner, options, code)
    compiled = partial(_built, module, options, code)
    artifact = compiled() if program is None else program.found_or(compiled)
    note = code.cache.new_note() if code.cache is not None else ""
    if note:
        warnings.warn(note, stacklevel=_CALLER)
    if options.observation is not None:
        artifact = options.observation.added(artifact)
    if options.functions:
        artifact = replace(artifact, functions={**artifact.functions, **options.functions})
    # The program may be for another machine, so it is loaded later.
    return Executable(artifact, load_later=True, device=options.device, graphs=options.graphs)


def _built(module: Module, options: CompileOptions, code: CodeOptions) -> Artifact:
    if len(operations_in(module._owner.operation)) >= _MANY_OPERATIONS:
        find_backend(options.chosen.name).prepare(options.chosen, code)
    stages = options.stages()
    with working(options, code):
        copied = _fitted(module, options)
        with lowered_for_code(copied._owner, options, stages, code) as chosen_code:
            return build(copied._owner, options.chosen, chosen_code, VERSION)


@types_checked
@enters
def chosen(module: Module, target: str = "llvm", *, opt_level: int = USUAL_LEVEL) -> str:
    """Return the schedules that a target chooses for a module's kernels, as text for `rx.compile(schedules=)`.

    Kernels whose schedule cannot be expressed in steps are listed with the reason.
    """
    from .schedules import chosen_schedules, until_planned

    with Journal(steps=True).recording() as journal:
        planned = lower(module, target, pipeline=until_planned(stages_of(target, opt_level)), opt_level=opt_level)
    return chosen_schedules(planned._owner.operation, target, journal)


@types_checked
def stages(target: str = "llvm", opt_level: int = USUAL_LEVEL, *, partition: Wanted = ()) -> Stages:
    """Return the stages of a target at a level, 0 to 3, for modification and use in `compile`.

    partition: codegens, as in `compile`. The stages then contain `partition-input` and `partition`, or
    `partition-kernels` for codegens with patterns of kernels.
    """
    return CompileOptions(target=target, opt_level=opt_level, partition=partition).stages()


@types_checked
@enters
@uncollected()
def lower(
    module: Module,
    target: str = "llvm",
    *,
    pipeline: Stages | None = None,
    opt_level: int = USUAL_LEVEL,
    instruments: Iterable[Instrument] = (),
    bind: Mapping[str, int | str] | None = None,
    donate: Iterable[str] = (),
    precision: str = "f32",
    numerics: str | None = None,
    partition: Wanted = (),
    strict_partition: bool = False,
    partition_elsewhere: bool = False,
    schedules: str | os.PathLike[str] | Mapping[str, object] | None = None,
    tuned: str | os.PathLike[str] | bool | None = None,
) -> Module:
    """Return a copy of the module lowered by the target's stages. The options are those of `compile`."""
    options = CompileOptions(
        target=with_numerics(target, numerics),
        pipeline=pipeline,
        opt_level=opt_level,
        instruments=tuple(instruments),
        bind=bind,
        donate=donate,
        precision=precision,
        partition=partition,
        strict_partition=strict_partition,
        partition_elsewhere=partition_elsewhere,
        schedules=schedules,
        tuned=tuned,
    )
    return _lowered(module, options)


def _lowered(module: Module, options: CompileOptions) -> Module:
    with lock_context(module.context):
        options = _placed(module, options)
        stages = options.stages()
        copied = _fitted(module, options)
        lower_in_place(copied._owner, options, stages)
        return copied


def _fitted(module: Module, options: CompileOptions) -> Module:
    """Return a checked copy of a module with bound sizes and donated arguments."""
    copied = module.copy()
    # Bypass the public accessors, which would mark handles as returned to the user.
    check(copied._owner)
    fit(copied._owner, options)
    return copied


@types_checked
@enters
@uncollected()
def sources(
    module: Module,
    target: str = "c",
    *,
    pipeline: Stages | None = None,
    opt_level: int = USUAL_LEVEL,
    instruments: Iterable[Instrument] = (),
    bind: Mapping[str, int | str] | None = None,
    donate: Iterable[str] = (),
    schedules: str | os.PathLike[str] | Mapping[str, object] | None = None,
    tuned: str | os.PathLike[str] | bool | None = None,
) -> dict[str, str | bytes]:
    """Return a module's functions as source files by name, for targets that emit sources.

    The files are text, except binary files with constants. The options are those of `compile`.
    """
    options = CompileOptions(
        target, pipeline, opt_level, tuple(instruments), bind=bind, donate=donate, schedules=schedules, tuned=tuned
    )
    backend = find_backend(options.chosen.name)
    with lock_context(module.context):
        with working(options, options.code()):
            lowered = _lowered(module, options)
        return backend.sources(lowered._owner, options.chosen, VERSION)
