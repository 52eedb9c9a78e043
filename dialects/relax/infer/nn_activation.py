# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inference for activations beyond plain elementwise ones."""

from __future__ import annotations

from ...core.infos import TensorInfo
from ...core.opdef import Call
from ...core.symbols import equal
from .axes import normalize_axis
from .dtypes import check_dtype, check_same_dtype
from .elementwise import float_unary
from .sizes import shape_of_rank


def softmax(call: Call) -> TensorInfo:
    check_dtype(call, "data", "float")
    if call.data.shape is not None:
        normalize_axis(call, "axis", call.data.rank, call.axis)
    return call.data


def softplus(call: Call) -> TensorInfo:
    call.require(call.beta != 0, f"{call.describe('beta')} must not be 0: the result is divided by it")
    return float_unary(call)


def prelu(call: Call) -> TensorInfo:
    check_dtype(call, "data", "float")
    check_same_dtype(call, "data", "alpha")
    (slopes,) = shape_of_rank(call, "alpha", 1)
    if call.data.shape is None:
        return call.data
    size = call.data.shape[normalize_axis(call, "axis", call.data.rank, call.axis)]
    if slopes != 1 and equal(slopes, size) is False:
        raise call.fail(
            f"{call.describe('alpha')} must have 1 element or {size}, the size of the data along axis {call.axis}"
        )
    return call.data


def dropout(call: Call) -> tuple[TensorInfo, TensorInfo]:
    call.require(0 <= call.rate <= 1, f"{call.describe('rate')} must be between 0 and 1")
    return call.data, call.data
