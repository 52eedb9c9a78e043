# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention on GPUs: kernels that need no memory for scores (attention/attention_kernels.py), for any sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from ...bindings.affine import identity
from ...bindings.ir import Value
from ...emit import linalg, loops
from ...emit.numbers import Number, Size, as_index, constant, maximum, minimum
from ...passes.legalize.call import LegalizeCall
from ...passes.legalize.known_sizes import by_name
from ...passes.legalize.rules import Legalized, register_legalize
from ..core.code import find_backend
from ..default.attention import (
    Cached,
    attention_of,
    blocks_of,
    check_biases,
    check_sequences,
    check_sizes,
    sequence_count,
    sequence_range,
)
from ..default.attention_blocks import Blocks, Rows
from .attention.attention_kernels import Tiles, attend, attend_to_sequences, attend_together
from .attention.flash_attention import ACROSS, Tile
from .attention.operands import Operands, RowPart

#: Chooses the tiles by the number of queries, and the sizes of a head's elements and results.
TileOf = Callable[[Blocks, Size, Size, Size], Tiles]
#: More queries occupy all blocks, or need more than one block of queries.
_FEW_QUERIES = 16


@register_legalize(["relax.nn.attention", "relax.nn.attention_bias"], target="gpu", by_types=True)
def attention(call: LegalizeCall, tile_of: TileOf | None = None) -> Legalized:
    what = attention_of(call)

    def body(*parameters: Value) -> None:
        *tensors, out = parameters
        query, key, value = map(Rows.of, tensors[:3])
        check_sizes(what, query, key, value)
        check_biases(tensors[3:], query, key)
        _attend_by_count(call, tile_of, blocks_of(what, query, key), query, key, value, tensors[3:], out)

    return call.loops(body)


@register_legalize("relax.nn.attention_cached", target="gpu", by_types=True)
def attention_cached(call: LegalizeCall, tile_of: TileOf | None = None) -> Legalized:
    """Compute attention with cached keys and values, which are read in place."""
    cached = Cached.of(call)

    def body(*parameters: Value) -> None:
        *tensors, count, out = parameters
        query, key, value = cached.rows(*tensors, count=count)
        _attend_by_count(call, tile_of, blocks_of(cached.what, query, key), query, key, value, tensors[3:], out)

    return call.loops(body, cached.operands)


@register_legalize("relax.nn.attention_var_len", target="gpu", by_types=True)
def attention_var_len(call: LegalizeCall, tile_of: TileOf | None = None) -> Legalized:
    """Compute attention of all packed sequences in one launch. Queries outside of all sequences yield zeros."""
    given = by_name(call.op, call.operands)
    what = attention_of(call)
    names = ("query", "key", "value", "seqstart_q", "seqstart_k")

    def body(query: Value, key: Value, value: Value, *rest: Value) -> None:
        (of_queries, *others), out = rest[:-1], rest[-1]
        of_keys = others[0] if others else of_queries
        check_sequences(what, (query, key, value), of_queries, of_keys, grain=1)
        zero = constant(0, what.dtype)
        linalg.generic([], [out], [identity(4)], [linalg.PARALLEL] * 4, lambda _: zero)
        _, rows, heads, size = linalg.sizes(query)
        width = linalg.sizes(value)[3]

        def sequence(position: Number) -> Operands:
            queries, keys = _range(of_queries, query, position), _range(of_keys, key, position)
            own, others = Rows(query, queries[1]), Rows(key, keys[1])
            parts = RowPart(own, queries[0]), RowPart(others, keys[0]), RowPart(Rows(value, keys[1]), keys[0])
            return Operands(blocks_of(what, own, others), *parts, RowPart(Rows(out, queries[1]), queries[0]), [], 0, 0)

        tile = (tile_of or _make_tile_factory(call))(blocks_of(what, Rows.of(query), Rows.of(key)), rows, size, width)
        attend_to_sequences(tile, heads, width, sequence_count(of_queries), rows, sequence)

    return call.loops(body, [given[name] for name in names if given[name] is not None])


def _attend_by_count(
    call: LegalizeCall,
    tile_of: TileOf | None,
    what: Blocks,
    query: Rows,
    key: Rows,
    value: Rows,
    biases: Sequence[Value],
    out: Value,
) -> None:
    """Choose the kernel by the number of queries, at run time if it is dynamic.

    Few queries process the keys in parts.
    """
    operands = what, query, key, value, biases, out
    sizes, by_threads = (query.sizes[3], value.sizes[3]), _make_tile_factory(call)

    def attend_to_many() -> None:
        attend((tile_of or by_threads)(what, query.length, *sizes), *operands)

    def attend_to_few() -> None:
        attend_together(by_threads(what, ACROSS, *sizes), *operands)

    if not isinstance(query.length, int):
        is_few = as_index(query.length) <= _FEW_QUERIES
        loops.when(is_few, attend_to_few, attend_to_many)
    elif query.length <= _FEW_QUERIES:
        attend_to_few()
    else:
        attend_to_many()


def _make_tile_factory(call: LegalizeCall) -> Callable[..., Tile]:
    machine = find_backend(call.target.name).machine(call.target)
    return partial(Tile.of, most=machine.shared_bytes, threads=machine.block_threads)


def _range(starts: Value, tensor: Value, position: Number) -> tuple[Number, Number]:
    """Return a sequence's start and length, clamped to the tensor. Another kernel reports errors."""
    total = linalg.size(tensor, 1)
    start, length = sequence_range(starts, position)
    inside = minimum(maximum(start, 0), total)
    return inside, maximum(minimum(start + length, total) - inside, 0)
