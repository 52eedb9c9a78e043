# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Embeddings from hidden states: pooling, shortening, normalization."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeGuard

import relax_mlir as rx

if TYPE_CHECKING:
    from numpy import ndarray

#: Hidden state of the last token, the mean of all hidden states, or the hidden state of the first token.
Pooling = Literal["last", "mean", "cls"]
ALL_POOLINGS: tuple[Pooling, ...] = ("last", "mean", "cls")


def poolings(is_encoder: bool) -> tuple[Pooling, ...]:
    """Return the poolings of a model. The first token sees other tokens in an encoder only."""
    return ALL_POOLINGS if is_encoder else ALL_POOLINGS[:2]


def is_pooling(name: object, is_encoder: bool) -> TypeGuard[Pooling]:
    """Check whether a name is the name of a pooling."""
    return name in poolings(is_encoder)


def checked_pooling(name: object, is_encoder: bool) -> Pooling:
    """Return the name of a pooling. Raise OptionError for another name."""
    if not is_pooling(name, is_encoder):
        raise rx.OptionError(f"pooling={name!r}: expected one of {', '.join(poolings(is_encoder))}")
    return name


def checked_dimensions(dimensions: object, width: int) -> int:
    """Return the number of dimensions of embeddings, `width` for None. Raise OptionError for another number."""
    if dimensions is None:
        return width
    if not isinstance(dimensions, int) or isinstance(dimensions, bool) or not 1 <= dimensions <= width:
        raise rx.OptionError(
            f"dimensions={dimensions!r}: expected an integer from 1 to {width}, the width of the model"
        )
    return dimensions


def normalized(vectors: ndarray, dimensions: int) -> ndarray:
    """Return the first dimensions of vectors, in f32 and with the length 1. Vectors of zeros stay."""
    import numpy

    kept = vectors[..., :dimensions].astype(numpy.float64)
    lengths = numpy.sqrt((kept * kept).sum(-1, keepdims=True))
    found: ndarray = (kept / numpy.where(lengths == 0, 1, lengths)).astype(numpy.float32)
    return found
