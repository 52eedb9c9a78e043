# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Upper bounds of sizes in a program, from the ranges of the symbols in its functions' types."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from relax_mlir.bindings.ir import Block, Operation, Value
from relax_mlir.bindings.mlir import DYNAMIC, ir
from relax_mlir.bindings.navigation import constant_of, symbol_name
from relax_mlir.dialects.core.codec import decode
from relax_mlir.dialects.core.infos import ScalarInfo, TensorInfo
from relax_mlir.dialects.core.intervals import (
    UNKNOWN,
    Bounds,
    add,
    floor_divide,
    maximum,
    minimum,
    multiply,
    subtract,
    union,
)
from relax_mlir.dialects.core.ir_attributes import GRAPH_INPUTS, GRAPH_RESULTS
from relax_mlir.dialects.core.size_bounds import size_bounds, symbol_ranges
from relax_mlir.dialects.core.symbols import Dim
from relax_mlir.emit.memrefs import SIZES_FROM

_MOST = 1 << 62


class SizeBounds:
    """Bounds of index values and of memref sizes.

    The calls of a private function determine the bounds of its parameters.
    """

    def __init__(self, functions: Mapping[str, Operation], calls: Mapping[str, Iterable[Operation]]) -> None:
        self._functions = functions
        self._calls = calls
        self._known: dict[Value, Bounds] = {}
        self._sizes: dict[tuple[Value, int], Bounds] = {}

    def most(self, value: Value) -> int | None:
        """Return the maximum of an index value, or None if unknown."""
        return self._of(value)[1]

    def _of(self, value: Value) -> Bounds:
        if value not in self._known:
            self._known[value] = UNKNOWN  # cyclic dependences have no bound
            self._known[value] = _drop_wrapping(self._compute(value))
        return self._known[value]

    def _compute(self, value: Value) -> Bounds:
        if isinstance(value.owner, ir.Block):
            return self._argument(value)
        op = value.owner.operation
        number = constant_of(value) if isinstance(value.type, (ir.IndexType, ir.IntegerType)) else None
        if number is not None:
            return number, number
        if op.name == "memref.dim":
            axis = constant_of(op.operands[1])
            return UNKNOWN if axis is None else self.size(op.operands[0], axis)
        if op.name in _SAME:
            return self._of(op.operands[0])
        if (rule := _ARITHMETIC.get(op.name)) is None:
            return UNKNOWN
        operands = list(op.operands)[1:] if op.name == "arith.select" else list(op.operands)
        return rule(*map(self._of, operands))

    def _argument(self, value: Value) -> Bounds:
        around = value.owner.owner.operation
        if around.name == "scf.for" and value.arg_number == 0:
            first, last = self._of(around.operands[0])[0], self._of(around.operands[1])[1]
            return first, None if last is None else last - 1
        if around.name != "func.func":
            return UNKNOWN
        if GRAPH_INPUTS in around.attributes:
            infos = [decode(ir.TypeAttr(each).value) for each in around.attributes[GRAPH_INPUTS]]
            info = infos[value.arg_number] if value.arg_number < len(infos) else None
            size = info.value if isinstance(info, ScalarInfo) else None
            return UNKNOWN if size is None or isinstance(size, float) else size_bounds(size, symbol_ranges(around))
        return self._from_callers(around, lambda call: self._of(call.operands[value.arg_number]))

    def _from_callers(self, function: Operation, bounds_at: Callable[[Operation], Bounds]) -> Bounds:
        found = [bounds_at(call) for call in self._calls.get(symbol_name(function), ())]
        return union(*found) if found else UNKNOWN

    # ---- memrefs ----

    def size(self, memref: Value, axis: int) -> Bounds:
        """Return the bounds of a memref's size."""
        if (static := memref.type.shape[axis]) != DYNAMIC:
            return static, static
        key = memref, axis
        if key not in self._sizes:
            self._sizes[key] = UNKNOWN
            self._sizes[key] = _drop_wrapping(self._found_size(memref, axis))
        return self._sizes[key]

    def _found_size(self, memref: Value, axis: int) -> Bounds:
        if isinstance(memref.owner, Block):
            around = memref.owner.owner.operation
            return self._parameter_size(around, memref.arg_number, axis) if around.name == "func.func" else UNKNOWN
        op = memref.owner.operation
        if op.name == "memref.cast":
            return self.size(op.operands[0], axis)
        if op.name not in _DYNAMIC_SIZES:
            return UNKNOWN
        place = _DYNAMIC_SIZES[op.name](op) + list(memref.type.shape)[:axis].count(DYNAMIC)
        return self._of(op.operands[place])

    def _parameter_size(self, function: Operation, position: int, axis: int) -> Bounds:
        if GRAPH_INPUTS not in function.attributes:
            return self._from_callers(function, lambda call: self.size(call.operands[position], axis))
        listed = [*function.attributes[GRAPH_INPUTS], *function.attributes[GRAPH_RESULTS]]
        info = decode(ir.TypeAttr(listed[position]).value)
        size: Dim = info.shape[axis] if isinstance(info, TensorInfo) and info.shape is not None else None
        return size_bounds(size, symbol_ranges(function)) if size is not None else UNKNOWN


#: Position of the first size among an operation's operands.
_DYNAMIC_SIZES = SIZES_FROM | {
    "memref.subview": SIZES_FROM["memref.reinterpret_cast"],
    "memref.expand_shape": lambda op: 1,
}
_SAME = frozenset(f"arith.{word}" for word in ("index_cast", "index_castui", "extsi", "extui", "trunci"))


def _drop_wrapping(bounds: Bounds) -> Bounds:
    """Remove bounds of values that may wrap around."""
    lower, upper = bounds
    return (
        lower if lower is not None and lower > -_MOST else None,
        upper if upper is not None and upper < _MOST else None,
    )


def _bound_and(left: Bounds, right: Bounds) -> Bounds:
    """Return the bounds of a bitwise and: a value with low bits cleared, or a few low bits."""
    lower, upper = left
    mask = right[0] if right[0] == right[1] else None
    if mask is None or lower is None or lower < 0:
        return UNKNOWN
    return (0, upper) if mask < 0 else (0, mask if upper is None else min(mask, upper))


def _quotient(left: Bounds, right: Bounds) -> Bounds:
    """Return the bounds of a quotient rounded towards 0, for nonnegative dividends."""
    return floor_divide(left, right) if left[0] is not None and left[0] >= 0 else UNKNOWN


_ARITHMETIC: dict[str, Callable[..., Bounds]] = {
    "arith.addi": add,
    "arith.subi": subtract,
    "arith.muli": multiply,
    "arith.andi": _bound_and,
    "arith.divsi": _quotient,
    "arith.divui": _quotient,
    "arith.floordivsi": floor_divide,
    "arith.ceildivsi": lambda left, right: add(floor_divide(left, right), (0, 1)),
    "arith.maxsi": maximum,
    "arith.minsi": minimum,
    "arith.select": union,
}
