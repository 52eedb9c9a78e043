# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Regrouping of attention heads that share keys and values: the heads become rows of one product, without copies.

matmul(q, repeat(k)) reads each k once for all heads that it serves, because their queries are adjacent already. Scale
factors of the scores move to the queries, which are fewer. Keys that stay in a caller's buffer from call to call are
read in place.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from ...bindings.ir import Operation, OpView, Value
from ...bindings.patterns import Pattern, Rewriter, apply_greedy, defining_op
from ...dialects import relax
from ...dialects.core.aliases import viewed
from ...dialects.core.infos import is_float
from ...dialects.core.symbols import Dim, at_most, dim_mul, equal
from ...dialects.relax import const
from ...dialects.relax.known_constants import splat
from ...dialects.relax.values import as_result, dtype_of, is_known, shape_of
from ..core.base import Pass
from ..core.registry import register_pass
from .canonicalize.data_movement import permutation

_WIDE = ("f32", "f64")


@register_pass
class RegroupHeads(Pass):
    """Rewrite products with repeated heads to products of more rows with the unrepeated operand."""

    name: ClassVar[str] = "relax-regroup-heads"
    anchor: ClassVar[str] = "any"

    def run(self, op: Operation) -> None:
        apply_greedy(op, [Pattern("relax.matmul", regroup)], what=self.name)


class _Right(NamedTuple):
    """Right operand of a product, traced back to its source: matrices [batch, heads, rows, columns]."""

    source: Value
    #: Number of the product's heads that read each head of the source.
    repeats: int = 1
    is_turned: bool = False
    #: Factor of all elements.
    factor: float = 1.0

    @property
    def is_kept(self) -> bool:
        """Check whether the source is a slice of a buffer that is kept from call to call."""
        rows = defining_op(self.source, "relax.strided_slice")
        return rows is not None and defining_op(rows.x, "relax.call_tir_inplace") is not None


def regroup(op: OpView, rewriter: Rewriter) -> Value | None:
    left, right = shape_of(op.x1), shape_of(op.x2)
    if op.out_dtype is not None or not _are_of_heads(left, right) or not is_float(dtype_of(op.x2)):
        return None
    assert left is not None and right is not None
    half = _right_of(op.x2)
    if half is None or not _fits(half, left) or not _is_worth_it(half, left[2], right[3]):
        return None
    batch, heads, rows, depth = left
    rest, query = shape_of(half.source), op.x1
    assert rest is not None
    if half.factor != 1.0:
        query = relax.multiply(query, const(half.factor, dtype_of(query)))
    if half.repeats > 1:
        query = _reshape(query, batch, rest[1], dim_mul(rows, half.repeats), depth)
    product = _product(query, half)
    return as_result(op, _reshape(product, batch, heads, rows, right[3]) if half.repeats > 1 else product)


def _are_of_heads(left: Any, right: Any) -> bool:
    """Check whether both shapes are known, with one matrix for each head of each batch."""
    if not (is_known(left) and is_known(right) and len(left) == len(right) == 4):
        return False
    return all(equal(left[axis], right[axis]) is True for axis in range(2)) and equal(left[3], right[2]) is True


def _right_of(value: Value) -> _Right | None:
    """Trace a value back through scalar factors, transposed matrices, and reshapes of the dimensions of heads."""
    factor, is_turned, wanted = 1.0, False, shape_of(value)
    assert wanted is not None
    while True:
        op = defining_op(value)
        if (number := _factor_of(op)) is not None:
            value, factor = number[0], factor * number[1]
        elif op is not None and _keeps_matrices(op):
            value = op.x
        elif op is not None and _turns_matrices(op):
            value, is_turned = op.x, not is_turned
        else:
            break
    source, repeats = _repeat_operand(value)
    shape = shape_of(source)
    if not is_known(shape) or shape is None or len(shape) != 4:
        return None
    return _Right(source, repeats, is_turned, factor)


def _factor_of(op: OpView | None) -> tuple[Value, float] | None:
    """Return a tensor and the number that an operation multiplies it by, or None."""
    # Narrow floats are left as they are: the products are rounded to few digits, and another order rounds others.
    if op is None or op.operation.name != "relax.multiply" or dtype_of(op.operation.results[0]) not in _WIDE:
        return None
    for tensor, other in ((op.x1, op.x2), (op.x2, op.x1)):
        number = splat(other)
        if number is not None and tensor.type == op.operation.results[0].type:
            return tensor, float(number)
    return None


def _keeps_matrices(op: OpView) -> bool:
    """Check whether an operation only reshapes the dimensions before the last two."""
    if op.operation.name != "relax.reshape":
        return False
    before, after = shape_of(op.x), shape_of(op.operation.results[0])
    if before is None or after is None or min(len(before), len(after)) < 3:
        return False
    return all(equal(before[axis], after[axis]) is True for axis in (-2, -1))


def _turns_matrices(op: OpView) -> bool:
    if op.operation.name != "relax.permute_dims":
        return False
    if (order := permutation(op)) is None or len(order) < 3:
        return False
    rank = len(order)
    return order == [*range(rank - 2), rank - 1, rank - 2]


def _repeat_operand(value: Value) -> tuple[Value, int]:
    """Return the tensor that is repeated along a new dimension behind the heads, and how often, or (value, 1)."""
    op = defining_op(value, "relax.broadcast_to")
    before, after = (None, None) if op is None else (shape_of(op.x), shape_of(value))
    if op is None or before is None or after is None or len(before) != 5 or len(after) != 5:
        return value, 1
    is_new = equal(before[2], 1) is True and isinstance(after[2], int) and after[2] > 0
    if not is_new or any(equal(before[axis], after[axis]) is not True for axis in (0, 1, 3, 4)):
        return value, 1
    return _drop_unit_axis(op.x, (*before[:2], *before[3:])), after[2]  # type: ignore[return-value]


def _drop_unit_axis(value: Value, shape: tuple[Dim, ...]) -> Value:
    """Return the value in this shape: the source of its view, if that has the shape, or else a reshape."""
    source = viewed(value)
    held = None if source is None else shape_of(source)
    if source is None or held is None or len(held) != len(shape):
        return _reshape(value, *shape)
    is_it = all(equal(*pair) is True for pair in zip(held, shape, strict=True))
    return source if is_it else _reshape(value, *shape)


def _fits(half: _Right, left: tuple[Dim, ...]) -> bool:
    """Check whether the heads of the source, repeated, are the heads of the product."""
    shape = shape_of(half.source)
    assert shape is not None
    return equal(shape[0], left[0]) is True and equal(dim_mul(shape[1], half.repeats), left[1]) is True


def _is_worth_it(half: _Right, rows: Dim, columns: Dim) -> bool:
    if half.repeats > 1 or (half.is_turned and half.is_kept):
        return True
    return half.factor != 1.0 and rows is not None and columns is not None and at_most(rows, columns)


def _product(query: Value, half: _Right) -> Value:
    if not half.is_turned:
        return relax.matmul(query, half.source)
    if half.is_kept:
        return relax.einsum([query, half.source], subscripts="abik,abjk->abij")
    return relax.matmul(query, relax.permute_dims(half.source, axes=[0, 1, 3, 2]))


def _reshape(value: Value, *shape: Dim) -> Value:
    return relax.reshape(value, relax.shape_expr(dims=shape))
