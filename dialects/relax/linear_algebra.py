# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of matrices, vectors and tensors."""

from __future__ import annotations

from ..core.attributes import DType, Str
from ..core.equalities import contradict
from ..core.infos import TensorInfo
from ..core.opdef import Call
from ..core.symbols import Dim, product
from .dialect import contraction_op
from .infer.broadcast import broadcast_batch
from .infer.dtypes import ANY, asked_dtype, check_dtype, check_same_dtype
from .infer.einsum import einsum, einsum_work
from .infer.sizes import Shape, check_min_rank, shape_of_rank


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
    """Return the shape of a product. A vector is a row on the left and a column on the right, and adds no dimension."""
    length, other = left[-1], right[-2] if len(right) > 1 else right[0]
    if contradict(length, other):
        raise call.fail(
            f"{call.describe('x1')} and {call.describe('x2')} cannot be multiplied: rows on the left have "
            f"{length} elements, columns on the right {other}"
        )
    batch = broadcast_batch(
        call, f"batch dimensions of {call.describe('x1')} and {call.describe('x2')}", left[:-2], right[:-2]
    )
    return (*batch, *left[-2:-1], *right[1:][-1:])


def products(call: Call, count: Dim) -> Dim:
    """two for each product of elements: a multiplication and an addition"""
    return product((2, count, call.x1.shape[-1] if call.x1.shape else None))


def outer(call: Call) -> TensorInfo:
    check_dtype(call, "x1", *ANY)
    check_same_dtype(call, "x1", "x2")
    (rows,), (columns,) = shape_of_rank(call, "x1", 1), shape_of_rank(call, "x2", 1)
    return TensorInfo((rows, columns), call.x1.dtype)


contraction_op("matmul", "x1 x2", attrs={"out_dtype": DType(None, doc="element type; default: as the operands")},
   flops=products, infer=matmul,
   doc="Matrix product over the last two dimensions. A vector is a row on the left, else a column.")  # fmt: skip
contraction_op("einsum", "*operands", attrs={"subscripts": Str(doc="labels of dimensions, as in numpy: 'ij,jk->ik'")},
   flops=einsum_work, infer=einsum,
   doc="Sum of products over the labels that the result lacks, as numpy.einsum.")  # fmt: skip
contraction_op("outer", "x1 x2", flops=1, infer=outer,
   doc="Outer product of two vectors.")  # fmt: skip
