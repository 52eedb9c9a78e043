# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Outlining of operations of a block into a function, with a call at the place of the last operation."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property

from ....bindings.ir import Attribute, Block, Operation, Type, Value
from ....bindings.mlir import ir
from ....bindings.navigation import (
    ancestors,
    callee_of,
    functions_in,
    has_body,
    made_by,
    operations_in,
    operations_of,
    symbol_name,
    used_by,
    users_of,
)
from ....bindings.rewriting import copy_operation
from ....dialects.core.codec import decode
from ....dialects.core.dialect import row_of
from ....dialects.core.infos import ShapeInfo
from ....dialects.core.substitute import symbols_of, symbols_of_operation
from ....dialects.relax.function_attributes import function_attributes
from ....dialects.relax.known_constants import is_constant
from ...core.external import is_external
from .sequence import sort_by_graph

# Upstream's dialects with operations that only compute values from values.
_PURE = ("arith.", "math.", "tensor.")
# Terminators of blocks.
_ENDS = ("func.return", "scf.yield", "scf.condition")


class Order:
    """Order of the operations of a block while some of them move.

    Operations are keyed by their first results: an operation's own hash changes with its operands.
    """

    def __init__(self, block: Block):
        operations = operations_of(block)
        #: The operations before any of them moves, in the order that the graph defines.
        self.begun = sort_by_graph(operations)
        # Operations that are now at the place of each original operation.
        self._slots = [[op] for op in operations]
        self._number = {op.results[0]: number for number, op in enumerate(operations) if len(op.results)}
        self._rank = {op.results[0]: rank for rank, op in enumerate(self.begun) if len(op.results)}

    def sorted(self, operations: Iterable[Operation]) -> list[Operation]:
        """Sort operations that have results by their order in the block."""
        return sorted(operations, key=self._place)

    def sort_by_graph(self, operations: Iterable[Operation]) -> list[Operation]:
        """Sort the same operations by the order that the graph defines."""
        by_rank = sorted(operations, key=lambda op: self._rank[op.results[0]])
        # A reader of a call that was inserted meanwhile may have preceded the last of the call's operations.
        return sort_by_graph(by_rank) if len(by_rank) > 1 else by_rank

    def _place(self, op: Operation) -> tuple[int, int]:
        number = self._number[op.results[0]]
        return number, self._slots[number].index(op)

    def between(self, first: Operation, last: Operation) -> list[Operation]:
        """Return the operations from one operation to another one."""
        (start, begin), (stop, end) = self._place(first), self._place(last)
        spanned = self._slots[start : stop + 1]
        spanned[-1] = spanned[-1][: end + 1]
        spanned[0] = spanned[0][begin:]
        return [op for slot in spanned for op in slot]

    def replace(self, operations: Sequence[Operation], call: Operation, followers: Sequence[Operation]) -> None:
        """Put a call at the place of the last of the operations. The followers have moved behind the call."""
        *others, last = operations
        self._rank[call.results[0]] = max(self._rank.pop(op.results[0]) for op in operations)
        for op in (*others, *followers):
            self._slots[self._number.pop(op.results[0])].remove(op)
        number = self._number.pop(last.results[0])
        place = self._slots[number].index(last)
        self._slots[number][place : place + 1] = [call, *followers]
        self._number.update({op.results[0]: number for op in (call, *followers)})


