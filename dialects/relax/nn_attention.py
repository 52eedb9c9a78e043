# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention. Query, key and value are [batch, length, heads, head size]."""

from __future__ import annotations

from ..core.attributes import Float, Int, Str
from ..core.infos import TensorInfo
from ..core.opdef import Call
from ..core.operator import Operator
from ..core.symbols import Dim, SymExpr, dim_add, dim_mod, dim_mul, equal, product
from .dialect import contraction_op, op, relax
from .infer.dtypes import check_dtype, check_same_dtype
from .infer.sizes import check_one_element, check_rank, exceeds, expect_size, same_size, shape_of_rank


def attention(call: Call) -> TensorInfo:
    check_dtype(call, "query", "float")
    check_same_dtype(call, "query", "key", "value")
    check_window(call)
    _, queries, heads, _ = shape_of_rank(call, "query", 4)
    check_heads(call, heads, "key", shape_of_rank(call, "key", 4)[2])
    check_heads(call, heads, "value", shape_of_rank(call, "value", 4)[2])
    batch = same_size(call, "batch size", query=0, key=0, value=0)
    same_size(call, "length", key=1, value=1)
    same_size(call, "size of a head", query=3, key=3)
    return TensorInfo((batch, queries, heads, shape_of_rank(call, "value", 4)[3]), call.query.dtype)


def attention_work(call: Call, count: Dim) -> Dim:
    """for each query and key, two for each element of a head's query and of its value, and five of softmax"""
    _, keys, _, wide = shape_of_rank(call, "value", 4)
    return _work(call, keys, wide)


def attention_cached_work(call: Call, count: Dim) -> Dim:
    """for each query and row that counts, two for each element of a head's query and value, and five of softmax"""
    return _work(call, _length(call), shape_of_rank(call, "value", 4)[3])


def _work(call: Call, keys: Dim, wide: Dim) -> Dim:
    batch, queries, heads, size = shape_of_rank(call, "query", 4)
    return product((batch, heads, queries, keys, dim_add(dim_mul(2, dim_add(size, wide)), 5)))


def check_window(call: Call) -> None:
    window = call.window_size
    call.require(window is None or window > 0, f"{call.describe('window_size')} must be positive")


def check_heads(call: Call, heads: Dim, name: str, own: Dim, queries: str = "query") -> None:
    """Check the number of heads: a head of key and value may serve several heads of query."""
    if equal(own, 0) is True or equal(dim_mod(heads, own), 0) is False:
        raise call.fail(
            f"{call.describe(queries)} must have a multiple of the heads of {call.describe(name)}, "
            f"got {heads} and {own}"
        )


def attention_bias(call: Call) -> TensorInfo:
    result = attention(call)
    batch, queries, heads, _ = shape_of_rank(call, "query", 4)
    _check_bias(call, (batch, heads, queries, same_size(call, "length", key=1, value=1)))
    return result


def _check_bias(call: Call, scores: tuple[Dim, ...]) -> None:
    check_dtype(call, "bias", "float")
    sizes = shape_of_rank(call, "bias", 4)
    for axis, (what, size) in enumerate(zip(("batches", "heads", "queries"), scores, strict=False)):
        if equal(sizes[axis], 1) is False:
            expect_size(call, "bias", axis, size, f"{what}; 1 broadcasts")
    expect_size(call, "bias", 3, scores[3], "keys")


def attention_cached(call: Call) -> TensorInfo:
    """Infer attention with cached keys and values.

    Their heads precede their rows, of which the first `length` count.
    """
    check_dtype(call, "query", "float")
    check_same_dtype(call, "query", "key", "value")
    check_window(call)
    batch, queries, heads, _ = shape_of_rank(call, "query", 4)
    length = _length(call)
    for name in ("key", "value"):
        _, own, rows, _ = shape_of_rank(call, name, 4)
        check_heads(call, heads, name, own)
        if exceeds(length, rows):
            raise call.fail(f"{call.describe('length')} must be at most the rows of {call.describe(name)}, "
                            f"got {length} and {rows}")  # fmt: skip
    same_size(call, "size of a head", query=3, key=3)
    batch = same_size(call, "batch size", query=0, key=0, value=0)
    if call.bias is not None:
        _check_bias(call, (batch, heads, queries, _length(call)))
    return TensorInfo((batch, queries, heads, shape_of_rank(call, "value", 4)[3]), call.query.dtype)


def _length(call: Call) -> Dim:
    """Return the number of rows that count, or None if dynamic."""
    known = call.length.value
    return known if isinstance(known, (int, SymExpr)) else None


def attention_var_len(call: Call) -> TensorInfo:
    """Infer attention over sequences that are concatenated in a batch of one. The other operands state their starts."""
    result = attention(call)
    for name in ("query", "key", "value"):
        expect_size(call, name, 0, 1, "batch")
    for name in ("seqstart_q", "seqstart_k", "max_seqlen_q", "max_seqlen_k"):
        _check_lengths(call, name)
    same_size(call, "number of sequences", seqstart_q=0, seqstart_k=0)
    return TensorInfo((1, *result.shape[1:]), result.dtype)  # type: ignore[index]  # attention knows the rank


def _check_lengths(call: Call, name: str) -> None:
    if (info := call.operands[name]) is None:
        return
    call.require(info.dtype == "i32", f"{call.describe(name)} must have elements of type i32")
    if name.startswith("max"):
        check_one_element(call, name)
    else:
        check_rank(call, name, 1)


_ATTRS = {
    "scale": Float(None, doc="factor of the scores; default: 1 / sqrt(size of a head)"),
    "causal_mask": Str(
        None, choices=("TopLeft", "BottomRight"), doc="corner where the triangle of visible keys starts"
    ),
    "window_size": Int(None, doc="number of keys before its position that a query sees; default: all"),
    "blind": Str("zeros", choices=("zeros", "nan"), doc="result of a query that sees no key; an empty softmax is NaN"),
}


def with_or_without_bias(arguments: dict[str, object]) -> Operator:
    """Select the operator. Relax's `attention(query, key, value, bias)` covers one with and one without a bias."""
    return relax.ops["nn.attention" if arguments.get("bias") is None else "nn.attention_bias"]


contraction_op("nn.attention", "query key value", attrs=_ATTRS,
   signature="query key value bias scale causal_mask window_size blind", redirect=with_or_without_bias,
   flops=attention_work, infer=attention,
   doc="softmax(query @ key^T * scale) @ value for each head.")  # fmt: skip
contraction_op("nn.attention_bias", "query key value bias", attrs=_ATTRS, flops=attention_work, infer=attention_bias,
   doc="Attention with a bias [batch, heads, queries, keys], broadcast and added to the scores.")  # fmt: skip
contraction_op("nn.attention_cached", "query key value bias? length:scalar", own=True, attrs=_ATTRS,
   flops=attention_cached_work, infer=attention_cached,
   doc="Attention to the first `length` rows of cached keys and values [batch, heads, rows, size].")  # fmt: skip
op("nn.attention_var_len", "query key value seqstart_q seqstart_k? max_seqlen_q max_seqlen_k?", attrs=_ATTRS,
   signature="query key value seqstart_q max_seqlen_q seqstart_k max_seqlen_k scale causal_mask window_size blind",
   infer=attention_var_len,
   doc="Attention over concatenated sequences. The lengths of keys default to those of queries.")  # fmt: skip
