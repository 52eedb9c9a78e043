# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values of a program's kernels and parts: within a call, called separately with right inputs, and by definition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy
from relax_mlir.bindings.ir import Operation
from relax_mlir.bindings.navigation import functions_in, symbol_name
from relax_mlir.compilation.observing import LOWERED, MODEL, definitions_of
from relax_mlir.passes.graph.relax_observe import (
    nodes_of,
    observed_calls,
    observed_name,
    observed_places,
    passed_operands,
)
from relax_mlir.runtime import Executable
from relax_mlir.runtime.arrays import tensor, to_numpy
from relax_mlir.runtime.manifest import parse_signature
from relax_mlir.support.errors import OptionError, RelaxError

from ..interpreter.execution import Machine
from ..interpreter.reference import Reference
from ..interpreter.sites import Frame, Step

#: Arrays that a call returns.
Arrays = Sequence[Any]
#: Values of a model by node. Several operators may share a name, for example a line of a program.
ByNode = Mapping[str, Sequence[Arrays]]
#: Key of the function's results.
RESULTS = ""
_MOST_WORDS = 200


class ProgramValues:
    """Values of one function for arguments as a program takes them."""

    def __init__(
        self, program: Executable, function: str, arguments: Sequence[object], name: str = "the program"
    ) -> None:
        """Raise RelaxError if the program was compiled without `observe`."""
        program.signature(function)  # raises if there is no such function
        if program.definitions is None:
            raise OptionError(
                f"{name} does not show its values: compile it with --observe, or rx.compile(observe=True)"
            )
        self.name = name
        self._program, self._function, self._arguments = program, function, arguments
        definitions = definitions_of(bytes(program.definitions), name)
        self.lowered, self._model = definitions[LOWERED], definitions[MODEL]
        main = next((each for each in functions_in(self.lowered) if symbol_name(each) == function), None)
        if main is None or observed_name(function) not in program:
            raise OptionError(f"{name} shows no values of function '{function}', only of those of the model")
        self.calls = observed_calls(main)
        self.nodes = [tuple(nodes_of(call)) for call in self.calls]
        #: Names of the kernels and parts, and the number of calls per node.
        self.names = [called_name(call) for call in self.calls]
        self.counts = Counter(node[-1] for node in self.nodes if node)

    # ---- the program ----

    def found(self) -> tuple[list[Arrays], Arrays]:
        """Return the values of all kernels and parts in a call of the program, and the program's results."""
        try:
            values = self._call(observed_name(self._function), self._arguments)
        except Exception as error:  # the program and functions that it calls may raise anything
            raise RelaxError(f"{self.name}: {self._function} failed: {type(error).__name__}: {error}") from error
        counts = [len(observed_places(call)) for call in self.calls]
        results, behind = values[: len(values) - sum(counts)], iter(values[len(values) - sum(counts) :])
        return [[next(behind) for _ in range(count)] for count in counts], results

    def alone(self, place: int, inputs: Sequence[object]) -> tuple[Arrays | None, str]:
        """Return the results of one call for these inputs, or None and the error.

        The error is empty if it cannot be called.
        """
        if (name := observed_name(self._function, place)) not in self._program:
            return None, ""
        try:
            return self._call(name, inputs), ""
        except Exception as error:  # an exception of a part is its fault
            return None, f"it raises {type(error).__name__}: {' '.join(str(error).split())[:_MOST_WORDS]}"

    def by_node(self) -> ByNode:
        """Return the program's values by node."""
        every, results = self.found()
        arrays: dict[str, list[Arrays]] = {RESULTS: [results]}
        for nodes, values in zip(self.nodes, every, strict=True):
            if nodes:
                arrays.setdefault(nodes[-1], []).append(values)
        return arrays

    def _call(self, name: str, arguments: Sequence[object]) -> list[Any]:
        outputs = parse_signature(self._program.signature(name)).outputs
        returned = self._program.copying()[name].packed(*map(passed_argument, arguments))
        listed = [returned] if len(outputs) == 1 else list(returned or ())
        return [
            each if each is None else to_numpy(each, output.holds or None)
            for each, output in zip(listed, outputs, strict=True)
        ]

    # ---- the reference ----

    def of_model(self) -> ByNode:
        """Return the values of the model's nodes."""
        arrays: dict[str, list[Arrays]] = {}

        def around(operation: Operation, run: Step) -> Step:
            nodes = nodes_of(operation)

            def kept(frame: object, *operands: Any) -> Any:
                results = run(frame, *operands)
                if nodes:
                    arrays.setdefault(nodes[-1], []).insert(0, results if type(results) is list else [results])
                return results

            return kept

        results = self._interpret(self._model, around)
        return {**arrays, RESULTS: [results]}

    def right(self) -> tuple[list[Arrays | None], list[tuple[Any, ...]], Arrays]:
        """Return the calls' values by definition, their inputs, and the results.

        A call that is not reached has None.
        """
        places = {call: index for index, call in enumerate(self.calls)}
        results: list[Any] = [None] * len(self.calls)
        given: list[Any] = [None] * len(self.calls)

        def around(operation: Operation, run: Step) -> Step:
            if (index := places.get(operation)) is None:
                return run
            shown, passed = observed_places(operation), passed_operands(operation)
            sizes = self._sizes_alone(index, len(passed))

            def kept(frame: Frame, *operands: Any) -> Any:
                found = run(frame, *operands)
                listed = found if type(found) is list else [found]
                results[index] = [numpy.array(listed[place]) for place in shown]
                known = [numpy.zeros(frame.symbols.get(size, 0), "uint8") for size in sizes]
                given[index] = (*(numpy.array(operands[place]) for place in passed), *known)
                return found

            return kept

        return results, given, self._interpret(self.lowered, around)

    def _sizes_alone(self, place: int, count: int) -> list[Any]:
        """Return the sizes that a separate call takes as additional arrays."""
        name = observed_name(self._function, place)
        inputs = parse_signature(self._program.signature(name)).inputs if name in self._program else ()
        return [input_.shape[0] for input_ in inputs[count:]]

    def _interpret(self, module: Operation, around: Callable[[Operation, Step], Step]) -> Arrays:
        function = Reference(Machine(module, around=around))[self._function]
        return flat_results(function(*map(_copy, self._arguments)))


def called_name(call: Operation) -> str:
    """Return the function's name, for a part with its module: `part::function`."""
    if "func" not in call.attributes:
        return call.name
    value = call.attributes["func"].value
    return value if isinstance(value, str) else "::".join(value)


def flat_results(returned: Any) -> list[Any]:
    """Return the results of a call, which may be nested lists, as one list."""
    if isinstance(returned, (list, tuple)):
        return [array for each in returned for array in flat_results(each)]
    return [returned]


def passed_argument(value: object) -> object:
    """Return an argument for a call: a copy of each array."""
    if isinstance(value, (list, tuple)):
        return list(map(passed_argument, value))
    return tensor(_copy(value)) if hasattr(value, "__dlpack__") else value


def _copy(value: Any) -> Any:
    """Copy arrays, because calls may write to them."""
    if isinstance(value, (list, tuple)):
        return list(map(_copy, value))
    return numpy.array(to_numpy(value), order="C") if hasattr(value, "__dlpack__") else value
