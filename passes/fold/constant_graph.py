# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The operators that depend on constants alone, and the values of them that are worth keeping."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from math import prod

from ...bindings.ir import Operation, Type, Value
from ...bindings.mlir import ir
from ...bindings.navigation import operations_in
from ...dialects.core.codec import decode
from ...dialects.core.dialect import row_of
from ...dialects.core.infos import ScalarInfo, ShapeInfo, bit_width
from ...dialects.core.substitute import symbols_of_operation
from ...dialects.tir.prim_func import is_prim_func
from ..canonicalize.constants import STORAGE_NAME

CONSTANTS = ("arith.constant", "relax.constant")
CALL_TIR = "relax.call_tir"
# What is cast where it is read takes less time than to read so many bytes more: such weights stay packed.
_MOST_CAST_GROWTH = 1 << 16


@dataclass(frozen=True)
class Limits:
    """What is too large to become a constant."""

    #: Elements up to which everything is a constant.
    small: int
    #: How many times as many elements as the constants that it depends on a larger result may have.
    spread: float
    #: Bytes by which constants may grow in all.
    growth: int


@dataclass
class _Known:
    """A value that depends on constants alone: its size, and that of the constants where they are smaller."""

    maker: int
    elements: int = 0
    nbytes: int = 0
    least_elements: int = 0
    least_bytes: int = 0
    #: The numbers of the operations that use it.
    users: list[int] = field(default_factory=list)

    @property
    def growth(self) -> int:
        return max(self.nbytes - self.least_bytes, 0)


class ConstantGraph:
    """What depends on constants alone in an operation, PrimFuncs left out; in order, each after what it needs."""

    def __init__(
        self, root: Operation, limits: Limits, can_compute: Callable[[Operation], bool], unknown: Collection[Value] = ()
    ):
        """`unknown`: values that could not be computed."""
        self._limits, self._can_compute, self._unknown = limits, can_compute, unknown
        self._known: dict[Value, _Known] = {}
        #: By number.
        self.operations: dict[int, Operation] = {}
        for number, op in enumerate([root, *operations_in(root, is_prim_func)]):
            if not is_prim_func(op):
                self._add(number, op)

    def _add(self, number: int, op: Operation) -> None:
        operands = [self._known.get(operand) for operand in op.operands]
        for known in operands:
            if known is not None:
                known.users.append(number)
        held = [known for known in operands if known is not None]
        if len(held) < len(operands) or not (_is_literal(op) or (operands and self._is_computable(op))):
            return
        made = [_sized(number, result.type) for result in op.results]
        elements, nbytes = sum(each.least_elements for each in held), sum(each.least_bytes for each in held)
        for known in made if operands else ():
            known.least_elements, known.least_bytes = min(known.elements, elements), min(known.nbytes, nbytes)
        if op.name == "relax.astype" and made[0].growth > _MOST_CAST_GROWTH:
            return
        # A step on the way may be larger than what it leads to, but has to fit as well.
        if any(known.growth > self._limits.growth and known.elements > self._limits.small for known in made):
            return
        self.operations[number] = op
        self._known.update(zip(op.results, made, strict=True))

    def _is_computable(self, op: Operation) -> bool:
        row = row_of(op)
        if row is None or not row.pure or row.writes or row.inplace or len(op.regions):
            return False
        if row.role not in ("", "shape") and op.name != CALL_TIR:
            return False
        if not all(map(_is_static, op.results.types)) or any(result in self._unknown for result in op.results):
            return False
        return not symbols_of_operation(op) and self._can_compute(op)

    def worth_keeping(self) -> list[Value]:
        """The values to make constants of, each before those that depend on it: then nobody needs the rest."""
        found: list[Value] = []
        gone: set[int] = set()
        room = self._limits.growth
        for number, op in reversed(self.operations.items()):
            if op.name in CONSTANTS:
                continue
            wanted = [result for result in op.results if not gone.issuperset(self._known[result].users)]
            known = [self._known[result] for result in wanted]
            growth = sum(each.growth for each in known)
            if growth > room or not all(map(self._is_worth, wanted)):
                continue
            room -= growth
            gone.add(number)
            found += reversed(wanted)
        return found[::-1]

    def _is_worth(self, value: Value) -> bool:
        if not isinstance(value.type, ir.RankedTensorType):
            return False  # sizes and numbers are no work
        known = self._known[value]
        # What spreads few numbers over a tensor takes less time than reading them all from memory.
        return known.elements <= max(self._limits.small, known.least_elements * self._limits.spread)

    def needed_for(self, values: Collection[Value], given: Collection[Value]) -> list[Operation]:
        """The operations that make the values of constants and of those that are given, in order."""
        numbers: set[int] = set()
        pending = [value for value in values if value not in given]
        while pending:
            number = self._known[pending.pop()].maker
            if number not in numbers:
                numbers.add(number)
                pending += [value for value in self.operations[number].operands if value not in given]
        return [self.operations[number] for number in sorted(numbers)]


def _is_literal(op: Operation) -> bool:
    if op.name in CONSTANTS:
        return True
    row = row_of(op)
    return row is not None and row.role == "literal" and not symbols_of_operation(op)


def _sized(maker: int, type_: Type) -> _Known:
    if not isinstance(type_, ir.RankedTensorType) or not type_.has_static_shape:
        return _Known(maker)
    elements = prod(type_.shape)
    nbytes = elements * max(bit_width(str(type_.element_type)), 8) // 8
    return _Known(maker, elements, nbytes, elements, nbytes)


def _is_static(type_: Type) -> bool:
    """Whether it is of known sizes, and a constant could be of it where it is a tensor."""
    if isinstance(type_, ir.RankedTensorType):
        return type_.has_static_shape and type_.encoding is None and str(type_.element_type) in STORAGE_NAME
    return isinstance(decode(type_), (ShapeInfo, ScalarInfo))
