# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sums of products over labelled dimensions, like einsum: the basis of matrix products and attention.

The loops run over the labels of the result, then over the summed labels.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import reduce
from operator import mul
from typing import NamedTuple

from ..bindings.ir import AffineMap, Value
from ..dialects.core.infos import TensorInfo, is_bool
from ..dialects.core.symbols import Dim, equal
from ..dialects.relax.infer.broadcast import broadcast_dim
from . import linalg, loops
from .arithmetic import element
from .broadcast import AT_ZERO, MAYBE, Place, broadcast_generic, deciding, require_broadcastable
from .conversions import accumulator
from .numbers import Number, as_index


class Factor(NamedTuple):
    """Factor of a product, and the map from an iteration to its element."""

    value: Value
    dtype: str
    map: AffineMap


def sum_of_products(
    factors: Sequence[Factor], out: Value, dtype: str, out_map: AffineMap, iterators: Sequence[str]
) -> Value:
    """Overwrite `out`, with elements of `dtype`, by sums of products.

    Narrow floats are accumulated wide and rounded once.
    """
    if linalg.REDUCTION in iterators:
        add_all = lambda zeros: products_added(factors, zeros, dtype, out_map, iterators)  # noqa: E731
        return summed([factor.dtype for factor in factors], out, dtype, add_all)
    return _combine_products(factors, out, dtype, out_map, iterators, lambda product, _: product.to(dtype))


def summed(dtypes: Sequence[str], out: Value, dtype: str, add_all: Callable[[Value], Value]) -> Value:
    """Overwrite `out` by the result of `add_all(zeros)`. The zeros have the accumulator type of such factors."""
    wide = accumulator(dtype, dtypes)
    total = out if wide == dtype else linalg.empty(linalg.sizes(out), element(wide))
    total = add_all(linalg.fill(0, total))
    return total if wide == dtype else converted(total, wide, out, dtype)


def products_added(
    factors: Sequence[Factor], total: Value, dtype: str, out_map: AffineMap, iterators: Sequence[str]
) -> Value:
    """Return the total, which later becomes a `dtype`, plus the sums of products."""
    return _combine_products(factors, total, dtype, out_map, iterators, lambda product, so_far: add(so_far, product))


def _combine_products(
    factors: Sequence[Factor],
    out: Value,
    dtype: str,
    out_map: AffineMap,
    iterators: Sequence[str],
    combine: Callable[[Number, Number], Number],
) -> Value:
    """Return `out` with each element replaced by `combine(product, element)`. The products are computed wide."""
    wide = accumulator(dtype, [factor.dtype for factor in factors])

    def body(*scalars: Number) -> Number:
        *given, element = scalars
        product = reduce(mul, [x.of(factor.dtype).to(wide) for x, factor in zip(given, factors, strict=True)])
        return combine(product, element)

    maps = [*(factor.map for factor in factors), out_map]
    return linalg.generic([factor.value for factor in factors], [out], maps, iterators, body)[0]


def add(left: Number, right: Number) -> Number:
    """Add two numbers; for booleans, return True if either is true."""
    return left | right if is_bool(left.dtype) else left + right


def converted(source: Value, source_dtype: str, out: Value, dtype: str) -> Value:
    """Return `out` with the converted elements of a tensor of the same shape."""
    return linalg.parallel([source], out, lambda value: value.of(source_dtype).to(dtype))


class Term(NamedTuple):
    """Factor of a contraction: its value, its type in the graph, and a label per dimension."""

    value: Value
    info: TensorInfo
    labels: tuple[str, ...]

    def sizes(self, label: str) -> list[Dim]:
        assert self.info.shape is not None
        return [size for own, size in zip(self.labels, self.info.shape, strict=True) if own == label]


def label_size(terms: Sequence[Term], label: str) -> Dim:
    """Return the static size of a label. Sizes of 1 broadcast."""
    size: Dim = 1
    for term in terms:
        for own in term.sizes(label):
            size = broadcast_dim(size, own)
    return size


def runtime_size(terms: Sequence[Term], label: str) -> Number:
    """Return a label's size at run time as an index."""
    size = as_index(1)
    for term in terms:
        for axis, own in enumerate(term.labels):
            if own == label:
                size = as_index(deciding(size, linalg.size(term.value, axis)))
    return size


