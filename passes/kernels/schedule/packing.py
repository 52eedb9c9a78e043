# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packed matrices: consecutive panels of N columns, each with contiguous rows.

A matrix of K rows and N columns becomes [N / width][K][width], with zeros at the end of its last panel. For dot
products of `group` rows at a time, it becomes [N / width][K / group][width * group]. A column's elements in such rows
are contiguous. Tiles take `depth` such groups at once, and the last tile is padded with zeros as well.
Masks for pairs of bytes (byte_pairs.py) follow the packed factors, along the first dimension.
Weights with more dimensions end with rows and columns, and only have their rows in groups: [..., K / group, N * group],
with columns of zeros up to whole vectors of `lanes` columns, because the loops read whole vectors.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....bindings.affine import identity
from ....bindings.ir import AffineMap, Operation, Type, Value
from ....bindings.mlir import ir
from ....bindings.navigation import body_of, made_by, operations_of
from ....emit import linalg, tensors
from ....emit.generic import GenericOp
from ....emit.numbers import Number
from .plan import MASKED, Dot, PanelForm


def panels_type(matrix: Type, form: PanelForm) -> Type:
    rows, columns = matrix.shape
    width, group, depth = form
    steps = -(-rows // (group * depth)) * depth
    return ir.RankedTensorType.get([-(-columns // width), steps, width * group], matrix.element_type)


def grouped_type(weights: Type, group: int, lanes: int) -> Type:
    *outer, rows, columns = weights.shape
    whole = -(-columns // lanes) * lanes
    return ir.RankedTensorType.get([*outer, -(-rows // group), whole * group], weights.element_type)


def masked_type(packed: Type, dot: Dot | None) -> Type:
    """Return the type of a packed form with the masks of a dot product, if there are any, behind the factors."""
    if dot is None or dot.pairs != MASKED:
        return packed
    first, *inside = packed.shape
    return ir.RankedTensorType.get([2 * first, *inside], packed.element_type)


def unmasked(masked: Value, dot: Dot | None) -> Value:
    """Return the packed weights of factors and masks, at the insertion point. The factors of odd masks are negative."""
    if dot is None or dot.pairs != MASKED:
        return masked
    first, *inside = masked.type.shape
    shape = [first // 2, *inside]
    halves = [tensors.slice_of(masked, [start, *[0] * len(inside)], shape) for start in (0, first // 2)]
    rank, target = len(shape), linalg.empty(shape, masked.type.element_type)

    def weight(factor: Number, mask: Number, _: Number) -> Number:
        sign = (mask << 7) >> 7
        return (factor ^ sign) - sign

    return linalg.generic(halves, [target], [identity(rank)] * 3, [linalg.PARALLEL] * rank, weight)[0]


def unpacked(panels: Value, matrix: Type, group: int) -> Value:
    """Unpack a matrix from panels, at the insertion point."""
    count, steps, wide = panels.type.shape
    width = wide // group
    apart = panels if group == 1 else tensors.split(panels, 2, [width, group])
    sizes = [steps, count, width] if group == 1 else [steps, group, count, width]
    merged = tensors.merge(_moved(apart, sizes, _panel_places(len(sizes))), len(sizes) - 2, 2)
    return _part(merged if group == 1 else tensors.merge(merged, 0, 2), matrix)


def ungrouped(packed: Value, weights: Type, group: int) -> Value:
    """Unpack weights from groups of rows, at the insertion point."""
    *outer, steps, wide = packed.type.shape
    rank, width = len(outer), wide // group
    apart = tensors.split(packed, rank + 1, [width, group])
    moved = _moved(apart, [*outer, steps, group, width], _group_places(rank + 3))
    return _part(tensors.merge(moved, rank, 2), weights)


def _moved(source: Value, sizes: Sequence[int], places: Sequence[int]) -> Value:
    """Return a transposed copy with these sizes. `places` are the source's dimensions in the copy."""
    target = linalg.empty(list(sizes), source.type.element_type)
    iterators = [linalg.PARALLEL] * len(sizes)
    return linalg.generic([source], [target], _maps(places), iterators, lambda value, _: value)[0]


def _maps(places: Sequence[int]) -> list[AffineMap]:
    return [linalg.select_dims(len(places), list(places)), identity(len(places))]


def _panel_places(rank: int) -> list[int]:
    """Return the positions of row, panel, column (row, step, panel, column) in panels.

    The order in panels is panel, row, column (and step).
    """
    return [1, 0, 2] if rank == 3 else [2, 0, 3, 1]


def _group_places(rank: int) -> list[int]:
    """Return the positions of row, step, column, behind all others, in groups: row, column, step."""
    return [*range(rank - 2), rank - 1, rank - 2]


def _part(tensor: Value, wanted: Type) -> Value:
    shape = list(wanted.shape)
    return tensor if tensor.type == wanted else tensors.slice_of(tensor, [0] * len(shape), shape)


def unpacking(matrix: Value) -> list[Operation]:
    """Return the operations that unpack a matrix, the last one first. Empty if the matrix is not unpacked."""
    if (moved := _moved_parts(matrix)) is None:
        return []
    operations: list[Operation] = []
    while matrix != moved.results[0]:
        operations.append(matrix.owner.operation)
        matrix = matrix.owner.operation.operands[0]
    more = [made_by(moved.operands[1], "tensor.empty"), made_by(moved.operands[0], "tensor.expand_shape")]
    unmasking = _unmasking(more[1].operands[0] if more[1] is not None else moved.operands[0])
    return [*operations, moved, *(each for each in more if each is not None), *unmasking]


def _unmasking(weights: Value) -> list[Operation]:
    """Return the operations of `unmasked`, the last one first. Empty if the weights have no masks."""
    if (made := made_by(weights, "linalg.generic")) is None:
        return []
    operations = [made_by(operand, "tensor.extract_slice", "tensor.empty") for operand in made.operands]
    return [made, *(operation for operation in operations if operation is not None)]


def packed_source(matrix: Value) -> Value | None:
    """Return the panels or groups, with their masks, from which a matrix is unpacked."""
    moved = _moved_parts(matrix)
    apart = None if moved is None else made_by(moved.operands[0], "tensor.expand_shape")
    if moved is None:
        return None
    packed = moved.operands[0] if apart is None else apart.operands[0]
    unmasking = _unmasking(packed)
    return unmasking[1].operands[0] if unmasking else packed


def _moved_parts(matrix: Value) -> Operation | None:
    """Return the operation that makes the panels, or the steps of groups, adjacent."""
    while (made := made_by(matrix, "tensor.extract_slice", "tensor.collapse_shape")) is not None:
        matrix = made.operands[0]
    moved = made_by(matrix, "linalg.generic")
    if moved is None or len(operations_of(body_of(moved))) != 1:
        return None
    generic = GenericOp(moved)
    maps, rank = list(generic.maps), len(generic.kinds)
    known = [_maps(_panel_places(rank))] if rank in (3, 4) else []
    return moved if maps in [*known, _maps(_group_places(rank))] else None
