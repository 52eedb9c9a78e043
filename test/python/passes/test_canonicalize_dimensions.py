# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-canonicalize on operators that move elements: every pair of axes there is, for tensors of few dimensions."""

from __future__ import annotations

from itertools import combinations, permutations, product
from typing import Any

import numpy
import pytest
from canonicalized import changes_nothing

from relax_mlir import relax

X = numpy.arange(6, dtype=numpy.float32).reshape(1, 2, 3)
TYPES = ["tensor<1x2x3xf32>", "tensor<?x?x?xf32>", 'tensor<1x?x?xf32, #relax.sym<[1, "n", "m"]>>']


def sets_of_axes(rank: int, most: int = 2) -> list[list[int]]:
    return [list(axes) for count in range(most + 1) for axes in combinations(range(rank), count)]


@pytest.mark.parametrize("type_", TYPES)
def test_two_permutations(type_: str) -> None:
    def build(x: Any) -> list[Any]:
        orders = [*permutations(range(3)), None]
        return [relax.permute_dims(relax.permute_dims(x, one), other) for one, other in product(orders, orders)]

    # One operator of each pair goes, and both of 8 + 8 inverse pairs (reversing has two names).
    assert changes_nothing(type_, X, build) >= 49


@pytest.mark.parametrize("type_", TYPES)
def test_two_expansions_and_their_squeezes(type_: str) -> None:
    def build(x: Any) -> list[Any]:
        results = []
        for first in sets_of_axes(5):
            if any(axis >= 3 + len(first) for axis in first):
                continue
            once = relax.expand_dims(x, first)
            rank = 3 + len(first)
            results.append(relax.squeeze(once, first))
            results += [relax.expand_dims(once, [axis]) for axis in range(rank + 1)]
            results += [relax.expand_dims(once, [-axis - 1]) for axis in range(rank + 1)]
        return results

    # All 15 inner operators, and the squeezes that undo them.
    assert changes_nothing(type_, X, build) == 30


@pytest.mark.parametrize("type_", ["tensor<1x1x2x1xf32>", "tensor<1x1x?x1xf32>"])
def test_two_squeezes_and_their_expansions(type_: str) -> None:
    array = numpy.ones((1, 1, 2, 1), dtype=numpy.float32)

    def build(x: Any) -> list[Any]:
        results = []
        for first in ([], [0], [1], [3], [-1], [0, 1], [1, 3], [0, -1]):
            once = relax.squeeze(x, first)
            left = [axis for axis in range(4) if axis not in [other % 4 for other in first]]
            results.append(relax.expand_dims(once, first))
            results += [relax.squeeze(once, [index]) for index, axis in enumerate(left) if axis != 2]
            results += [relax.squeeze(once, [index - len(left)]) for index, axis in enumerate(left) if axis != 2]
        return results

    # All 8 inner operators, and the expansions that undo them.
    assert changes_nothing(type_, array, build) == 16


def test_two_flips() -> None:
    def build(x: Any) -> list[Any]:
        return [relax.flip(relax.flip(x, one), other) for one, other in product(range(-3, 3), range(-3, 3))]

    # The six axes, by two names each, with themselves.
    assert changes_nothing(TYPES[0], X, build) == 2 * 12


def test_splits_joined_again() -> None:
    def build(x: Any) -> list[Any]:
        results = []
        for sections, axis, joined in product((2, 3, [1], [0, 2], [1, 1], [2, 9]), (1, 2, -1), (1, 2, -1, -2)):
            parts = relax.split(x, sections, axis)
            if axis % 3 == joined % 3:
                results += [
                    relax.concat(parts, joined),
                    relax.concat(parts[::-1], joined),
                    relax.concat(parts[1:], joined),
                ]
        return results

    assert changes_nothing(TYPES[0], X, build) > 30


def test_slices() -> None:
    limit = 2**63 - 1

    def build(x: Any) -> list[Any]:
        bounds = product((0, 1, -1, -3, -100, -limit), (0, 1, 2, 3, 100, limit, -1), (None, [1], [2]))
        slices = [relax.strided_slice(x, [2], [begin], [end], strides) for begin, end, strides in bounds]
        backward = [relax.strided_slice(x, [-1], [begin], [end], [-1]) for begin, end in ((limit, -limit), (0, 3))]
        return slices + backward

    # Three ends and four begins take everything, without strides and with strides of 1.
    assert changes_nothing(TYPES[0], X, build) == 4 * 3 * 2


@pytest.mark.parametrize("type_", TYPES)
def test_broadcasts(type_: str) -> None:
    def build(x: Any) -> list[Any]:
        first = [relax.broadcast_to(x, shape) for shape in ((1, 2, 3), (4, 2, 3), (2, 1, 2, 3))]
        return first + [relax.broadcast_to(value, (2, 4, 2, 3)) for value in first]

    assert changes_nothing(type_, X, build) >= 0


def test_consecutive_reshapes_are_merged() -> None:
    def build(x: Any) -> list[Any]:
        makers = [
            lambda value: relax.reshape(value, (3, 2)),
            lambda value: relax.reshape(value, (6,)),
            relax.flatten,
            lambda value: relax.expand_dims(value, [0]),
            lambda value: relax.reshape(value, (1, 2, 3)),
        ]
        return [second(first(x)) for first, second in product(makers, makers)] + [relax.flatten(relax.squeeze(x, [0]))]

    assert changes_nothing(TYPES[0], X, build) > 15


def test_broadcasts_of_unknown_sizes_stay() -> None:
    """Keep broadcasts: types with unknown sizes are equal although shapes are not."""

    def build(x: Any) -> list[Any]:
        longer = relax.shape_of(relax.concat([x, x, x], 0))
        zeros, ones = relax.zeros(longer, "f32"), relax.ones(longer, "f32")
        truth = relax.equal(zeros, zeros)
        return [
            relax.subtract(x, zeros),
            relax.multiply(x, ones),
            relax.where(truth, x, x),
            relax.where(relax.const(True), x, zeros),
            relax.broadcast_to(x, longer),
            relax.strided_slice(relax.broadcast_to(x, longer), [0], [0], [1]),
            relax.strided_slice(relax.broadcast_to(x, longer), [0], [1], [100]),
        ]

    assert changes_nothing("tensor<?xf32>", X.reshape(-1)[:1], build) == 0


def test_reshapes_between_unknown_sizes() -> None:
    def build(x: Any) -> list[Any]:
        return [relax.reshape(x, relax.shape_of(relax.permute_dims(x)))]

    assert changes_nothing("tensor<?x?xf32>", X.reshape(2, 3), build) == 0


def test_reshapes_of_nothing() -> None:
    def build(x: Any) -> list[Any]:
        return [relax.reshape(x, relax.shape_of(relax.concat([x, x], 0)))]

    assert changes_nothing("tensor<?x0xf32>", X.reshape(-1, 2)[:, :0], build) == 0
