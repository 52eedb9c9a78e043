# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that rules have made one call of: their likes become the same call, and no rule is asked again."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

from ...bindings.ir import Attribute, Operation, Value
from ...bindings.mlir import as_list, ir
from ...bindings.navigation import operations_of
from ...dialects.core.codec import decode
from ...dialects.core.infos import ScalarInfo
from ...dialects.core.operands import operand_info
from ...dialects.core.verifier import items_of
from .notes import LegalizationNotes
from .rules import Rule

_CALL = "relax.call_tir"


class _Made(NamedTuple):
    """What a rule made of an operator: a call, by the positions of its arguments among the operator's operands."""

    rule: Rule
    arguments: tuple[int, ...]
    attributes: dict[str, Attribute]
    kernels: list[str]


class Remembered:
    """What the rules of one run have done, for operators of the same types, attributes and known scalars.

    Nothing is kept of rules that may look elsewhere (`by_types` of a rule), nor if one of them was tried before.
    """

    def __init__(self, rules: dict[str, list[Rule]], notes: LegalizationNotes | None):
        self._notes = notes
        #: Of an operator's rules those that come before the first that may look elsewhere.
        self._by_types: dict[str, set[Rule]] = {}
        for name, candidates in rules.items():
            end = next((place for place, rule in enumerate(candidates) if not rule.by_types), len(candidates))
            self._by_types[name] = set(candidates[:end])
        self._made: dict[Hashable, _Made] = {}

    def remember(
        self, operation: Operation, operands: Sequence[Value], rule: Rule, values: Any, called: list[str]
    ) -> None:
        """Takes down what a rule has just made, where that is one call of the operator's operands and nothing else."""
        made = operations_of(ir.InsertionPoint.current.block)
        if rule not in self._by_types.get(operation.name, ()) or len(made) != 1 or made[0].name != _CALL:
            return
        (call,) = made
        places = {value: place for place, value in enumerate(operands)}
        # With one operand twice nothing says which argument it is.
        if len(places) < len(operands) or list(call.results) != as_list(values):
            return
        if any(value not in places for value in call.operands):
            return
        arguments = tuple(places[value] for value in call.operands)
        self._made[_key(operation)] = _Made(rule, arguments, dict(call.attributes), called)

    def again(self, operation: Operation, operands: Sequence[Value]) -> Sequence[Value] | None:
        """The call's values, where it is known what an operator becomes."""
        if not self._by_types.get(operation.name):
            return None
        made = self._made.get(_key(operation))
        if made is None:
            return None
        arguments = [operands[place] for place in made.arguments]
        types = operation.results.types
        call = ir.Operation.create(
            _CALL, types, arguments, made.attributes, loc=operation.location, ip=ir.InsertionPoint(operation)
        )
        if self._notes is not None:
            self._notes.taken(operation, made.rule, made.kernels)
        return call.results


def _key(operation: Operation) -> Hashable:
    """All that a rule may look at."""
    scalars = []
    types = []
    for value in operation.operands:
        type_ = value.type
        types.append(type_)
        if isinstance(decode(type_), ScalarInfo):
            # As text: 0.0 and -0.0, 1 and True are different numbers here.
            scalars.append(repr(getattr(operand_info(value), "value", None)))
    return (operation.name, *types, None, *operation.results.types, None, *items_of(operation.attributes), *scalars)
