# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Maps between loops, against Python's evaluation of their texts at each point."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from relax_mlir.bindings.affine import (
    Linear,
    by_operators,
    compose,
    dims_in,
    identity,
    inverse,
    linear_form,
    plain_dim,
    shifted_dim,
    value_of,
    visits_once,
)
from relax_mlir.bindings.mlir import ir

RANK = 3
OF_ONE_DIM = [f"d{dim}{more}" for dim in range(RANK) for more in ("", " * 2", " + 3", " * 2 + 1", " * 0", " - 1")]
OTHERS = ["0", "d0 + d1", "d1 + d0", "d1 floordiv 2", "d2 mod 2", "d0 * 2 + d2", "(d1 floordiv 2) * 3"]


@pytest.fixture(autouse=True, scope="module")
def context() -> Iterator[None]:
    with ir.Context():
        yield


def parsed(results: Sequence[str], rank: int = RANK) -> Any:
    dims = ", ".join(f"d{dim}" for dim in range(rank))
    return ir.Attribute.parse(f"affine_map<({dims}) -> ({', '.join(results)})>").value


def at(map_: Any, point: Sequence[int]) -> tuple[int, ...]:
    names = {f"d{dim}": value for dim, value in enumerate(point)}
    texts = [str(result).replace("floordiv", "//").replace("mod", "%") for result in map_.results]
    return tuple(eval(text, {}, names) for text in texts)


expressions = st.sampled_from([*OF_ONE_DIM, *OTHERS])


@given(st.lists(expressions, max_size=3), st.lists(expressions, min_size=RANK, max_size=RANK))
def test_composition(outer: list[str], inner: list[str]) -> None:
    both = compose(parsed(outer), parsed(inner))
    assert both.n_dims == RANK
    for point in [(0, 1, 2), (5, 3, 4)]:
        assert at(both, point) == at(parsed(outer), at(parsed(inner), point))
    assert compose(identity(RANK), parsed(inner)) == parsed(inner)


@pytest.mark.parametrize("rank", range(4))
def test_inverses(rank: int) -> None:
    for order in itertools.permutations(range(rank)):
        permutation = parsed([f"d{dim}" for dim in order], rank)
        point = tuple(range(10, 10 + rank))
        assert at(inverse(permutation), at(permutation, point)) == point
        assert compose(inverse(permutation), permutation) == identity(rank)
        assert inverse(inverse(permutation)) == permutation


def test_plain_dimensions() -> None:
    assert [plain_dim(each) for each in parsed(["d2", "d0 + 1", "d1 * 2", "0", "d0"]).results] == [
        2,
        None,
        None,
        None,
        0,
    ]


bounds = st.lists(st.sampled_from([1, 2, 3, None]), min_size=RANK, max_size=RANK)


def is_injective(map_: Any, sizes: list[int | None]) -> bool:
    points = list(itertools.product(*(range(size or 3) for size in sizes)))
    return len({at(map_, point) for point in points}) == len(points)


@given(st.lists(expressions, max_size=4), bounds)
def test_points_that_are_visited_once(results: list[str], sizes: list[int | None]) -> None:
    assert is_injective(parsed(results), sizes) or not visits_once(parsed(results), sizes)


@given(st.lists(st.sampled_from(OF_ONE_DIM), max_size=4), bounds)
def test_visits_once_is_exact_for_results_of_one_dimension(results: list[str], sizes: list[int | None]) -> None:
    assert visits_once(parsed(results), sizes) == is_injective(parsed(results), sizes)


@given(expressions, st.tuples(*[st.integers(0, 9)] * RANK))
def test_values_are_those_of_the_text(text: str, point: tuple[int, ...]) -> None:
    map_ = parsed([text])
    assert value_of(map_.results[0], point.__getitem__, by_operators) == at(map_, point)[0]


@pytest.mark.parametrize("text, dims, plain, shifted, form", [
    ("d1", {1}, 1, 1, Linear(((1, 1),))),
    ("d1 + 3", {1}, None, 1, Linear(((1, 1),), 3)),
    ("d1 * 2 - d0 + 1", {0, 1}, None, None, Linear(((0, -1), (1, 2)), 1)),
    ("(d1 + 4) * 3", {1}, None, None, Linear(((1, 3),), 12)),
    ("5", set(), None, None, Linear((), 5)),
    ("d0 floordiv 2 + d2", {0, 2}, None, None, None),
    ("d0 mod 4", {0}, None, None, None),
])  # fmt: skip
def test_affine_expressions_are_decomposed(
    text: str, dims: set[int], plain: int | None, shifted: int | None, form: object
) -> None:
    (expression,) = parsed([text]).results
    assert dims_in(expression) == dims
    assert (plain_dim(expression), shifted_dim(expression), linear_form(expression)) == (plain, shifted, form)


def test_expressions_with_symbols_need_values_of_symbols() -> None:
    map_ = ir.Attribute.parse("affine_map<(d0)[s0] -> (s0)>").value
    assert linear_form(map_.results[0]) is None
    assert value_of(map_.results[0], int, by_operators, symbol=[7].__getitem__) == 7


def test_rounding_up() -> None:
    map_ = parsed(["d0 ceildiv 4"])
    assert [value_of(map_.results[0], lambda _, i=i: i, by_operators) for i in (0, 1, 4, 5)] == [0, 1, 1, 2]
