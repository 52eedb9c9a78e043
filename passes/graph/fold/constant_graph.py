# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constant subgraph: operators that depend only on constants and weights, and the values worth materialising."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from itertools import count
from math import inf, prod
from typing import NamedTuple

from ....bindings.ir import Operation, Type, Value
from ....bindings.mlir import ir
from ....bindings.navigation import operations_in
from ....dialects.core.codec import decode
from ....dialects.core.dialect import row_of
from ....dialects.core.infos import ScalarInfo, ShapeInfo, TensorInfo, bit_width
from ....dialects.core.substitute import has_sized_attributes, symbols_of, symbols_of_operation
from ....dialects.relax.known_constants import CONSTANTS
from ....dialects.tir.prim_func import is_prim_func

CALL_TIR = "relax.call_tir"
# Weights stay packed if a cast at each read is cheaper than reading this many more bytes.
_MOST_CAST_GROWTH = 1 << 16
# Patterns that are computed while their result is read, at almost no cost.
_SPREADING = ("elemwise", "broadcast")
# Bytes up to which any other result, such as a looked-up table, is cheaper to read than to compute.
_SMALL_WORK = 1 << 20


@dataclass(frozen=True)
class FoldLimits:
    """Limits for the size of constants."""

    #: Elements up to which every result becomes a constant.
    small: int
    #: A larger result has fewer than this many times the elements of the constants that it depends on.
    spread: float
    #: Most bytes by which all constants together may grow.
    growth: float


class _TypeSize(NamedTuple):
    """Size of a type."""

    #: Infinite for symbolic sizes, 0 for anything but tensors.
    elements: float
    nbytes: int
    #: True if numbers and known symbols determine all sizes.
    is_known: bool


@dataclass(slots=True)
class _Known:
    """Size of a value that depends only on constants or weights, and sizes of its origins."""

    maker: int
    elements: float
    nbytes: int
    #: Elements and bytes of each origin. The value is its own origin if no earlier value is smaller.
    origins: dict[int, tuple[float, int]]
    #: True if the value depends on weights.
    is_of_weights: bool
    #: Numbers of the operations that use the value.
    users: list[int] = field(default_factory=list)

    def least_elements(self, small: int) -> float:
        """Return the elements of the origins.

        Small constants beside large ones, such as masks and shifts, do not count.
        """
        sizes = [elements for elements, _ in self.origins.values()]
        return sum(size for size in sizes if size > small) or sum(sizes)

    @property
    def growth(self) -> int:
        return max(self.nbytes - sum(nbytes for _, nbytes in self.origins.values()), 0)

    def is_made_of(self, others: Sequence[_Known], is_worth_work: bool) -> None:
        """Set the origins.

        With `is_worth_work` the value becomes a constant in any case, and its users read that constant.
        """
        origins: dict[int, tuple[float, int]] = {}
        for other in others:
            origins.update(other.origins)
        nbytes = sum(number for _, number in origins.values())
        (own,) = self.origins
        if nbytes >= self.nbytes:
            self.origins[own] = min(self.elements, sum(elements for elements, _ in origins.values())), self.nbytes
        elif is_worth_work:
            self.origins[own] = self.elements, nbytes
        else:
            self.origins = origins


