# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tape of loops: loop-carried states at the start of each iteration, stored for the backward pass.

The backward pass is built first, with placeholders for the states. States that it uses are stored in columns, which
grow by each iteration: rows of tensors, or the sizes and all elements in sequence if sizes may change. If only the size
of a state matters, its elements are not stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from relax_mlir.bindings.ir import Operation, Type, Value
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import operations_in
from relax_mlir.bindings.rewriting import is_used, located_error, replace_op
from relax_mlir.dialects import relax
from relax_mlir.dialects.core.codec import decode, encode
from relax_mlir.dialects.core.dialect import row_of
from relax_mlir.dialects.core.infos import ScalarInfo, TensorInfo, describe
from relax_mlir.dialects.core.substitute import symbols_of
from relax_mlir.dialects.relax import const
from relax_mlir.dialects.relax.values import is_known, stated
from relax_mlir.emit.numbers import Number, as_i64, number
from relax_mlir.passes.graph.decompose.tensor_formulas import as_tensor

#: Prefixes of operations that compute the same when they are repeated.
_REPEATABLE = ("arith.", "math.", "tensor.", "scf.")
#: Operators that only read the shape of an operand, and the operand's number.
_OF_SHAPES = {"relax.shape_of": 0, "relax.zeros_like": 0, "relax.ones_like": 0, "relax.collapse_sum_like": 1}


def is_repeatable(operation: Operation) -> bool:
    """Check whether an operation, without its regions, only computes. A check that has passed passes again."""
    row = row_of(operation)
    return operation.name.startswith(_REPEATABLE) if row is None else row.pure or operation.name == "relax.match_cast"


def erase_unused(operations: Sequence[Operation]) -> None:
    """Erase dead operations of a sequence, except the last one."""
    for operation in reversed(operations[:-1]):
        if is_used(operation) or _names_sizes(operation):
            continue
        if all(map(is_repeatable, [operation, *operations_in(operation)])):
            operation.erase()


def _names_sizes(operation: Operation) -> bool:
    """Check whether an operation defines symbols, which may be used without its result."""
    return operation.name == "relax.match_cast" and bool(symbols_of(operation.results[0].type))


def stand_in(type_: Type, *needs: Value) -> Value:
    """Create a placeholder that is replaced later. It uses the values that its replacement needs."""
    return ir.Operation.create("builtin.unrealized_conversion_cast", results=[type_], operands=needs).result


class Column(NamedTuple):
    """Tensor that grows along its first axis by data of each iteration's state."""

    #: Number of the state, and the stored data: "rows", "sizes" or "elements".
    place: int
    takes: str
    #: Type of the whole column.
    info: TensorInfo

    def empty(self) -> Value:
        _, *sizes = self.info.shape or ()
        return self._with_column_type(relax.dialect.ops["zeros"]((0, *sizes), dtype=self.info.dtype))

    def grown(self, value: Value, states: Sequence[Value]) -> Value:
        return self._with_column_type(relax.concat([value, self._data_of(states[self.place])], axis=0))

    def _data_of(self, state: Value) -> Value:
        if self.takes == "elements":
            return relax.flatten(state)
        row = as_tensor(state) if self.takes == "rows" else relax.shape_to_tensor(relax.shape_of(state))
        return relax.expand_dims(row, axis=[0])

    def _with_column_type(self, value: Value) -> Value:
        return stated(value, encode(self.info, value.context))


class States:
    """Loop-carried states of a loop."""

    def __init__(self, loop: Operation, states: Sequence[Value]):
        self._loop = loop
        self._types = [state.type for state in states]
        self._readings: list[list[Value]] = []
        self._columns: dict[tuple[int, str], Column] = {}

    def at(self, turn: Number) -> list[Value]:
        """Return the initial states of an iteration: placeholders until `settle`."""
        values = [stand_in(type_, turn.value) for type_ in self._types]
        self._readings.append(values)
        return values

    def columns(self) -> list[Column]:
        """Return the columns to store, after the backward pass is built."""
        for place, type_ in enumerate(self._types):
            uses = [use for values in self._readings for use in values[place].uses]
            if uses:
                only_shape = all(_OF_SHAPES.get(use.owner.name) == use.operand_number for use in uses)
                self._columns.update(
                    {(place, column.takes): column for column in self._columns_for(place, type_, only_shape)}
                )
        return list(self._columns.values())

    def _columns_for(self, place: int, type_: Type, only_shape: bool) -> Iterable[Column]:
        info = decode(type_)
        if isinstance(info, ScalarInfo):
            info = TensorInfo((), "i64" if info.dtype == "index" else info.dtype)
        if not isinstance(info, TensorInfo) or info.shape is None:
            raise located_error(
                f"'{self._loop.name}' cannot be differentiated: it carries {describe(info)}, which cannot be stored "
                "for the backward pass: states must be numbers, or tensors with a rank (relax.match_cast)",
                self._loop.location,
            )
        if is_known(info.shape):
            return [] if only_shape else [Column(place, "rows", TensorInfo((None, *info.shape), info.dtype))]
        sizes = Column(place, "sizes", TensorInfo((None, len(info.shape)), "i64"))
        return [sizes] if only_shape else [sizes, Column(place, "elements", TensorInfo((None,), info.dtype))]

    def settle(self, grown: Sequence[Value]) -> None:
        """Replace the placeholders by reads of the stored columns."""
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
    """Return the begin and end of each iteration's elements, computed once."""
    with ir.InsertionPoint.after(sizes.owner):
        lengths = relax.prod(sizes, axis=[1])
        ends = relax.cumsum(lengths, axis=0)
        return relax.subtract(ends, lengths), ends


class _State(NamedTuple):
    """State of one iteration."""

    place: int
    type: Type
    turn: Number
    held: Mapping[tuple[int, str], Value]
    bounds: Mapping[int, tuple[Value, Value]]

    def read(self) -> Value:
        rows, sizes = (self.held.get((self.place, takes)) for takes in ("rows", "sizes"))
        if rows is not None:
            return self._from_row(self._read(rows))
        info = decode(self.type)
        assert isinstance(info, TensorInfo), info
        shape = info.shape if sizes is None else relax.tensor_to_shape(self._read(sizes))
        if self.place in self.bounds:
            bounds = [relax.reshape(self._read(each), (1,)) for each in self.bounds[self.place]]
            elements = self.held[self.place, "elements"]
            flat = relax.dialect.ops["dynamic_strided_slice"](elements, *bounds, const([1], "i64"))
            return stated(relax.dialect.ops["reshape"](flat, shape), self.type)
        return stated(relax.dialect.ops["zeros"](shape, dtype=info.dtype), self.type)

    def _read(self, column: Value) -> Value:
        return relax.take(column, as_i64(self.turn).value, axis=0)

    def _from_row(self, row: Value) -> Value:
        if isinstance(decode(self.type), TensorInfo):
            return stated(row, self.type)
        element = ir.Operation.create("tensor.extract", results=[row.type.element_type], operands=[row]).result
        if element.type == self.type:
            return element
        return ir.Operation.create("arith.index_cast", results=[self.type], operands=[element]).result
