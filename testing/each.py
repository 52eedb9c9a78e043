# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The first wrong tensor: what each kernel and part of a program gives, beside the reference.

The same program is compiled once more with all of that as results (relax-observe): its kernels are what they are, only
memory is planned otherwise. The module as it was lowered up to there is interpreted, too: where that is already wrong,
a rewrite is at fault. And each kernel is compiled alone and called with right inputs: its own error, *isolated*, is
told apart from the one that it was given, *accumulated*.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from ..bindings.diagnostics import origins
from ..bindings.ir import Operation
from ..bindings.navigation import functions_in, symbol_name
from ..compilation.compiling import compile, lower
from ..compilation.options import CompileOptions
from ..frontends.module import Module
from ..interpreter.machine import Machine
from ..interpreter.sites import Step
from ..passes.core.pipeline import Pipeline
from ..passes.core.stages import Stages
from ..passes.relax_observe import Observe, nodes_of, observed_calls
from ..passes.relax_run_codegen import RunCodegen
from ..runtime import Executable
from ..runtime.arrays import tensor, to_numpy
from ..support.errors import OptionError, RelaxError
from ..support.registry import table
from .verdicts import Error, error_of

if TYPE_CHECKING:
    from ..passes.partition_stages import Wanted

_OBSERVE = "observe"
#: What can be wrong.
REWRITTEN = "a rewrite of the graph, or a rule, gives another value than the model"
ACCUMULATED = "accumulated: its inputs are wrong already"
_MOST_WORDS = 200
_COARSE = 0.1
#: How far a value may be, relative to its largest number, by element type.
TOLERANCES = {"float64": 1e-9, "float32": 1e-4, "float16": 2e-2, "bfloat16": 1e-1}


class Observed(NamedTuple):
    """What a kernel or a part gives."""

    #: The model's nodes, the last one is what it gives.
    nodes: tuple[str, ...]
    #: The function or part.
    name: str
    operators: tuple[str, ...]
    #: Of the program's value, beside the module as it was lowered.
    accumulated: Error
    #: Of the kernel with right inputs; None where it cannot be called alone.
    isolated: Error | None
    #: Of the lowered module's value, beside the model's own; None where the model has no such value.
    rewritten: Error | None
    #: What is wrong; "" for nothing.
    problem: str = ""
    inputs: tuple[Any, ...] = ()


def each(
    module: Module,
    arguments: Sequence[Any],
    *,
    target: str = "llvm",
    partition: Wanted = (),
    opt_level: int | None = None,
    tolerance: float | None = None,
    progress: Callable[[Observed], None] | None = None,
) -> list[Observed]:
    """What each kernel and part of the module's "main" gives for these arguments, in the program's order."""
    options = CompileOptions(target, partition=partition) if opt_level is None else CompileOptions(
        target, partition=partition, opt_level=opt_level
    )  # fmt: skip
    looked = _Looked(module, arguments, options.stages(), tolerance)
    values = []
    for value in looked.values():
        values.append(value)
        if progress is not None:
            progress(value)
    return values


def first_wrong(values: Sequence[Observed]) -> Observed | None:
    """The first value that is wrong by itself; or, where each is right alone, the first that has become so."""
    return next((each for each in values if each.problem and each.problem != ACCUMULATED), None) or next(
        (each for each in values if each.problem), None
    )


