# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The steps of a compilation up to the code, which the target's backend makes: they change MLIR's module in place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import replace

from ..bindings.ir import Module
from ..dialects.core.call_graph import check_calls
from ..passes.core.instruments import follows_passes
from ..passes.core.journal import Journal
from ..passes.core.pipeline import Pipeline
from ..passes.core.stages import Stages
from ..passes.lower_calls.in_place import mark_own_memory
from ..passes.outline_tensors.plain_functions import is_plain
from ..passes.symbolic_shapes.single_sizes import warn_of_single_sizes
from ..targets.core.code import CodeOptions, find_backend
from ..targets.core.evaluation import passes_at
from .options import CompileOptions


@contextmanager
def working(options: CompileOptions, code: CodeOptions) -> Iterator[None]:
    """Around the other steps: passes tell the journal of their work, and compute constants by code of this level."""
    with nullcontext() if options.journal is None else options.journal.recording(), passes_at(options.opt_level, code):
        yield


def check(module: Module) -> None:
    """The first step: functions of upstream's operations on tensors become graphs; then what calls may write to is
    noted, which the module as it was written decides.
    """
    from ..passes.lower_calls.function_lowering import graph_functions  # not for a tool that finds its program made

    if any(map(is_plain, graph_functions(module.operation))):
        Pipeline(["relax-outline-tensors"]).run(module)
    check_calls(module.operation)
    mark_own_memory(module.operation)


def fit(module: Module, options: CompileOptions) -> None:
    """The second: binds sizes and donates arguments; warns of symbols that can only be one number."""
    if options.bind:
        from ..passes.relax_bind_symbolic_vars import BindSymbolicVars

        Pipeline(BindSymbolicVars(vars=options.bind)).run(module)
    warn_of_single_sizes(module.operation)
    if options.donate:
        from ..passes.relax_donate import Donate

        donated = (options.donate,) if isinstance(options.donate, str) else tuple(options.donate)
        Pipeline(Donate(args=donated)).run(module)


def lower_in_place(
    module: Module,
    options: CompileOptions,
    stages: Stages,
    around: Callable[[str], AbstractContextManager[object]] = nullcontext,
) -> None:
    """Run the third step, stage by stage, each inside of `around(its name)`."""
    for stage in stages:
        with around(stage.name):
            stage.run(module, options.chosen.name, options.instruments)


@contextmanager
def lowered_for_code(
    module: Module,
    options: CompileOptions,
    stages: Stages,
    code: CodeOptions,
    around: Callable[[str], AbstractContextManager[object]] = nullcontext,
) -> Iterator[CodeOptions]:
    """Run the third step in the same way for a program, and give the options for its code, which is made inside.

    The backend may take kernels out of the module to compile them apart, unless somebody follows the passes.
    """
    backend = find_backend(options.chosen.name)
    may_separate = stages.is_own_behind(backend.separates_after) and not _is_followed(options)
    listed = list(stages)
    with ExitStack() as stack:
        for place, stage in enumerate(listed):
            with around(stage.name):
                stage.run(module, options.chosen.name, options.instruments)
                if may_separate and stage.name == backend.separates_after:
                    kernels = backend.separate(module, listed[place + 1 :], options.chosen, code)
                    code = replace(code, kernels=kernels and stack.enter_context(kernels))
        yield code


def _is_followed(options: CompileOptions) -> bool:
    return Journal.active() is not None or any(map(follows_passes, options.instruments))
