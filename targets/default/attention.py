# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attributes of the attention operators and the dynamic checks of their operands, for the rules of all targets.

Queries, keys and values are tensors or memrefs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from ...bindings.ir import Value
from ...dialects.core.infos import TensorInfo
from ...dialects.core.symbols import Dim, SymExpr, dim_mod, equal
from ...dialects.relax.infer.sizes import at_least
from ...emit import linalg, loops
from ...emit.broadcast import broadcast_plan, require_broadcast
from ...emit.conversions import accumulator
from ...emit.numbers import Number, Size, as_index, constant, intrinsic, select
from ...passes.legalize.call import LegalizeCall
from ...passes.legalize.known_sizes import by_name
from .attention_blocks import Blocks, Rows

_HEADS = 2


class Attention(NamedTuple):
    """Attributes of an attention operator, with the static types of its operands."""

    query: TensorInfo
    key: TensorInfo
    value: TensorInfo
    bias: TensorInfo | None
    scale: float | None
    causal_mask: str | None
    window: int | None
    #: True if a query that sees no key yields NaN.
    is_blind_nan: bool

    @property
    def dtype(self) -> str:
        return self.query.dtype

    @property
    def wide(self) -> str:
        """Dtype of the computation."""
        return accumulator(self.dtype)

    @property
    def scores(self) -> TensorInfo:
        batch, queries, heads, _ = self.query.shape  # type: ignore[misc]
        return TensorInfo((batch, heads, queries, self.key.shape[1]), self.wide)  # type: ignore[index]


def attention_of(call: LegalizeCall) -> Attention:
    given = by_name(call.op, call.operands)
    infos: dict[str, Any] = {
        name: None if given.get(name) is None else call.info(given[name]) for name in ("query", "key", "value", "bias")
    }
    masks = {"causal_mask": call.op.causal_mask, "window": call.op.window_size, "is_blind_nan": call.op.blind == "nan"}
    return Attention(**infos, scale=call.op.scale, **masks)


# ---- computation ----


def blocks_of(what: Attention, query: Rows, key: Rows) -> Blocks:
    """Return the parameters of the score blocks."""
    places = [] if what.bias is None else broadcast_plan(what.bias, what.scores)
    is_masked = what.causal_mask is not None or what.window is not None
    offset = offset_of(what, query.length, key.length) if is_masked else None
    bias = "" if what.bias is None else what.bias.dtype
    scale, is_causal = scale_of(what, query.tensor), what.causal_mask is not None
    return Blocks(what.dtype, what.wide, scale, offset, is_causal, what.window, what.is_blind_nan, bias, places)


def scale_of(what: Attention, query: Value) -> Number:
    """Return the factor of the scores."""
    size = linalg.sizes(query)[3]
    if what.scale is not None:
        return constant(what.scale, what.wide)
    if isinstance(size, int):
        return constant(1 / math.sqrt(size) if size else 1.0, what.wide)
    return 1.0 / intrinsic("sqrt", size.to(what.wide))


def offset_of(what: Attention, queries: Size, keys: Size) -> Size:
    """Return the distance between a query's index and the index of its key."""
    if what.causal_mask != "BottomRight":
        return 0
    if isinstance(keys, int) and isinstance(queries, int):
        return keys - queries
    return as_index(keys) - as_index(queries)


# ---- rows of a cache ----


class Cached(NamedTuple):
    """Attention to the first rows of caches."""

    what: Attention
    #: The present operands, with the length of keys and values last.
    operands: list[Value]
    length: Dim
    #: True if the caches are known to have at least this many rows.
    fits: bool

    @staticmethod
    def of(call: LegalizeCall) -> Cached:
        given = {name: value for name, value in by_name(call.op, call.operands).items() if value is not None}
        known, rows = call.scalar_value(given["length"]), call.shape(given["key"])[2]
        length = known if isinstance(known, (int, SymExpr)) else None
        what = attention_of(call)
        what = what._replace(key=_swap_axes(what.key, length), value=_swap_axes(what.value, length))
        fits = at_least(rows, length) and equal(rows, call.shape(given["value"])[2]) is True
        return Cached(what, list(given.values()), length, fits)

    def rows(self, query: Value, key: Value, value: Value, *biases: Value, count: Value) -> tuple[Rows, Rows, Rows]:
        """Check the operands and return their rows."""
        size = self.length if isinstance(self.length, int) else as_index(count)
        if not self.fits:
            _require_rows(size, key, value)
        rows = Rows.of(query), Rows(key, size, is_by_head=True), Rows(value, size, is_by_head=True)
        check_sizes(self.what, *rows)
        check_biases(biases, *rows[:2])
        return rows


