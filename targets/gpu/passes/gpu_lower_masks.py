# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lowering of masked vector loads and stores for devices that have none.

If all lanes are in memory the access is one vector. Otherwise each lane has its own condition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from ....bindings.ir import Operation, Type, Value
from ....bindings.mlir import ir
from ....bindings.navigation import made_by, operations_in
from ....bindings.rewriting import replace_op
from ....emit import loops, vectors
from ....emit.loops import Carried, when
from ....emit.numbers import Number, as_index, number
from ....emit.vectors import from_elements, lane_of
from ....passes.core.base import Pass
from ....passes.core.registry import register_pass

#: Emits the code for some of a vector's lanes.
_Part = Callable[[], list[Value]]


@register_pass
class LowerMasks(Pass):
    """Lower masked loads and stores of vectors to conditions."""

    name: ClassVar[str] = "gpu-lower-masks"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "memref", "scf", "vector")

    def run(self, op: Operation) -> None:
        with op.context:
            masks = []
            for operation in operations_in(op):
                with operation.location, ir.InsertionPoint(operation):
                    if operation.name == "vector.maskedload":
                        replace_op(operation, _load(operation))
                    elif operation.name == "vector.maskedstore":
                        _store(operation)
                        operation.erase()
                    elif operation.name in ("vector.create_mask", "vector.constant_mask"):
                        masks.append(operation)
            for each in masks:
                with each.location, ir.InsertionPoint(each):
                    mask = _Mask(each.results[0])
                    replace_op(each, [from_elements([mask.has(lane).value for lane in range(mask.lanes)])])


@dataclass(frozen=True)
class _Mask:
    """One-dimensional mask."""

    value: Value

    @property
    def lanes(self) -> int:
        (lanes,) = self.value.type.shape
        return int(lanes)

    @property
    def count(self) -> Number | None:
        """Return the number of leading lanes that are set, or None if unknown."""
        if (made := made_by(self.value, "vector.create_mask", "vector.constant_mask")) is None:
            return None
        return number(made.operands[0]) if len(made.operands) else as_index(made.attributes["mask_dim_sizes"][0])

    def has(self, lane: int) -> Number:
        count = self.count
        return number(lane_of(self.value, lane)) if count is None else as_index(lane) < count

    def split(self, whole: _Part, lanes: _Part, types: Sequence[Type] = ()) -> Carried:
        """Emit `whole` if all lanes are set, else `lanes`. Without a known count, always emit `lanes`."""
        count = self.count
        return lanes() if count is None else when(count >= self.lanes, whole, lanes, types)


def _load(op: Operation) -> Carried:
    memref, *places, mask, nothing = op.operands
    kept, type_ = _Mask(mask), op.results[0].type
    *first, last = map(number, places)

    def lane(each: int) -> Value:
        def read() -> list[Value]:
            return [loops.load(memref, *first, last + each)]

        return when(kept.has(each), read, lambda: [lane_of(nothing, each)], [type_.element_type])[0]

    def lanes() -> list[Value]:
        return [from_elements([lane(index) for index in range(kept.lanes)])]

    return kept.split(lambda: [vectors.load(type_, memref, *first, last)], lanes, [type_])


def _store(op: Operation) -> None:
    memref, *places, mask, value = op.operands
    kept = _Mask(mask)
    *first, last = map(number, places)

    def lanes() -> list[Value]:
        for lane in range(kept.lanes):
            when(kept.has(lane), partial(loops.store, lane_of(value, lane), memref, *first, last + lane))
        return []

    def whole() -> list[Value]:
        vectors.store(value, memref, *first, last)
        return []

    kept.split(whole, lanes)
