# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converter of TfIdfVectorizer: counts of a pool's n-grams, which are runs of tokens, also with gaps."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ....dialects.core.infos import is_int
from ....dialects.core.symbols import Dim
from ...core import sizes
from ...core.texts import numbered
from ..prelude import OnnxNode, Outputs, Tensor, Value, const, joined, register_onnx, relax
from . import key_tables

# More skipped tokens would make the graph too large to compile in a reasonable time.
_MOST_SKIPS = 256


class _Level(NamedTuple):
    """Prefixes of n-grams of one length: their keys, and the result's columns of complete n-grams."""

    keys: list[int]
    columns: list[int]


class _Pool:
    """The n-grams as a tree of prefixes, level by level.

    A token's number is its index among the sorted tokens. A prefix's number is its index among the prefixes of its
    length, sorted by key. The key is (number of the prefix without the last token) * (number of tokens) + (number of
    the last token).
    """

    def __init__(self, grams: dict[tuple[int, ...], int], width: int):
        self.tokens = sorted({token for gram in grams for token in gram})
        numbers = {token: number for number, token in enumerate(self.tokens)}
        self.levels: list[_Level] = []
        places: dict[tuple[int, ...], int] = {(): 0}
        for length in range(1, max(map(len, grams)) + 1):
            starts = {gram[:length] for gram in grams if len(gram) >= length}
            keyed = sorted((places[start[:-1]] * len(self.tokens) + numbers[start[-1]], start) for start in starts)
            places.update({start: place for place, (_, start) in enumerate(keyed)})
            # Prefixes that are not complete n-grams are counted in an extra column.
            columns = [grams.get(start, width) for _, start in keyed]
            self.levels.append(_Level([key for key, _ in keyed], [*columns, width]))


@register_onnx("", "TfIdfVectorizer")
def tf_idf_vectorizer(node: OnnxNode) -> Outputs:
    """Convert TfIdfVectorizer. Each token is looked up once.

    Then, for each gap, prefixes grow token by token, and each prefix is looked up by its key.
    """
    tokens = _tokens(node)
    if (rank := tokens.rank) not in (1, 2):
        raise node.fail(f"takes one or a batch of sequences (1-D or 2-D), not {rank}-D")
    mode = node.choice("mode", "", ("TF", "IDF", "TFIDF"))
    indexes = node.ints("ngram_indexes") or []
    if (width := max(indexes, default=-1) + 1) == 0:
        raise node.fail("has no n-grams", "ngram_indexes")
    x = relax.astype(tokens.ssa, dtype="i64")
    x = x if rank == 2 else relax.expand_dims(x, axis=[0])
    counts = _counts(node, x, sizes.sizes_of(tokens), width)
    counts = counts if rank == 2 else relax.squeeze(counts, axis=[0])
    return _apply_weights(node, counts, mode, width)


def _tokens(node: OnnxNode) -> Value:
    """Return the tokens as integers. Strings become their numbers in the pool."""
    texts = node.texts(0)
    if texts is not None and node.has_attribute("pool_strings"):
        return numbered(texts, _words(node))
    if texts is not None or node.has_attribute("pool_strings"):
        strings = "the n-grams" if texts is None else "the tokens"
        raise node.fail(
            f"n-grams and tokens must both be strings or both numbers, {strings} are strings", "pool_strings"
        )
    if not is_int(node.value(0).dtype):
        raise node.fail(f"tokens are integers, not {node.value(0).dtype}")
    return node.value(0)


def _words(node: OnnxNode) -> list[str]:
    """Return the strings of the pool in the order of their numbers."""
    return list(dict.fromkeys(node.strings("pool_strings") or []))


def _apply_weights(node: OnnxNode, counts: Tensor, mode: str, width: int) -> Tensor:
    """Apply the weights. The attribute has one weight per n-gram, in the order of the n-grams."""
    weights, indexes = node.floats("weights"), node.ints("ngram_indexes")
    if mode == "IDF":
        counts = relax.minimum(counts, const(1.0, "f32"))
    if mode == "TF" or not weights:
        return counts
    if len(weights) != len(indexes):
        raise node.fail(f"there are {len(weights)} weights for {len(indexes)} n-grams", "weights")
    by_column = dict(zip(indexes, weights, strict=True))
    if any(by_column[index] != weight for index, weight in zip(indexes, weights, strict=True)):
        raise node.fail("n-grams that are counted together have different weights", "weights")
    return relax.multiply(counts, const([by_column.get(column, 0.0) for column in range(width)], "f32"))


