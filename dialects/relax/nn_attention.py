# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention. Query, key and value are [batch, length, heads, size of a head]."""

from __future__ import annotations

from typing import Any

from ..core.attributes import Float, Int, Str
from ..core.operator import Operator
from .dialect import op, relax
from .infer.nn_attention import attention, attention_bias, attention_var_len

_ATTRS = {
    "scale": Float(None, doc="what the scores are multiplied by; absent: 1 / sqrt(size of a head)"),
    "causal_mask": Str(
        None, choices=("TopLeft", "BottomRight"), doc="the corner where the triangle of visible keys starts"
    ),
    "window_size": Int(None, doc="how many keys before its own position a query sees; absent: all"),
}


def with_or_without_bias(arguments: dict[str, Any]) -> Operator:
    """Relax's `attention(query, key, value, bias)` is another operator with a bias than without."""
    return relax.ops["nn.attention" if arguments.get("bias") is None else "nn.attention_bias"]


op(
    "nn.attention",
    "query key value",
    attrs=_ATTRS,
    signature="query key value bias scale causal_mask window_size",
    redirect=with_or_without_bias,
    infer=attention,
    doc="softmax(query @ key^T * scale) @ value for each head.",
)
op(
    "nn.attention_bias",
    "query key value bias",
    attrs=_ATTRS,
    infer=attention_bias,
    doc="Attention with a bias [batch, heads, queries, keys], broadcast and added to the scores.",
)
op(
    "nn.attention_var_len",
    "query key value seqstart_q seqstart_k? max_seqlen_q max_seqlen_k?",
    attrs=_ATTRS,
    signature="query key value seqstart_q max_seqlen_q seqstart_k max_seqlen_k scale causal_mask window_size",
    infer=attention_var_len,
    doc="Attention over sequences of several lengths, end to end; those of the keys default to the queries'.",
)
