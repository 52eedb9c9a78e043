# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compilation steps from the module to the backend's input. Each step changes the MLIR module in place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import replace

from ..bindings.ir import Module
from ..dialects.core.call_graph import check_calls
from ..dialects.core.in_place import mark_own_memory
from ..passes.core.instruments import follows_passes
from ..passes.core.journal import Journal
from ..passes.core.pipeline import Pipeline
from ..passes.core.stages import Stages
from ..passes.graph.outline_tensors.plain_functions import is_plain
from ..passes.graph.symbolic_shapes.single_sizes import warn_of_single_sizes
from ..targets.core.code import find_backend
from ..targets.core.code_options import CodeOptions
from ..targets.core.evaluation import passes_at
from .options import CompileOptions


@contextmanager
def working(options: CompileOptions, code: CodeOptions) -> Iterator[None]:
    """Set up the environment of the other steps: the journal, and code for constant evaluation at the given level."""
    with nullcontext() if options.journal is None else options.journal.recording(), passes_at(options.opt_level, code):
        yield


def check(module: Module) -> None:
    """Run the first step: check calls and outline functions of upstream tensor operations as graphs.

    The step also records which memory calls may overwrite, as determined by the module in its original form.
    """
    # not imported by a tool that finds a cached program
    from ..dialects.graph_functions import graph_functions

    if any(map(is_plain, graph_functions(module.operation))):
        Pipeline(["relax-outline-tensors"]).run(module)
    check_calls(module.operation)
    mark_own_memory(module.operation)


def fit(module: Module, options: CompileOptions) -> None:
    """Run the second step: bind sizes, donate arguments, and warn about symbols with only one possible value."""
    if options.bind:
        from ..passes.graph.relax_bind_symbolic_vars import BindSymbolicVars

        Pipeline(BindSymbolicVars(vars=options.bind)).run(module)
    warn_of_single_sizes(module.operation)
    if options.donate:
        from ..passes.memory.relax_donate import Donate

        donated = (options.donate,) if isinstance(options.donate, str) else tuple(options.donate)
        Pipeline(Donate(args=donated)).run(module)


def lower_in_place(
    module: Module,
    options: CompileOptions,
    stages: Stages,
    around: Callable[[str], AbstractContextManager[object]] = nullcontext,
) -> None:
    """Run the third step, stage by stage, each inside `around(its name)`."""
    _run(module, options, _tune(module, options, stages, around), around)


def _tune(
    module: Module, options: CompileOptions, stages: Stages, around: Callable[[str], AbstractContextManager[object]]
) -> Stages:
    """Return the stages with the choices of a tuned program. Programs with parts of codegens have none."""
    if options.tuned is None or isinstance(options.tuned, bool) or options.partition:
        return stages
    from .tuned_programs import tuned_stages  # most compilations have no folder

    with around("tuned"):
        return tuned_stages(stages, module.operation, options.tuned, str(options.chosen), options.precision)


def _run(
    module: Module, options: CompileOptions, stages: Stages, around: Callable[[str], AbstractContextManager[object]]
) -> None:
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
    """Run the third step for a program, and yield the options for its code generation.

    The backend may extract kernels to compile them separately, unless instruments or a journal follow the passes.
    """
    stages = _tune(module, options, stages, around)
    backend, listed = find_backend(options.chosen.name), list(stages)
    may_separate = stages.is_own_behind(backend.separates_after) and not _is_followed(options)
    with ExitStack() as stack:

        @contextmanager
        def around_and_separate(name: str) -> Iterator[None]:
            nonlocal code
            with around(name):
                yield
                if may_separate and name == backend.separates_after:
                    behind = listed[stages.names.index(name) + 1 :]
                    kernels = backend.separate(module, behind, options.chosen, code)
                    code = replace(code, kernels=kernels and stack.enter_context(kernels))

        _run(module, options, stages, around_and_separate)
        yield code


def _is_followed(options: CompileOptions) -> bool:
    return Journal.active() is not None or any(map(follows_passes, options.instruments))
