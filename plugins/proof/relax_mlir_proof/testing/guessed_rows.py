# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Guessed rows for operators without rows in testing/operators, such as operators of other packages.

The operator's inference decides which calls are valid. Rows with one element type for all operands come first, then
rows of two types, then the rest.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import cache

from relax_mlir.dialects.core.dialect import find_op
from relax_mlir.dialects.core.opdef import OperandDef

from .core.rows import OperandText, Row

#: Element types in the order of trying.
TYPES = ("f32", "i8", "ui8", "i32", "i64", "f16", "i1", "bf16", "f64", "i16", "ui16", "ui32", "ui64", "i4")
#: Types for operands of different types.
_MIXED = TYPES[:7]
#: Sizes of the first operand, the second one, and all others. The last entry applies to all further operands.
_SIZES = (
    (("n", "m"),),
    (("n", "m"), ()),
    (("n", "m"), ("m",)),
    (("n", "k"), ("k", "m"), ("m",)),
    (("n", "k"), ("m", "k"), ("m",)),
    (("n", "4", "h", "w"), ("6", "4", "3", "3"), ("6",)),
)
#: With more operands there are too many combinations of types.
_MOST_MIXED_OPERANDS = 4


@cache
def guessed_rows(op: str) -> tuple[Row, ...]:
    """Return rows for an operator by its full name, with its optional operands absent, then present.

    Operators on scalars or objects have no rows, because no array can be passed for these.
    """
    operands = find_op(op).operands
    if any(operand.kind in ("scalar", "elementwise", "object") for operand in operands):
        return ()
    kept = [[operand for operand in operands if operand.arity != "optional"], list(operands)]
    present = [*kept[:1], *(kept[1:] if len(kept[0]) < len(kept[1]) else ())]
    return tuple(row for chosen in present for row in _rows(op, operands, chosen))


def _rows(op: str, operands: Sequence[OperandDef], present: Sequence[OperandDef]) -> Iterator[Row]:
    tensors = [operand_def for operand_def in present if operand_def.kind != "shape"]
    for types in _types(len(tensors)):
        for sizes in _SIZES if len(tensors) > 1 else _SIZES[:1]:
            texts = {
                tensor.name: OperandText(sizes[min(place, len(sizes) - 1)], dtype)
                for place, (tensor, dtype) in enumerate(zip(tensors, types, strict=True))
            }
            yield Row(op, tuple(_write_operand(operand, texts, operand in present) for operand in operands), "", {}, {})


def _write_operand(
    operand: OperandDef, texts: dict[str, OperandText], is_present: bool
) -> OperandText | tuple[OperandText, ...] | None:
    if not is_present:
        return None
    if operand.kind == "shape":
        return OperandText(("n", "m"))
    return (texts[operand.name],) * 2 if operand.arity == "variadic" else texts[operand.name]


def _types(count: int) -> Iterator[tuple[str, ...]]:
    for dtype in TYPES:
        yield (dtype,) * count
    if 1 < count <= _MOST_MIXED_OPERANDS:
        mixed = itertools.product(_MIXED, repeat=count)
        yield from sorted((each for each in mixed if len(set(each)) > 1), key=lambda each: len(set(each)))
