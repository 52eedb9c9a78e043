# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of f32 by matrix units, with 10 bits of the factors' fractions (tf32) and sums in f32."""

from __future__ import annotations

from collections.abc import Sequence

from ....bindings.ir import Value
from ....bindings.mlir import ir
from ....emit.arithmetic import constant_value, result_of
from ....emit.numbers import Number
from ...gpu.emit.memory_access import load
from ...gpu.planned.mma_operands import Factors
from ...gpu.planned.product_kernels import register_instruction
from .instructions import position, round_to_tf32
from .matrix_units import HalvesKernel


@register_instruction("m16n8k8")
class TensorFloatsKernel(HalvesKernel):
    """Kernel that rounds factors after loading them from shared memory, ties away from zero."""

    steps = 8
    kinds = (Factors("f32", "f32", ("arith.mulf",)),)

    def _tiles(
        self, memories: Sequence[Value], stage: Number, step: int, which: int, first: Number, count: int
    ) -> list[Value]:
        if self.staged[which].steps_last:
            tiles = super()._tiles(memories, stage, step, which, first, count)
            return [_round([_element(tile, number) for number in range(4)]) for tile in tiles]
        # Tiles of 32-bit elements cannot be transposed on the way, so each lane reads its elements.
        sides, memory = [first + self.lane // 4 + pair * 16 for pair in range(count)], memories[which]
        inner, outer = (0, 8, 0, 8), (0, 0, 4, 4)
        along = (
            (inner, outer) if which == self._of_rows else ([2 * each for each in outer], [each // 2 for each in inner])
        )
        places = list(zip(*along, strict=True))
        return [
            _round([load(memory, [stage, self.lane % 4 + (step + k), side + n], 1) for n, k in places])
            for side in sides
        ]


def _element(tiles: Value, number: int) -> Value:
    return result_of("vector.extract", [tiles], tiles.type.element_type, static_position=position(number, 0))


def _round(elements: Sequence[Value]) -> Value:
    """Round a lane's elements of tiles."""
    type_ = ir.VectorType.get([len(elements), 1], elements[0].type)
    value = constant_value(0, type_)
    for number, element in enumerate(elements):
        value = result_of("vector.insert", [round_to_tf32(element), value], type_, static_position=position(number, 0))
    return value
