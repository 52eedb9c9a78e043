# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that choose between elements, legalized by the default rules, compiled and run, against numpy."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy
import pytest
from element_arrays import same
from prim_jit import run_built, run_op

import relax_mlir as rx

INTS = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
FLOATS = ("float16", "float32", "float64")
NARROW = (ml_dtypes.bfloat16, ml_dtypes.float8_e5m2)


def ran(name: str, *arrays: Any, **options: Any) -> Any:
    return run_op(f"relax.{name}", *arrays, **options)


@pytest.mark.parametrize("dtype", [*FLOATS, *NARROW, *INTS, "bool"])
def test_where_of_every_element_type(dtype: Any) -> None:
    random = numpy.random.default_rng(2)
    condition, x, y = (random.integers(0, 2, 40).astype(each) for each in ("bool", dtype, dtype))
    same(ran("where", condition, x, y), numpy.where(condition, x, y))


WHERE_SHAPES = [
    ([(3, 4), (4,), ()], ()),
    ([("n", 1), (1, 4), ("n", 4)], [(3, 1), (1, 4), (3, 4)]),
    ([("n", 4), ("n", 4), (1,)], [(3, 4), (3, 4), (1,)]),
    ([("n",), ("m",), (1,)], [(5,), (1,), (1,)]),
    ([("n",), ("m",), ("k",)], [(1,), (5,), (5,)]),
    ([("n", 0), (1, 1), (0,)], [(2, 0), (1, 1), (0,)]),
]


@pytest.mark.parametrize(("symbols", "shapes"), WHERE_SHAPES, ids=str)
def test_where_broadcasts(symbols: Any, shapes: Any) -> None:
    random = numpy.random.default_rng(4)
    sizes = shapes or symbols
    condition, x, y = (random.normal(size=shape).astype("float32") for shape in sizes)
    condition = numpy.asarray(condition > 0)
    same(ran("where", condition, x, y, symbols=symbols if shapes else ()), numpy.where(condition, x, y))


def test_where_refuses_sizes_that_do_not_fit() -> None:
    condition, x, y = numpy.zeros(3, bool), numpy.zeros(4, "float32"), numpy.zeros(1, "float32")
    for symbols in ([("n",), (4,), (1,)], [("n",), ("m",), (1,)]):
        with pytest.raises(ValueError, match="do not broadcast"):
            ran("where", condition, x, y, symbols=symbols)


def test_where_keeps_nan_where_it_is_not_chosen() -> None:
    x, y = numpy.array([numpy.nan, 1], "float32"), numpy.array([2, numpy.nan], "float32")
    same(ran("where", numpy.array([False, True]), x, y), numpy.array([2, 1], "float32"))


# ---- clip ----

POINTS = [-numpy.inf, -5.5, -1.0, -0.0, 0.0, 0.25, 1.0, 2.5, 7.0, numpy.inf, numpy.nan]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", [*FLOATS, *NARROW])
@pytest.mark.parametrize(
    "bounds", [(-1, 2), (-0.5, 2.5), (2, -1), (-numpy.inf, 0.1), (0.0, numpy.inf), (numpy.nan, 1.0), (0.0, numpy.nan)]
)
def test_clip_of_floats(bounds: Any, dtype: Any) -> None:
    x = numpy.array(POINTS, dtype)
    low, high = numpy.array(bounds, dtype)
    same(ran("clip", x, min=bounds[0], max=bounds[1]), numpy.minimum(numpy.maximum(x, low), high))


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("bounds", [(3, 90), (-(2**62), 2**62), (90, 3), (-numpy.inf, 5.9), (-2.9, numpy.inf)])
def test_clip_of_integers(bounds: Any, dtype: str) -> None:
    limits = numpy.iinfo(dtype)
    x = numpy.array([limits.min, limits.max, 0, 1, 2, 3, 4, 89, 90, 91, 100], dtype)
    low, high = (max(limits.min, min(limits.max, whole(bound))) for bound in bounds)
    expected = numpy.minimum(numpy.maximum(x, numpy.array(low, dtype)), numpy.array(high, dtype))
    same(ran("clip", x, min=bounds[0], max=bounds[1]), expected)


def whole(bound: float) -> int:
    return int(bound) if numpy.isfinite(bound) else (2**70 if bound > 0 else -(2**70))


def test_clip_of_symbolic_sizes() -> None:
    for size in (0, 1, 9):
        x = numpy.linspace(-4, 4, size).astype("float32").reshape(1, size)
        same(ran("clip", x, min=-1, max=1, symbols=[(1, "n")]), numpy.clip(x, -1, 1))


def test_clip_to_a_symbolic_bound() -> None:
    x = numpy.arange(-4, 5, dtype="int8")
    same(ran("clip", x, min=0, max="n - 6", symbols=[("n",)]), numpy.clip(x, 0, 3))


def clipped(x: Any, low: float, high: float) -> Any:
    return run_built(rx.relax.clip, x, low, high)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTS])
def test_clip_to_bounds_known_at_run_time(dtype: str) -> None:
    x = numpy.array([0, 1, 2, 3, 100], dtype)
    for low, high in ((1, 2), (1.5, 3.0), (-(2**63), 2**63 - 1), (-1e30, 1e30), (3, 1)):
        if dtype in FLOATS:
            with numpy.errstate(over="ignore"):
                bounds = numpy.array([low, high], dtype)
        else:
            limits = numpy.iinfo(dtype)
            bounds = numpy.array([max(limits.min, min(limits.max, whole(bound))) for bound in (low, high)], dtype)
        same(clipped(x, low, high), numpy.minimum(numpy.maximum(x, bounds[0]), bounds[1]))


def test_bounds_that_are_no_integers_are_declined_for_integers() -> None:
    with pytest.raises(Exception, match="a bound is NaN, which integers cannot represent"):
        ran("clip", numpy.arange(3), min=numpy.nan, max=2)