def _swap_axes(info: TensorInfo, length: Dim) -> TensorInfo:
    """Return [batch, heads, rows, size] as [batch, length, heads, size]."""
    batch, heads, _, size = info.shape  # type: ignore[misc]
    return info.with_shape((batch, length, heads, size))


def _require_rows(length: Size, *tensors: Value) -> None:
    loops.require(as_index(length) >= 0, "ValueError", "the length of keys and values is {}", as_index(length))
    for tensor in tensors:
        loops.require_at_most(length, linalg.sizes(tensor)[2], "length")


# ---- packed sequences ----


def sequence_count(starts: Value) -> Number:
    """Return the number of sequences. Each sequence ends where the next one starts."""
    return linalg.size(starts, 0) - 1


def sequence_range(starts: Value, position: Number) -> tuple[Number, Number]:
    """Return a sequence's start and length."""
    start, end = (as_index(loops.load(starts, number)) for number in (position, position + 1))
    return start, end - start


def check_sequences(
    what: Attention, tensors: Sequence[Value], of_queries: Value, of_keys: Value, grain: int | None = None
) -> None:
    """Raise ValueError if queries, keys, values and the starts of their sequences do not match."""
    query, key, _ = tensors
    check_sizes(what, *map(Rows.of, tensors))
    for tensor in tensors:
        loops.require_same(linalg.sizes(tensor)[0], 1, "batch of attention_var_len")
    loops.require_same(linalg.sizes(of_queries)[0], linalg.sizes(of_keys)[0], "number of sequences")
    _require_sequences(of_queries, query, "queries", grain)
    _require_sequences(of_keys, key, "keys", grain)


def _require_sequences(starts: Value, tensor: Value, what: str, grain: int | None) -> None:
    total = linalg.size(tensor, 1)

    def check(position: Number) -> None:
        start, length = sequence_range(starts, position)
        end = start + length
        message = f"a sequence starts at {{}} and ends at {{}}, of {{}} {what}"
        loops.require((start >= 0) & (start <= end) & (end <= total), "ValueError", message, start, end, total)

    loops.for_range(0, sequence_count(starts), check, grain=grain)


# ---- dynamic values ----


def check_sizes(what: Attention, query: Rows, key: Rows, value: Rows) -> None:
    shared = (
        ("batch size", (query, what.query, 0), (key, what.key, 0)),
        ("batch size", (query, what.query, 0), (value, what.value, 0)),
        ("length", (key, what.key, 1), (value, what.value, 1)),
        ("size of a head", (query, what.query, 3), (key, what.key, 3)),
    )
    for name, *pair in shared:
        known = [info.shape[axis] for _, info, axis in pair]  # type: ignore[index]
        if equal(*known) is not True:
            left, right = (rows.sizes[axis] for rows, _, axis in pair)
            loops.require_same(left, right, name)
    for rows, info in ((key, what.key), (value, what.value)):
        _check_heads(what, query, rows, info)


def _check_heads(what: Attention, query: Rows, other: Rows, info: TensorInfo) -> None:
    """Check the head counts. A head of key and value may serve several heads of query."""
    if equal(dim_mod(what.query.shape[_HEADS], info.shape[_HEADS]), 0) is True:  # type: ignore[index]
        return
    heads, own = (as_index(rows.sizes[_HEADS]) for rows in (query, other))
    is_some = own > 0
    loops.require(is_some, "ValueError", "key and value have no heads")
    divides = (heads % select(is_some, own, 1)) == 0
    loops.require(divides, "ValueError", "{} heads of query are no multiple of {}", heads, own)


def check_biases(biases: Sequence[Value], query: Rows, key: Rows) -> None:
    batch, queries, heads, _ = query.sizes
    for bias in biases:
        require_broadcast(bias, [batch, heads, queries, key.length])
