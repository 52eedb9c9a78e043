# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packing of constant weights of few bits in the order of vector loads: a word of codes for each of adjacent columns.

A word holds as many adjacent codes of a column as fit into 32 bits. The same few operations therefore unpack all lanes
of a vector. Panels are some vectors wide and contiguous: each is read once, from front to back.

A table of embeddings may have the same codes. Its rows are then read from the panels, so that the program contains the
codes once.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from ....bindings.ir import Attribute, Operation, OpView, Value
from ....bindings.patterns import Pattern, apply_walk
from ....dialects import relax
from ....dialects.core.elements import SharedResources
from ....dialects.relax import const
from ....dialects.relax.known_constants import constant_op, elements_of, is_constant
from ....dialects.relax.nbits import WORD
from ....dialects.relax.values import shape_of
from ....passes.core.registry import register_pass
from ....passes.graph.layout.conversion import constant_like
from ...core.machine import Machine
from ...core.machine_pass import MachinePass
from ..plans.matmul import row_tile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy import ndarray

#: Limit of the vectors in a panel.
_VECTORS = 4
#: Rank of codes and of numbers of blocks, at least. A bias has one dimension.
_LEAST_RANK = 2


@register_pass
class PackNbits(MachinePass):
    """Pack constant weights of few bits in the order of vector loads."""

    name: ClassVar[str] = "llvm-pack-nbits"
    anchor: ClassVar[str] = "any"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith",)

    def run(self, op: Operation) -> None:
        packing = _Packing(self.machine)
        apply_walk(op, [Pattern("relax.matmul_nbits", lambda found, _: packing.product(found), name="pack_nbits")])
        apply_walk(op, [Pattern("relax.take", lambda found, _: packing.rows(found), name="take_packed_rows")])


class _Panels(NamedTuple):
    """Packed constant."""

    value: Attribute
    #: Columns of a panel, and adjacent elements of a column.
    width: int
    adjacent: int


class _Packing:
    """Packed constants of a module."""

    def __init__(self, processor: Machine):
        self._processor = processor
        self._shared = SharedResources()
        self._packed: dict[Attribute, _Panels] = {}

    def product(self, op: OpView) -> Value | None:
        """Return the product with panels, or None if the weights are only known at run time."""
        held = [op.codes, op.scale, op.zero_point, op.bias, op.offset, op.outer_scale, op.outer_offset]
        arrays = [None if value is None else elements_of(value) for value in held]
        if any(value is not None and array is None for value, array in zip(held, arrays, strict=True)):
            return None
        codes = arrays[0]
        assert codes is not None
        columns, *_ = codes.shape
        if not columns or not codes.size:
            return None
        lanes = self._processor.lanes(32)
        vectors = min(_VECTORS, -(-columns // lanes))
        adjacent = [WORD, *[1] * (len(held) - 1)]
        made = [
            None if value is None or array is None else self._constant(value, array, vectors * lanes, count)
            for value, array, count in zip(held, arrays, adjacent, strict=True)
        ]
        rows = row_tile(self._processor, vectors, None)
        attributes = {"bits": op.bits, "block_size": op.block_size, "activation_bits": op.activation_bits,
                      "columns": columns, "lanes": lanes, "rows": rows}  # fmt: skip
        return relax.dialect.ops["matmul_nbits_panels"](op.x, *made, **attributes)

    def _constant(self, value: Value, array: ndarray, width: int, adjacent: int) -> Value:
        """Return a packed constant. Products of the same weights share it."""
        if (key := self._key(value)) not in self._packed:
            words = array.reshape(len(array), -1, adjacent) if adjacent > 1 else array
            constant = constant_like(value, _panels(words, width))
            self._packed[key] = _Panels(constant.owner.attributes["value"], width, adjacent)
            return constant
        return constant_op(self._packed[key].value).result

    def _key(self, value: Value) -> Attribute:
        return self._shared.first(value.owner.attributes["value"])

    def rows(self, op: OpView) -> Value | None:
        """Return rows of a packed matrix, read from its panels, or None for other operands."""
        known = is_constant(op.x) and op.axis == 0 and op.mode != "nan"
        panels = self._packed.get(self._key(op.x)) if known else None
        shape = shape_of(op.result)
        if panels is None or shape is None or None in shape or len(op.x.type.shape) < _LEAST_RANK:
            return None
        columns, ops = op.x.type.shape[0], relax.dialect.ops
        # Reading the position as a row keeps the checks of indices, and the treatment of negative ones.
        row = ops["take"](const(list(range(columns)), "i64"), op.indices, axis=0, mode=op.mode)
        packed = constant_op(panels.value).result
        at = _positions(row, panels, packed.type.shape)
        flat = ops["reshape"](packed, ops["shape_expr"](dims=(math.prod(packed.type.shape),)))
        return ops["reshape"](ops["take"](flat, at, axis=0, mode="clip"), ops["shape_expr"](dims=shape))


def _positions(row: Value, panels: _Panels, shape: Sequence[int]) -> Value:
    """Return the indices [..., elements of a row] in the flat panels."""
    import numpy

    ops, width, adjacent = relax.dialect.ops, panels.width, panels.adjacent
    _, count, _ = shape
    inside = numpy.arange(count).reshape(-1, 1) * width * adjacent + numpy.arange(adjacent)
    panel, lane = ops["floor_divide"](row, const(width, "i64")), ops["floor_mod"](row, const(width, "i64"))
    first = ops["add"](
        ops["multiply"](panel, const(count * width * adjacent, "i64")), ops["multiply"](lane, const(adjacent, "i64"))
    )
    return ops["add"](ops["expand_dims"](first, axis=[-1]), const(inside.reshape(-1)))


def _panels(array: ndarray, width: int) -> ndarray:
    """Reshape [columns, ...] to [panels, ..., width]. The last panel is padded with zeros."""
    import numpy

    columns, *rest = array.shape
    if missing := -columns % width:
        array = numpy.concatenate([array, numpy.zeros((missing, *rest), array.dtype)])
    panels = array.reshape(-1, width, *rest)
    moved = numpy.moveaxis(panels, 1, min(2, panels.ndim - 1))
    return numpy.ascontiguousarray(moved.reshape(*moved.shape[:2], -1) if rest else moved)
