# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Search for the smallest cause of a wrong result: a part, a pass, or the machine code of a kernel.

The results of each kernel (each.py) show where the program goes wrong. For a rewrite, the module is interpreted after
each pass, and the first pass that changes the result is the cause. A kernel that is wrong by itself is lowered
separately, pass by pass. If all passes are right, its machine code is wrong. A part of a codegen is a black box. Each
matched pattern becomes a part of its own, and the wrong one is the cause. If all are right separately, the whole part
is the cause.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from ..bindings.mlir import ir
from ..bindings.navigation import functions_in, is_private, operations_in, symbol_name
from ..compilation.observing import of_graph_and_kernels
from ..compilation.options import CompileOptions
from ..frontends.module import Module
from ..interpreter.execution import Machine
from ..passes.core.external import external_modules, is_external
from ..passes.core.pipeline import Pipeline
from ..passes.core.stages import Stages
from ..passes.relax_observe import leave_alone
from ..passes.relax_partition import Partition
from ..passes.relax_run_codegen import RunCodegen
from ..support.errors import RelaxError
from .each import ACCUMULATED, REWRITTEN, Observed, compared, first_wrong, is_far, observed
from .verdicts import error_of

if TYPE_CHECKING:
    from ..passes.partition_stages import Wanted

#: Callback for progress texts.
Say = Callable[[str], None]


class Culprit(NamedTuple):
    """Cause of a wrong result. `kind` is "part", "pass" or "code"."""

    kind: str
    #: The part with its codegen, the pass with its stage, or the kernel.
    name: str
    nodes: tuple[str, ...]
    operators: tuple[str, ...]
    #: Largest absolute error.
    error: float
    #: Reproducer: "main" of `module` called with `inputs` should return `expected`.
    module: Module | None
    inputs: tuple[Any, ...]
    expected: tuple[Any, ...]

    def __str__(self) -> str:
        nodes = ", ".join(self.nodes)
        of = f" of {' + '.join(self.operators)}" if self.operators else ""
        return f"{self.kind} {self.name}{of}{f' ({nodes})' if nodes else ''}: off by {self.error:.3g}"


def bisect(
    module: Module,
    arguments: Sequence[object],
    *,
    target: str = "llvm",
    partition: Wanted = (),
    tolerance: float | None = None,
    say: Say = lambda text: None,
) -> Culprit | None:
    """Find the cause of a wrong result of "main" for these arguments. Return None if nothing is wrong."""
    search = _Bisection(module, arguments, target, partition, tolerance, say)
    say("what each kernel and part gives")
    wrong = search.first_wrong()
    if wrong is None:
        return None
    if partition and "::" in wrong.name and not _is_separate(partition):
        say("parts of one pattern each")
        apart = _Bisection(module, arguments, target, _apart(partition), tolerance, say)
        if (smaller := apart.first_wrong()) is not None:
            search, wrong = apart, smaller
    if wrong.problem == REWRITTEN and (found := search.rewrite(wrong)) is not None:
        return found
    if wrong.problem == ACCUMULATED:
        return Culprit("code", wrong.name, wrong.nodes, wrong.operators, wrong.accumulated.absolute, module, (), ())
    return search.kernel(wrong)


def _is_separate(partition: Wanted) -> bool:
    return isinstance(partition, Partition) and partition.separate


def _apart(partition: Wanted) -> Partition:
    if isinstance(partition, Partition):
        return replace(partition, separate=True)
    names = partition.split(",") if isinstance(partition, str) else tuple(partition)
    return Partition(codegens=tuple(names), separate=True)


