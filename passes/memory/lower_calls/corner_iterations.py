# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Evaluation of a function's integers at the corners of its loops: in the first and the last iteration of each loop.

An array has the values of an integer at all corners, with an axis of length 2 for each loop on which the integer
depends. Each corner is an iteration that runs, so a condition that is false there is false in the program. Numbers that
depend on memory or on arguments are unknown, as are loops and branches that depend on such numbers.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ....bindings.ir import Block, Operation, Value
from ....bindings.mlir import DYNAMIC
from ....bindings.navigation import blocks_of, body_of, constant_of, last_of, operations_of

if TYPE_CHECKING:
    from numpy import ndarray

    #: Values at all corners.
    Values = ndarray[Any, Any]

#: Axes of the threads of a block. Axes of loops follow.
_THREAD_AXES = ("x", "y", "z")
_THREAD, _BLOCK, _BLOCK_SIZE = "gpu.thread_id", "gpu.block_id", "known_block_size"


class Corners:
    """Values of a function's integers at the corners of its loops."""

    def __init__(self, function: Operation):
        self._function = function
        self._values: dict[Value, Values | None] = {}

    def operations(self) -> Iterator[tuple[Operation, Values]]:
        """Yield the operations that run at some corner for certain, each with the corners at which it runs."""
        import numpy

        return self._visit(body_of(self._function), numpy.asarray(True), len(_THREAD_AXES))

    def _visit(self, block: Block, runs: Values, axis: int) -> Iterator[tuple[Operation, Values]]:
        """Yield the operations of a block that runs at the corners `runs`. Loops inside have axes from `axis` on."""
        for op in operations_of(block):
            if op.name in _LOOPS:
                yield from self._visit_loop(op, runs, axis)
            elif op.name == "scf.if":
                yield from self._visit_branches(op, runs, axis)
            else:
                yield op, runs

    def _visit_loop(self, op: Operation, runs: Values, axis: int) -> Iterator[tuple[Operation, Values]]:
        import numpy

        body = op.regions[0].blocks[0]
        bounds = _LOOPS[op.name](op)
        for counter, bound in zip(body.arguments, bounds, strict=False):
            first, end, step = (numpy.asarray(each) if isinstance(each, int) else self.of(each) for each in bound)
            if first is None or end is None or step is None or (step <= 0).any():
                return
            last = first + numpy.maximum(end - 1 - first, 0) // step * step
            shape = numpy.broadcast_shapes(first.shape, last.shape, (1,) * axis)
            self._values[counter] = numpy.stack([numpy.broadcast_to(each, shape) for each in (first, last)])
            runs = runs & (first < end)
            axis += 1
        if runs.any():
            yield from self._visit(body, runs, axis)

    def _visit_branches(self, op: Operation, runs: Values, axis: int) -> Iterator[tuple[Operation, Values]]:
        if (condition := self.of(op.operands[0])) is None:
            return
        for block, where in zip(blocks_of(op), (runs & (condition != 0), runs & (condition == 0)), strict=False):
            if where.any():
                yield from self._visit(block, where, axis)

    def of(self, value: Value) -> Values | None:
        """Return a number's values at all corners, or None if they are unknown."""
        if value not in self._values:
            self._values[value] = None if isinstance(value.owner, Block) else self._compute(value)
        return self._values[value]

    def _compute(self, value: Value) -> Values | None:
        import numpy

        number, op = constant_of(value), value.owner.operation
        if number is not None:
            return numpy.asarray(number, numpy.int64)
        if op.name == _THREAD:
            return self._threads(op)
        if op.name == _BLOCK:
            return numpy.asarray(0)  # the first block of any grid
        if op.name == "scf.if":
            return self._choose(op, value)
        if (compute := _ARITHMETIC.get(op.name)) is None:
            return None
        operands = [self.of(operand) for operand in op.operands]
        if any(operand is None for operand in operands):
            return None
        if op.name == "arith.cmpi":
            operands.insert(0, numpy.asarray(op.attributes["predicate"].value))
        with numpy.errstate(all="ignore"):
            result = numpy.asarray(compute(*operands))
            return result.astype("int64") if result.dtype == bool else result

    def _threads(self, op: Operation) -> Values | None:
        """Return the first and the last number of a block's threads."""
        import numpy

        if _BLOCK_SIZE not in self._function.attributes:
            return None
        (axis,) = (place for place, name in enumerate(_THREAD_AXES) if f" {name}>" in str(op.attributes["dimension"]))
        return numpy.reshape([0, list(self._function.attributes[_BLOCK_SIZE])[axis] - 1], (2,) + (1,) * axis)

    def _choose(self, op: Operation, value: Value) -> Values | None:

        place = list(op.results).index(value)
        branches = [last_of(block).operands[place] for block in blocks_of(op)]
        condition, then, otherwise = (self.of(branch) for branch in (op.operands[0], *branches))
        if condition is None or then is None or otherwise is None:
            return None
        return _select(condition, then, otherwise)