class OutlinedPart:
    """Operations of one block that may be outlined.

    They are in the order that the graph defines, or in the block's order if the place of one of them matters.
    """

    def __init__(self, operations: Sequence[Operation], order: Order, pure: Collection[str] = ()):
        """Initialize the part. `pure` names the functions that may be called at any time."""
        self._order, self._pure, self._placed = order, pure, order.sorted(operations)
        self.is_pure = all(is_movable(op, pure) for op in operations)
        self.operations = order.sort_by_graph(operations) if self.is_pure else self._placed
        self._inside = frozenset(self.operations)

    @cached_property
    def inputs(self) -> list[Value]:
        """Return the values that the part reads from other operations."""
        read = (value for op in self.operations for value in used_by(op))
        return list(dict.fromkeys(value for value in read if made_by(value) not in self._inside))

    @cached_property
    def results(self) -> list[Value]:
        """Return the values that other operations read."""
        values = [value for op in self.operations for value in op.results]
        return [value for value in values if not all(map(self._is_inside, users_of(value)))]

    @cached_property
    def _between(self) -> list[Operation]:
        """Return the other operations from the part's first operation to its last."""
        return [op for op in self._order.between(self._placed[0], self._placed[-1]) if op not in self._inside]

    @cached_property
    def _dependents(self) -> list[Operation]:
        """Return the operations in between that depend on the part. They move behind the part."""
        values = {value for op in self.operations for value in op.results}
        dependents = []
        for op in self._between:
            if any(value in values for value in used_by(op)):
                dependents.append(op)
                values.update(op.results)
        return dependents

    @cached_property
    def _symbols(self) -> frozenset[str]:
        """Return the symbols in the sizes of the tensors that the part reads."""
        return frozenset[str]().union(*(symbols_of(value.type) for value in self.inputs if _is_tensor(value)))

    def refusal(self) -> str:
        """Return the reason why the part cannot be outlined, or "" if it can."""
        needed = {value for op in self._dependents for value in op.results}
        if (circle := next((value for value in self.inputs if value in needed), None)) is not None:
            made = made_by(circle)
            return f"reads a result of {made.name if made else 'another operation'}, which depends on the match itself"
        if any(_is_shape(value) and not _is_copied(value, self._symbols, True) for value in self.inputs):
            return "reads a shape with sizes that its tensors do not have"
        return "" if self._fixed is None else f"would be reordered with {self._fixed.name}, which must not move"

    @cached_property
    def _fixed(self) -> Operation | None:
        """Return an operation that must not move, but would move or be passed by the part, or None."""
        moved = (*self._between, *self._placed) if self._between else ()
        return next((op for op in moved if not is_movable(op, self._pure)), None)

    def cut(self) -> tuple[list[Operation], list[Operation]]:
        """Return the operations before and behind the operation that must not move, or all operations and []."""
        if self._fixed is None:
            return self.operations, []
        spanned = self._order.between(self._placed[0], self._placed[-1])
        # If that is the first operation of the part, the cut is behind it.
        place = max(spanned.index(self._fixed), 1)
        before, behind = ([op for op in each if op in self._inside] for each in (spanned[:place], spanned[place:]))
        return before, behind

    def arguments(self, bind_constants: bool) -> list[Value]:
        """Return the arguments of the new function."""
        return [value for value in self.inputs if not _is_copied(value, self._symbols, bind_constants)]

    def outline(
        self, name: str, inputs: Sequence[Value], attributes: Mapping[str, Attribute], *, before: Operation
    ) -> Operation:
        """Create the function with these arguments before another one, and return the call.

        Callers check `refusal` first.
        """
        last = self._placed[-1]
        for op in reversed(self._dependents):
            op.move_after(last)
        location = ir.Location.fused([op.location for op in self.operations], context=last.context)
        with location:
            self._define(name, inputs, attributes, before)
            call = _call(name, inputs, [value.type for value in self.results], last)
        self._order.replace(self._placed, call, self._dependents)
        for value, result in zip(self.results, call.results, strict=True):
            value.replace_all_uses_with(result)
        for op in reversed(self.operations):
            op.erase()
        return call

    def _define(
        self, name: str, inputs: Sequence[Value], attributes: Mapping[str, Attribute], before: Operation
    ) -> None:
        results = [value.type for value in self.results]
        body = _body_of_new(name, [value.type for value in inputs], results, attributes, before)
        values: dict[Value, Value] = dict(zip(inputs, body.arguments, strict=True))
        with ir.InsertionPoint(body):
            for value in self.inputs:
                maker = made_by(value)
                if value not in values and maker is not None:
                    copy_operation(maker, values)
            for op in self.operations:
                copy_operation(op, values)
            ir.Operation.create("func.return", operands=[values[value] for value in self.results])

    def _is_inside(self, op: Operation) -> bool:
        return op in self._inside or any(ancestor in self._inside for ancestor in ancestors(op))


def wrap(call: Operation, name: str, attributes: Mapping[str, Attribute], before: Operation) -> None:
    """Call a new function instead, which contains the original call."""
    types, results = [value.type for value in call.operands], list(call.results.types)
    with call.location:
        body = _body_of_new(name, types, results, attributes, before)
        with ir.InsertionPoint(body):
            inner = call.clone()
            for position, argument in enumerate(body.arguments):
                inner.operands[position] = argument
            ir.Operation.create("func.return", operands=list(inner.results))
        call.attributes["callee"] = ir.FlatSymbolRefAttr.get(name)


def _body_of_new(
    name: str, types: Sequence[Type], results: Sequence[Type], attributes: Mapping[str, Attribute], before: Operation
) -> Block:
    stated = {**function_attributes(name, types, results, private=True), **attributes}
    function = ir.Operation.create("func.func", attributes=stated, regions=1, ip=ir.InsertionPoint(before))
    return function.regions[0].blocks.append(*types)


def _call(name: str, operands: Sequence[Value], results: Sequence[Type], before: Operation) -> Operation:
    attributes = {"callee": ir.FlatSymbolRefAttr.get(name)}
    return ir.Operation.create(
        "func.call", results=list(results), operands=list(operands), attributes=attributes, ip=ir.InsertionPoint(before)
    ).operation


def is_movable(op: Operation, pure: Collection[str] = ()) -> bool:
    """Check whether an operation may be computed before or after other operations without effect on them."""
    if (row := row_of(op)) is not None:
        return row.pure and not row.writes and not row.inplace
    if op.name == "func.call":
        return callee_of(op) in pure
    if len(op.regions):
        return op.name.startswith("scf.") and all(is_movable(operation, pure) for operation in operations_in(op))
    return op.name.startswith(_PURE) or op.name in _ENDS


def pure_functions(module: Operation) -> set[str]:
    """Return the called functions that may be called at any time."""
    called = {callee_of(op) for op in operations_in(module, is_external) if op.name == "func.call"}
    functions = {symbol_name(function): function for function in functions_in(module) if has_body(function)}
    pure = called & functions.keys()
    while impure := {name for name in pure if not all(is_movable(op, pure) for op in operations_in(functions[name]))}:
        pure -= impure
    return pure


def _is_tensor(value: Value) -> bool:
    return isinstance(value.type, ir.ShapedType)


def _is_shape(value: Value) -> bool:
    return isinstance(decode(value.type), ShapeInfo)


def _is_copied(value: Value, known: frozenset[str], bind_constants: bool) -> bool:
    """Check whether the function computes a value itself: a bound constant, literal, or shape of known symbols."""
    if (op := made_by(value)) is None:
        return False
    if is_constant(value):
        return bind_constants or not _is_tensor(value)
    row = row_of(op)
    is_literal = row is not None and row.role == "literal" and not len(op.operands)
    return is_literal and symbols_of_operation(op) <= known
