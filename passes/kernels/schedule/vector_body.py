# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Vectorized bodies: the scalar body of a structured operation on vectors, with one lane for each point of a loop.

A value that is the same in every lane stays a scalar until an operation combines it with a vector.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from ....bindings.ir import Block, Operation, Type, Value
from ....bindings.mlir import ir
from ....bindings.navigation import last_of, made_by, operations_of, users_of
from ....bindings.rewriting import Decline
from ....emit import linalg
from ....emit.numbers import constant
from ....emit.structured import StructuredOp, is_storable
from ....emit.vectors import (
    SCALAR_ONLY,
    TRAPPING,
    from_elements,
    in_each_lane,
    is_vector,
    lane_of,
    read_vector,
    vector_of,
)

_MOVES = frozenset({"linalg.index", "linalg.yield", "tensor.extract", "tensor.dim"})
_LANES = frozenset({"f16", "bf16", "f32", "f64", "i1", "i8", "i16", "i32", "i64", "index"})
#: Share of a body's numbers that determines the width of its vectors.
_MOST = 0.8


def check_body(op: StructuredOp) -> None:
    """Check that all operations of the body are known to work lane by lane. Raises Decline."""
    _check_types(op.block.arguments)
    computes = False
    for inner in operations_of(op.block):
        is_arithmetic = inner.name.partition(".")[0] in ("arith", "math") and not len(inner.regions)
        if inner.name in SCALAR_ONLY or not (is_arithmetic or inner.name in _MOVES):
            raise Decline(f"its body has a '{inner.name}'")
        _check_types(inner.results)
        computes = computes or (is_arithmetic and inner.name != "arith.constant" and not _is_of_index(inner))
    extracts = [inner for inner in operations_of(op.block) if inner.name == "tensor.extract"]
    if not computes and not all(_reads_row(op, extract) for extract in extracts):
        raise Decline("its body moves single elements and computes nothing")


def _reads_row(op: StructuredOp, extract: Operation) -> bool:
    """Return True if adjacent output elements come from adjacent elements of the tensor, as in rows of a gather."""
    *others, last = extract.operands
    dim = op.last_dim(op.output_start)
    index = made_by(last, "linalg.index")
    if dim is None or index is None or index.attributes["dim"].value != dim:
        return False
    return not _depend(op, others[1:], dim)


def _depend(op: StructuredOp, values: Iterable[Value], dim: int) -> bool:
    """Return True if one of a body's values may change along a loop."""
    pending, seen = list(values), set[Value]()
    while pending:
        if (value := pending.pop()) in seen:
            continue
        seen.add(value)
        if (inner := made_by(value)) is None:
            if value in op.block.arguments and op.uses(value.arg_number, dim):
                return True
        elif inner.name == "linalg.index" and inner.attributes["dim"].value == dim:
            return True
        elif inner.block == op.block:
            pending += inner.operands
    return False


def _check_types(values: Iterable[Value]) -> None:
    for value in values:
        if str(value.type) not in _LANES:
            raise Decline(f"its body computes with {value.type}")


def _is_of_index(inner: Operation) -> bool:
    return all(isinstance(value.type, ir.IndexType) for value in inner.operands) or any(
        isinstance(result.type, ir.IndexType) for result in inner.results
    )


def runs_on_whole_vectors(op: StructuredOp) -> bool:
    """Return True if every lane must have a point: the body reads memory or may trap, whatever a lane contains."""
    return not op.inner_names.isdisjoint((*TRAPPING, "tensor.extract"))


def widest_bits(op: StructuredOp) -> int:
    """Return the bits of the widest number that has a lane. Truth values take one bit."""
    asks = not op.inner_names.isdisjoint(("linalg.index", "tensor.dim"))
    return max(number_bits(op), 64 if asks else 0)


def number_bits(op: StructuredOp) -> int:
    """Return the bits of the widest number, without indices."""
    types = [argument.type for argument in op.block.arguments]
    types += [result.type for inner in operations_of(op.block) for result in inner.results]
    return max([8, *(type_.width for type_ in types if hasattr(type_, "width"))])


