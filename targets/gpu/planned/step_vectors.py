# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Vectors along the steps of a reduction: a thread takes several steps at once and reads each input once.

The steps are the points of the last loops of a chain, so that their indices need no division.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from ....bindings.ir import Value
from ....bindings.rewriting import Decline
from ....emit.numbers import Number, as_index
from ....emit.structured import StructuredOp, is_scalar
from ..emit.memory_access import elements, load
from .index_arithmetic import Indices, Loops, lanes_along, place


def steps_at_once(op: StructuredOp, chain: Sequence[int], most: int) -> int:
    """Return the most steps of a chain that form a unit: whole inner loops, and a divisor of the next outer loop."""
    count = 1
    for dim in reversed([dim for dim in chain if op.sizes[dim] != 1]):
        size = op.sizes[dim]
        part = 1 if size is None else math.gcd(size, most // count)
        count *= part
        if part != size:
            break
    return count


def steps_of_code(op: StructuredOp, operand: int, chain: Sequence[int]) -> int:
    """Return the number of adjacent steps that share one element of an input, such as the numbers in a byte."""
    inner = itertools.takewhile(lambda dim: not op.uses(operand, dim), reversed(chain))
    return math.prod(op.sizes[dim] or 1 for dim in inner)


def extents_of(op: StructuredOp, chain: Sequence[int], count: int) -> dict[int, int]:
    """Return the extent of each loop in `count` steps. Raises Decline if the steps do not divide the last loops."""
    extents: dict[int, int] = {}
    left = count
    for dim in reversed([dim for dim in chain if op.sizes[dim] != 1]):
        size = op.sizes[dim]
        extent = left if size is None or left % size else size
        if extent != 1 and (size is None or size % extent):
            break
        extents = {dim: extent, **extents}
        left //= extent
    if left != 1:
        raise Decline(f"{count} steps at once do not divide the last loops of the reduction")
    return extents


class Unit:
    """Group of steps that a thread takes at once; see `steps_at_once`."""

    def __init__(self, op: StructuredOp, loops: Loops, chain: int, count: int):
        self.op = op
        self.loops = loops
        self.chain = chain
        self.count = count
        #: Extent of each loop in a unit, in the loops' order.
        self.extents = extents_of(op, loops.chains[chain], count)

    def places(self, first: Number) -> list[Indices]:
        """Return the index of each loop at each step. `first` is a multiple of the number of steps."""
        start = self.loops.taken_apart(self.chain, first)
        moved = [
            {dim: start[dim] + digit for dim, digit in zip(self.extents, digits, strict=True) if digit}
            for digits in self._digits
        ]
        return [{**start, **by, **known} for by, known in zip(moved, self.known_places(), strict=True)]

    def known_places(self) -> list[Indices]:
        """Return the indices of the loops that a unit covers completely, which do not depend on its begin."""
        whole = [dim for dim in self.extents if self.is_whole(dim)]
        return [
            {dim: as_index(digit) for dim, digit in zip(self.extents, digits, strict=True) if dim in whole}
            for digits in self._digits
        ]

    def is_whole(self, dim: int) -> bool:
        return self.extents.get(dim, 1) == self.op.sizes[dim]

    @property
    def _digits(self) -> list[tuple[int, ...]]:
        return list(itertools.product(*map(range, self.extents.values())))

    def loads(self, operand: int) -> tuple[list[int], int]:
        """Return the steps at which vectors of an input begin, and the lanes of these vectors."""
        used = self._list_used(operand)
        count = math.prod(self.extents[dim] for dim in used)
        lanes = lanes_along(self.op, self.op.accesses[operand], self.op.operands[operand], used)
        while count % lanes:
            lanes //= 2
        numbers = self._numbers(operand)
        return [numbers.index(first) for first in range(0, count, lanes)], lanes

    def of_steps(self, operand: int, read: Sequence[Value]) -> list[Value]:
        """Map the loaded vectors to the element of each step."""
        found = [element for value in read for element in elements(value)]
        return [found[number] for number in self._numbers(operand)]

    def read(self, operand: int, around: Indices, places: Sequence[Indices]) -> list[Value]:
        """Load an input's element for each step; `around` contains the indices of the other loops."""
        memref, access = self.op.operands[operand], self.op.accesses[operand]
        if is_scalar(memref.type):
            return [memref] * self.count
        firsts, lanes = self.loads(operand)
        return self.of_steps(
            operand, [load(memref, place(access, {**around, **places[first]}), lanes) for first in firsts]
        )

    def _list_used(self, operand: int) -> list[int]:
        return [dim for dim in self.extents if self.op.uses(operand, dim)]

    def _numbers(self, operand: int) -> list[int]:
        """Return, for each step, the position of its element among the distinct elements that a unit reads."""
        used = self._list_used(operand)
        numbers = []
        for digits in self._digits:
            number = 0
            for dim, digit in zip(self.extents, digits, strict=True):
                number = number * self.extents[dim] + digit if dim in used else number
            numbers.append(number)
        return numbers