# ---- loops ----

#: First value, end and step of a counter.
_Bounds = tuple["Value | int", "Value | int", "Value | int"]


def _bounds_of_for(op: Operation) -> list[_Bounds]:
    first, end, step, *_ = op.operands
    return [(first, end, step)]


def _bounds_of_parallel(op: Operation) -> list[_Bounds]:
    count = len(op.regions[0].blocks[0].arguments)
    operands = list(op.operands)
    return [(operands[index], operands[count + index], operands[2 * count + index]) for index in range(count)]


def _bounds_of_forall(op: Operation) -> list[_Bounds]:
    dynamic = iter(op.operands)
    lists = []
    for name in ("staticLowerBound", "staticUpperBound", "staticStep"):
        lists.append([next(dynamic) if each == DYNAMIC else each for each in op.attributes[name]])
    return list(zip(*lists, strict=True))


_LOOPS: Mapping[str, Callable[[Operation], list[_Bounds]]] = {
    "scf.for": _bounds_of_for,
    "scf.parallel": _bounds_of_parallel,
    "scf.forall": _bounds_of_forall,
}

# ---- arithmetic ----

_PREDICATES = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)


def _divide(x: Values, y: Values) -> Values:
    """Divide and round to zero, as arith does. The quotient by zero is arbitrary: the program never uses it."""
    import numpy

    quotient = numpy.abs(x) // numpy.maximum(numpy.abs(y), 1)
    return numpy.where((x < 0) != (y < 0), -quotient, quotient)


def _divide_down(x: Values, y: Values) -> Values:
    import numpy

    return numpy.where(y == 0, 0, x // numpy.where(y == 0, 1, y))


def _compare(predicate: Values, x: Values, y: Values) -> Values:
    """Compare as arith.cmpi: eq, ne, slt, sle, sgt, sge, then the same without signs."""
    import numpy

    if (kind := int(predicate)) > 5:
        x, y, kind = x.astype(numpy.uint64), y.astype(numpy.uint64), kind - 4
    return _PREDICATES[kind](x, y)


def _minimum(x: Values, y: Values) -> Values:
    return _select(x < y, x, y)


def _maximum(x: Values, y: Values) -> Values:
    return _select(x < y, y, x)


def _select(condition: Values, x: Values, y: Values) -> Values:
    import numpy

    return numpy.where(condition != 0, x, y)


def _same(x: Values) -> Values:
    return x


#: Operations on index, i64, i32 and i1. Sizes and indices do not overflow.
_ARITHMETIC: Mapping[str, Callable[..., Values]] = {
    "arith.addi": operator.add,
    "arith.subi": operator.sub,
    "arith.muli": operator.mul,
    "arith.divui": _divide,
    "arith.divsi": _divide,
    "arith.remui": lambda x, y: x - _divide(x, y) * y,
    "arith.remsi": lambda x, y: x - _divide(x, y) * y,
    "arith.ceildivui": lambda x, y: -_divide_down(-x, y),
    "arith.ceildivsi": lambda x, y: -_divide_down(-x, y),
    "arith.floordivsi": _divide_down,
    "arith.minsi": _minimum,
    "arith.minui": _minimum,
    "arith.maxsi": _maximum,
    "arith.maxui": _maximum,
    "arith.andi": operator.and_,
    "arith.ori": operator.or_,
    "arith.xori": operator.xor,
    "arith.shli": operator.lshift,
    "arith.shrsi": operator.rshift,
    "arith.shrui": operator.rshift,
    "arith.cmpi": _compare,
    "arith.select": _select,
    "arith.index_cast": _same,
    "arith.index_castui": _same,
    "arith.extsi": _same,
    "arith.extui": _same,
    "arith.trunci": _same,
}
