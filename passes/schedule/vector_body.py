# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The scalar body of a structured operation, computed on vectors: one lane for each point of a loop.

What is the same in every lane stays a scalar until it meets a vector.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ...bindings.mlir import ir
from ...bindings.rewriting import Decline
from ...emit.structured import StructuredOp

_MOVES = frozenset({"linalg.index", "linalg.yield", "tensor.extract", "tensor.dim"})
# LLVM has these for scalars only.
_SCALAR_ONLY = frozenset({"math.fpowi", "math.ipowi"})
_LANES = frozenset({"f16", "bf16", "f32", "f64", "i1", "i8", "i16", "i32", "i64", "index"})
# They trap for some numbers, and lanes without a point hold any.
_TRAPPING = frozenset(
    f"arith.{name}" for name in ("divsi", "divui", "remsi", "remui", "ceildivsi", "ceildivui", "floordivsi")
)


def check_body(op: StructuredOp) -> None:
    """Raises Decline where the body has an operation that is not known to work lane by lane."""
    _check_types(op.block.arguments)
    computes = False
    for view in op.block.operations:
        inner = view.operation
        is_arithmetic = inner.name.partition(".")[0] in ("arith", "math") and not len(inner.regions)
        if inner.name in _SCALAR_ONLY or not (is_arithmetic or inner.name in _MOVES):
            raise Decline(f"its body has a '{inner.name}'")
        _check_types(inner.results)
        computes = computes or (is_arithmetic and inner.name != "arith.constant" and not _is_of_index(inner))
    if extracts(op) and not computes:
        raise Decline("its body moves single elements and computes nothing")


def _check_types(values: Iterable[Any]) -> None:
    for value in values:
        if str(value.type) not in _LANES:
            raise Decline(f"its body computes with {value.type}")


def _is_of_index(inner: Any) -> bool:
    return all(isinstance(value.type, ir.IndexType) for value in inner.operands) or any(
        isinstance(result.type, ir.IndexType) for result in inner.results
    )


def extracts(op: StructuredOp) -> bool:
    """Whether the body picks elements by indices of its own."""
    return any(view.operation.name == "tensor.extract" for view in op.block.operations)


def runs_on_whole_vectors(op: StructuredOp) -> bool:
    """Whether every lane must have a point: the body reads memory or may trap, whatever a lane holds."""
    names = {view.operation.name for view in op.block.operations}
    return bool(names & (_TRAPPING | {"tensor.extract"}))


def widest_bits(op: StructuredOp) -> int:
    """The bits of the widest number that has a lane; truth values take one bit."""
    types = [argument.type for argument in op.block.arguments]
    types += [result.type for view in op.block.operations for result in view.operation.results]
    indices = {"linalg.index", "tensor.dim"}
    if any(view.operation.name in indices for view in op.block.operations):
        types.append(ir.IntegerType.get_signless(64))
    return max([8, *(type_.width for type_ in types if hasattr(type_, "width"))])


def widening_of(op: StructuredOp, operand: int) -> Any:
    """The operation that makes wider numbers of an input's elements before anything else; None where there is none."""
    users = [use.owner.operation for use in op.block.arguments[operand].uses]
    is_widening = len(users) == 1 and users[0].name in ("arith.extf", "arith.extsi", "arith.extui")
    return users[0] if is_widening else None


class Lanes:
    """Evaluates a body, of which `check_body` has approved, in one block of a loop nest."""

    def __init__(self, op: StructuredOp, lanes: int, hoisted: dict[Any, Any]):
        self._op = op
        self._lanes = lanes
        self._hoisted = hoisted
        self._broadcasts: dict[Any, Any] = {}

    def evaluate(
        self, arguments: Sequence[Any], index_of: Callable[[int], Any], known: Mapping[Any, Any] | None = None
    ) -> list[Any]:
        """What the body yields for its arguments; `index_of(dim)` is the index of a loop.

        `known` are values in the body that have been computed before.
        """
        values: dict[Any, Any] = {**dict(zip(self._op.block.arguments, arguments, strict=True)), **(known or {})}
        for view in self._op.block.operations:
            inner = view.operation
            if len(inner.results) and inner.results[0] in values:
                continue
            operands = [values.get(operand, operand) for operand in inner.operands]
            if inner.name == "linalg.yield":
                return operands
            if inner.name == "linalg.index":
                results = [index_of(inner.attributes["dim"].value)]
            elif inner.name == "arith.constant":
                results = [self._constant(inner)]
            elif not any(map(is_vector, operands)):
                results = _copy(inner, operands)
            elif inner.name == "tensor.extract":
                results = [self._extract(inner, operands)]
            else:
                results = _copy(inner, [self.vector(operand) for operand in operands], self._lanes)
            values.update(zip(inner.results, results, strict=True))
        raise AssertionError("a block without a terminator")

    def widened(self, widening: Any, vector: Any) -> Any:
        """The vector with its elements converted as an operation of the body does."""
        return vector if widening is None else _copy(widening, [vector], self._lanes)[0]

    def vector(self, value: Any) -> Any:
        """The value in every lane."""
        if is_vector(value):
            return value
        if value not in self._broadcasts:
            type_ = ir.VectorType.get([self._lanes], value.type)
            self._broadcasts[value] = ir.Operation.create("vector.broadcast", results=[type_], operands=[value]).result
        return self._broadcasts[value]

    def _constant(self, inner: Any) -> Any:
        """Constants stand before the nest, one for each."""
        value = inner.results[0]
        if value not in self._hoisted:
            with ir.InsertionPoint.at_block_begin(self._op.operation.block):
                self._hoisted[value] = inner.clone().results[0]
        return self._hoisted[value]

    def _extract(self, inner: Any, operands: Sequence[Any]) -> Any:
        """One element after the other: their places have no order."""
        tensor, *indices = operands
        elements = []
        for lane in range(self._lanes):
            place = [lane_of(index, lane) if is_vector(index) else index for index in indices]
            result = inner.results[0].type
            elements.append(ir.Operation.create("tensor.extract", results=[result], operands=[tensor, *place]).result)
        return from_elements(elements)


def is_vector(value: Any) -> bool:
    return isinstance(value.type, ir.VectorType)


def from_elements(elements: Sequence[Any]) -> Any:
    type_ = ir.VectorType.get([len(elements)], elements[0].type)
    return ir.Operation.create("vector.from_elements", results=[type_], operands=list(elements)).result


def lane_of(vector: Any, lane: int) -> Any:
    attributes = {"static_position": ir.DenseI64ArrayAttr.get([lane])}
    results = [vector.type.element_type]
    return ir.Operation.create("vector.extract", results=results, operands=[vector], attributes=attributes).result


def _copy(inner: Any, operands: Sequence[Any], lanes: int = 0) -> list[Any]:
    """The operation on other operands, on vectors of so many lanes."""
    # A copy keeps its properties, fast-math flags for instance, which are no attributes to hand on.
    copy = inner.clone()
    for position, operand in enumerate(operands):
        copy.operands[position] = operand
    if lanes:
        for result in copy.results:
            result.set_type(ir.VectorType.get([lanes], result.type))
    return list(copy.results)