class _Bisection:
    def __init__(
        self,
        module: Module,
        arguments: Sequence[object],
        target: str,
        partition: Wanted,
        tolerance: float | None,
        say: Say,
    ) -> None:
        self._module, self._arguments, self._tolerance, self._say = module, list(arguments), tolerance, say
        stages = CompileOptions(target, partition=partition).stages()
        self._of_graph, self._of_kernels = of_graph_and_kernels(stages)
        self._target, self._partition = target, partition

    def first_wrong(self) -> Observed | None:
        self._values = observed(self._module, self._arguments, target=self._target, partition=self._partition)
        return first_wrong(list(compared(self._values, self._values.of_model(), self._tolerance)))

    def rewrite(self, wrong: Observed) -> Culprit | None:
        """Return the pass after which the graph gives another result."""
        expected = Machine(self._module.operation).call("main", self._arguments)
        current = self._module.copy()
        for name, run in _passes(self._of_graph):
            self._say(name)
            before = current.copy()
            run(current)
            found = _interpreted(current, self._arguments)
            if found is not None and self._is_far(found, expected):
                error = _distance(found, expected)
                inputs = tuple(self._arguments)
                return Culprit("pass", name, wrong.nodes, wrong.operators, error, before, inputs, tuple(expected))
        return None

    def kernel(self, wrong: Observed) -> Culprit:
        """Return the pass that makes a kernel wrong, or its machine code. A part is reported as a whole."""
        error = wrong.isolated.absolute if wrong.isolated is not None else wrong.accumulated.absolute
        part, is_part, _ = wrong.name.partition("::")
        lowered, inputs, expected = self._alone(wrong)
        if is_part:
            return Culprit("part", part, wrong.nodes, wrong.operators, error, lowered, inputs, expected)
        current = lowered.copy()
        for name, run in _passes(self._of_kernels):
            self._say(name)
            try:
                run(current)
            except RelaxError:
                break
            found = _interpreted(current, inputs)
            if found is None:
                break  # from here on the module is host code
            if self._is_far(found, expected):
                return Culprit("pass", name, wrong.nodes, wrong.operators, error, lowered, inputs, expected)
        return Culprit("code", wrong.name, wrong.nodes, wrong.operators, error, lowered, inputs, expected)

    def _alone(self, wrong: Observed) -> tuple[Module, tuple[Any, ...], tuple[Any, ...]]:
        """Return a kernel or part as a module, its inputs and expected results.

        Return the whole module if necessary.
        """
        lowered = Module.of(self._values.lowered)
        for function in list(functions_in(lowered.operation)):
            if symbol_name(function) != "main" and not is_private(function):
                function.erase()
        (main,) = (each for each in functions_in(lowered.operation) if symbol_name(each) == "main")
        with lowered.context:
            if not leave_alone(main, wrong.place):
                return self._module, tuple(self._arguments), ()
        Pipeline("symbol-dce").run(lowered)
        _erase_uncalled_parts(lowered)
        return lowered, wrong.inputs, wrong.expected

    def _is_far(self, found: Sequence[Any], expected: Sequence[Any]) -> bool:
        return is_far(found, expected, self._tolerance)


def _erase_uncalled_parts(module: Module) -> None:
    """Erase external modules without calls. symbol-dce keeps them because their symbols are public."""
    called = {
        ir.SymbolRefAttr(op.attributes["func"]).value[0]
        for op in operations_in(module.operation, is_external)
        if op.name == "relax.call_external"
    }
    for part in external_modules(module.operation):
        if symbol_name(part) not in called:
            part.erase()


def _passes(stages: Stages) -> Iterator[tuple[str, Callable[[Module], None]]]:
    """Yield each pass with its stage's name, without passes that compile parts."""
    for stage in stages:
        for each_pass in stage.passes:
            if isinstance(each_pass, RunCodegen):
                continue
            alone = replace(stage, passes=(each_pass,), verify="end")
            name = str(each_pass).partition("{")[0]
            run = partial(alone.run, target=stages.target.partition("{")[0])
            yield f"{name} (stage {stage.name})", run


def _interpreted(module: Module, arguments: Sequence[object]) -> list[Any] | None:
    """Return the results, or None if the interpreter cannot run the module."""
    try:
        return Machine(module.operation).call("main", [numpy.array(each) for each in arguments])
    except RelaxError:
        return None


def _distance(found: Sequence[Any], expected: Sequence[Any]) -> float:
    return error_of(list(found), list(expected)).absolute
