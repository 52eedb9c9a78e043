# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inference for products of matrices and vectors, as numpy defines them."""

from __future__ import annotations

from itertools import zip_longest

from ...core.infos import TensorInfo
from ...core.opdef import Call
from ...core.symbols import Dim, equal
from .broadcast import broadcast_dim
from .dtypes import ANY, asked_dtype, check_dtype, check_same_dtype
from .ranks import check_min_rank
from .sizes import shape_of_rank

Shape = tuple[Dim, ...]


def matmul(call: Call) -> TensorInfo:
    for name in ("x1", "x2"):
        check_dtype(call, name, *ANY)
        check_min_rank(call, name, 1)
    if call.out_dtype is None:
        check_same_dtype(call, "x1", "x2")
    dtype = asked_dtype(call, "out_dtype", call.x1.dtype, *ANY)
    left, right = call.x1.shape, call.x2.shape
    return TensorInfo(None if left is None or right is None else _product_shape(call, left, right), dtype)


def _product_shape(call: Call, left: Shape, right: Shape) -> Shape:
    """A vector is a row on the left and a column on the right, and is no dimension of the result."""
    length, other = left[-1], right[-2] if len(right) > 1 else right[0]
    if equal(length, other) is False:
        raise call.fail(
            f"{call.describe('x1')} and {call.describe('x2')} cannot be multiplied: rows on the left have "
            f"{length} elements, columns on the right {other}"
        )
    batch = broadcast_batch(
        call, f"batch dimensions of {call.describe('x1')} and {call.describe('x2')}", left[:-2], right[:-2]
    )
    return (*batch, *left[-2:-1], *right[1:][-1:])


def broadcast_batch(call: Call, what: str, left: Shape, right: Shape) -> Shape:
    """Dimensions broadcast from the last one on. `what` they are, for the message when they cannot be."""
    sizes = []
    for one, other in zip_longest(reversed(left), reversed(right), fillvalue=1):
        try:
            sizes.append(broadcast_dim(one, other))
        except ValueError:
            raise call.fail(f"{what} do not broadcast: {one} against {other}") from None
    return tuple(reversed(sizes))


def outer(call: Call) -> TensorInfo:
    check_dtype(call, "x1", *ANY)
    check_same_dtype(call, "x1", "x2")
    (rows,), (columns,) = shape_of_rank(call, "x1", 1), shape_of_rank(call, "x2", 1)
    return TensorInfo((rows, columns), call.x1.dtype)
