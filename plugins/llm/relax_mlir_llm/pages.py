# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Composition of attention over pages. TODO: the operators of the core take its place."""

from __future__ import annotations

import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.rewriting import Value


def append_pages(pages: Value, rows: Value, slots: Value) -> Value:
    """Return pages with rows written to their slots."""
    _, page, heads, size = pages.shape
    flat = relax.reshape(pages, relax.shape_expr(dims=(rx.sym("pages") * page, heads, size)))
    written = relax.index_put(flat, slots, values=rows)
    return relax.reshape(written, relax.shape_expr(dims=("pages", page, heads, size)))


def paged_attention(
    q: Value,
    k_pages: Value,
    v_pages: Value,
    table: Value,
    sequences: Value,
    lengths: Value,
    *,
    scale: float,
    window_size: int | None,
    softcap: float | None,
) -> Value:
    """Return attention [tokens, heads, size] of queries to the first `lengths` keys of their sequences."""
    _, page, kv_heads, size = k_pages.shape
    heads = q.shape[1]
    shape = relax.shape_expr(dims=("sequences", rx.sym("most") * page, kv_heads, size))
    keys, values = (
        relax.take(relax.reshape(relax.take(each, table, axis=0), shape), sequences, axis=0)
        for each in (k_pages, v_pages)
    )
    grouped = relax.reshape(q, relax.shape_expr(dims=("tokens", kv_heads, heads // kv_heads, size)))
    scores = relax.einsum(grouped, keys, subscripts="thgd,tlhd->thgl") * relax.const(scale, "float32")
    if softcap is not None:
        scores = relax.tanh(scores * relax.const(1 / softcap, "float32")) * relax.const(softcap, "float32")
    places = relax.arange(relax.prim_value(rx.sym("most") * page), dtype="int32")
    ends = relax.expand_dims(lengths, axis=[1])
    seen = relax.less(places, ends)
    if window_size is not None:
        seen = relax.logical_and(seen, relax.greater_equal(places, ends - relax.const(window_size, "int32")))
    seen = relax.expand_dims(seen, axis=[1, 2])
    weights = relax.nn.softmax(relax.where(seen, scores, relax.const(-1e30, "float32")))
    mixed = relax.einsum(weights, values, subscripts="thgl,tlhd->thgd")
    return relax.reshape(mixed, relax.shape_expr(dims=("tokens", heads, size)))
