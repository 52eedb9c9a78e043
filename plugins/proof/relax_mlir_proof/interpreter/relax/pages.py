# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention with keys and values in pages, token by token, and writes of rows to pages."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy
from relax_mlir.passes.evaluate.references import register_reference

from ..steps import require_same

if TYPE_CHECKING:
    from numpy import ndarray
    from relax_mlir.passes.evaluate.registry import EvaluationCall

_LARGEST = numpy.float32(127)


@register_reference("relax.paged_attention")
def paged_attention(
    call: EvaluationCall,
    q: ndarray,
    k_pages: ndarray,
    v_pages: ndarray,
    table: ndarray,
    sequences: ndarray,
    lengths: ndarray,
    k_scale: ndarray | None,
    v_scale: ndarray | None,
    sinks: ndarray | None,
) -> ndarray:
    """Compute softmax(q @ keys^T * scale) @ values of each token, with the keys and values of its sequence."""
    heads, size = q.shape[1:]
    places, shared = k_pages.shape[1:3]
    _check_sizes(q, k_pages, v_pages, sequences, lengths)
    result = numpy.zeros((*q.shape[:2], v_pages.shape[3]))
    keys, values = (
        each if by is None else each * by[..., None].astype(float)
        for each, by in ((k_pages, k_scale), (v_pages, v_scale))
    )
    scale = call.scale if call.scale is not None else 1 / math.sqrt(max(size, 1))
    for token, (sequence, length) in enumerate(zip(sequences.tolist(), lengths.tolist(), strict=True)):
        _check_token(sequence, length, len(table), table.shape[1] * places)
        if not length:
            continue
        first = 0 if call.window_size is None else max(length - call.window_size, 0)
        seen = numpy.arange(first, length)
        pages = table[sequence][seen // places]
        _check_pages(pages, len(k_pages))
        own_keys, own_values = (
            numpy.repeat(each[pages, seen % places], heads // shared, axis=1) for each in (keys, values)
        )
        scores = numpy.einsum("hd,khd->hk", q[token], own_keys) * scale
        if call.softcap is not None:
            scores = call.softcap * numpy.tanh(scores / call.softcap)
        result[token] = numpy.einsum("hk,khe->he", _softmax(scores, sinks), own_values)
    return result


def _softmax(scores: ndarray, sinks: ndarray | None) -> ndarray:
    """Return the softmax over the keys and the head's sink. The sink's weight is dropped."""
    extra = numpy.full((len(scores), 1), -numpy.inf) if sinks is None else sinks.astype(float)[:, None]
    whole = numpy.concatenate([scores, extra], axis=1)
    most = whole.max(axis=1, keepdims=True)
    powers = numpy.exp(whole - numpy.where(most == -numpy.inf, 0, most))
    total = powers.sum(axis=1, keepdims=True)
    return powers[:, :-1] / numpy.where(total == 0, 1, total)


def _check_sizes(q: ndarray, keys: ndarray, values: ndarray, sequences: ndarray, lengths: ndarray) -> None:
    for one, other, what in (
        (len(q), len(sequences), "number of tokens"), (len(q), len(lengths), "number of tokens"),
        (len(keys), len(values), "number of pages"), (keys.shape[1], values.shape[1], "number of places in a page"),
        (keys.shape[2], values.shape[2], "number of heads"), (q.shape[2], keys.shape[3], "size of a head"),
    ):  # fmt: skip
        require_same(one, other, what)
    if not keys.shape[2]:
        raise ValueError("pages have no heads")
    if q.shape[1] % keys.shape[2]:
        raise ValueError(f"{q.shape[1]} heads of q are no multiple of {keys.shape[2]}")


def _check_token(sequence: int, length: int, sequences: int, room: int) -> None:
    if not 0 <= length <= room:
        raise IndexError(f"length {length} is out of range: the pages of a sequence have {room} places")
    if length and not 0 <= sequence < sequences:
        raise IndexError(f"sequence {sequence} is out of range for a table of {sequences}")


def _check_pages(pages: ndarray, count: int) -> None:
    for page in pages.tolist():
        if not 0 <= page < count:
            raise IndexError(f"page {page} of the table is out of range: there are {count} pages")


@register_reference("relax.append_pages")
def append_pages(call: EvaluationCall, pages: ndarray, rows: ndarray, slots: ndarray) -> ndarray:
    """Return a copy of the pages with the rows at their slots."""
    result = pages.copy()
    for slot, row in _place(pages, rows, slots):
        result[slot] = row
    return result


@register_reference("relax.append_pages_quantized")
def append_pages_quantized(
    call: EvaluationCall, pages: ndarray, scales: ndarray, rows: ndarray, slots: ndarray
) -> list[ndarray]:
    """Quantize each row of a head in f32, as kernels do, so that the codes are the same."""
    result, scales = pages.copy(), scales.copy()
    for slot, row in _place(pages, rows, slots):
        numbers = row.astype("float32")
        scale = abs(numbers).max(axis=1, initial=0) / _LARGEST
        codes = numpy.rint(numbers / numpy.where(scale == 0, 1, scale)[:, None])
        result[slot], scales[slot] = numpy.clip(codes, -128, 127), scale
    return [result, scales]


def _place(pages: ndarray, rows: ndarray, slots: ndarray) -> list[tuple[tuple[int, int], ndarray]]:
    """Return the page and place of each row that has one."""
    for one, other, what in (
        (len(rows), len(slots), "number of tokens"), (pages.shape[2], rows.shape[1], "number of heads"),
        (pages.shape[3], rows.shape[2], "size of a head"),
    ):  # fmt: skip
        require_same(one, other, what)
    room = len(pages) * pages.shape[1]
    for slot in slots.tolist():
        if slot >= room:
            raise IndexError(f"slot {slot} is out of range: the pages have {room} places")
    return [(divmod(slot, pages.shape[1]), row) for slot, row in zip(slots.tolist(), rows, strict=True) if slot >= 0]