class ConstantGraph:
    """Operations that depend only on constants and weights, in order, without the bodies of PrimFuncs."""

    def __init__(
        self,
        root: Operation,
        limits: FoldLimits,
        can_compute: Callable[[Operation], bool],
        *,
        unknown: Collection[Value] = (),
        weights: Sequence[Value] = (),
    ):
        """`unknown`: values that could not be computed. Symbols in the sizes of weights are known."""
        self._limits, self._can_compute, self._unknown, self._weights = limits, can_compute, unknown, weights
        self._sizes: dict[Type, _TypeSize] = {}
        self._origins = count()
        self._symbols: frozenset[str] = frozenset().union(*map(symbols_of, {weight.type for weight in weights}))
        self._known = {weight: self._size(-1, weight.type, is_of_weights=True) for weight in weights}
        #: Operations by number.
        self.operations: dict[int, Operation] = {}
        for number, op in enumerate([root, *operations_in(root, is_prim_func)]):
            if not is_prim_func(op):
                self._add(number, op)

    def _add(self, number: int, op: Operation) -> None:
        if op.name in CONSTANTS:
            result = op.results[0]
            self.operations[number], self._known[result] = op, self._size(number, result.type, is_of_weights=False)
            return
        operands = op.operands
        held = []
        for operand in operands:
            if (known := self._known.get(operand)) is not None:
                known.users.append(number)
                held.append(known)
        if len(held) < len(operands) or not self._is_computable(op, is_literal=not held):
            return
        is_of_weights = any(known.is_of_weights for known in held)
        made = [self._size(number, result.type, is_of_weights) for result in op.results]
        for known in made if held else ():
            known.is_made_of(held, _is_worth_work(op, known.nbytes))
        if op.name == "relax.astype" and made[0].growth > _MOST_CAST_GROWTH:
            return
        # An intermediate value may be larger than the final one, but must fit as well.
        if any(known.growth > self._limits.growth and known.elements > self._limits.small for known in made):
            return
        self.operations[number] = op
        self._known.update(zip(op.results, made, strict=True))

    def _size(self, maker: int, type_: Type, is_of_weights: bool) -> _Known:
        elements, nbytes, _ = self._size_of(type_)
        return _Known(maker, elements, nbytes, {next(self._origins): (elements, nbytes)}, is_of_weights)

    def _size_of(self, type_: Type) -> _TypeSize:
        if (size := self._sizes.get(type_)) is None:
            is_known = _is_sized(type_) and symbols_of(type_) <= self._symbols
            size = self._sizes[type_] = _TypeSize(*_elements_and_bytes(type_), is_known)
        return size

    def _is_computable(self, op: Operation, is_literal: bool) -> bool:
        """Check whether an operation on known operands can be computed."""
        row = row_of(op)
        if row is None or (has_sized_attributes(op) and not symbols_of_operation(op) <= self._symbols):
            return False
        results = op.results
        if not all(self._size_of(result.type).is_known for result in results):
            return False
        if is_literal:
            return row.role == "literal"
        if not row.pure or row.writes or row.inplace or (row.role not in ("", "shape") and op.name != CALL_TIR):
            return False
        if self._unknown and any(result in self._unknown for result in results):
            return False
        return not len(op.regions) and self._can_compute(op)

    def worth_keeping(self) -> list[Value]:
        """Return the values to materialise as constants, or as parameters if there are weights.

        All other operations are dead then. Each value precedes the values that depend on it.
        """
        values: list[Value] = []
        gone: set[int] = set()
        room = self._limits.growth
        for number, op in reversed(self.operations.items()):
            if op.name in CONSTANTS:
                continue
            results = [result for result in op.results if not gone.issuperset(self._known[result].users)]
            known = [self._known[result] for result in results]
            growth = sum(each.growth for each in known)
            if growth > room or not all(map(self._is_worth, results)):
                continue
            room -= growth
            gone.add(number)
            values += reversed(results)
        return values[::-1]

    def _is_worth(self, value: Value) -> bool:
        if not isinstance(value.type, ir.RankedTensorType):
            return False  # sizes and numbers take no work
        known = self._known[value]
        if self._weights and not known.is_of_weights:
            return False
        least = known.least_elements(self._limits.small)
        most = least * self._limits.spread
        # Spreading few numbers over a tensor is cheaper than reading the tensor from memory.
        if known.elements <= self._limits.small or known.elements < most or known.elements == least <= most:
            return True
        return _is_worth_work(value.owner, known.nbytes)

    def needed_for(self, values: Collection[Value], given: Collection[Value]) -> list[Operation]:
        """Return the operations that compute the values from constants and from `given` values, in order."""
        numbers: set[int] = set()
        given = set(given)
        pending = [value for value in values if value not in given]
        while pending:
            if (number := self._known[pending.pop()].maker) not in numbers:
                numbers.add(number)
                pending += [value for value in self.operations[number].operands if value not in given]
        return [self.operations[number] for number in sorted(numbers)]


def _is_worth_work(op: Operation, nbytes: int) -> bool:
    """Check whether a result of `nbytes` is cheaper to read than to compute, regardless of its origins' size."""
    row = row_of(op)
    return nbytes <= _SMALL_WORK and row is not None and row.pattern not in _SPREADING


def _elements_and_bytes(type_: Type) -> tuple[float, int]:
    """Return the elements and bytes of a tensor, zeros for other types."""
    if not isinstance(type_, ir.RankedTensorType):
        return 0, 0
    if not type_.has_static_shape:
        return inf, 0
    elements = prod(type_.shape)
    return elements, elements * max(bit_width(str(type_.element_type)), 8) // 8


def _is_sized(type_: Type) -> bool:
    """Check whether numbers and symbols determine all sizes."""
    if isinstance(info := decode(type_), ScalarInfo):
        return True
    dims = info.shape if isinstance(info, TensorInfo) else info.dims if isinstance(info, ShapeInfo) else None
    return dims is not None and None not in dims
