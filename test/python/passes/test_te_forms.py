# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Padding and epilogues as te writes them: results equal numpy's, and loops have vectors and no tensors in between."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from te_workloads import SMALL_CONVOLUTIONS, Convolution, convolution, with_norm

import relax_mlir as rx
from relax_mlir import te


def planned(tensors: Sequence[Any]) -> str:
    """Return the text of a te function's module after its plans are chosen."""
    return str(rx.lower(te.create_prim_func(tensors), "llvm", pipeline=rx.stages("llvm").until("plan")))


def results(tensors: Sequence[Any], *arrays: np.ndarray) -> list[np.ndarray]:
    """Return the results with one thread and with three."""
    program, found = rx.compile(te.create_prim_func(tensors)), []
    for program.threads in (1, 3):
        found.append(np.asarray(program["main"](*arrays)))
    return found


def bordered(sizes: Sequence[int], data: Any, ranges: Sequence[tuple[int, int]], shifts: Sequence[int]) -> Any:
    """Return data inside of ranges, at shifted indices, and 7 around them."""

    def element(*place: Any) -> Any:
        inside = [part for at, (start, end) in zip(place, ranges, strict=True) for part in (start <= at, at < end)]
        at = tuple(each + shift for each, shift in zip(place, shifts, strict=True))
        return te.if_then_else(te.all(*inside), data[at], 7.0)

    return te.compute(tuple(sizes), element, name="bordered")


@given(st.data())
@draws(40)
def test_borders_by_conditions_are_copies(draw: st.DataObject) -> None:
    sizes = draw.draw(st.lists(st.integers(1, 9), min_size=1, max_size=3))
    ranges, shifts, shape = [], [], []
    for size in sizes:
        start = draw.draw(st.integers(0, size - 1))
        end = draw.draw(st.integers(start + 1, size))
        first, more = draw.draw(st.integers(0, 3)), draw.draw(st.integers(0, 3))
        ranges.append((start, end))
        shifts.append(first - start)
        shape.append(first + end - start + more)
    data = te.placeholder(tuple(shape), name="data")
    tensors = [data, bordered(sizes, data, ranges, shifts)]
    array = np.random.default_rng(0).standard_normal(shape).astype("f4")
    expected = np.full(sizes, 7, "f4")
    taken = tuple(slice(start + shift, end + shift) for (start, end), shift in zip(ranges, shifts, strict=True))
    expected[tuple(slice(*each) for each in ranges)] = array[taken]
    assert "scf.if" not in planned(tensors) or all((0, size) == each for size, each in zip(sizes, ranges, strict=True))
    for found in results(tensors, array):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("condition", "truth"),
    [
        (lambda i, j: i >= j, lambda i, j: i >= j),
        (lambda i, j: te.any(i < 2, i >= 5), lambda i, j: (i < 2) | (i >= 5)),
        (lambda i, j: te.all(i >= 1, i * 2 < 12), lambda i, j: (i >= 1) & (i < 6)),
        (lambda i, j: te.all(i >= 1, i < 6, j % 2 == 0), lambda i, j: (i >= 1) & (i < 6) & (j % 2 == 0)),
    ],
    ids=["two loops", "one of two", "twice the index", "remainder"],
)
def test_other_conditions_stay(condition: Any, truth: Any) -> None:
    data = te.placeholder((8, 8), name="data")
    result = te.compute((8, 8), lambda i, j: te.if_then_else(condition(i, j), data[i, j], 0.0), name="result")
    array = np.random.default_rng(0).standard_normal((8, 8)).astype("f4")
    for found in results([data, result], array):
        np.testing.assert_array_equal(found, np.where(truth(*np.indices((8, 8))), array, 0))


def test_windows_over_borders_by_conditions_are_cut() -> None:
    """A padded copy that exceeds the first cache is made in parts, as for the operator of the graph."""
    data, weight = te.placeholder((1, 32, 40, 40), name="data"), te.placeholder((32, 3, 3), name="weight")
    around = bordered((1, 32, 42, 42), data, [(0, 1), (0, 32), (1, 41), (1, 41)], [0, 0, -1, -1])
    x, y = (te.reduce_axis((0, 3), name=name) for name in "xy")
    result = te.compute(
        (1, 32, 40, 40),
        lambda n, c, i, j: te.sum(around[n, c, i + x, j + y] * weight[c, x, y], axis=[x, y]),
        name="result",
    )
    module = te.create_prim_func([data, weight, result])
    small = "llvm{caches=1K,2K cores=2}"
    assert "scf.for" in str(rx.lower(module, small, pipeline=rx.stages(small).until("plan")))
    random = np.random.default_rng(0)
    image, taps = (random.standard_normal(shape).astype("f4") for shape in ((1, 32, 40, 40), (32, 3, 3)))
    windows = np.pad(image, [(0, 0), (0, 0), (1, 1), (1, 1)], constant_values=7)
    windows = np.lib.stride_tricks.sliding_window_view(windows, (3, 3), (2, 3))
    program = rx.compile(module, small)
    for program.threads in (1, 3):
        found = np.asarray(program["main"](image, taps))
        np.testing.assert_allclose(found, np.einsum("ncijxy,cxy->ncij", windows, taps), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("sizes", [SMALL_CONVOLUTIONS["C2D"], Convolution(1, (20, 20), 3, 32, 3, 2, 1)])
def test_chain_behind_a_sum_is_its_epilogue(sizes: Convolution) -> None:
    work = with_norm(sizes)
    text = planned(work.tensors)
    assert text.count('tir.plan = "epilogue') == 1
    assert text.count("arith.maximumf") == text.count("arith.mulf") - 1 == 1
    for found in results(work.tensors, *work.arguments()):
        np.testing.assert_allclose(found, work.expected(*work.arguments()), rtol=1e-4, atol=1e-4)


def test_result_with_two_readers_stays() -> None:
    *inputs, product = convolution(SMALL_CONVOLUTIONS["C2D"]).tensors
    shape = SMALL_CONVOLUTIONS["C2D"].out_shape
    one = te.compute(shape, lambda *at: product[at] + 1.0, name="one")
    two = te.compute(shape, lambda *at: one[at] * 2.0, name="two")
    result = te.compute(shape, lambda *at: two[at] - one[at], name="result")
    arrays = convolution(SMALL_CONVOLUTIONS["C2D"]).arguments()
    one_of = SMALL_CONVOLUTIONS["C2D"].expected(*arrays) + 1
    for found in results([*inputs, result], *arrays):
        np.testing.assert_allclose(found, one_of, rtol=1e-4, atol=1e-4)
