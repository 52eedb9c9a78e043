# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention by definition in numpy's doubles, and operands for it."""

from __future__ import annotations

from typing import Any

import numpy


def normal(*shape: int, dtype: Any = "float32", seed: int = 3) -> Any:
    return numpy.random.default_rng(seed).normal(size=shape).astype(dtype)


def operands(batch: int, queries: int, keys: int, heads: Any, size: int, value_size: int, dtype: Any) -> list[Any]:
    shapes = ((queries, heads[0], size), (keys, heads[1], size), (keys, heads[2], value_size))
    return [normal(batch, *shape, dtype=dtype, seed=seed) for seed, shape in enumerate(shapes)]


def mask(queries: int, keys: int, causal_mask: str | None = None, window_size: int | None = None) -> Any:
    """Return the mask of the keys that each query sees. onnxruntime rejects queries that see no key."""
    own = numpy.arange(queries)[:, None] + (keys - queries if causal_mask == "BottomRight" else 0)
    distance = numpy.arange(keys) - own
    seen = distance <= (0 if causal_mask else keys)
    return seen if window_size is None else seen & (distance > -window_size)


def in_doubles(query: Any, key: Any, value: Any, bias: Any = 0.0, **masked: Any) -> Any:
    """Compute attention in f64 by its definition. A query that sees no key gives zeros."""
    heads = query.shape[2]
    q, k, v = (numpy.repeat(each, heads // each.shape[2], 2).astype("float64") for each in (query, key, value))
    scores = numpy.einsum("bqhd,bkhd->bhqk", q, k) / numpy.sqrt(q.shape[3]) + bias
    scores = numpy.where(mask(query.shape[1], key.shape[1], **masked), scores, -numpy.inf)
    powers = numpy.exp(scores - numpy.maximum(scores.max(3, keepdims=True), -1e300))
    return numpy.einsum("bhqk,bkhd->bqhd", powers / numpy.maximum(powers.sum(3, keepdims=True), 1e-300), v)
