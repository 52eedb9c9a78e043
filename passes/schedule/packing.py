# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrices that lie as panels: for so many columns at a time, all rows of these, one behind the other.

A matrix of K rows and N columns is [N / width][K][width] then, its last panel filled up with zeros.
"""

from __future__ import annotations

from ...bindings.ir import Operation, Type, Value
from ...bindings.mlir import ir
from ...bindings.navigation import made_by
from ...emit import linalg, tensors

_TRANSPOSE, _ORDER = "linalg.transpose", [1, 0, 2]


def packed_type(matrix: Type, width: int) -> Type:
    rows, columns = matrix.shape
    return ir.RankedTensorType.get([-(-columns // width), rows, width], matrix.element_type)


def unpacked(panels: Value, columns: int) -> Value:
    """The matrix, where the insertion point is."""
    count, rows, width = panels.type.shape
    beside = linalg.empty([rows, count, width], panels.type.element_type)
    moved = _transposed(panels, beside)
    matrix = tensors.merge(moved, 1, 2)
    return matrix if columns == count * width else tensors.slice_of(matrix, [0, 0], [rows, columns])


def _transposed(panels: Value, out: Value) -> Value:
    order = {"permutation": ir.DenseI64ArrayAttr.get(_ORDER)}
    made = ir.Operation.create(_TRANSPOSE, results=[out.type], operands=[panels, out], attributes=order, regions=1)
    block = made.regions[0].blocks.append(panels.type.element_type, out.type.element_type)
    with ir.InsertionPoint(block):
        ir.Operation.create("linalg.yield", operands=[block.arguments[0]])
    return made.result


def unpacking(matrix: Value) -> list[Operation]:
    """The operations that unpack a matrix, the last one first; none where it is not made so."""
    moved = _moved_panels(matrix)
    if moved is None:
        return []
    found: list[Operation] = []
    while matrix != moved.results[0]:
        found.append(matrix.owner.operation)
        matrix = matrix.owner.operation.operands[0]
    room = made_by(moved.operands[1], "tensor.empty")
    return [*found, moved, *([] if room is None else [room])]


def panels_of(matrix: Value) -> Value | None:
    """The panels that a matrix is unpacked of."""
    moved = _moved_panels(matrix)
    return None if moved is None else moved.operands[0]


def _moved_panels(matrix: Value) -> Operation | None:
    """The operation that has the panels beside each other."""
    for name in ("tensor.extract_slice", "tensor.collapse_shape"):
        made = made_by(matrix, name)
        matrix = matrix if made is None else made.operands[0]
    moved = made_by(matrix, _TRANSPOSE)
    return moved if moved is not None and list(moved.attributes["permutation"]) == _ORDER else None
