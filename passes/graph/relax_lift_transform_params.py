# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weight preprocessing: work on weights is hoisted into a separate function, which is called once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import ClassVar

from ...bindings.diagnostics import origins
from ...bindings.ir import Operation, Type, Value
from ...bindings.mlir import i64_attribute, ir, string_array
from ...bindings.navigation import body_of, functions_in, is_private, last_of, operations_of, symbol_name, use_count
from ...bindings.rewriting import copy_operation, is_used
from ...dialects.core.ir_attributes import RELAX_TARGET, RESULT_GROUPS, RESULT_NAMES
from ...dialects.core.substitute import sizes_in, symbols_of
from ...dialects.graph_functions import knows_from
from ...dialects.relax.function_attributes import argument_names, function_attributes
from ...dialects.script.value_names import location_name
from ...support.errors import OptionError
from ...support.names import FreshNames
from ...support.suggest import counted, suggest
from ..core.base import Pass
from ..core.registry import register_pass
from .fold.constant_graph import FoldLimits
from .params.sharing import Consumer, consumers_of
from .params.signature import (
    NUM_INPUT,
    add_arguments,
    check_removable,
    graph_function,
    input_count,
    remove_arguments,
    state_type,
)

_NAME = "transform_params"


@register_pass
@dataclass(frozen=True)
class LiftTransformParams(Pass):
    """Hoist work that depends only on weights into a function <name>_transform_params. <name> takes its results.

    Weights are the parameters after the first `inputs`, or the parameters named in `weights`. Several functions that
    take the same weights, in one order, share one function transform_params. It contains every computation on a weight
    that all of these functions share. If a function of this name exists already, its work on the weights comes first.
    """

    name: ClassVar[str] = "relax-lift-transform-params"

    #: Number of leading parameters that are no weights. Default: the count in the function's attribute.
    inputs: int | None = None
    #: Names of the parameters that are weights. Default: all after the inputs.
    weights: tuple[str, ...] = ()
    #: Functions that take the weights.
    function: tuple[str, ...] = ("main",)
    #: A hoisted value must have fewer than this many times the elements of its weights.
    most_spread: float = 2.0
    #: Operators that stay, by name, with or without `relax.`, and nodes of the model, by their names.
    keep: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.most_spread < 0:
            raise OptionError(f"pass '{self.name}': most-spread must be 0 or more, got {self.most_spread}")
        if not self.function or len(set(self.function)) < len(self.function):
            raise OptionError(f"pass '{self.name}': function must name one function or several, each once")

    def run(self, op: Operation) -> None:
        what = f"pass '{self.name}'"
        functions = [graph_function(op, name, what) for name in self.function]
        places = [self._places(function, what) for function in functions]
        _check_alike(functions, places, what)
        name = f"{self.function[0]}_{_NAME}" if len(functions) == 1 else _NAME
        is_known = any(symbol_name(function) == name for function in functions_in(op))
        before = graph_function(op, name, what) if is_known else None
        consumers, keys = consumers_of(functions, places, FoldLimits(0, self.most_spread, inf), self._can_lift)
        # All checks are done at this point. Nothing has changed before.
        for consumer in consumers:
            check_removable(consumer.function, consumer.places, what)
        if before is not None:
            _check_gives_weights(before, consumers[0], what)
        with op.context, op.location:
            transforming = _new_function(name, consumers[0]) if before is None else before
            _move(transforming, consumers, keys)

    def _can_lift(self, op: Operation) -> bool:
        if not self.keep:
            return True
        names = op.name, op.name.removeprefix("relax."), location_name(op.location)
        return not any(name in self.keep for name in names)

    def _places(self, function: Operation, what: str) -> list[int]:
        """Return the positions of the weights among the parameters."""
        if self.weights and self.inputs is not None:
            raise OptionError(f"{what}: takes inputs= or weights=, not both")
        if not self.weights:
            return list(range(input_count(function, self.inputs, what), len(body_of(function).arguments)))
        names = argument_names(function)
        for name in self.weights:
            if name not in names:
                raise OptionError(f"{what}: @{symbol_name(function)} has no parameter '{name}'{suggest(name, names)}")
        return [place for place, name in enumerate(names) if name in self.weights]


def _check_alike(functions: Sequence[Operation], places: Sequence[Sequence[int]], what: str) -> None:
    """Raise an error if functions do not take the same weights."""
    first, *others = functions
    types = _types_at(first, places[0]) if others else []
    for other, own in zip(others, places[1:], strict=True):
        found = _types_at(other, own)
        between = f"{what}: @{symbol_name(first)} and @{symbol_name(other)} do not take the same weights"
        if len(types) != len(found):
            raise OptionError(f"{between}: the first has {counted(len(types), 'weight')}, the second {len(found)}")
        for place, (one, another) in enumerate(zip(types, found, strict=True)):
            if one != another:
                names = argument_names(first)[places[0][place]], argument_names(other)[own[place]]
                raise OptionError(f"{between}: '{names[0]}' is {one}, '{names[1]}' is {another}")


def _types_at(function: Operation, places: Sequence[int]) -> list[Type]:
    arguments = body_of(function).arguments
    return [arguments[place].type for place in places]


