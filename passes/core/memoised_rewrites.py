# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memoised rewrites: results of a rule, cloned for operations with equal types.

    signatures = Signatures()
    key = signatures.of(operation, operands)
    made = known.get(key)
    if made is None:
        values = rule(operation)                # creates operations at the insertion point, in a separate block
        known[key] = take_down(operands, values)
    else:
        values = made.again(operands)

Memoising is valid for rules that depend only on types, attributes and the values of scalar constants.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import compress, count
from typing import Any, NamedTuple

from ...bindings.ir import Attribute, Operation, Type, Value
from ...bindings.mlir import ir
from ...bindings.navigation import operations_of
from ...dialects.core.codec import decode
from ...dialects.core.infos import ScalarInfo
from ...dialects.core.operands import operand_info
from ...dialects.core.verifier import items_of


class Signatures:
    """Cache keys of operations, equal for equal names, types, attributes and known scalars."""

    def __init__(self) -> None:
        #: Number of each list of types, for fast comparison, and the positions of its scalars.
        self._types: dict[tuple[Type, ...], tuple[int, list[int]]] = {}

    def of(self, operation: Operation, operands: Sequence[Value], others: Sequence[Value] | None = None) -> Hashable:
        """Return the key of an operation.

        `operands` are its operands or replacements with the same types.

        `others` are further values whose types are part of the key, by default the operation's results.
        """
        types = tuple([value.type for value in [*operands, *(operation.results if others is None else others)]])
        if (known := self._types.get(types)) is None:
            is_scalar = [isinstance(decode(type_), ScalarInfo) for type_ in types]
            known = self._types[types] = len(self._types), list(compress(count(), is_scalar))
        key = (operation.name, known[0], len(operands), *items_of(operation.attributes))
        if not known[1]:
            return key
        scalars = [operand_info(operation.operands[place]) for place in known[1] if place < len(operands)]
        # As text, because 0.0 and -0.0, and 1 and True, are equal but not the same number.
        return (*key, *(repr(getattr(info, "value", None)) for info in scalars))


class RecordedStep(NamedTuple):
    """Recorded operation. Operands are positions among the given operands and the results of earlier steps."""

    name: str
    operands: tuple[int, ...]
    types: list[Type]
    attributes: dict[str, Attribute] | None


class MadeOperations(NamedTuple):
    """Recorded operations, and the positions of the values that replace results."""

    steps: tuple[RecordedStep, ...]
    results: tuple[int, ...]

    def again(self, operands: Sequence[Value], **place: Any) -> list[Value]:
        """Create the operations for other operands and return the results.

        `place` (loc, ip) overrides the current position.
        """
        values, create = list(operands), ir.Operation.create
        for name, chosen, types, attributes in self.steps:
            made = create(name, types, [values[index] for index in chosen], attributes, **place)
            # Most operations have one result, which is read faster than a list.
            values += [made.result] if len(types) == 1 else made.results
        return [values[index] for index in self.results]

    def uses(self, places: Iterable[int]) -> bool:
        """Check whether all of these operands are used or returned."""
        return {index for step in self.steps for index in step.operands}.union(self.results).issuperset(places)


def take_down(
    operands: Sequence[Value], results: Sequence[Value], operations: Iterable[Operation] | None = None
) -> MadeOperations | None:
    """Record the operations of the current block, or the given operations.

    Return None for operations that depend on more than the operands, or that cannot be cloned.
    """
    values: dict[Value, int] = {value: index for index, value in enumerate(operands)}
    location = ir.Location.current
    if len(values) < len(operands):
        # An operand that occurs twice has no unique position.
        return None
    steps: list[RecordedStep] = []
    for operation in operations_of(ir.InsertionPoint.current.block) if operations is None else operations:
        if len(operation.regions) or operation.location != location:
            return None
        chosen = [values.get(value) for value in operation.operands]
        known = tuple(index for index in chosen if index is not None)
        if len(known) < len(chosen):
            return None
        steps.append(
            RecordedStep(operation.name, known, list(operation.results.types), dict(operation.attributes) or None)
        )
        values.update((result, len(values)) for result in operation.results)
    places = tuple(values[value] for value in results if value in values)
    return MadeOperations(tuple(steps), places) if len(places) == len(results) else None
