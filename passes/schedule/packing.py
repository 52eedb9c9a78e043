# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrices that lie as panels: for so many columns at a time, all rows of these, one behind the other.

A matrix of K rows and N columns is [N / width][K][width] then, its last panel filled up with zeros.
"""

from __future__ import annotations

from ...bindings.ir import AffineMap, Operation, Type, Value
from ...bindings.mlir import ir
from ...bindings.navigation import body_of, made_by, operations_of
from ...emit import linalg, tensors


def _maps() -> list[AffineMap]:
    """From a row of a panel to the same row among those of the others."""
    row, panel, column = (ir.AffineExpr.get_dim(place) for place in range(3))
    return [ir.AffineMap.get(3, 0, [panel, row, column]), ir.AffineMap.get(3, 0, [row, panel, column])]


def packed_type(matrix: Type, width: int) -> Type:
    rows, columns = matrix.shape
    return ir.RankedTensorType.get([-(-columns // width), rows, width], matrix.element_type)


def unpacked(panels: Value, columns: int) -> Value:
    """The matrix, where the insertion point is."""
    count, rows, width = panels.type.shape
    beside = linalg.empty([rows, count, width], panels.type.element_type)
    (moved,) = linalg.generic([panels], [beside], _maps(), [linalg.PARALLEL] * 3, lambda value, _: value)
    matrix = tensors.merge(moved, 1, 2)
    return matrix if columns == count * width else tensors.slice_of(matrix, [0, 0], [rows, columns])


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
    moved = made_by(matrix, "linalg.generic")
    if moved is None or [each.value for each in moved.attributes["indexing_maps"]] != _maps():
        return None
    return moved if len(operations_of(body_of(moved))) == 1 else None
