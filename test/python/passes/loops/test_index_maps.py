# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Index maps: injectivity for all final sizes."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from relax_mlir.dialects.core.symbols_expr import make_variable
from relax_mlir.passes.kernels.loops.handles import IndexMap

import relax_mlir as rx

N, M = make_variable("n"), make_variable("m")


@pytest.mark.parametrize(
    ("function", "shape", "expected"),
    [
        (lambda i: (i // 4, i % 4), (30,), True),
        (lambda i: (i // 4, i % 4), (N,), True),
        (lambda i: (i % 64,), (64,), True),
        (lambda i: (i % 64,), (65,), False),
        (lambda i: (i % 64,), (N,), False),
        (lambda i: (i // 128, i % 64, i % 2), (N,), False),
        (lambda i, j: (i * 100 + j,), (3, 100), True),
        (lambda i, j: (i * 100 + j,), (3, 101), False),
        (lambda i, j: (i * 100 + j,), (3, N), False),
        (lambda i, j: (i * 100 + j,), (N, 100), True),
        (lambda i, j: (i * 5000 + j,), (4000, 5001), False),
        (lambda i, j: (j, i), (N, M), True),
        (lambda i, j: (j // 16, i, j % 16), (N, 5000), True),
        (lambda i, j: (i + j,), (N, M), False),
        (lambda i: (i // 2,), (0,), True),
        (lambda i, j: (i // 2003, j // 1999, i % 2003, j % 1999), (N, M), True),
        (lambda i: (i // 4, i % 4), (10,), True),
        (lambda i: (i // 4, i % 3), (10,), False),
        (lambda i, j: (j, i), (3, 4), True),
        (lambda i, j: (i + j,), (1, 4), True),
        (lambda i, j: (i + j,), (2, 4), False),
        (lambda i, j: (i * 4 + j,), (3, 4), True),
        (lambda i, j: (i * 4 + j,), (3, 5), False),
        (lambda i, j: (i, 0), (3, 1), True),
        (lambda i, j: (i, 0), (3, 2), False),
        (lambda i, j: (i, j), (0, 4), True),
        # For many elements, places far along each dimension are tried as well.
        (lambda i, j: (i % 64, j), (4096, 2048), False),
        (lambda i, j: (i, j % 2047), (4096, 2048), False),
        (lambda i, j: (i * 2047 + j,), (4096, 2048), False),
        (lambda i, j: (i * 2048 + j,), (4096, 2048), True),
        (lambda i, j: (i // 64, j, i % 64), (4096, 2048), True),
        (lambda i: (i % 5000,), (1 << 22,), False),
        # Of open sizes some.
        (lambda i: (i % 64,), (N,), False),
        (lambda i: (i // 64, i % 64), (N,), True),
        (lambda i, j: (i, j % 4), (N, 5), False),
    ],
)
def test_injective(function: Callable[..., Any], shape: tuple[Any, ...], expected: bool) -> None:
    assert IndexMap.of(function).is_injective(shape) is expected


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda i: i / 2, "the index map: TypeError"),
        (lambda i: "a", "an index map must return indices, computed from its parameters"),
        (lambda i: (i, True), "an index map must return indices, computed from its parameters"),
        (int, "the index map: ValueError"),
        (lambda: 1 / 0, "the index map: ZeroDivisionError"),
    ],
)
def test_functions_that_are_no_index_maps_are_refused(function: Callable[..., Any], message: str) -> None:
    with pytest.raises(rx.RelaxError, match=message):
        IndexMap.of(function)


@pytest.mark.parametrize(
    ("map_", "shape"),
    [
        (lambda i, j: (j, i), (3, 5)),
        (lambda i, j: (i // 4, j, i % 4), (8, 3)),
        (lambda i, j: (i * 6 + j,), (5, 6)),
        (lambda i: (i // 12, i // 3 % 4, i % 3), (24,)),
        (lambda i, j: (j % 4 * 6 + i, j // 4), (6, 8)),
    ],
    ids=["transposed", "split", "fused", "digits", "mixed"],
)
def test_inverse(map_: Callable[..., Any], shape: tuple[int, ...]) -> None:
    """From each place back to the element that is there."""
    index_map = IndexMap.of(map_)
    names = [f"v{number}" for number in range(len(index_map.results))]
    inverse = index_map.inverse(names, shape)
    assert inverse is not None
    for point in itertools.product(*map(range, shape)):
        assert inverse.at(index_map.at(point)) == point


@pytest.mark.parametrize(
    ("map_", "shape"),
    [
        (lambda i, j: (i * 5 + j,), (5, 6)),
        (lambda i: (i // 4, i % 4), (10,)),
        (lambda i, j: (i,), (3, 5)),
        (lambda i: (i // 4, i % 3), (12,)),
        (lambda i: (-i + 3,), (4,)),
    ],
    ids=["overlapping", "with a rest", "without an iter", "no digits", "downwards"],
)
def test_no_inverse(map_: Callable[..., Any], shape: tuple[int, ...]) -> None:
    index_map = IndexMap.of(map_)
    assert index_map.inverse([f"v{number}" for number in range(len(index_map.results))], shape) is None
