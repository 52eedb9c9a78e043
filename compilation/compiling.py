# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compilation entry points: rx.compile, rx.lower, rx.stages, rx.chosen and rx.sources."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ..bindings.context_lock import lock_context
from ..bindings.navigation import operations_in
from ..frontends.module import Module
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
from .keywords import CompileKeywords, LowerKeywords, SourcesKeywords
from .options import CompileOptions, takes
from .program_cache import cached_program
from .reader_hints import reader_hints
from .steps import check, fit, lower_in_place, lowered_for_code, working

if TYPE_CHECKING:
    from ..passes.graph.partition_stages import Wanted

#: Minimum number of operations (possible kernels) for which code generation processes start before lowering.
_MANY_OPERATIONS = 100
#: Stack depth of the caller of `compile` behind its decorators, for warnings.
_CALLER = 7


@types_checked
@enters
@uncollected()  # covers the import of the target and its passes, too
@takes(CompileKeywords)
def compile(module: Module, options: CompileOptions) -> Executable:
    """Compile a module's public functions to an executable.

    `executable["main"](x)` runs a function, and `executable.save(path)` stores the program. The module is not changed.
    Threads may compile at the same time; threads that compile the same module take turns.
    """
    if not isinstance(module, Module):
        raise OptionError(f"rx.compile takes an rx.Module, got {type(module).__name__}", notes=reader_hints(module))
    if options.pipeline is None:
        options = replace(options, target=target_of_machine(options.target, options.device))
    with lock_context(module.context):
        return _compile(module, options)


def _place(module: Module, options: CompileOptions) -> CompileOptions:
    if not options.is_measured:
        return options
    from .claimed_regions import with_placement  # most compilations have no measured placement

    return with_placement(options, module)


def _compile(module: Module, options: CompileOptions) -> Executable:
    find_backend(options.chosen.name)  # an unknown target fails here, before anything is lowered
    options = _place(module, options)
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
        copied = _fit_copy(module, options)
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
@takes(LowerKeywords)
def lower(module: Module, options: CompileOptions) -> Module:
    """Return a copy of the module lowered by the target's stages."""
    return _lower(module, options)


def _lower(module: Module, options: CompileOptions) -> Module:
    with lock_context(module.context):
        options = _place(module, options)
        stages = options.stages()
        copied = _fit_copy(module, options)
        lower_in_place(copied._owner, options, stages)
        return copied


def _fit_copy(module: Module, options: CompileOptions) -> Module:
    """Return a checked copy of a module with bound sizes and donated arguments."""
    copied = module.copy()
    # Bypass the public accessors, which would mark handles as returned to the user.
    check(copied._owner)
    fit(copied._owner, options)
    return copied


@types_checked
@enters
@uncollected()
@takes(SourcesKeywords)
def sources(module: Module, options: CompileOptions) -> dict[str, str | bytes]:
    """Return a module's functions as source files by name, for targets that emit sources.

    The files are text, except binary files with constants.
    """
    backend = find_backend(options.chosen.name)
    with lock_context(module.context):
        with working(options, options.code()):
            lowered = _lower(module, options)
        return backend.sources(lowered._owner, options.chosen, VERSION)
