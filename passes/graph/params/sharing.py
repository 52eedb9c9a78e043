# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Equal computations on shared weights in several functions, which can be done once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

from ....bindings.ir import Operation, Value
from ....bindings.navigation import body_of, parent_of, use_count
from ....dialects.relax.function_attributes import argument_names
from ..fold.constant_graph import ConstantGraph, FoldLimits

#: Value numbering: equal work on equal weights has the same number in all functions.
Numbers = dict[Hashable, int]


@dataclass(frozen=True)
class Consumer:
    """A function that takes the weights, and their positions among its parameters."""

    function: Operation
    places: Sequence[int]
    graph: ConstantGraph
    numbers: Numbers

    @cached_property
    def names(self) -> list[str]:
        """Names of all parameters, as of the first access."""
        return argument_names(self.function)

    @cached_property
    def weights(self) -> list[Value]:
        """The weights. Valid while the function still has these parameters."""
        arguments = body_of(self.function).arguments
        return [arguments[place] for place in self.places]

    @cached_property
    def keys(self) -> dict[Value, int]:
        """Value numbers of the values that depend only on constants and weights."""
        found = {weight: self._number(("weight", place)) for place, weight in enumerate(self.weights)}
        for op in self.graph.operations.values():
            attributes = tuple((name, op.attributes[name]) for name in sorted(op.attributes))
            work = op.name, attributes, tuple(found[operand] for operand in op.operands), tuple(op.results.types)
            for place, result in enumerate(op.results):
                found[result] = self._number((work, place))
        return found

    @cached_property
    def values(self) -> dict[int, list[Value]]:
        """The values of each number."""
        found: dict[int, list[Value]] = {}
        for value, key in self.keys.items():
            found.setdefault(key, []).append(value)
        return found

    @cached_property
    def used_weights(self) -> frozenset[int]:
        return frozenset(place for place, weight in enumerate(self.weights) if use_count(weight))

    def weights_of(self, value: Value) -> frozenset[int]:
        """Return the weights from which a value is computed."""
        given = {weight: place for place, weight in enumerate(self.weights)}
        needed = self.graph.needed_for([value], given)
        return frozenset(given[operand] for op in needed for operand in op.operands if operand in given)

    def _number(self, work: Hashable) -> int:
        return self.numbers.setdefault(work, len(self.numbers))


def consumers_of(
    functions: Sequence[Operation],
    places: Sequence[Sequence[int]],
    limits: FoldLimits,
    can_lift: Callable[[Operation], bool],
) -> tuple[list[Consumer], list[int]]:
    """Return the functions, and the numbers of the values worth precomputing: values that all users of their weights
    compute.
    """
    apart: set[Operation] = set()
    while True:
        numbers: Numbers = {}
        consumers = [
            _consumer(function, own, limits, can_lift, apart, numbers)
            for function, own in zip(functions, places, strict=True)
        ]
        worth = [consumer.graph.worth_keeping() for consumer in consumers]
        refused = {
            value.owner.operation
            for one, values in zip(consumers, worth, strict=True)
            for value in values
            if not _is_made_by_all(value, one, consumers)
        }
        if not refused:
            keys = [one.keys[value] for one, values in zip(consumers, worth, strict=True) for value in values]
            return consumers, list(dict.fromkeys(keys))
        apart |= refused


def _consumer(
    function: Operation,
    places: Sequence[int],
    limits: FoldLimits,
    can_lift: Callable[[Operation], bool],
    apart: Collection[Operation],
    numbers: Numbers,
) -> Consumer:
    arguments = body_of(function).arguments
    graph = ConstantGraph(
        function,
        limits,
        lambda op: parent_of(op) == function and op not in apart and can_lift(op),
        weights=[arguments[place] for place in places],
    )
    return Consumer(function, places, graph, numbers)


def _is_made_by_all(value: Value, consumer: Consumer, consumers: Sequence[Consumer]) -> bool:
    if len(consumers) == 1:
        return True
    key, weights = consumer.keys[value], consumer.weights_of(value)
    return all(key in other.values or other.used_weights.isdisjoint(weights) for other in consumers)
