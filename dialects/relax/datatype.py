# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Changes of element types: conversion of elements, or reinterpretation of their bits."""

from __future__ import annotations

from ..core.attributes import DType
from ..core.infos import TensorInfo, bit_width, is_bool
from ..core.opdef import Call
from .creation import like
from .dialect import elementwise_op
from .infer.dtypes import ANY, asked_dtype, check_dtype


def bitcast(call: Call) -> TensorInfo:
    dtype = asked_dtype(call, "dtype", call.x.dtype, *ANY)
    check_dtype(call, "x", *ANY)
    own, asked = _stored_bits(call.x.dtype), _stored_bits(dtype)
    if own != asked:
        raise call.fail(
            f"{call.describe('dtype')} has {asked} bits and {call.describe('x')} {own}: bits stay as many as they are"
        )
    return call.x.with_dtype(dtype)


def _stored_bits(dtype: str) -> int:
    """Return the stored bits of an element. A bool takes a byte."""
    return 8 if is_bool(dtype) else bit_width(dtype)


elementwise_op("astype", "x", attrs={"dtype": DType()}, infer=like, doc="Converts the elements to another type.")
elementwise_op("bitcast", "x", attrs={"dtype": DType()}, flops=0, infer=bitcast, own=True,
   doc="Reinterprets the bits as a type of the same width. A bool is True if any bit is set.")  # fmt: skip
