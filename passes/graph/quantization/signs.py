# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Internal signed bytes stored as unsigned bytes, with values and zero points 128 higher.

Units for byte products multiply unsigned by signed bytes. The result of a ReLU has the zero point -128, which becomes
0: no correction is needed, and convolutions can pad with 0.
"""

from __future__ import annotations

from ....bindings.ir import OpView, Value
from ....bindings.navigation import defining_op, users_of
from ....bindings.patterns import Outcome, Pattern, Rewriter
from ....dialects.relax.values import dtype_of, with_dtype
from .numbers import TO_UNSIGNED, dequantized, dtype_attribute, made, number, relax, single

#: Operators that move numbers, or select numbers by their order.
MOVES = tuple(
    f"relax.{name}"
    for name in (
        *("reshape", "flatten", "permute_dims", "expand_dims", "squeeze", "strided_slice", "take"),
        *("nn.max_pool1d", "nn.max_pool2d", "nn.max_pool3d"),
    )
)


def unsigned(value: Value) -> Value | None:
    """Return the numbers 128 higher if they were quantized to signed bytes with a zero point other than 0."""
    op = defining_op(value, "relax.quantize", *MOVES)
    if op is None or dtype_of(value) != "i8" or any(user.name == "func.return" for user in users_of(value)):
        return None
    operation = op.operation
    type_, attributes = with_dtype(value, "ui8"), dict(operation.attributes.items())
    if operation.name != "relax.quantize":
        moved = unsigned(operation.operands[0])
        others = list(operation.operands)[1:]
        return None if moved is None else made(operation.name, [moved, *others], type_, attributes).results[0]
    if not (zero := single(operation.operands[2])):
        return None
    attributes["out_dtype"] = dtype_attribute("ui8", value)
    operands = [*list(operation.operands)[:2], number(zero + TO_UNSIGNED, "ui8")]
    return made(operation.name, operands, type_, attributes).results[0]


def dequantize_unsigned(op: OpView, rewriter: Rewriter) -> Outcome:
    found = dequantized(op.operation.results[0])
    zero = None if found is None else single(found.zero_point)
    numbers = None if found is None or zero is None else unsigned(found.numbers)
    if found is None or zero is None or numbers is None:
        return None
    shifted = number(zero + TO_UNSIGNED, "ui8" if -TO_UNSIGNED <= zero < TO_UNSIGNED else "i32")
    return found._replace(zero_point=shifted).others(numbers, op.operation.results[0].type)


def subtract_unsigned(op: OpView, rewriter: Rewriter) -> Outcome:
    """Rewrite astype(x, i32) - zero_point to unsigned bytes."""
    left, right = op.operation.operands
    wide, zero = defining_op(left, "relax.astype"), single(right)
    numbers = None if wide is None or zero is None or dtype_of(left) != "i32" else unsigned(wide.operation.operands[0])
    if numbers is None or zero is None:
        return None
    more = made("relax.astype", [numbers], left.type, dict(wide.operation.attributes.items()))  # type: ignore[union-attr]
    return relax.subtract(more.results[0], number(zero + TO_UNSIGNED, "i32"))


PATTERNS = (
    Pattern("relax.dequantize", dequantize_unsigned, after=("relax.quantize", *MOVES)),
    Pattern("relax.subtract", subtract_unsigned, after=("relax.astype",)),
)
