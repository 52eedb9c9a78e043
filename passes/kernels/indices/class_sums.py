# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Emission of the sums of residue classes: each adds its products to a strided part of the result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ....bindings.affine import plain_dim
from ....bindings.ir import AffineMap, Value
from ....bindings.mlir import ir
from ....bindings.rewriting import replace_op
from ....dialects.core.symbols_expr import terms_of
from ....emit import linalg, tensors
from ....emit.generic import GenericOp
from ....emit.groups import fill_of, filled_with
from ....emit.numbers import Number, Size, number
from .affine_sizes import affine_of, dim_of
from .class_body import ClassBody, ClassLoops, Read
from .maps import fitted


class ClassPart(NamedTuple):
    """A residue class of the parallel loops, and the body in it for each class of the reduction's loops."""

    residues: Mapping[int, int]
    bodies: Sequence[ClassBody]


@dataclass
class ClassSums:
    """The parts of a sum, and the number of residue classes of the loops that have several."""

    op: GenericOp
    moduli: Mapping[int, int]
    parts: list[ClassPart]
    #: Sums of zeros times factors, by the factors. Several parts may share them.
    _zeros: dict[tuple[object, ...], Value] = field(default_factory=dict)

    def write(self) -> None:
        """Replace the operation, and the fill that it starts from."""
        operation = self.op.operation
        fill = fill_of(self.op.outputs[0])
        assert fill is not None
        start = filled_with(fill)
        assert start is not None
        with operation.context, ir.InsertionPoint(operation), operation.location:
            whole = fill.operands[len(fill.operands) - 1]
            for part in self.parts:
                whole = self._with_part(whole, part, start)
        replace_op(operation, [whole])
        fill.erase()

    def _with_part(self, whole: Value, part: ClassPart, start: Value) -> Value:
        """Return the result with the part of one class."""
        (out_map,) = self.op.output_maps
        dims = [plain_dim(result) for result in out_map.results]
        loops = part.bodies[0].loops
        if any(loops.sizes[dim] == 0 for dim in self.op.parallels):
            return whole
        value, place = whole, None
        if part.residues:
            offsets: list[Size] = [0 if dim is None else part.residues.get(dim, 0) for dim in dims]
            strides: list[Size] = [1 if dim is None else self._stride(dim) for dim in dims]
            whole_sizes = linalg.sizes(whole)
            sizes = [
                size if dim is None or dim not in self.moduli else loops.sizes[dim] or 0
                for size, dim in zip(whole_sizes, dims, strict=True)
            ]
            place = offsets, sizes, strides
            value = tensors.slice_of(whole, *place)
        value = self._fill_start(value, part, start)
        for body in part.bodies:
            value = self._sum(body, value) if body.is_kept else value
        return value if place is None else tensors.put_slice(value, whole, place[0], place[2], place[1])

    def _stride(self, dim: int) -> int:
        return self.moduli.get(dim, 1)

    def _sum(self, body: ClassBody, output: Value) -> Value:
        """Return the output with the products of a class."""
        reads = {read: [value for value, each in body.reads.items() if each == read] for read in body.reads.values()}
        scalars = {value: read.source for value, read in _scalars(body)}
        sources = [read for read in reads if read.indices or _is_tensor(read.source)]
        dims = range(len(self.op.kinds))

        def add(*given: Number) -> Value:
            elements = dict(zip(sources, given, strict=False))
            known = {value: element for read, element in elements.items() for value in reads[read]}
            return body.copy({**scalars, **known, self.op.block.arguments[self.op.input_count]: given[-1]})

        maps = [_map(read, {dim: dim for dim in dims}) for read in sources]
        out_map = self.op.output_maps[0]
        return _reduce_loops(
            self.op, body.loops, dims, ([source.source for source in sources], maps), (output, out_map), add
        )

    # ---- classes of zeros ----

    def _fill_start(self, output: Value, part: ClassPart, start: Value) -> Value:
        """Return the output filled with its start value, or NaN where a zero times a factor is NaN."""
        dropped = [body for body in part.bodies if not body.is_kept]
        zeros = dict.fromkeys(self._zeros_of(body, read) for body in dropped for read in body.reads.values())
        if not zeros:
            return linalg.fill(start, output)
        (out_map,) = self.op.output_maps
        axes = {plain_dim(result): axis for axis, result in enumerate(out_map.results)}
        rank = linalg.rank_of(output)
        maps = [linalg.select_dims(rank, [axes[dim] for dim in dims]) for _, dims in zeros]
        identity = linalg.select_dims(rank, list(range(rank)))

        def added(*given: Number) -> Value:
            total = number(start)
            for zero in given[:-1]:
                total = total + zero
            return total

        return linalg.generic(
            [value for value, _ in zeros], [output], [*maps, identity], [linalg.PARALLEL] * rank, added
        )[0]

    def _zeros_of(self, body: ClassBody, read: Read) -> tuple[Value, tuple[int, ...]]:
        """Return the sum of zero times an element over the reduction, which is zero or NaN, and its parallel loops."""
        dims = sorted({dim_of(monomial[0]) for index in read.indices for monomial in terms_of(index) if monomial})
        outer = tuple(dim for dim in dims if dim in self.op.parallels)
        key = (read.source, read.indices, tuple(body.loops.sizes[dim] for dim in dims))
        if key not in self._zeros:
            self._zeros[key] = self._sum_of_zeros(body.loops, read, dims, outer)
        return self._zeros[key], outer

    def _sum_of_zeros(self, loops: ClassLoops, read: Read, dims: Sequence[int], outer: Sequence[int]) -> Value:
        element = self.op.outputs[0].type.element_type
        output = linalg.fill(0.0, linalg.empty([_loop_size(self.op, loops, dim) for dim in outer], element))
        positions = {dim: position for position, dim in enumerate(dims)}
        out_map = linalg.select_dims(len(dims), [positions[dim] for dim in outer])

        def add(*given: Number) -> Value:
            product = given[0] * 0.0
            return given[-1] + product.to(given[-1].dtype)

        inputs = [read.source], [_map(read, positions)]
        return _reduce_loops(self.op, loops, dims, inputs, (output, out_map), add)


