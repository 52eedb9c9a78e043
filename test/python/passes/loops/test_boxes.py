# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elements that an access reaches in one step of a loop: every place of a box, or unknown."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from relax_mlir.dialects.core.symbols_expr import Size, make_variable, substituted
from relax_mlir.passes.kernels.loops.boxes import box_of
from relax_mlir.passes.kernels.loops.ranges import Range
from relax_mlir.passes.kernels.loops.tree import Access, variable
from relax_mlir.passes.kernels.loops.tree_buffers import Buffer

OUTER = variable("o", 5)
INNER = {"a": 3, "b": 4, "c": 2}


def access(*indices: Size) -> Access:
    buffer: Any = Buffer("B", tuple(1000 for _ in indices), None)  # type: ignore[arg-type]  # of no type: nothing asks
    return Access(buffer, indices)


a, b, c = (variable(name, extent) for name, extent in INNER.items())


@pytest.mark.parametrize(
    ("indices", "expected"),
    [
        ((a, b), [Range(0, 3), Range(0, 4)]),
        ((OUTER * 3 + a, b + 1), [Range(OUTER * 3, 3), Range(1, 4)]),
        ((a * 4 + b,), [Range(0, 12)]),
        ((a * 3 + b,), [Range(0, 10)]),
        ((a * 5 + b,), None),
        ((a, a), None),
        ((a + b, b), None),
        (((a * 4 + b) // 6, (a * 4 + b) % 6), [Range(0, 2), Range(0, 6)]),
        (((a * 4 + b) // 5, (a * 4 + b) % 5), None),
        (((OUTER * 3 + a) // 4,), None),
        (((OUTER * 4 + b) // 4, (OUTER * 4 + b) % 4), [Range(OUTER, 1), Range(0, 4)]),
        ((-1 * a + 2,), [Range(0, 3)]),
        ((OUTER,), [Range(OUTER, 1)]),
    ],
)
def test_boxes(indices: tuple[Size, ...], expected: list[Range] | None) -> None:
    assert box_of(access(*indices), INNER) == expected


@pytest.mark.parametrize(
    ("indices", "expected"),
    [
        (lambda n, s: (s, b), lambda n: [Range(0, n), Range(0, 4)]),
        (lambda n, s: (s * 4 + b,), lambda n: [Range(0, 4 * n)]),
        (lambda n, s: (s * 5 + b,), lambda n: None),
        (lambda n, s: (s + b,), lambda n: [Range(0, n + 3)]),
        (lambda n, s: (s, s), lambda n: None),
        (lambda n, s: (s // 2,), lambda n: None),
        (lambda n, s: (-1 * s,), lambda n: [Range(1 - n, n)]),
    ],
)
def test_boxes_of_open_sizes(indices: Any, expected: Any) -> None:
    n, s = make_variable("n"), make_variable("s")
    assert box_of(access(*indices(n, s)), {"s": n, "b": 4}) == expected(n)


_FACTORS = st.integers(-3, 12)


@given(rows=st.lists(st.tuples(_FACTORS, _FACTORS, _FACTORS), min_size=1, max_size=2), modulus=st.integers(0, 7))
def test_boxes_are_what_enumeration_gives(rows: list[tuple[int, int, int]], modulus: int) -> None:
    indices: list[Size] = [OUTER + x * a + y * b + z * c for x, y, z in rows]
    if modulus:
        inner = 4 * a + b
        indices += [inner // modulus, inner % modulus]
    points = {
        tuple(substituted(index, {"o": 2, "a": i, "b": j, "c": k}) for index in indices)
        for i, j, k in itertools.product(*map(range, INNER.values()))
    }
    spans = [(min(each), max(each)) for each in zip(*points, strict=True)]
    is_box = len(points) == len(list(itertools.product(*(range(low, high + 1) for low, high in spans))))
    found = box_of(access(*indices), INNER)
    assert (found is not None) == is_box
    for each, (low, high) in zip(found or [], spans if is_box else [], strict=True):
        assert (substituted(each.start, {"o": 2}), each.extent) == (low, high - low + 1)
