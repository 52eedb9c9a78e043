# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The smallest culprit of a wrong result: the part, the pass, or the machine code of a kernel.

What each kernel gives (each.py) says where it goes wrong. A rewrite is looked for pass by pass: the module is
interpreted behind each, the first that gives another result is at fault. So is a kernel that is wrong by itself: it is
lowered alone, pass by pass; where all of these are right, what makes machine code of it is wrong. A part of a codegen
is a black box: each pattern that matched becomes a part of its own, and the one that stays wrong is the culprit; where
all are right alone, the part as a whole is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from ..bindings.ir import Operation
from ..bindings.navigation import body_of, operations_of
from ..compilation.options import CompileOptions
from ..frontends.module import Module
from ..interpreter.machine import Machine
from ..passes.core.pipeline import Pipeline
from ..passes.core.stages import Stages
from ..passes.relax_observe import Observe
from ..passes.relax_partition import Partition
from ..passes.relax_run_codegen import RunCodegen
from ..support.errors import RelaxError
from .each import ACCUMULATED, REWRITTEN, Observed, each, first_wrong, is_far, main_of
from .verdicts import error_of

if TYPE_CHECKING:
    from ..passes.partition_stages import Wanted

#: Told of what is being tried.
Say = Callable[[str], None]


class Culprit(NamedTuple):
    """What is wrong: `kind` is "part", "pass" or "code"."""

    kind: str
    #: The part with its codegen, the pass with its stage, the kernel.
    name: str
    nodes: tuple[str, ...]
    operators: tuple[str, ...]
    #: How far it is off.
    error: float
    #: What shows it: a module whose "main" is called with `inputs`; `expected` is right.
    module: Module | None
    inputs: tuple[Any, ...]
    expected: tuple[Any, ...]

    def __str__(self) -> str:
        nodes = ", ".join(self.nodes)
        of = f" of {' + '.join(self.operators)}" if self.operators else ""
        return f"{self.kind} {self.name}{of}{f' ({nodes})' if nodes else ''}: off by {self.error:.3g}"


def bisect(
    module: Module,
    arguments: Sequence[Any],
    *,
    target: str = "llvm",
    partition: Wanted = (),
    tolerance: float | None = None,
    say: Say = lambda text: None,
) -> Culprit | None:
    """What makes the result of "main" wrong for these arguments; None where nothing is."""
    CompileOptions(target, partition=partition).stages()  # raises for what there is not
    say("what each kernel and part gives")
    values = each(module, arguments, target=target, partition=partition, tolerance=tolerance)
    wrong = first_wrong(values)
    if wrong is None:
        return None
    if partition and "::" in wrong.name and not _is_separate(partition):
        say("parts of one pattern each")
        apart = _apart(partition)
        alone = each(module, arguments, target=target, partition=apart, tolerance=tolerance)
        if (smaller := first_wrong(alone)) is not None:
            values, wrong, partition = alone, smaller, apart
    search = _Bisection(module, arguments, CompileOptions(target, partition=partition).stages(), tolerance, say)
    if wrong.problem == REWRITTEN and (found := search.rewrite(wrong)) is not None:
        return found
    if wrong.problem == ACCUMULATED:
        return Culprit("code", wrong.name, wrong.nodes, wrong.operators, wrong.accumulated.absolute, module, (), ())
    return search.kernel(values.index(wrong), wrong)


def _is_separate(partition: Wanted) -> bool:
    return isinstance(partition, Partition) and partition.separate


def _apart(partition: Wanted) -> Partition:
    if isinstance(partition, Partition):
        return replace(partition, separate=True)
    names = partition.split(",") if isinstance(partition, str) else tuple(partition)
    return Partition(codegens=tuple(names), separate=True)


class _Bisection:
    def __init__(
        self, module: Module, arguments: Sequence[Any], stages: Stages, tolerance: float | None, say: Say
    ) -> None:
        self._module, self._arguments, self._tolerance, self._say = module, list(arguments), tolerance, say
        self._after = "fuse" if "fuse" in stages.names else "legalize"
        self._stages, self._target = stages, stages.target

    def rewrite(self, wrong: Observed) -> Culprit | None:
        """The pass behind which the graph gives another result."""
        expected = Machine(self._module.operation).call("main", self._arguments)
        current = self._module.copy()
        for name, run in _passes(self._stages.until(self._after), self._target):
            self._say(name)
            before = current.copy()
            run(current)
            found = _interpreted(current, self._arguments)
            if found is not None and self._is_far(found, expected):
                error = _distance(found, expected)
                inputs = tuple(self._arguments)
                return Culprit("pass", name, wrong.nodes, wrong.operators, error, before, inputs, tuple(expected))
        return None

    def kernel(self, index: int, wrong: Observed) -> Culprit:
        """The pass that makes a kernel wrong, or what makes code of it; a part as a whole."""
        lowered = self._module.copy()
        for _, run in _passes(self._stages.until(self._after), self._target):
            run(lowered)
        Pipeline([Observe(only=index), "symbol-dce"]).run(lowered)
        inputs = tuple(each for each in wrong.inputs if isinstance(each, numpy.ndarray))
        expected = tuple(Machine(lowered.operation).call("main", list(inputs)))
        error = wrong.isolated.absolute if wrong.isolated is not None else wrong.accumulated.absolute
        if _has_part(main_of(lowered)):
            name = wrong.name.partition("::")[0]
            return Culprit("part", name, wrong.nodes, wrong.operators, error, lowered, inputs, expected)
        names = self._stages.names
        rest = replace(self._stages, stages=self._stages.stages[names.index(self._after) + 1 :])
        current = lowered.copy()
        for name, run in _passes(rest, self._target):
            self._say(name)
            try:
                run(current)
            except RelaxError:
                break
            found = _interpreted(current, inputs)
            if found is None:
                break  # from here on it is host code
            if self._is_far(found, expected):
                return Culprit("pass", name, wrong.nodes, wrong.operators, error, lowered, inputs, expected)
        return Culprit("code", wrong.name, wrong.nodes, wrong.operators, error, lowered, inputs, expected)

    def _is_far(self, found: Sequence[Any], expected: Sequence[Any]) -> bool:
        return is_far(found, expected, self._tolerance)


def _passes(stages: Stages, target: str) -> Iterator[tuple[str, Callable[[Module], None]]]:
    """Each pass with its stage's name, without those that make code of parts."""
    for stage in stages:
        for each_pass in stage.passes:
            if isinstance(each_pass, RunCodegen):
                continue
            alone = replace(stage, passes=(each_pass,), verify="end")
            name = str(each_pass).partition("{")[0]
            yield f"{name} (stage {stage.name})", lambda module, alone=alone: alone.run(module, target)  # type: ignore[misc]


def _interpreted(module: Module, arguments: Sequence[Any]) -> list[Any] | None:
    """The results; None where the interpreter does not run what is there."""
    try:
        return Machine(module.operation).call("main", [numpy.array(each) for each in arguments])
    except RelaxError:
        return None


def _distance(found: Sequence[Any], expected: Sequence[Any]) -> float:
    return error_of(list(found), list(expected)).absolute


def _has_part(main: Operation) -> bool:
    return any(operation.name == "relax.call_external" for operation in operations_of(body_of(main)))
