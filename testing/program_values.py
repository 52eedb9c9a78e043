# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the kernels and parts of a program give: in a call of it, alone for right inputs, and by their definitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy

from ..bindings.ir import Operation
from ..bindings.navigation import functions_in, symbol_name
from ..compilation.observing import LOWERED, MODEL, definitions_of
from ..interpreter.machine import Machine
from ..interpreter.reference import Reference
from ..interpreter.sites import Frame, Step
from ..passes.relax_observe import nodes_of, observed_calls, observed_name, observed_places, passed_operands
from ..runtime import Executable
from ..runtime.arrays import tensor, to_numpy
from ..runtime.manifest import parse_signature
from ..support.errors import OptionError, RelaxError

#: The arrays that a call gives.
Arrays = Sequence[Any]
#: What a model gives, by its nodes; several operators may have one name, a line of a program for instance.
ByNode = Mapping[str, Sequence[Arrays]]
#: Where that has what the function returns.
RESULTS = ""
_MOST_WORDS = 200


class ProgramValues:
    """The values of one function, for arguments as a program takes them."""

    def __init__(self, program: Executable, function: str, arguments: Sequence[Any], name: str = "the program") -> None:
        """Raises RelaxError for a program that was compiled without `observe`."""
        program.signature(function)  # there is such a function
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
        self.nodes = [tuple(nodes_of(each)) for each in self.calls]

    # ---- the program ----

    def found(self) -> tuple[list[Arrays], Arrays]:
        """What the calls of kernels and parts give in a call of the program, and what the program returns."""
        try:
            values = self._called(observed_name(self._function), self._arguments)
        except Exception as error:  # whatever the program and the functions that it calls raise
            raise RelaxError(f"{self.name}: {self._function} failed: {type(error).__name__}: {error}") from error
        counts = [len(observed_places(call)) for call in self.calls]
        results, behind = values[: len(values) - sum(counts)], iter(values[len(values) - sum(counts) :])
        return [[next(behind) for _ in range(count)] for count in counts], results

    def alone(self, place: int, inputs: Sequence[Any]) -> tuple[Arrays | None, str]:
        """What one of them gives for these inputs; or what it raises, or nothing where it cannot be called alone."""
        name = observed_name(self._function, place)
        if name not in self._program:
            return None, ""
        try:
            return self._called(name, inputs), ""
        except Exception as error:  # what a part raises is what is wrong with it
            return None, f"it raises {type(error).__name__}: {' '.join(str(error).split())[:_MOST_WORDS]}"

    def by_node(self) -> ByNode:
        """What the program gives, by the nodes that it is of."""
        every, results = self.found()
        found: dict[str, list[Arrays]] = {RESULTS: [results]}
        for nodes, values in zip(self.nodes, every, strict=True):
            if nodes:
                found.setdefault(nodes[-1], []).append(values)
        return found

    def _called(self, name: str, arguments: Sequence[Any]) -> list[Any]:
        outputs = parse_signature(self._program.signature(name)).outputs
        returned = self._program.copying()[name].packed(*map(_passed, arguments))
        listed = [returned] if len(outputs) == 1 else list(returned or ())
        return [
            each if each is None else to_numpy(each, output.holds or None)
            for each, output in zip(listed, outputs, strict=True)
        ]

    # ---- the reference ----

    def of_model(self) -> ByNode:
        """What the model's nodes give."""
        found: dict[str, list[Arrays]] = {}

        def around(operation: Operation, run: Step) -> Step:
            nodes = nodes_of(operation)

            def kept(frame: object, *operands: Any) -> Any:
                results = run(frame, *operands)
                if nodes:
                    found.setdefault(nodes[-1], []).insert(0, results if type(results) is list else [results])
                return results

            return kept

        results = self._interpreted(self._model, around)
        return {**found, RESULTS: [results]}

    def right(self) -> tuple[list[Arrays | None], list[tuple[Any, ...]], Arrays]:
        """What the calls give by their definitions, the inputs that they are given so, and what is returned. A call
        that is not reached gives nothing.
        """
        places = {call: index for index, call in enumerate(self.calls)}
        results: list[Any] = [None] * len(self.calls)
        given: list[Any] = [None] * len(self.calls)

        def around(operation: Operation, run: Step) -> Step:
            index = places.get(operation)
            if index is None:
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

        returned = self._interpreted(self.lowered, around)
        return results, given, returned

    def _sizes_alone(self, place: int, count: int) -> list[Any]:
        """The sizes that a call alone is told by arrays, behind what it is passed."""
        name = observed_name(self._function, place)
        inputs = parse_signature(self._program.signature(name)).inputs if name in self._program else ()
        return [each.shape[0] for each in inputs[count:]]

    def _interpreted(self, module: Operation, around: Callable[[Operation, Step], Step]) -> Arrays:
        function = Reference(Machine(module, around=around))[self._function]
        return _flat(function(*map(_copied, self._arguments)))


def _flat(returned: Any) -> list[Any]:
    if isinstance(returned, (list, tuple)):
        return [array for each in returned for array in _flat(each)]
    return [returned]


def _passed(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return list(map(_passed, value))
    return tensor(_copied(value)) if hasattr(value, "__dlpack__") else value


def _copied(value: Any) -> Any:
    """Arrays of their own: calls may write to them."""
    if isinstance(value, (list, tuple)):
        return list(map(_copied, value))
    return numpy.array(to_numpy(value), order="C") if hasattr(value, "__dlpack__") else value
