# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packing of constant weights of few bits in the order of vector loads: a word of codes for each of adjacent columns.

A word holds as many adjacent codes of a column as fit into 32 bits. The same few operations therefore unpack all lanes
of a vector. Panels are some vectors wide and contiguous: each is read once, from front to back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ....bindings.ir import Operation, OpView, Value
from ....bindings.patterns import Pattern, apply_walk
from ....dialects import relax
from ....dialects.relax.known_constants import elements_of
from ....dialects.relax.nbits import WORD
from ....passes.core.registry import register_pass
from ....passes.layout.conversion import constant_like
from ...core.machine import Machine
from ...core.machine_pass import MachinePass
from ..plans.matmul import row_tile

if TYPE_CHECKING:
    from numpy import ndarray

#: Limit of the vectors in a panel.
_VECTORS = 4


@register_pass
class PackNbits(MachinePass):
    """Pack constant weights of few bits in the order of vector loads."""

    name: ClassVar[str] = "llvm-pack-nbits"
    anchor: ClassVar[str] = "any"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith",)

    def run(self, op: Operation) -> None:
        processor = self.machine
        pattern = Pattern("relax.matmul_nbits", lambda found, _: _packed(found, processor), name="pack_nbits")
        apply_walk(op, [pattern])


def _packed(op: OpView, processor: Machine) -> Value | None:
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
    lanes = processor.lanes(32)
    vectors = min(_VECTORS, -(-columns // lanes))
    width = vectors * lanes
    words = codes.reshape(columns, -1, WORD)
    shapes = [words, *arrays[1:]]
    made = [
        None if value is None or array is None else constant_like(value, _panels(array, width))
        for value, array in zip(held, shapes, strict=True)
    ]
    rows = row_tile(processor, vectors, None)
    attributes = {"bits": op.bits, "block_size": op.block_size, "columns": columns, "lanes": lanes, "rows": rows}
    return relax.dialect.ops["matmul_nbits_panels"](op.x, *made, **attributes)


def _panels(array: ndarray, width: int) -> ndarray:
    """Reshape [columns, ...] to [panels, ..., width]. The last panel is padded with zeros."""
    import numpy

    columns, *rest = array.shape
    missing = -columns % width
    if missing:
        array = numpy.concatenate([array, numpy.zeros((missing, *rest), array.dtype)])
    panels = array.reshape(-1, width, *rest)
    moved = numpy.moveaxis(panels, 1, min(2, panels.ndim - 1))
    return numpy.ascontiguousarray(moved.reshape(*moved.shape[:2], -1) if rest else moved)