def _new_function(name: str, consumer: Consumer) -> Operation:
    """Create a function before its consumer that returns the weights unchanged."""
    original = consumer.function
    types = [weight.type for weight in consumer.weights]
    names = _names_at(consumer, range(len(types)))
    attributes = function_attributes(name, types, types, names, is_private(original))
    attributes[NUM_INPUT] = i64_attribute(0)
    if RELAX_TARGET in original.attributes:
        attributes[RELAX_TARGET] = original.attributes[RELAX_TARGET]
    function = ir.Operation.create("func.func", attributes=attributes, regions=1, ip=ir.InsertionPoint(original))
    body = function.regions[0].blocks.append(*types)
    ir.Operation.create("func.return", operands=list(body.arguments), ip=ir.InsertionPoint(body))
    return function


def _move(transforming: Operation, consumers: Sequence[Consumer], keys: Sequence[int]) -> None:
    """Compute the values of these keys in the new function. Consumers take them and the weights they still need."""
    made = _make(transforming, consumers, keys)
    fresh = _fresh_names(consumers, keys)
    for consumer in consumers:
        _take(consumer.function, [(made[key].type, consumer.values.get(key, [])) for key in keys], fresh)
        for op in reversed(consumer.graph.operations.values()):
            if not is_used(op):
                op.erase()
    needed = sorted(frozenset().union(*map(_find_needed, consumers)))
    kept = [_names_at(consumer, needed) for consumer in consumers]
    for consumer, names in zip(consumers, kept, strict=True):
        weights = consumer.weights
        _take(consumer.function, [(weights[number].type, [weights[number]]) for number in needed], names)
        remove_arguments(consumer.function, consumer.places)
        inputs = len(body_of(consumer.function).arguments) - len(keys) - len(needed)
        consumer.function.attributes[NUM_INPUT] = i64_attribute(inputs)
        state_type(consumer.function)
    _give(transforming, [made[key] for key in keys], needed, [*fresh, *kept[0]])


def _names_at(consumer: Consumer, numbers: Sequence[int]) -> list[str]:
    return [consumer.names[consumer.places[number]] for number in numbers]


def _check_gives_weights(transforming: Operation, consumer: Consumer, what: str) -> None:
    operands = last_of(body_of(transforming)).operands
    is_list = RESULT_GROUPS in transforming.attributes
    if is_list or [value.type for value in operands] != [weight.type for weight in consumer.weights]:
        raise OptionError(
            f"{what}: the function @{symbol_name(transforming)} exists already, but does not return the weights that "
            f"@{symbol_name(consumer.function)} takes, one by one"
        )


def _make(transforming: Operation, consumers: Sequence[Consumer], keys: Sequence[int]) -> dict[int, Value]:
    """Compute the values of the keys from the results of the function up to now, which are the weights."""
    returned = last_of(body_of(transforming))
    values: dict[int, Value] = {}
    for consumer in consumers:
        inside = dict(zip(consumer.weights, returned.operands, strict=True))
        wanted = [consumer.values[key][0] for key in keys if key in consumer.values]
        with ir.InsertionPoint(returned):
            for op in consumer.graph.needed_for(wanted, consumer.weights):
                results = {consumer.keys[result]: result for result in op.results}
                if not values.keys() >= results.keys():
                    copy_operation(op, inside)
                    values.update((key, inside[result]) for key, result in results.items())
                inside.update((result, values[key]) for key, result in results.items())
    return values


def _take(function: Operation, values: Sequence[tuple[Type, Sequence[Value]]], names: Sequence[str]) -> None:
    """Replace values by new parameters of these types and names."""
    new = add_arguments(function, names, [type_ for type_, _ in values])
    for (_, replaced), argument in zip(values, new, strict=True):
        for value in replaced:
            value.replace_all_uses_with(argument)


def _find_needed(consumer: Consumer) -> frozenset[int]:
    """Return the weights that a function still reads, and weights with sizes that no other argument has."""
    function, weights = consumer.function, consumer.weights
    needed = {number for number, weight in enumerate(weights) if use_count(weight)}
    telling = [number for number, weight in enumerate(weights) if number not in needed and symbols_of(weight.type)]
    sizes = sizes_in(operations_of(body_of(function))) if telling else set()
    for number in telling:
        gone = {weights[other] for other in range(len(weights)) if other not in needed}
        knows = knows_from(argument for argument in body_of(function).arguments if argument not in gone)
        symbols = symbols_of(weights[number].type)
        if any(not knows(size) and not symbols.isdisjoint(size.variables) for size in sizes):
            needed.add(number)
    return frozenset(needed)


def _give(transforming: Operation, values: Sequence[Value], needed: Sequence[int], names: Sequence[str]) -> None:
    """Return the computed values, and the previous results that are needed."""
    returned = last_of(body_of(transforming))
    before = list(returned.operands)
    with ir.InsertionPoint(returned), returned.location:
        ir.Operation.create("func.return", operands=[*values, *(before[number] for number in needed)])
    returned.erase()
    transforming.attributes[RESULT_NAMES] = string_array(names)
    state_type(transforming)


def _fresh_names(consumers: Sequence[Consumer], keys: Sequence[int]) -> list[str]:
    """Name each value after its origin in the model, if that has a name, uniquely."""
    names = FreshNames(name for consumer in consumers for name in consumer.names)
    fresh_names: list[str] = []
    for key in keys:
        (value, *_) = next(consumer.values[key] for consumer in consumers if key in consumer.values)
        origin = next((each.name for each in origins(value.owner.location)), "")
        fresh_names.append(names.of(origin if origin.isidentifier() else "transformed"))
    return fresh_names
