# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention by its definition, head by head. Query, key and value are [batch, length, heads, head size]."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy
from relax_mlir.passes.evaluate.references import register_reference

from ..steps import require_same

if TYPE_CHECKING:
    from numpy import ndarray
    from relax_mlir.passes.evaluate.registry import EvaluationCall


@register_reference(["relax.nn.attention", "relax.nn.attention_bias"])
def attention(
    call: EvaluationCall, query: ndarray, key: ndarray, value: ndarray, bias: ndarray | None = None
) -> ndarray:
    """Compute softmax(query @ key^T * scale + bias) @ value. A head of key and value may serve several query heads."""
    _check_sizes(query, key, value)
    key, value = (numpy.repeat(array, query.shape[2] // array.shape[2], axis=2) for array in (key, value))
    scores = numpy.einsum("bqhd,bkhd->bhqk", query, key) * _scale(call, query)
    if bias is not None:
        _check_bias(bias, scores.shape)
        scores = scores + bias
    weights = _softmax(call, numpy.where(_find_visible(call, query.shape[1], key.shape[1]), scores, -numpy.inf))
    return numpy.einsum("bhqk,bkhe->bqhe", weights, value)


@register_reference("relax.nn.attention_cached")
def attention_cached(
    call: EvaluationCall, query: ndarray, key: ndarray, value: ndarray, bias: ndarray | None, length: int
) -> ndarray:
    """Attend to the first `length` rows of a cache, in which heads come before rows."""
    if length < 0 or length > min(key.shape[2], value.shape[2]):
        raise ValueError(f"the length of keys and values is {length}")
    keys, values = (array[:, :, :length].swapaxes(1, 2) for array in (key, value))
    return attention(call, query, keys, values, bias)


@register_reference("relax.nn.attention_var_len")
def attention_var_len(
    call: EvaluationCall,
    query: ndarray,
    key: ndarray,
    value: ndarray,
    starts: ndarray,
    key_starts: ndarray | None,
    *most: object,
) -> ndarray:
    """Attend within each sequence. Queries outside of all sequences yield zeros."""
    result = numpy.zeros((*query.shape[:3], value.shape[3]))
    key_starts = starts if key_starts is None else key_starts
    for array in (query, key, value):
        require_same(len(array), 1, "batch of attention_var_len")
    require_same(len(starts), len(key_starts), "number of sequences")
    for bounds, size, what in ((starts, query.shape[1], "queries"), (key_starts, key.shape[1], "keys")):
        for start, end in pairwise(bounds.tolist()):
            if not 0 <= start <= end <= size:
                raise ValueError(f"a sequence starts at {start} and ends at {end}, of {size} {what}")
    for bounds_of_own, bounds_of_keys in zip(pairwise(starts), pairwise(key_starts), strict=True):
        own, keys = slice(*bounds_of_own), slice(*bounds_of_keys)
        result[:, own] = attention(call, query[:, own], key[:, keys], value[:, keys])
    return result


def _check_sizes(query: ndarray, key: ndarray, value: ndarray) -> None:
    for what, axis, one, other in (
        ("batch size", 0, query, key), ("batch size", 0, query, value), ("length", 1, key, value),
        ("size of a head", 3, query, key),
    ):  # fmt: skip
        require_same(one.shape[axis], other.shape[axis], what)
    for other in (key, value):
        heads, own = query.shape[2], other.shape[2]
        if not own:
            raise ValueError("key and value have no heads")
        if heads % own:
            raise ValueError(f"{heads} heads of query are no multiple of {own}")


def _check_bias(bias: ndarray, scores: Sequence[int]) -> None:
    for size, score in zip(bias.shape, scores, strict=True):
        if size not in (1, score):
            raise ValueError(f"operands do not broadcast: sizes {size} and {score} differ")


def _scale(call: EvaluationCall, query: ndarray) -> float:
    return call.scale if call.scale is not None else 1 / math.sqrt(max(query.shape[3], 1))


def _find_visible(call: EvaluationCall, queries: int, keys: int) -> ndarray:
    """Return the visible keys of each query.

    A mask hides later keys, and a window limits the number of earlier ones.
    """
    own = numpy.arange(queries)[:, None] + (keys - queries if call.causal_mask == "BottomRight" else 0)
    behind = numpy.arange(keys) - own
    seen = numpy.ones(behind.shape, bool) if call.causal_mask is None else behind <= 0
    return seen if call.window_size is None else seen & (behind > -call.window_size)


def _softmax(call: EvaluationCall, scores: ndarray) -> ndarray:
    """Apply softmax over the last axis. A query with only scores of -inf has weights of 0 or NaN."""
    most = scores.max(axis=-1, keepdims=True, initial=-numpy.inf)
    powers = numpy.exp(scores - numpy.where(most == -numpy.inf, 0, most))
    sums = powers.sum(axis=-1, keepdims=True)
    return powers / numpy.where(sums == 0, 1.0 if call.blind == "zeros" else numpy.nan, sums)