def _scalars(body: ClassBody) -> Iterable[tuple[Value, Read]]:
    return ((value, read) for value, read in body.reads.items() if not _is_tensor(read.source))


def _is_tensor(value: Value) -> bool:
    return isinstance(value.type, ir.RankedTensorType)


def _map(read: Read, positions: Mapping[int, int]) -> AffineMap:
    return ir.AffineMap.get(len(positions), 0, [affine_of(index, positions) for index in read.indices])


def _loop_size(op: GenericOp, loops: ClassLoops, dim: int) -> Size:
    known = loops.sizes[dim]
    return op.size(dim) if known is None else known


def _reduce_loops(
    op: GenericOp,
    loops: ClassLoops,
    dims: Sequence[int],
    inputs: tuple[Sequence[Value], Sequence[AffineMap]],
    output: tuple[Value, AffineMap],
    body: linalg.ScalarBody,
) -> Value:
    """Return the result of a reduction over some loops. A tensor without elements gives loops their sizes."""
    (values, maps), (start, out_map) = inputs, output
    size = lambda dim: _loop_size(op, loops, dim)  # noqa: E731
    values = [fitted(value, map_, op, dims, size) for value, map_ in zip(values, maps, strict=True)]
    stated = {plain_dim(result) for map_ in (*maps, out_map) for result in map_.results}
    if missing := [position for position in range(len(dims)) if position not in stated]:
        shape = linalg.empty([size(dims[position]) for position in missing], start.type.element_type)
        values, maps = [*values, shape], [*maps, linalg.select_dims(len(dims), missing)]
    return linalg.generic(values, [start], [*maps, out_map], [op.kinds[dim] for dim in dims], body)[0]
