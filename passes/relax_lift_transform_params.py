# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Work on weights alone, which need not be done in every call: a function of its own, to be called once."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count
from math import inf
from typing import ClassVar, NamedTuple

from ..bindings.diagnostics import origins
from ..bindings.ir import Attribute, Operation, Value
from ..bindings.mlir import ir
from ..bindings.navigation import body_of, functions_in, is_private, parent_of, symbol_name, use_count
from ..bindings.rewriting import copy_operation, is_used
from ..dialects.relax.function_attributes import RESULT_NAMES, TARGET, argument_names, function_attributes
from ..dialects.verification import verify_ir
from ..support.errors import RelaxError
from ..support.suggest import suggest
from .core.base import Pass
from .core.registry import register_pass
from .fold.constant_graph import ConstantGraph, Limits
from .params.signature import (
    NUM_INPUT,
    add_arguments,
    changing_copy,
    graph_function,
    input_count,
    remove_arguments,
    state_type,
)

_SUFFIX = "_transform_params"


@register_pass
@dataclass(frozen=True)
class LiftTransformParams(Pass):
    """Moves what depends on weights alone into a function <name>_transform_params, which gives what <name> then takes.

    Weights are the parameters behind the first `inputs`, or those named in `weights`.
    """

    name: ClassVar[str] = "relax-lift-transform-params"

    inputs: int | None = None
    weights: tuple[str, ...] = ()
    function: str = "main"
    #: What is made beforehand has fewer than so many times the elements of the weights that it is made of.
    most_spread: float = 2.0

    def __post_init__(self) -> None:
        if self.most_spread < 0:
            raise RelaxError(f"pass '{self.name}': most-spread must be 0 or more, got {self.most_spread}")

    def run(self, op: Operation) -> None:
        what = f"pass '{self.name}'"
        function = graph_function(op, self.function, what)
        lifted = self.function + _SUFFIX
        if any(symbol_name(each) == lifted for each in functions_in(op)):
            raise RelaxError(f"{what}: there is a function @{lifted} already")
        places = self._places(function, what)
        with ExitStack() as undoing, changing_copy(function, what) as copy:
            limits = Limits(0, self.most_spread, inf)
            weights = [body_of(copy).arguments[place] for place in places]
            graph = ConstantGraph(copy, limits, lambda each: parent_of(each) == copy, weights=weights)
            made = _transforming(graph, weights, lifted, copy)
            undoing.callback(made.function.erase)
            _hand_over(copy, graph, made, places, what)
            verify_ir(made.function, f"{what}: @{lifted} would be invalid")
            undoing.pop_all()

    def _places(self, function: Operation, what: str) -> list[int]:
        """Of the weights among the parameters."""
        names = argument_names(function)
        if self.weights and self.inputs is not None:
            raise RelaxError(f"{what}: takes inputs= or weights=, not both")
        for name in self.weights:
            if name not in names:
                raise RelaxError(f"{what}: @{self.function} has no parameter '{name}'{suggest(name, names)}")
        if self.weights:
            return [place for place, name in enumerate(names) if name in self.weights]
        return list(range(input_count(function, self.inputs, what), len(names)))


class _Transforming(NamedTuple):
    """The function that transforms weights, without what it returns."""

    function: Operation
    #: The values that it computes: where they were before, and in it.
    values: dict[Value, Value]


def _transforming(graph: ConstantGraph, weights: Sequence[Value], name: str, original: Operation) -> _Transforming:
    names = dict(zip(body_of(original).arguments, argument_names(original), strict=True))
    types = [weight.type for weight in weights]
    attributes = function_attributes(name, types, [], [names[weight] for weight in weights], is_private(original))
    if TARGET in original.attributes:
        attributes[TARGET] = original.attributes[TARGET]
    function = ir.Operation.create("func.func", attributes=attributes, regions=1, ip=ir.InsertionPoint(original))
    body = function.regions[0].blocks.append(*types)
    made = dict(zip(weights, body.arguments, strict=True))
    values = graph.worth_keeping()
    with ir.InsertionPoint(body):
        for op in graph.needed_for(values, made):
            copy_operation(op, made)
    return _Transforming(function, {value: made[value] for value in values})


def _hand_over(
    function: Operation, graph: ConstantGraph, made: _Transforming, places: Sequence[int], what: str
) -> None:
    """Behind all that is no weight comes what is returned there: what was transformed, then the weights that stay."""
    names = argument_names(function)
    fresh = _fresh_names(list(made.values), names)
    _replace_by_arguments(function, list(made.values), fresh)
    for op in reversed(graph.operations.values()):
        if not is_used(op):
            op.erase()
    arguments, inside = body_of(function).arguments, body_of(made.function)
    kept = [number for number, place in enumerate(places) if use_count(arguments[place])]
    kept_names = [names[places[number]] for number in kept]
    _replace_by_arguments(function, [arguments[places[number]] for number in kept], kept_names)
    remove_arguments(function, places, what)
    with ir.InsertionPoint(inside):
        ir.Operation.create(
            "func.return", operands=[*made.values.values(), *(inside.arguments[number] for number in kept)]
        )
    state_type(made.function)
    given = [ir.StringAttr.get(each) for each in (*fresh, *kept_names)]
    made.function.attributes[RESULT_NAMES] = ir.ArrayAttr.get(given)
    made.function.attributes[NUM_INPUT] = _integer(0)
    function.attributes[NUM_INPUT] = _integer(len(names) - len(places))


def _replace_by_arguments(function: Operation, values: Sequence[Value], names: Sequence[str]) -> None:
    new = add_arguments(function, names, [value.type for value in values])
    for value, argument in zip(values, new, strict=True):
        value.replace_all_uses_with(argument)


def _integer(number: int) -> Attribute:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), number)


def _fresh_names(values: Sequence[Value], taken: Sequence[str]) -> list[str]:
    """What values are called where they come from, each in its own way."""
    used = dict.fromkeys(taken)
    for value in values:
        origin = next((each.name for each in origins(value.owner.location)), "")
        stem = origin if origin.isidentifier() else "transformed"
        name = next(name for number in count() if (name := f"{stem}_{number}" if number else stem) not in used)
        used[name] = None
    return list(used)[-len(values) :] if values else []
