# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packed matrices: panels of N columns, each with all its rows contiguous, one behind the other.

A matrix of K rows and N columns is [N / width][K][width] then, its last panel filled up with zeros. For dot products of
`group` rows at a time it is [N / width][K / group][width * group]: a column's elements in such rows are contiguous.
Tiles take `depth` such groups at once: the last one is filled up with zeros as well.
Weights of more dimensions, whose last two are rows and columns, have their rows in groups alone: [..., K / group,
N * group].
"""

from __future__ import annotations

from collections.abc import Sequence

from ...bindings.affine import identity
from ...bindings.ir import AffineMap, Operation, Type, Value
from ...bindings.mlir import ir
from ...bindings.navigation import body_of, made_by, operations_of
from ...emit import linalg, tensors
from ...emit.generic import GenericOp
from .plan import PanelForm


def panels_type(matrix: Type, form: PanelForm) -> Type:
    rows, columns = matrix.shape
    width, group, depth = form
    steps = -(-rows // (group * depth)) * depth
    return ir.RankedTensorType.get([-(-columns // width), steps, width * group], matrix.element_type)


def grouped_type(weights: Type, group: int) -> Type:
    *outer, rows, columns = weights.shape
    return ir.RankedTensorType.get([*outer, -(-rows // group), columns * group], weights.element_type)


def unpacked(panels: Value, matrix: Type, group: int) -> Value:
    """The matrix of panels, where the insertion point is."""
    count, steps, wide = panels.type.shape
    width = wide // group
    apart = panels if group == 1 else tensors.split(panels, 2, [width, group])
    sizes = [steps, count, width] if group == 1 else [steps, group, count, width]
    moved = _moved(apart, sizes, _panel_places(len(sizes)))
    merged = tensors.merge(moved, len(sizes) - 2, 2)
    return _part(merged if group == 1 else tensors.merge(merged, 0, 2), matrix)


def ungrouped(packed: Value, weights: Type, group: int) -> Value:
    """The weights whose rows are in groups, where the insertion point is."""
    *outer, steps, wide = packed.type.shape
    rank, width = len(outer), wide // group
    apart = tensors.split(packed, rank + 1, [width, group])
    moved = _moved(apart, [*outer, steps, group, width], _group_places(rank + 3))
    return _part(tensors.merge(moved, rank, 2), weights)


def _moved(source: Value, sizes: Sequence[int], places: Sequence[int]) -> Value:
    """A tensor of these sizes, whose dimensions are the source's at `places`."""
    target = linalg.empty(list(sizes), source.type.element_type)
    iterators = [linalg.PARALLEL] * len(sizes)
    return linalg.generic([source], [target], _maps(places), iterators, lambda value, _: value)[0]


def _maps(places: Sequence[int]) -> list[AffineMap]:
    return [linalg.select_dims(len(places), list(places)), identity(len(places))]


def _panel_places(rank: int) -> list[int]:
    """Row, panel, column (row, step, panel, column) as the panels have them: panel, row, column (and step)."""
    return [1, 0, 2] if rank == 3 else [2, 0, 3, 1]


def _group_places(rank: int) -> list[int]:
    """Row, step, column behind all others as the groups have them: row, column, step."""
    return [*range(rank - 2), rank - 1, rank - 2]


def _part(tensor: Value, wanted: Type) -> Value:
    shape = list(wanted.shape)
    return tensor if tensor.type == wanted else tensors.slice_of(tensor, [0] * len(shape), shape)


def unpacking(matrix: Value) -> list[Operation]:
    """The operations that unpack a matrix, the last one first; none where it is not made so."""
    moved = _moved_parts(matrix)
    if moved is None:
        return []
    found: list[Operation] = []
    while matrix != moved.results[0]:
        found.append(matrix.owner.operation)
        matrix = matrix.owner.operation.operands[0]
    more = [made_by(moved.operands[1], "tensor.empty"), made_by(moved.operands[0], "tensor.expand_shape")]
    return [*found, moved, *(each for each in more if each is not None)]


def packed_source(matrix: Value) -> Value | None:
    """The panels, or groups, that a matrix is unpacked of."""
    moved = _moved_parts(matrix)
    apart = None if moved is None else made_by(moved.operands[0], "tensor.expand_shape")
    return apart.operands[0] if apart is not None else None if moved is None else moved.operands[0]


def _moved_parts(matrix: Value) -> Operation | None:
    """The operation that makes the panels, or the steps of groups, adjacent."""
    while (made := made_by(matrix, "tensor.extract_slice", "tensor.collapse_shape")) is not None:
        matrix = made.operands[0]
    moved = made_by(matrix, "linalg.generic")
    if moved is None or len(operations_of(body_of(moved))) != 1:
        return None
    generic = GenericOp(moved)
    maps, rank = list(generic.maps), len(generic.kinds)
    known = [_maps(_panel_places(rank))] if rank in (3, 4) else []
    return moved if maps in [*known, _maps(_group_places(rank))] else None
