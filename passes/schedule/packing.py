# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrices that lie as panels: for so many columns at a time, all rows of these, one behind the other.

A matrix of K rows and N columns is [N / width][K][width] then, its last panel filled up with zeros.
"""

from __future__ import annotations

from ...bindings.ir import Operation, Type, Value
from ...bindings.mlir import ir
from ...bindings.navigation import made_by
from ...emit import linalg, tensors

_TRANSPOSE = "linalg.transpose"


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
    order = {"permutation": ir.DenseI64ArrayAttr.get([1, 0, 2])}
    made = ir.Operation.create(_TRANSPOSE, results=[out.type], operands=[panels, out], attributes=order, regions=1)
    block = made.regions[0].blocks.append(panels.type.element_type, out.type.element_type)
    with ir.InsertionPoint(block):
        ir.Operation.create("linalg.yield", operands=[block.arguments[0]])
    return made.result


def unpacking(matrix: Value) -> list[Operation]:
    """The operations that unpack a matrix, the last one first; none where it is not made so."""
    found: list[Operation] = []
    for name in ("tensor.extract_slice", "tensor.collapse_shape", "linalg.generic", _TRANSPOSE):
        made = made_by(matrix, name)
        if made is not None:
            found.append(made)
            matrix = made.operands[0]
    return found if found and found[-1].name in (_TRANSPOSE, "linalg.generic") else []


def panels_of(matrix: Value) -> Value | None:
    """The panels that a matrix is unpacked of."""
    made = unpacking(matrix)
    return made[-1].operands[0] if made else None
