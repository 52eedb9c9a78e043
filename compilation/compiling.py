# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a module to something that runs."""

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
from ..targets.core.code import USUAL_LEVEL, CodeOptions, build, find_backend, stages_of
from .device_targets import target_of_machine
from .options import CompileOptions
from .program_cache import cached_program
from .reader_hints import reader_hints
from .steps import check, fit, lower_in_place, lowered_for_code, working

if TYPE_CHECKING:
    from ..passes.partition_stages import Wanted
    from .observing import Observation

#: Modules with this many may become kernels enough that what makes their code is started before they are lowered.
_MANY_OPERATIONS = 100
#: The frame of the caller of `compile`, behind its decorators', for warnings.
_CALLER = 6


def _observation() -> Observation:
    from .observing import Observation  # knows codegens' parts, which most compilations have none of

    return Observation()


@types_checked
@enters
@uncollected()  # the target and its passes are imported, too
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
    partition: Wanted = (),
    strict_partition: bool = False,
    partition_elsewhere: bool = False,
    device: str | None = None,
    graphs: bool | None = None,
    schedules: str | os.PathLike[str] | Mapping[str, object] | None = None,
    observe: bool = False,
) -> Executable:
    """Compiles a module's public functions; `executable["main"](x)` runs one, `executable.save(path)` keeps them.

    The module stays as it is. Threads may compile at the same time; those that compile one module take turns.
    The target may have options: `llvm{cpu=haswell}`; without them it is this machine, its CPU or its first device.
    `opt_level`, 0 to 3, says how much is done to the graph, and how hard LLVM optimizes.
    `pipeline` are the target's stages, changed: `rx.stages(target).replace(...)`. What passes note of their work is
    written into `journal`. Kernels of large programs are compiled by `jobs` processes, as many as there are CPUs
    without it. Kernels and programs are kept on disk: in the folder `cache`, in the user's own (None), or nowhere
    (False). `functions` are what the program calls by these names (relax.call_dps_packed); others are found among
    tvm-ffi's registered ones.
    `bind` says what symbolic sizes of "main" are, {"n": 8}, or what range they are from, {"n": "1..64"}: memory is
    planned for the largest then, and calls with others are refused. `donate` names arguments of "main", or patterns of
    names like "past*", that grow in place: a call writes new rows behind those that they have, in a buffer with room,
    which `executable["main"].cache()` makes, and does not copy them. `precision`, "bf16" or "f16", is what products of
    f32 are computed in, and what can follow them; sums are of f32. `partition` names the external codegens that are
    given the parts of the module that they have patterns for, in the order of priority, ["mynpu", "dnnl"], or is an
    rx.Partition; what they decline is the target's, or with `strict_partition` an error. What this machine lacks to
    run a part is reported, and an error with `strict_partition`; with `partition_elsewhere` it is not checked. `device`
    is where a program for such devices runs here: "cuda:1", the first one without it; `graphs` has functions of known
    sizes launched as one on CUDA and Vulkan: all (True), none (False), or those that are faster so by an estimate.
    `schedules` are those of kernels, in place of what the target chooses: a file, as rx.schedules.chosen and
    `relax-compile --emit=schedules` give it, or traces or schedules by the names of kernels.
    """
    if not isinstance(module, Module):
        raise OptionError(f"rx.compile takes an rx.Module, got {type(module).__name__}", notes=reader_hints(module))
    options = CompileOptions(
        target=target_of_machine(target, device) if pipeline is None else target,
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
        observation=_observation() if observe else None,
    )
    with lock_context(module.context):
        return _compiled(module, options)


def _compiled(module: Module, options: CompileOptions) -> Executable:
    find_backend(options.chosen.name)  # one there is, or nothing needs to be lowered
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
    # It may be for another machine.
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
    """The schedules that a target chooses for a module's kernels, as the text of a file that `rx.compile(schedules=)`
    takes; those that no steps say are listed with the reason."""
    from .schedules import chosen_schedules, until_planned

    with Journal(steps=True).recording() as journal:
        planned = lower(module, target, pipeline=until_planned(stages_of(target, opt_level)), opt_level=opt_level)
    return chosen_schedules(planned._owner.operation, target, journal)


@types_checked
def stages(target: str = "llvm", opt_level: int = USUAL_LEVEL, *, partition: Wanted = ()) -> Stages:
    """Return the stages of a target at a level, 0 to 3, to be changed and given to `compile`.

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
    partition: Wanted = (),
    strict_partition: bool = False,
    partition_elsewhere: bool = False,
    schedules: str | os.PathLike[str] | Mapping[str, object] | None = None,
) -> Module:
    """A lowered copy of the module, by the target's stages; the options are those of `compile`."""
    options = CompileOptions(
        target=target,
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
    )
    return _lowered(module, options)


def _lowered(module: Module, options: CompileOptions) -> Module:
    stages = options.stages()
    with lock_context(module.context):
        copied = _fitted(module, options)
        lower_in_place(copied._owner, options, stages)
        return copied


def _fitted(module: Module, options: CompileOptions) -> Module:
    """Return a checked copy of a module, with the sizes that the options bind."""
    copied = module.copy()
    # Not by what it hands out: it would count as having done so.
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
) -> dict[str, str | bytes]:
    """A module's functions as source files, by name, for targets that make such; the options are `compile`'s.

    They are text, but those that hold numbers, which are bytes.
    """
    options = CompileOptions(
        target, pipeline, opt_level, tuple(instruments), bind=bind, donate=donate, schedules=schedules
    )
    backend = find_backend(options.chosen.name)
    with lock_context(module.context):
        with working(options, options.code()):
            lowered = _lowered(module, options)
        return backend.sources(lowered._owner, options.chosen, VERSION)
