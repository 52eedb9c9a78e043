# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""View of a linalg.generic as written, on tensors or on memory: operands, indexing maps, loops, body."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from ..bindings.affine import plain_dim
from ..bindings.ir import AffineMap, Block, Operation, Value
from ..bindings.mlir import DYNAMIC
from ..bindings.navigation import body_of, use_count
from . import linalg
from .numbers import Size

GENERIC = "linalg.generic"
_KIND = re.compile(r"<(\w+)>")


class GenericOp:
    """View of a linalg.generic.

    Operands and their maps share one numbering, inputs first. Loops have the numbers of the maps' dimensions.
    """

    def __init__(self, operation: Operation):
        self.operation = operation

    # ---- operands ----

    @property
    def operands(self) -> tuple[Value, ...]:
        return tuple(self.operation.operands)

    @cached_property
    def input_count(self) -> int:
        return int(self.operation.attributes["operandSegmentSizes"][0])

    @property
    def inputs(self) -> tuple[Value, ...]:
        return self.operands[: self.input_count]

    @property
    def outputs(self) -> tuple[Value, ...]:
        return self.operands[self.input_count :]

    @property
    def output_numbers(self) -> range:
        """Numbers of the outputs among the operands."""
        return range(self.input_count, len(self.operands))

    @cached_property
    def maps(self) -> tuple[AffineMap, ...]:
        return tuple(attribute.value for attribute in self.operation.attributes["indexing_maps"])

    @property
    def output_maps(self) -> tuple[AffineMap, ...]:
        return self.maps[self.input_count :]

    def writes_once(self, number: int) -> bool:
        """Check whether the points of the parallel loops write each element of an output exactly once."""
        units = {dim for dim, size in enumerate(self.known_sizes) if size == 1}
        pairs = zip(self.maps[number].results, self.operands[number].type.shape, strict=True)
        dims = [dim for expression, size in pairs if size != 1 and (dim := plain_dim(expression)) not in units]
        return len(dims) == len(set(dims)) and set(dims) == set(self.parallels) - units

    # ---- the body ----

    @property
    def block(self) -> Block:
        return body_of(self.operation)

    def is_read(self, number: int) -> bool:
        """Check whether the body uses an operand's elements."""
        return use_count(self.block.arguments[number]) > 0

    @property
    def read_inputs(self) -> list[int]:
        return [place for place in range(self.input_count) if self.is_read(place)]

    # ---- loops ----

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """Kind of each loop: parallel, reduction or window."""
        return tuple(_KIND.findall(str(self.operation.attributes["iterator_types"])))

    @cached_property
    def parallels(self) -> tuple[int, ...]:
        return tuple(dim for dim, kind in enumerate(self.kinds) if kind == linalg.PARALLEL)

    @cached_property
    def reductions(self) -> tuple[int, ...]:
        return tuple(dim for dim, kind in enumerate(self.kinds) if kind == linalg.REDUCTION)

    def axes_along(self, dim: int) -> Iterator[tuple[Value, int]]:
        """Yield operands and their axes that this loop indexes directly."""
        operands = self.operands
        for number, axis in self._axes.get(dim, ()):
            yield operands[number], axis

    @cached_property
    def _axes(self) -> dict[int | None, list[tuple[int, int]]]:
        """Operand numbers and axes by loop."""
        axes: dict[int | None, list[tuple[int, int]]] = {}
        for number, map_ in enumerate(self.maps):
            for axis, expression in enumerate(map_.results):
                axes.setdefault(plain_dim(expression), []).append((number, axis))
        return axes

    def known_size(self, dim: int) -> int | None:
        """Return a loop's size if a type states it, else None."""
        sizes = (int(operand.type.shape[axis]) for operand, axis in self.axes_along(dim))
        return next((size for size in sizes if size != DYNAMIC), None)

    @cached_property
    def known_sizes(self) -> tuple[int | None, ...]:
        shapes = [getattr(operand.type, "shape", ()) for operand in self.operands]
        sizes = (
            (int(shapes[number][axis]) for number, axis in self._axes.get(dim, ())) for dim in range(len(self.kinds))
        )
        return tuple(next((size for size in each if size != DYNAMIC), None) for each in sizes)

    def size(self, dim: int) -> Size:
        """Return a loop's size: a number, or an index computed at the insertion point.

        linalg's verifier guarantees an axis per loop.
        """
        known = self.known_size(dim)
        return linalg.size(*next(self.axes_along(dim))) if known is None else known
