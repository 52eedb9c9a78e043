# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loop collapsing for operations on memory: dimensions that are contiguous in every operand become one.

Loops of one step are removed. Loops over results come in memory order, so that adjacent threads write adjacent elements
(coalescing).
"""

from __future__ import annotations

from ....bindings.affine import dims_in, plain_dim
from ....bindings.ir import AffineMap, Operation, Value
from ....bindings.mlir import DYNAMIC, ir
from ....bindings.navigation import operations_of
from ....bindings.rewriting import replace_op
from ....emit import linalg
from ....emit.collapse import AxisStep, are_neighbours, chains, collapse
from ....emit.memrefs import is_dense
from ....emit.numbers import as_index
from .points import Points


def collapse_loops(op: Operation) -> Operation:
    """Collapse the loops of a linalg.generic. Return the new operation, or the same one if nothing changes."""
    joining = _Joining(Points(op))
    if joining.changes_nothing():
        return op
    with op.location, ir.InsertionPoint(op):
        made = joining.write()
    op.erase()
    return made


class _Joining:
    def __init__(self, points: Points):
        self.points = points
        self.op = points.operation
        self.operands = list(self.op.operands)
        self.indices = [inner for inner in operations_of(points.block) if inner.name == "linalg.index"]
        self.asked = {inner.attributes["dim"].value for inner in self.indices}
        every = [*points.parallels, *points.reductions]
        self.units = self._units({dim for dim in every if points.known_size(dim) == 1})
        self.walks = [self._walk(operand, map_) for operand, map_ in zip(self.operands, points.maps, strict=True)]
        #: The loops in their new order, the parallel ones first, each with its original loops.
        ordered = sorted((dim for dim in every if dim not in self.units), key=self._place)
        self.chains = chains(ordered, self.walks, self._are_neighbours)

    def _units(self, units: set[int]) -> set[int]:
        """Return the loops of one step that can be removed.

        If i is removed from 2 * i + k, MLIR infers the size of k from the whole axis. If this size is wrong, i stays.
        """
        dims = len(self.points.kinds)
        inside = [ir.AffineExpr.get_constant(0) if dim in units else ir.AffineExpr.get_dim(dim) for dim in range(dims)]
        alone = ir.AffineMap.get(dims, 0, inside)
        kept: set[int] = set()
        for operand, map_ in zip(self.operands, self.points.maps, strict=True):
            for expr, size in zip(map_.results, _shape(operand), strict=False):
                left = expr.compose(alone).maybe_downcast()
                is_alone = isinstance(left, ir.AffineDimExpr) and not isinstance(expr, ir.AffineDimExpr)
                if is_alone and self.points.known_size(left.position) not in (size, None):
                    kept |= dims_in(expr) & units
        return units - kept

    def changes_nothing(self) -> bool:
        return self.chains == [[dim] for dim in range(len(self.points.kinds))]

    def _walk(self, operand: Value, map_: AffineMap) -> list[AxisStep]:
        return [
            AxisStep(axis, plain_dim(expr), frozenset(dims_in(expr)))
            for axis, (expr, size) in enumerate(zip(map_.results, _shape(operand), strict=False))
            if size != 1 or not (str(expr) == "0" or plain_dim(expr) in self.units)
        ]

    def _place(self, dim: int) -> tuple[bool, int, int]:
        """Return the sort key of a loop: the axis order of the first output, then reductions in original order."""
        exprs = self.points.maps[self.points.input_count].results
        place = next((axis for axis, expr in enumerate(exprs) if plain_dim(expr) == dim), -1)
        return dim in self.points.reductions, place, dim

    def _are_neighbours(self, left: int, right: int) -> bool:
        if {left, right} & self.asked or (left in self.points.reductions) != (right in self.points.reductions):
            return False
        return are_neighbours(self.walks, left, right, self._has_no_gap)

    def _has_no_gap(self, operand: int, outer: int, inner: int) -> bool:
        """Check whether the end of an inner axis is adjacent to the next step of the outer axis."""
        type_ = self.operands[operand].type
        if is_dense(type_):
            return True
        strides, _ = type_.get_strides_and_offset()
        known = (strides[outer], strides[inner], type_.shape[inner])
        is_known = DYNAMIC not in known and ir.ShapedType.get_dynamic_stride_or_offset() not in known
        return is_known and outer + 1 == inner and known[0] == known[1] * known[2]

    # ---- the new operation ----

    def write(self) -> Operation:
        number = {chain[0]: place for place, chain in enumerate(self.chains)}
        collapsed = [self._collapse(place, number) for place in range(len(self.operands))]
        kinds = list(self.op.attributes["iterator_types"])
        attributes = {name: self.op.attributes[name] for name in self.op.attributes}
        attributes["indexing_maps"] = ir.ArrayAttr.get([ir.AffineMapAttr.get(map_) for _, map_ in collapsed])
        attributes["iterator_types"] = ir.ArrayAttr.get([kinds[chain[0]] for chain in self.chains])
        for inner in self.indices:
            dim = inner.attributes["dim"].value
            with inner.location, ir.InsertionPoint(inner):
                replace_op(inner, [as_index(0) if dim in self.units else linalg.index(number[dim])])
        operands = [value for value, _ in collapsed]
        made = ir.Operation.create("linalg.generic", operands=operands, attributes=attributes, regions=1)
        self.points.block.append_to(made.regions[0])
        return made

    def _collapse(self, place: int, number: dict[int, int]) -> tuple[Value, AffineMap]:
        """Return an operand with collapsed axes, and its map from the new loops."""
        operand, map_ = self.operands[place], self.points.maps[place]
        groups = self._groups(place)
        zero = ir.AffineExpr.get_constant(0)
        inside = [ir.AffineExpr.get_dim(number[dim]) if dim in number else zero for dim in range(map_.n_dims)]
        change = ir.AffineMap.get(len(self.chains), 0, inside)
        exprs = [map_.results[group[0]].compose(change) for group in groups]
        return collapse(operand, groups), ir.AffineMap.get(len(self.chains), 0, exprs)

    def _groups(self, place: int) -> list[list[int]]:
        """Group the axes of an operand that become one. The first axis of a group determines the index."""
        operand, walk = self.operands[place], self.walks[place]
        if not _shape(operand):
            return []
        axes = range(len(_shape(operand)))
        inner = {dim for chain in self.chains for dim in chain[1:]}
        continued = {step.axis for step in walk if step.dim in inner}
        units = {*axes}.difference(step.axis for step in walk) if is_dense(operand.type) else set()
        groups: list[list[int]] = []
        before: list[int] = []
        for axis in axes:
            if axis in units and not groups:
                before.append(axis)
            elif groups and (axis in units or axis in continued):
                groups[-1].append(axis)
            else:
                groups.append([axis, *before])
                before = []
        return groups or [before]


def _shape(operand: Value) -> list[int]:
    return list(operand.type.shape) if isinstance(operand.type, ir.MemRefType) else []
