# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tape of loops: what they keep of their loop-carried states at each iteration's start, for the backward pass.

The way back is built first, with stand-ins for the states. What it still uses then is kept, in columns that grow turn
by turn: rows of tensors, or, where sizes may change from turn to turn, the sizes, and all elements one after the other.
Of a state of which only the size matters no elements are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ...bindings.ir import Operation, Type, Value
from ...bindings.mlir import ir
from ...bindings.navigation import operations_in
from ...bindings.rewriting import is_used, located_error, replace_op
from ...dialects import relax
from ...dialects.core.codec import decode, encode
from ...dialects.core.dialect import row_of
from ...dialects.core.infos import ScalarInfo, TensorInfo, describe
from ...dialects.core.substitute import symbols_of
from ...dialects.relax import const
from ...dialects.relax.values import is_known, stated
from ...emit.numbers import Number, as_i64, number
from ..decompose.tensor_formulas import as_tensor

#: Dialects whose operations do the same when they are done again.
_REPEATABLE = ("arith.", "math.", "tensor.", "scf.")
#: Operators that look at the shape of an operand alone, and its place.
_OF_SHAPES = {"relax.shape_of": 0, "relax.zeros_like": 0, "relax.ones_like": 0, "relax.collapse_sum_like": 1}


def is_repeatable(operation: Operation) -> bool:
    """Whether an operation does nothing but compute, apart from what is inside; what it checks holds once more."""
    row = row_of(operation)
    return operation.name.startswith(_REPEATABLE) if row is None else row.pure or operation.name == "relax.match_cast"


def erase_unused(operations: Sequence[Operation]) -> None:
    """Erases dead operations, of some in a row without the last one."""
    for operation in reversed(operations[:-1]):
        if is_used(operation) or _names_sizes(operation):
            continue
        if all(map(is_repeatable, [operation, *operations_in(operation)])):
            operation.erase()


def _names_sizes(operation: Operation) -> bool:
    """Whether an operation defines symbols, which others may use that do not use its result."""
    return operation.name == "relax.match_cast" and bool(symbols_of(operation.results[0].type))


def stand_in(type_: Type, *needs: Value) -> Value:
    """A value that another one will take the place of, which is made of what it needs."""
    return ir.Operation.create("builtin.unrealized_conversion_cast", results=[type_], operands=needs).result


class Column(NamedTuple):
    """A tensor that grows along its first axis, by what each turn's state gives."""

    #: The state's place, and how it is taken: "rows", "sizes" or "elements".
    place: int
    takes: str
    #: Of all that the column holds.
    info: TensorInfo

    def empty(self) -> Value:
        _, *sizes = self.info.shape or ()
        return self._fitting(relax.dialect.ops["zeros"]((0, *sizes), dtype=self.info.dtype))

    def grown(self, held: Value, states: Sequence[Value]) -> Value:
        return self._fitting(relax.concat([held, self._taken(states[self.place])], axis=0))

    def _taken(self, state: Value) -> Value:
        if self.takes == "elements":
            return relax.flatten(state)
        row = as_tensor(state) if self.takes == "rows" else relax.shape_to_tensor(relax.shape_of(state))
        return relax.expand_dims(row, axis=[0])

    def _fitting(self, value: Value) -> Value:
        return stated(value, encode(self.info, value.context))


class States:
    """The states of a loop."""

    def __init__(self, loop: Operation, states: Sequence[Value]):
        self._loop = loop
        self._types = [state.type for state in states]
        self._readings: list[list[Value]] = []
        self._columns: dict[tuple[int, str], Column] = {}

    def at(self, turn: Number) -> list[Value]:
        """The states with which a turn began: stand-ins until `settle`."""
        values = [stand_in(type_, turn.value) for type_ in self._types]
        self._readings.append(values)
        return values

    def columns(self) -> list[Column]:
        """What is to be kept, now that the way back is built."""
        for place, type_ in enumerate(self._types):
            uses = [use for values in self._readings for use in values[place].uses]
            if uses:
                only_shape = all(_OF_SHAPES.get(use.owner.name) == use.operand_number for use in uses)
                self._columns.update({(place, each.takes): each for each in self._kept(place, type_, only_shape)})
        return list(self._columns.values())

    def _kept(self, place: int, type_: Type, only_shape: bool) -> Iterable[Column]:
        info = decode(type_)
        if isinstance(info, ScalarInfo):
            info = TensorInfo((), "i64" if info.dtype == "index" else info.dtype)
        if not isinstance(info, TensorInfo) or info.shape is None:
            raise located_error(
                f"'{self._loop.name}' cannot be differentiated: it carries {describe(info)}, which cannot be kept for "
                "the way back: states must be numbers, or tensors with a rank (relax.match_cast)",
                self._loop.location,
            )
        if is_known(info.shape):
            return [] if only_shape else [Column(place, "rows", TensorInfo((None, *info.shape), info.dtype))]
        sizes = Column(place, "sizes", TensorInfo((None, len(info.shape)), "i64"))
        return [sizes] if only_shape else [sizes, Column(place, "elements", TensorInfo((None,), info.dtype))]

    def settle(self, grown: Sequence[Value]) -> None:
        """Puts what the loop has kept in the place of the stand-ins."""
        held = dict(zip(self._columns, grown, strict=True))
        bounds = {place: _bounds(held[place, "sizes"]) for place, takes in held if takes == "elements"}
        for values in self._readings:
            for place, value in enumerate(values):
                marker = value.owner.operation
                if not is_used(marker):
                    marker.erase()
                    continue
                with ir.InsertionPoint(marker):
                    state = _State(place, value.type, number(marker.operands[0]), held, bounds).read()
                replace_op(marker, [state])


def _bounds(sizes: Value) -> tuple[Value, Value]:
    """Where each turn's elements begin and end, computed once."""
    with ir.InsertionPoint.after(sizes.owner):
        lengths = relax.prod(sizes, axis=[1])
        ends = relax.cumsum(lengths, axis=0)
        return relax.subtract(ends, lengths), ends


class _State(NamedTuple):
    """One state of one turn."""

    place: int
    type: Type
    turn: Number
    held: Mapping[tuple[int, str], Value]
    bounds: Mapping[int, tuple[Value, Value]]

    def read(self) -> Value:
        rows, sizes = (self.held.get((self.place, takes)) for takes in ("rows", "sizes"))
        if rows is not None:
            return self._of_row(self._at(rows))
        info = decode(self.type)
        assert isinstance(info, TensorInfo), info
        shape = info.shape if sizes is None else relax.tensor_to_shape(self._at(sizes))
        if self.place in self.bounds:
            bounds = [relax.reshape(self._at(each), (1,)) for each in self.bounds[self.place]]
            elements = self.held[self.place, "elements"]
            flat = relax.dialect.ops["dynamic_strided_slice"](elements, *bounds, const([1], "i64"))
            return stated(relax.dialect.ops["reshape"](flat, shape), self.type)
        return stated(relax.dialect.ops["zeros"](shape, dtype=info.dtype), self.type)

    def _at(self, column: Value) -> Value:
        return relax.take(column, as_i64(self.turn).value, axis=0)

    def _of_row(self, row: Value) -> Value:
        if isinstance(decode(self.type), TensorInfo):
            return stated(row, self.type)
        element = ir.Operation.create("tensor.extract", results=[row.type.element_type], operands=[row]).result
        if element.type == self.type:
            return element
        return ir.Operation.create("arith.index_cast", results=[self.type], operands=[element]).result
