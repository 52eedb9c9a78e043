# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a rule has made of an operation, made again of operations of the same types: no rule is asked twice.

    signatures = Signatures()
    key = signatures.of(operation, operands)
    made = known.get(key)
    if made is None:
        values = rule(operation)                # makes operations at the insertion point, in a block of their own
        known[key] = take_down(operands, values)
    else:
        values = made.again(operands)

It is right for rules that look at types, attributes and the values of scalar constants alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple

from ...bindings.ir import Attribute, Operation, Type, Value
from ...bindings.mlir import ir
from ...bindings.navigation import operations_of
from ...dialects.core.codec import decode
from ...dialects.core.infos import ScalarInfo
from ...dialects.core.operands import operand_info
from ...dialects.core.verifier import items_of


class Signatures:
    """Keys of operations, which are equal where names, types, attributes and known scalars are."""

    def __init__(self) -> None:
        self._scalar_types: dict[Type, bool] = {}

    def of(self, operation: Operation, operands: Sequence[Value]) -> Hashable:
        """`operands` are the operation's, or what stands for them and has the same types."""
        types = [value.type for value in operands]
        key = (operation.name, *types, None, *operation.results.types, None, *items_of(operation.attributes))
        places = [place for place, type_ in enumerate(types) if self._is_scalar(type_)]
        if not places:
            return key
        scalars = [operand_info(operation.operands[place]) for place in places]
        # As text: 0.0 and -0.0, 1 and True are different numbers here.
        return (*key, *(repr(getattr(info, "value", None)) for info in scalars))

    def _is_scalar(self, type_: Type) -> bool:
        found = self._scalar_types.get(type_)
        if found is None:
            found = self._scalar_types[type_] = isinstance(decode(type_), ScalarInfo)
        return found


class Step(NamedTuple):
    """One operation, by the positions of its operands among those given and what the steps before it give."""

    name: str
    operands: tuple[int, ...]
    types: list[Type]
    attributes: dict[str, Attribute]


class Made(NamedTuple):
    """Operations, and the positions of the values that stand for results."""

    steps: tuple[Step, ...]
    results: tuple[int, ...]

    def again(self, operands: Sequence[Value], **place: Any) -> list[Value]:
        """The values for other operands; `place` (loc, ip) is where the operations go, if not where one is."""
        values = list(operands)
        for name, chosen, types, attributes in self.steps:
            given = [values[index] for index in chosen]
            values += ir.Operation.create(name, types, given, attributes, **place).results
        return [values[index] for index in self.results]


def take_down(
    operands: Sequence[Value], results: Sequence[Value], operations: Iterable[Operation] | None = None
) -> Made | None:
    """What has been made, in the current block or these operations.

    None for what cannot be told by operands, nor be made so again.
    """
    values: dict[Value, int] = {value: index for index, value in enumerate(operands)}
    location = ir.Location.current
    if len(values) < len(operands):
        # With one operand twice nothing says which one it is.
        return None
    steps: list[Step] = []
    for made in operations_of(ir.InsertionPoint.current.block) if operations is None else operations:
        if len(made.regions) or made.location != location:
            return None
        chosen = [values.get(value) for value in made.operands]
        known = tuple(index for index in chosen if index is not None)
        if len(known) < len(chosen):
            return None
        steps.append(Step(made.name, known, list(made.results.types), dict(made.attributes)))
        values.update((result, len(values)) for result in made.results)
    places = tuple(values[value] for value in results if value in values)
    return Made(tuple(steps), places) if len(places) == len(results) else None