def contraction(
    terms: Sequence[Term], out: Value, labels: Sequence[str], dtype: str, exact: Collection[str] = ()
) -> Value:
    """Overwrite `out`, which has a label per dimension, by sums of products.

    Sizes of labels broadcast. The sizes of `exact` labels, and of a label that occurs twice in a tensor, must be equal.
    """
    for label in dict.fromkeys(label for term in terms for label in term.labels):
        _check_label(terms, label, label in exact)
    factors = []
    for term in terms:
        places = _places(terms, term, exact)
        value = _broadcast(terms, term, places, out, labels)
        own = tuple(None if at is AT_ZERO else label for at, label in zip(places, term.labels, strict=True))
        factors.append(Labelled(value, term.info.dtype, own))
    return labelled_product(factors, out, labels, dtype)


class Labelled(NamedTuple):
    """Factor with a label per dimension, or None for a dimension that is only read at 0."""

    value: Value
    dtype: str
    labels: Sequence[str | None]


def labelled_product(factors: Sequence[Labelled], out: Value, labels: Sequence[str], dtype: str) -> Value:
    """Overwrite `out`, which has a label per dimension, by sums of products."""
    every = [*labels, *(label for factor in factors for label in factor.labels if label is not None)]
    loop = {label: position for position, label in enumerate(dict.fromkeys(every))}
    mapped = [
        Factor(value, own_dtype, linalg.select_dims(len(loop), [None if each is None else loop[each] for each in own]))
        for value, own_dtype, own in factors
    ]
    iterators = [linalg.PARALLEL] * len(labels) + [linalg.REDUCTION] * (len(loop) - len(labels))
    return sum_of_products(mapped, out, dtype, linalg.select_dims(len(loop), list(range(len(labels)))), iterators)


def _places(terms: Sequence[Term], term: Term, exact: Collection[str]) -> list[str | None]:
    """Return for each dimension its label, AT_ZERO if only this size is 1, or MAYBE if unknown."""
    assert term.info.shape is not None
    return [
        label if label in exact else _place(label, size, [own for each in terms for own in each.sizes(label)])
        for label, size in zip(term.labels, term.info.shape, strict=True)
    ]


def _place(label: str, size: Dim, sizes: Sequence[Dim]) -> str | None:
    whole = reduce(broadcast_dim, sizes)
    if len(sizes) == 1 or equal(size, whole) is True or equal(size, 1) is False:
        return label
    return AT_ZERO if equal(size, 1) is True else MAYBE


def _check_label(terms: Sequence[Term], label: str, is_exact: bool) -> None:
    """Check at run time that sizes agree, unless the types prove it."""
    axes = [
        (term, axis, size)
        for term in terms
        for axis, (own, size) in enumerate(zip(term.labels, term.info.shape or (), strict=True))
        if own == label
    ]
    for position, (term, axis, size) in enumerate(axes):
        for other, other_axis, other_size in axes[:position]:
            broadcasts = not is_exact and other is not term
            if equal(size, other_size) is True or (broadcasts and 1 in (size, other_size)):
                continue
            _require_equal(linalg.size(other.value, other_axis), linalg.size(term.value, axis), label, broadcasts)


def _require_equal(one: Number, other: Number, label: str, broadcasts: bool) -> None:
    message = f"sizes of dimension '{label}' do not agree: {{}} and {{}}"
    if broadcasts:
        require_broadcastable(one, other, message)
    else:
        loops.require(one == other, "ValueError", message, one, other)


def _broadcast(
    terms: Sequence[Term], term: Term, places: Sequence[str | None], out: Value, labels: Sequence[str]
) -> Value:
    """Return the term's tensor, or a copy of full size if a dimension may be 1 at run time."""
    if MAYBE not in places:
        return term.value
    sizes = linalg.sizes(term.value)
    plan: list[Place] = list(range(len(sizes)))
    for axis, place in enumerate(places):
        if place == MAYBE:
            label = term.labels[axis]
            in_result = label in labels
            sizes[axis] = linalg.size(out, list(labels).index(label)) if in_result else runtime_size(terms, label)
            plan[axis] = (MAYBE, axis)
    full = linalg.empty(sizes, term.value.type.element_type)
    return broadcast_generic([term.value], full, [plan], lambda value: value)
