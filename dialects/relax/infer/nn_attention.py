# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inference for attention: query, key and value are [batch, length, heads, size of a head]."""

from __future__ import annotations

from ...core.infos import TensorInfo
from ...core.opdef import Call
from ...core.symbols import Dim, dim_mod, equal
from .dtypes import check_dtype, check_same_dtype
from .ranks import check_rank
from .sizes import check_one_element, expect_size, same_size, shape_of_rank


def attention(call: Call) -> TensorInfo:
    check_dtype(call, "query", "float")
    check_same_dtype(call, "query", "key", "value")
    window = call.window_size
    call.require(window is None or window > 0, f"{call.describe('window_size')} must be positive")
    _, queries, heads, _ = shape_of_rank(call, "query", 4)
    _check_heads(call, heads, "key", shape_of_rank(call, "key", 4)[2])
    _check_heads(call, heads, "value", shape_of_rank(call, "value", 4)[2])
    batch = same_size(call, "batch size", query=0, key=0, value=0)
    same_size(call, "length", key=1, value=1)
    same_size(call, "size of a head", query=3, key=3)
    return TensorInfo((batch, queries, heads, shape_of_rank(call, "value", 4)[3]), call.query.dtype)


def _check_heads(call: Call, heads: Dim, name: str, own: Dim) -> None:
    """A head of key and value may serve several of query."""
    if equal(own, 0) is True or equal(dim_mod(heads, own), 0) is False:
        raise call.fail(
            f"{call.describe('query')} must have a multiple of the heads of {call.describe(name)}, "
            f"got {heads} and {own}"
        )


def attention_bias(call: Call) -> TensorInfo:
    result = attention(call)
    check_dtype(call, "bias", "float")
    sizes = shape_of_rank(call, "bias", 4)
    batch, queries, heads, _ = shape_of_rank(call, "query", 4)
    for axis, (what, size) in enumerate((("batches", batch), ("heads", heads), ("queries", queries))):
        if equal(sizes[axis], 1) is not True:
            expect_size(call, "bias", axis, size, f"{what}; 1 broadcasts")
    expect_size(call, "bias", 3, same_size(call, "length", key=1, value=1), "keys")
    return result


def attention_var_len(call: Call) -> TensorInfo:
    """All sequences stand one after the other in a batch of one; the other operands say where each starts."""
    result = attention(call)
    for name in ("query", "key", "value"):
        expect_size(call, name, 0, 1, "batch")
    for name in ("seqstart_q", "seqstart_k", "max_seqlen_q", "max_seqlen_k"):
        _check_lengths(call, name)
    same_size(call, "number of sequences", seqstart_q=0, seqstart_k=0)
    return TensorInfo((1, *result.shape[1:]), result.dtype)  # type: ignore[index]  # attention knows the rank


def _check_lengths(call: Call, name: str) -> None:
    info = call.operands[name]
    if info is None:
        return
    call.require(info.dtype == "i32", f"{call.describe(name)} must have elements of type i32")
    if name.startswith("max"):
        check_one_element(call, name)
    else:
        check_rank(call, name, 1)
