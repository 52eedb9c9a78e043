# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memoised legalization: equal operators reuse the call that a rule created for the first of them."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from ...bindings.ir import Operation, Value
from ...bindings.mlir import as_list, ir
from ..core.memoised_rewrites import MadeOperations, Signatures, take_down
from .rules import Rule

if TYPE_CHECKING:
    from .rule_notes import LegalizationNotes

_CALL = "relax.call_tir"


class _Made(NamedTuple):
    """Cached result of a legalization rule: the replacement and the PrimFuncs it calls."""

    rule: Rule
    made: MadeOperations
    kernels: list[str]


class Remembered:
    """Results of the rules of one run, by the operators' types, attributes and known scalars.

    Nothing is cached if the rule, or a rule tried before it, may depend on anything else (`by_types` is False).
    """

    def __init__(self, notes: LegalizationNotes | None):
        self._notes = notes
        #: The rules of an operator before the first one without `by_types`.
        self._by_types: dict[str, set[Rule]] = {}
        self._made: dict[Hashable, _Made] = {}
        self._signatures = Signatures()

    def watch(self, name: str, candidates: Sequence[Rule]) -> None:
        """Record the rules of an operator before one of them is tried."""
        self._by_types[name] = set(itertools.takewhile(attrgetter("by_types"), candidates))

    def remember(
        self, operation: Operation, operands: Sequence[Value], rule: Rule, values: Any, called: list[str]
    ) -> None:
        """Cache the result of a rule if it is a single call with the operator's operands."""
        if rule not in self._by_types.get(operation.name, ()):
            return
        operations = take_down(operands, as_list(values))
        if operations is not None and [step.name for step in operations.steps] == [_CALL]:
            self._made[self._signatures.of(operation, operands)] = _Made(rule, operations, called)

    def again(self, operation: Operation, operands: Sequence[Value]) -> Sequence[Value] | None:
        """Repeat the cached call for an equal operator and return its values, or None."""
        if not self._by_types.get(operation.name):
            return None
        if (found := self._made.get(self._signatures.of(operation, operands))) is None:
            return None
        values = found.made.again(operands, loc=operation.location, ip=ir.InsertionPoint(operation))
        if self._notes is not None:
            self._notes.taken(operation, found.rule, found.kernels)
        return values