class _Looked:
    def __init__(self, module: Module, arguments: Sequence[Any], stages: Stages, tolerance: float | None) -> None:
        self._module, self._tolerance = module, tolerance
        self._arguments = [numpy.ascontiguousarray(to_numpy(each)) for each in arguments]
        self._after = "fuse" if "fuse" in stages.names else "legalize"
        self._stages = stages
        self._before = without_code(stages.until(self._after))
        self._rest = replace(stages, stages=stages.stages[stages.names.index(self._after) + 1 :])
        self._target = stages.target

    def values(self) -> Iterator[Observed]:
        """In the order of the program."""
        own = self._of_model()
        lowered = lower(self._module, self._target, pipeline=self._before)
        calls = observed_calls(main_of(lowered))
        right, given = self._of_lowered(lowered, calls)
        actual = self._of_program(len(calls), right)
        for index, call in enumerate(calls):
            wanted, found = right[index], actual[index]
            nodes = tuple(nodes_of(call))
            # Several operators may stand in one line of a program: one of these it is.
            alike = [each for each in own.get(nodes[-1] if nodes else "", []) if _is_alike(each, wanted)]
            model = min(alike, key=lambda each: error_of(wanted, each).absolute, default=None)
            isolated, refused = self._isolated(index, given[index])
            yield self._value(call, nodes, wanted, found, isolated, model, given[index], refused)

    def _value(
        self, call: Operation, nodes: tuple[str, ...], wanted: list[Any], found: list[Any], isolated: list[Any] | None,
        model: list[Any] | None, inputs: tuple[Any, ...], refused: str,
    ) -> Observed:  # fmt: skip
        problem = ""
        if model is not None and self._is_far(wanted, model):
            problem = REWRITTEN
        elif isolated is not None and self._is_far(isolated, wanted):
            problem = "its code gives another value than its definition, for the same inputs"
        elif refused:
            problem = refused
        elif self._is_far(found, wanted):
            problem = (
                "accumulated: its inputs are wrong already" if isolated is not None else "it is wrong in the program"
            )
        return Observed(
            nodes, _name(call), _operators(call), error_of(found, wanted),
            None if isolated is None else error_of(isolated, wanted),
            None if model is None else error_of(wanted, model), problem, inputs,
        )  # fmt: skip

    def _is_far(self, found: Sequence[Any], wanted: Sequence[Any]) -> bool:
        return is_far(found, wanted, self._tolerance)

    # ---- the reference ----

    def _of_model(self) -> dict[str, list[list[Any]]]:
        """What the model's nodes give, by their names."""
        found: dict[str, list[list[Any]]] = {}

        def around(operation: Operation, run: Step) -> Step:
            nodes = nodes_of(operation)

            def kept(frame: object, *operands: Any) -> Any:
                results = run(frame, *operands)
                listed = results if type(results) is list else [results]
                if nodes:
                    found.setdefault(nodes[-1], []).insert(0, listed)
                return results

            return kept

        Machine(self._module.operation, around=around).call("main", self._arguments)
        return found

    def _of_lowered(self, lowered: Module, calls: Sequence[Operation]) -> tuple[list[list[Any]], list[tuple[Any, ...]]]:
        """What the calls of the lowered module give, and are given."""
        places = {call: index for index, call in enumerate(calls)}
        results: list[Any] = [None] * len(calls)
        given: list[Any] = [None] * len(calls)

        def around(operation: Operation, run: Step) -> Step:
            index = places.get(operation)
            if index is None:
                return run

            def kept(frame: object, *operands: Any) -> Any:
                found = run(frame, *operands)
                results[index] = [numpy.array(each) for each in (found if type(found) is list else [found])]
                given[index] = tuple(map(_copied, operands))
                return found

            return kept

        Machine(lowered.operation, around=around).call("main", self._arguments)
        return results, given

    # ---- the program ----

    def _of_program(self, count: int, right: Sequence[Sequence[Any]]) -> list[list[Any]]:
        stages = self._stages.insert_after(self._after, _OBSERVE, Observe())
        program = compile(self._module, self._target, pipeline=stages, cache=False)
        found = _called(program, self._arguments)
        sizes = [len(each) for each in right]
        behind = iter(found[len(found) - sum(sizes) :])
        return [[next(behind) for _ in range(size)] for size in sizes]

    def _isolated(self, index: int, given: tuple[Any, ...]) -> tuple[list[Any] | None, str]:
        """What a call gives alone, for right inputs; or why it cannot be called."""
        alone = self._with_code.copy()
        try:
            Pipeline([Observe(only=index), "symbol-dce"]).run(alone)
            program = compile(alone, self._target, pipeline=self._rest, cache=False)
        except RelaxError:
            return None, ""
        passed = [each for each in given if isinstance(each, numpy.ndarray)]
        try:
            return _called(program, passed), ""
        except Exception as error:  # what a part raises is what is wrong with it
            return None, f"it raises {type(error).__name__}: {' '.join(str(error).split())[:_MOST_WORDS]}"

    @cached_property
    def _with_code(self) -> Module:
        """The lowered module, with the code of its parts."""
        return lower(self._module, self._target, pipeline=self._stages.until(self._after))


def is_far(found: Sequence[Any], wanted: Sequence[Any], tolerance: float | None) -> bool:
    """Whether values are further from what they should be than right code gets."""
    return len(found) != len(wanted) or any(_is_far(*pair, tolerance) for pair in zip(found, wanted, strict=True))


def _is_far(found: Any, wanted: Any, tolerance: float | None) -> bool:
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return True
    if wanted.dtype.kind in "biu":
        return bool((found != wanted).any())
    a, b = found.astype("float64"), wanted.astype("float64")
    relative = TOLERANCES.get(wanted.dtype.name, _COARSE) if tolerance is None else tolerance
    allowed = relative * float(numpy.abs(b[numpy.isfinite(b)]).max(initial=0.0))
    with numpy.errstate(all="ignore"):
        return not bool(((a == b) | (numpy.isnan(a) & numpy.isnan(b)) | (numpy.abs(a - b) <= allowed)).all())


def without_code(stages: Stages) -> Stages:
    """The stages, without what makes code of parts: these stay functions that can be interpreted."""
    kept = (
        replace(stage, passes=tuple(each for each in stage.passes if not isinstance(each, RunCodegen)))
        for stage in stages.stages
    )
    return replace(stages, stages=tuple(kept))


def main_of(module: Module) -> Operation:
    """The function that is called."""
    found = next((each for each in functions_in(module.operation) if symbol_name(each) == "main"), None)
    if found is None:
        raise OptionError("the module has no function 'main'")
    return found


def _copied(value: Any) -> Any:
    return numpy.array(value) if isinstance(value, numpy.ndarray) else value


def _called(program: Executable, arguments: Sequence[Any]) -> list[Any]:
    found = program["main"](*(tensor(numpy.array(each)) for each in arguments))
    return [to_numpy(each) for each in (found if isinstance(found, (list, tuple)) else [found])]


def _is_alike(one: Sequence[Any], other: Sequence[Any]) -> bool:
    """Whether they are arrays of the same sizes and types."""
    kinds = ([(a.shape, a.dtype) for a in arrays if isinstance(a, numpy.ndarray)] for arrays in (one, other))
    first, second = kinds
    return first == second and len(first) == len(one)


def _name(call: Operation) -> str:
    """The function, of a part with its module: `part::function`."""
    if "func" not in call.attributes:
        return call.name
    found = call.attributes["func"].value
    return found if isinstance(found, str) else "::".join(found)


def _operators(call: Operation) -> tuple[str, ...]:
    return tuple(origin.operator for origin in origins(call.location) if origin.operator)


def report(values: Sequence[Observed]) -> str:
    """A line for each value, and what is wrong at its end."""
    rows: list[Sequence[str]] = [("node", "kernel or part", "isolated", "accumulated", "")]
    for value in values:
        errors = (value.isolated, value.accumulated)
        shown = ("-" if error is None else f"{error.absolute:.3g}" for error in errors)
        rows.append((value.nodes[-1] if value.nodes else "-", value.name, *shown, value.problem))
    return table(*rows) + "\n"