def usual_bits(op: StructuredOp) -> int:
    """Return the bits of most numbers that a long body computes.

    A sum in f64 then takes two vectors for each vector of the other numbers.
    """
    widths = [result.type.width for inner in operations_of(op.block) for result in inner.results if _is_number(result)]
    widest = widest_bits(op)
    narrow = [width for width in widths if width <= widest // 2]
    return max(narrow) if len(narrow) > _MOST * len(widths) else widest


def _is_number(value: Value) -> bool:
    return isinstance(value.type, (ir.IntegerType, ir.FloatType)) and value.type.width > 1


def widening_of(op: StructuredOp, operand: int) -> Operation | None:
    """Return the operation that widens an input's elements before any other use, or None."""
    users = users_of(op.block.arguments[operand])
    is_widening = len(users) == 1 and users[0].name in ("arith.extf", "arith.extsi", "arith.extui")
    return users[0] if is_widening else None


class BodyContext(NamedTuple):
    """Inputs of the evaluation of a body."""

    arguments: Sequence[Value | None]
    index_of: Callable[[int], Value]
    known: Mapping[Value, Value] = {}


def needed(block: Block, values: Iterable[Value], known: Iterable[Value]) -> set[Operation]:
    """Return the operations of a body that compute the wanted values from known values."""
    found, pending, given = set[Operation](), list(values), set(known)
    while pending:
        value = pending.pop()
        maker = made_by(value)
        if value in given or maker is None or maker in found or maker.block != block:
            continue
        found.add(maker)
        pending += maker.operands
    return found


class _Inner(NamedTuple):
    """Operation of a body."""

    operation: Operation
    operands: tuple[Value, ...]
    results: tuple[Value, ...]


class Lanes:
    """Evaluation of a body that has passed `check_body`, in one block of a loop nest."""

    def __init__(self, op: StructuredOp, lanes: int, hoisted: dict[object, Value]):
        self._op = op
        self._lanes = lanes
        self._hoisted = hoisted
        self._broadcasts: dict[Value, Value] = {}
        self._arguments = list(op.block.arguments)
        self._yielded = list(last_of(op.block).operands)
        self._bodies: dict[tuple[tuple[Value, ...], frozenset[Value]], list[_Inner]] = {}

    def evaluate(
        self,
        arguments: Sequence[Value | None],
        index_of: Callable[[int], Value],
        known: Mapping[Value, Value] = {},
        wanted: Sequence[Value] | None = None,
    ) -> list[Value]:
        """Return the values that the body yields for its arguments. Arguments that the body does not read may be None.

        `index_of(dim)` returns the index of a loop. `known` are values of the body that are computed already. `wanted`
        are the values to return instead of the yielded values.
        """
        return self.evaluate_each([BodyContext(arguments, index_of, known)], wanted)[0]

    def evaluate_each(self, points: Sequence[BodyContext], wanted: Sequence[Value] | None = None) -> list[list[Value]]:
        """Return the values that the body yields for each point.

        Each operation is emitted for all points before the next one: while one waits for its operands, others can
        start.
        """
        values = [self._known(point) for point in points]
        results = self._yielded if wanted is None else wanted
        for inner in self._needed(
            tuple(results), frozenset.intersection(*(frozenset(body_context.known) for body_context in points))
        ):
            for known, point in zip(values, points, strict=True):
                if not inner.results or inner.results[0] not in known:
                    operands = [known.get(each, each) for each in inner.operands]
                    found = self._evaluate(inner.operation, operands, point.index_of)
                    known.update(zip(inner.results, found, strict=True))
        return [[known.get(operand, operand) for operand in results] for known in values]

    def _needed(self, values: tuple[Value, ...], known: frozenset[Value]) -> list[_Inner]:
        """Return the operations that compute these values, in program order. They are the same for all points."""
        if (values, known) not in self._bodies:
            used = needed(self._op.block, values, known)
            inner = [operation for operation in operations_of(self._op.block) if operation in used]
            self._bodies[values, known] = [
                _Inner(operation, tuple(operation.operands), tuple(operation.results)) for operation in inner
            ]
        return self._bodies[values, known]

    def _known(self, point: BodyContext) -> dict[Value, Value]:
        pairs = zip(self._arguments, point.arguments, strict=True)
        return {**{argument: value for argument, value in pairs if value is not None}, **point.known}

    def _evaluate(
        self, inner: Operation, operands: Sequence[Value], index_of: Callable[[int], Value]
    ) -> Sequence[Value]:
        if inner.name == "linalg.index":
            return [index_of(inner.attributes["dim"].value)]
        if inner.name == "arith.constant":
            return [self._constant(inner)]
        if not any(map(is_vector, operands)):
            return _copy(inner, operands)
        if inner.name == "tensor.extract":
            return [self._extract(inner, operands)]
        return _copy(inner, [self.vector(operand) for operand in operands], self._lanes)

    def widened(self, widening: Operation | None, vector: Value) -> Value:
        """Return the vector with its elements converted by an operation of the body."""
        return vector if widening is None else _copy(widening, [vector], self._lanes)[0]

    def vector(self, value: Value) -> Value:
        """Return a vector with the value in every lane."""
        if not is_vector(value) and value not in self._broadcasts:
            self._broadcasts[value] = in_each_lane(value, self._lanes).value
        return self._broadcasts.get(value, value)

    def _constant(self, inner: Operation) -> Value:
        """Return a constant, hoisted before the nest once."""
        if (value := inner.results[0]) not in self._hoisted:
            with ir.InsertionPoint.at_block_begin(self._op.operation.block):
                self._hoisted[value] = inner.clone().results[0]
        return self._hoisted[value]

    def _extract(self, inner: Operation, operands: Sequence[Value]) -> Value:
        """Load adjacent elements at once, or one by one if their indices have no order."""
        tensor, *indices = operands
        *outer, last = indices
        is_row = made_by(list(inner.operands)[-1], "linalg.index") is not None and not any(map(is_vector, outer))
        if is_row and is_storable(tensor.type.element_type):
            zero = hoisted_zero(self._op, tensor.type.element_type, self._hoisted)
            return read_vector(tensor, [*outer, lane_of(last, 0)], self._lanes, zero)
        elements = []
        for lane in range(self._lanes):
            place = [lane_of(index, lane) if is_vector(index) else index for index in indices]
            elements.append(linalg.extract(tensor, place).value)
        return from_elements(elements)


def hoisted_zero(op: StructuredOp, element: Type, hoisted: dict[object, Value]) -> Value:
    """Return the zero of masked-out lanes, hoisted before the nest."""
    if element not in hoisted:
        with ir.InsertionPoint.at_block_begin(op.operation.block):
            hoisted[element] = constant(0, element).value
    return hoisted[element]


def _copy(inner: Operation, operands: Sequence[Value], lanes: int = 0) -> list[Value]:
    """Copy the operation to other operands, with vectors of `lanes` lanes if it is not 0."""
    # A clone keeps properties such as fast-math flags, which are no attributes that could be passed on.
    copy = inner.clone()
    for position, operand in enumerate(operands):
        copy.operands[position] = operand
    if lanes:
        for result in copy.results:
            result.set_type(vector_of(lanes, result.type))
    return list(copy.results)
