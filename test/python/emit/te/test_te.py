# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Results of te against numpy, and refusals with the line."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from te_running import random, run

import relax_mlir as rx
from relax_mlir import relax, te, tir


def test_product_and_what_follows() -> None:
    a, b = te.placeholder((12, 8), name="A"), te.placeholder((8, 20), name="B")
    k = te.reduce_axis((0, 8), name="k")
    c = te.compute((12, 20), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    d = te.compute((12, 20), lambda i, j: te.max(c[i, j], 0.0) + te.exp(a[i, j % 8]), name="D")
    x, y = random(12, 8), random(8, 20)
    expected = np.maximum(x @ y, 0) + np.exp(x[:, np.arange(20) % 8])
    np.testing.assert_allclose(run([a, b, d], x, y), expected, rtol=1e-5, atol=1e-5)
    assert (c.dtype, d.shape, d.ndim) == ("f32", (12, 20), 2)


def test_te_computations_become_linalg() -> None:
    n = te.var("n")
    a = te.placeholder((n, 4), name="A")
    b = te.compute((4, n), lambda i, j: a[j, i] * 2.0, name="B")
    text = str(te.create_prim_func([a, b]))
    assert text.count("linalg.generic") == 1
    assert "tensor.extract" not in text and "linalg.index" not in text


@pytest.mark.parametrize("size", [0, 1, 5, 33])
def test_open_sizes_and_padding(size: int) -> None:
    n = te.var("n")
    x = te.placeholder((n,), name="X")
    padded = te.compute((n + 2,), lambda i: te.if_then_else(te.all(i >= 1, i < n + 1), x[i - 1], 0.0), name="P")
    r = te.reduce_axis((0, 3), name="r")
    sums = te.compute((n,), lambda i: te.sum(padded[i + r], axis=r), name="Q")
    array = random(size)
    around = np.pad(array, 1)
    np.testing.assert_allclose(run([x, sums], array), sum(around[k : k + size] for k in range(3)), atol=1e-6)


def test_several_axes_strides_and_where() -> None:
    x = te.placeholder((3, 10, 10), name="X")
    c, r, s = (te.reduce_axis((0, size), name=name) for size, name in ((3, "c"), (3, "r"), (3, "s")))
    y = te.compute((4, 4), lambda h, w: te.sum(x[c, 2 * h + r, 2 * w + s], axis=[c, r, s]), name="Y")
    z = te.compute((4, 4), lambda h, w: te.max(x[c, h, w], axis=c, where=c < 2), name="Z")
    array = random(3, 10, 10)
    windows = np.lib.stride_tricks.sliding_window_view(array, (3, 3), axis=(1, 2))[:, ::2, ::2]
    sums, largest = run([x, y, z], array)
    np.testing.assert_allclose(sums, windows.sum(axis=(0, 3, 4)), atol=1e-5)
    np.testing.assert_array_equal(largest, array[:2, :4, :4].max(axis=0))


def test_reduction_from_another_begin() -> None:
    x = te.placeholder((4, 9), name="X")
    k = te.reduce_axis((2, 7), name="k")
    y = te.compute((4,), lambda i: te.sum(x[i, k] * k.astype("float32"), axis=k), name="Y")
    array = random(4, 9)
    np.testing.assert_allclose(run([x, y], array), (array[:, 2:7] * np.arange(2, 7)).sum(axis=1), rtol=1e-5)


def argmax() -> Callable[..., Any]:
    def combine(x: Any, y: Any) -> Any:
        is_left = (x[1] > y[1]) | ((x[1] == y[1]) & (x[0] < y[0]))
        return te.if_then_else(is_left, x[0], y[0]), te.if_then_else(is_left, x[1], y[1])

    return te.comm_reducer(combine, lambda index, value: (2**40, te.min_value(value)), name="argmax")


def test_own_reducer_of_pairs() -> None:
    x = te.placeholder((7, 30), name="X")
    k = te.reduce_axis((0, 30), name="k")
    at, best = te.compute((7,), lambda i: argmax()((k.astype("int64"), x[i, k]), axis=k), name="best")
    array = random(7, 30).round(1)
    places, values = run([x, at, best], array)
    np.testing.assert_array_equal(places, array.argmax(axis=1))
    np.testing.assert_array_equal(values, array.max(axis=1))


def test_gather() -> None:
    x, at = te.placeholder((9, 4), name="X"), te.placeholder((5,), "int64", name="at")
    y = te.compute((5, 4), lambda i, j: x[at[i], j], name="Y")
    array, places = random(9, 4), np.array([0, 8, 3, 3, 1])
    np.testing.assert_array_equal(run([x, at, y], array, places), array[places])


def test_lazy_choice() -> None:
    x = te.placeholder((6,), "int32", name="X")
    y = te.compute((6,), lambda i: te.if_then_else(x[i] > 0, lambda: 100 // x[i], 0), name="Y")
    array = np.array([0, 5, -3, 7, 0, 1], "int32")
    np.testing.assert_array_equal(run([x, y], array), [0, 20, 0, 14, 0, 100])


def test_in_a_rule() -> None:
    own = rx.Dialect("terules")
    own.op("normed", "x", infer=lambda call: call.x, doc="x / (1 + sum |row|)")

    @rx.register_legalize("terules.normed")
    def normed(call: Any) -> Any:
        def rows(x: Any) -> Any:
            k = te.reduce_axis((0, x.shape[1]), name="k")
            total = te.compute((x.shape[0],), lambda i: te.sum(te.fabs(x[i, k]), axis=k), name="total")
            return te.compute(x.shape, lambda i, j: x[i, j] / (1.0 + total[i]), name="normed")

        return call.call_te(rows)

    module = rx.Module()
    with module.function("main", {"x": rx.tensor(("n", "2 * m"))}) as f:
        f.returns(own.normed(*f))
    array = random(4, 6)
    result = np.from_dlpack(rx.compile(module)["main"](array))
    np.testing.assert_allclose(result, array / (1 + abs(array).sum(axis=1, keepdims=True)), rtol=1e-5)


_DTYPES = ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint32", "bool"]


@pytest.mark.parametrize("dtype", _DTYPES)
def test_dtypes(dtype: str) -> None:
    x = te.placeholder((4, 6), dtype, name="X")
    y = te.compute((6, 4), lambda i, j: x[j, i], name="Y")
    z = te.compute((4, 6), lambda i, j: x[i, j].astype("float32"), name="Z")
    array = np.random.default_rng(0).integers(0, 100, (4, 6)).astype(dtype)
    turned, converted = run([x, y, z], array)
    np.testing.assert_array_equal(turned, array.T)
    np.testing.assert_array_equal(converted, array.astype("float32"))


@draws(30, deadline=None)
@given(
    shape=st.lists(st.integers(0, 5), min_size=1, max_size=4),
    order=st.randoms(use_true_random=False),
    offset=st.integers(0, 2),
    step=st.integers(1, 3),
    reduced=st.booleans(),
)
def test_random_reads(shape: list[int], order: Any, offset: int, step: int, reduced: bool) -> None:
    """Read axes in any order, and every `step`-th element from an offset on, perhaps with a sum along the last axis."""
    axes = list(range(len(shape)))
    order.shuffle(axes)
    whole = [offset + step * size for size in shape]
    x = te.placeholder(tuple(whole), name="X")
    taken = random(*whole)[tuple(slice(offset, offset + step * size, step) for size in shape)].transpose(axes)
    count = len(axes) - reduced
    k = te.reduce_axis((0, shape[axes[-1]]), name="k")

    def element(*at: Any) -> Any:
        places = {axis: place for axis, place in zip(axes, itertools.chain(at, [k]), strict=False)}
        value = x[tuple(offset + step * places[axis] for axis in range(len(shape)))]
        return te.sum(value, axis=k) if reduced else value

    y = te.compute(tuple(shape[axis] for axis in axes[:count]), element, name="Y")
    expected = taken.sum(axis=-1) if reduced else taken
    np.testing.assert_allclose(run([x, y], random(*whole)), expected, atol=1e-5)


def test_intrinsics_that_are_declared_after_te_was_used() -> None:
    """Declare an intrinsic after te was used, and use it in a rule: patterns rewrite another context than te's own."""
    te.compute((4,), lambda i: i.astype("float32"))
    late = rx.Dialect("late_for_te", doc="Functions of a unit.")
    tir.declare_intrinsic("half", "x", dialect=late, short=True, doc="x / 2.")

    def halved(call: Any) -> Any:
        return call.call_te(lambda x: te.compute((4,), lambda i: late.half(x[i])))

    module = rx.Module()
    with module.function("main", [rx.tensor((4,))]) as f:
        f.returns(relax.exp(*f))
    rx.LegalizeOps(target="llvm", customize_legalize_map={"relax.exp": halved})(module)
    assert "late_for_te.half" in str(module)