def _counts(node: OnnxNode, x: Tensor, shape: Sequence[Dim], width: int) -> Tensor:
    """Count each n-gram in each row: [rows, width]."""
    rows = shape[0] if len(shape) == 2 else 1
    if not (found := list(_columns(node, x, shape[-1], width))):
        return sizes.full([rows, width], const(0.0, "f32"))
    columns = joined(found, axis=1)
    start = sizes.full([rows, width + 1], const(0.0, "f32"))
    ones = relax.ones_like(columns, dtype="f32")
    counted = relax.scatter_elements(start, columns, ones, axis=1, reduction="add")
    return relax.strided_slice(counted, axes=[1], begin=[0], end=[width])


def _columns(node: OnnxNode, x: Tensor, length: Dim, width: int) -> Iterator[Tensor]:
    """Yield the columns of the n-grams that start at each token, for each gap and length of n-grams."""
    shortest, longest = node.int("min_gram_length", 1), node.int("max_gram_length", 1)
    skips = node.int("max_skip_count", 0)
    if not 0 <= skips <= _MOST_SKIPS or not 1 <= shortest <= longest:
        raise node.fail(f"needs 1 <= min_gram_length <= max_gram_length, 0 <= max_skip_count <= {_MOST_SKIPS}")
    if not (grams := _grams(node, shortest, longest)):
        return
    pool = _Pool(grams, width)
    tokens = _look_up(x, pool.tokens)
    # Single tokens have no gaps, so they count once.
    steps = range(1, skips + 2) if len(pool.levels) > 1 else range(1, 2)
    for step in steps:
        place: Tensor | None = None
        for size, level in enumerate(pool.levels, 1):
            place = _extend_prefix(place, _shift_tokens(tokens, step * (size - 1), length), len(pool.tokens), level)
            if size >= shortest and (size > 1 or step == 1):
                yield _column(place, level)


def _grams(node: OnnxNode, shortest: int, longest: int) -> dict[tuple[int, ...], int]:
    """Return the n-grams of the requested lengths, and the result's column for each."""
    words = {word: number for number, word in enumerate(_words(node))}
    pool = [words[string] for string in node.strings("pool_strings") or []] or node.ints("pool_int64s") or []
    indexes = node.ints("ngram_indexes") or []
    if (starts := [*(node.ints("ngram_counts") or []), len(pool)]) != sorted(starts) or starts[0] < 0:
        raise node.fail("attribute 'ngram_counts' must be increasing and within the pool", "ngram_counts")
    grams: dict[tuple[int, ...], int] = {}
    number = 0
    for size, (start, end) in enumerate(itertools.pairwise(starts), 1):
        for place in range(start, end - size + 1, size):
            gram = tuple(pool[place : place + size])
            if number >= len(indexes) or indexes[number] < 0 or gram in grams:
                raise node.fail("each n-gram of the pool must occur once and have an index", "pool_int64s")
            if shortest <= size <= longest:
                grams[gram] = indexes[number]
            number += 1
    return grams


def _look_up(x: Tensor, known: Sequence[int]) -> Tensor:
    """Return the index of each element among numbers, or -1."""
    import numpy

    return key_tables.looked_up(x, numpy.array(known, "int64"), numpy.arange(len(known)), -1)


def _shift_tokens(tokens: Tensor, distance: int, length: Dim) -> Tensor:
    """Shift the tokens to the left by a distance. Positions behind the end get -1."""
    if distance == 0:
        return tokens
    wide = relax.nn.pad(tokens, pad_width=[0, 0, 0, distance], pad_value=-1)
    return sizes.stated(relax.strided_slice(wide, axes=[1], begin=[distance], end=[2**63 - 1]), [None, length])


def _extend_prefix(place: Tensor | None, token: Tensor, tokens: int, level: _Level) -> Tensor:
    """Return the number of the prefix extended by one token, or -1 if there is none."""
    if place is None:
        return _look_up(token, level.keys)
    key = relax.add(relax.multiply(place, const(tokens, "i64")), token)
    is_open = relax.greater_equal(relax.minimum(place, token), const(0, "i64"))
    return _look_up(relax.where(is_open, key, const(-1, "i64")), level.keys)


def _column(place: Tensor, level: _Level) -> Tensor:
    none = const(len(level.keys), "i64")
    return relax.take(const(level.columns, "i64"), relax.where(relax.less(place, const(0, "i64")), none, place), axis=0)
