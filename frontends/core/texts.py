# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors of strings. No program has strings. If all possible strings are known, their indices represent them."""

from __future__ import annotations

from collections.abc import Sequence

from ...dialects import relax
from .tensors import const
from .values import Array, Texts, Value


def texts_of(strings: Sequence[str], shape: Sequence[int]) -> Texts:
    """Return a constant tensor of strings."""
    import numpy

    words = list(dict.fromkeys(strings)) or [""]
    places = {word: place for place, word in enumerate(words)}
    array = numpy.array([places[string] for string in strings], "int64")
    return Texts(Value(array=array.reshape(tuple(shape))), words)


def looked_up(texts: Texts, table: Array) -> Value:
    """Map each string to the element of an array, which is in the order of the words."""
    if texts.places.array is not None:
        return Value(array=table[texts.places.array])
    return Value(ssa=relax.take(const(table), texts.places.ssa, axis=0))


def numbered(texts: Texts, known: Sequence[str]) -> Value:
    """Return the index of each string in `known`, or -1 if it is not there."""
    import numpy

    places = {word: place for place, word in enumerate(known)}
    return looked_up(texts, numpy.array([places.get(word, -1) for word in texts.words], "int64"))


def of_words(texts: Texts, words: Sequence[str]) -> Texts:
    """Return the same strings as indices into other words, which must include all of them."""
    return texts if texts.words == tuple(words) else Texts(numbered(texts, words), words)


def all_words(several: Sequence[Texts]) -> list[str]:
    return list(dict.fromkeys(word for texts in several for word in texts.words))
