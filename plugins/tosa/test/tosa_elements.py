# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise operations, maxima and minima."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy
from numpy import ndarray
from tosa_program import FLOATS, Given, Program, kept, simple, windows_of

# ---- elements ----

_UNARY: dict[str, tuple[Callable[..., Any], float, float]] = {
    "abs": (numpy.abs, -4, 4),
    "ceil": (numpy.ceil, -4, 4),
    "floor": (numpy.floor, -4, 4),
    "exp": (numpy.exp, -4, 4),
    "log": (numpy.log, 0.01, 9),
    "sin": (numpy.sin, -4, 4),
    "cos": (numpy.cos, -4, 4),
    "tanh": (numpy.tanh, -4, 4),
    "sigmoid": (lambda x: 1 / (1 + numpy.exp(-x)), -4, 4),
    "erf": (lambda x: numpy.vectorize(math.erf, otypes=[numpy.float64])(x), -4, 4),
    "rsqrt": (lambda x: 1 / numpy.sqrt(x), 0.01, 9),
    "reciprocal": (lambda x: 1 / x, 0.1, 4),
}


def _elementwise() -> list[Program]:
    found = []
    for (op, (function, low, high)), (dtype, rtol) in itertools.product(_UNARY.items(), FLOATS.items()):
        found.append(simple(op, [Given((3, 5), dtype, low, high)], _in_f64(function), rtol=rtol))
    found.append(simple("abs", [Given((7,), "i32", -1000, 1000)], numpy.abs))
    for dtype in ("i8", "i16", "i32"):
        pair = [Given((3, 4), dtype), Given((1, 4), dtype)]
        found += [
            simple("bitwise_and", pair, numpy.bitwise_and),
            simple("bitwise_or", pair, numpy.bitwise_or),
            simple("bitwise_xor", pair, numpy.bitwise_xor),
            simple("bitwise_not", pair[:1], numpy.bitwise_not),
        ]
        bits = int(dtype[1:])
        by = Given((3, 4), dtype, 0, bits - 1)
        found += [
            simple("logical_left_shift", [pair[0], by], lambda x, n: x << n),
            simple("logical_right_shift", [pair[0], by], _shifted_unsigned),
            simple("arithmetic_right_shift", [pair[0], by], lambda x, n: x >> n, attributes="round = false"),
            simple("arithmetic_right_shift", [pair[0], by], _shifted_rounded, attributes="round = true", note="round"),
        ]
    truths = [Given((3, 4), "i1"), Given((3, 1), "i1")]
    for name in ("and", "or", "xor"):
        found.append(simple(f"logical_{name}", truths, getattr(numpy, f"logical_{name}"), ((3, 4), "i1")))
    found.append(simple("logical_not", truths[:1], numpy.logical_not))
    numbers = [Given((3, 4), "i32", -99999, 99999), Given((3, 4), "i32", -30000, 30000)]
    found += [
        simple("add", numbers, numpy.add),
        simple("sub", numbers, numpy.subtract),
        simple("intdiv", [numbers[0], Given((3, 4), "i32", 1, 300)], lambda x, y: numpy.trunc(x / y)),
        simple("clz", [Given((20,), "i32", 0, 2**20)], _leading_zeros),
        simple("clz", [Given((20,), "i32")], _leading_zeros, note="all"),
    ]
    for dtype, rtol in FLOATS.items():
        pair = [Given((2, 3, 4), dtype), Given((2, 1, 4), dtype)]
        found += [
            simple("add", pair, numpy.add, rtol=rtol),
            simple("sub", pair, numpy.subtract, rtol=rtol),
            simple("pow", [Given((2, 3), dtype, 0.1, 4), Given((2, 1), dtype, -2, 2)], _in_f64(numpy.power), rtol=rtol),
        ]
    for dtype in ("i32", "f32"):
        pair = [Given((4, 6), dtype, -3, 3), Given((1, 6), dtype, -3, 3)]
        for op, function in (("equal", "equal"), ("greater", "greater"), ("greater_equal", "greater_equal")):
            found.append(simple(op, pair, getattr(numpy, function), ((4, 6), "i1")))
    for dtype in ("f32", "i8", "i1"):
        given = [Given((2, 1), "i1"), Given((2, 3), dtype), Given((1, 3), dtype)]
        found.append(simple("select", given, numpy.where, ((2, 3), dtype)))
    return found


def _in_f64(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *given: function(*(each.astype("float64") for each in given)).astype(given[0].dtype)


def _shifted_unsigned(x: ndarray, n: ndarray) -> ndarray:
    unsigned = numpy.dtype(f"uint{x.itemsize * 8}")
    return (x.view(unsigned) >> n.astype(unsigned)).view(x.dtype)


def _shifted_rounded(x: ndarray, n: ndarray) -> ndarray:
    wide = x.astype("int64")
    return ((wide >> n) + numpy.where(n > 0, (wide >> numpy.maximum(n - 1, 0)) & 1, 0)).astype(x.dtype)


def _leading_zeros(x: ndarray) -> ndarray:
    return numpy.array([32 - (int(each) & 0xFFFFFFFF).bit_length() for each in x.ravel()], x.dtype).reshape(x.shape)


def _extremes() -> list[Program]:
    found = []
    for mode in ("PROPAGATE", "IGNORE"):
        attribute = f"nan_mode = #tosa.nan_mode<{mode}>"
        ignored = mode == "IGNORE"
        pair = [Given((4, 9), "f32", has_nan=True), Given((4, 9), "f32", has_nan=True)]
        one = [Given((2, 5, 6), "f32", has_nan=True)]
        found += [
            simple("maximum", pair, numpy.fmax if ignored else numpy.maximum, attributes=attribute, note=mode),
            simple("minimum", pair, numpy.fmin if ignored else numpy.minimum, attributes=attribute, note=mode),
            simple(
                "clamp",
                pair[:1],
                _clamped(ignored),
                attributes=f"min_val = -1.0 : f32, max_val = 2.5 : f32, {attribute}",
                note=mode,
            ),
            simple(
                "reduce_max",
                one,
                kept(numpy.fmax.reduce if ignored else numpy.max, 1),
                ((2, 1, 6), "f32"),
                f"axis = 1 : i32, {attribute}",
                note=mode,
            ),
            simple(
                "reduce_min",
                one,
                kept(numpy.fmin.reduce if ignored else numpy.min, 2),
                ((2, 5, 1), "f32"),
                f"axis = 2 : i32, {attribute}",
                note=mode,
            ),
            simple("argmax", one, _argmax(ignored), ((2, 6), "i32"), f"axis = 1 : i32, {attribute}", note=mode),
            simple(
                "max_pool2d",
                [Given((1, 6, 7, 2), "f32", has_nan=True)],
                _max_pooled(ignored),
                ((1, 3, 3, 2), "f32"),
                f"kernel = array<i64: 3, 2>, stride = array<i64: 2, 3>, pad = array<i64: 1, 0, 0, 1>, {attribute}",
                note=mode,
            ),
        ]
    whole = [Given((4, 9), "i32", -99999, 99999), Given((1, 9), "i32", -99999, 99999)]
    found += [
        simple("maximum", whole, numpy.maximum),
        simple("minimum", whole, numpy.minimum),
        simple(
            "clamp", [Given((30,), "i8")], lambda x: x.clip(-5, 77), attributes="min_val = -5 : i8, max_val = 77 : i8"
        ),
        simple(
            "clamp",
            [Given((30,), "i16")],
            lambda x: x.clip(-500, 7700),
            attributes="min_val = -500 : i16, max_val = 7700 : i16",
        ),
        simple("argmax", [Given((3, 8), "i8")], lambda x: x.argmax(1), ((3,), "i32"), "axis = 1 : i32"),
        simple(
            "max_pool2d",
            [Given((1, 6, 7, 2), "i8")],
            _max_pooled(False),
            ((1, 3, 3, 2), "i8"),
            "kernel = array<i64: 3, 2>, stride = array<i64: 2, 3>, pad = array<i64: 1, 0, 0, 1>",
        ),
    ]
    return found


def _clamped(ignored: bool) -> Callable[..., Any]:
    return lambda x: numpy.where(numpy.isnan(x), numpy.float32(-1) if ignored else x, x.clip(-1, 2.5))


def _argmax(ignored: bool) -> Callable[..., Any]:
    return lambda x: (numpy.where(numpy.isnan(x), -numpy.inf, x) if ignored else x).argmax(1)


def _max_pooled(ignored: bool) -> Callable[..., Any]:
    def pooled(x: ndarray) -> ndarray:
        least = -numpy.inf if x.dtype.kind == "f" else numpy.iinfo(x.dtype).min
        windows = windows_of(x, (3, 2), (2, 3), (1, 0, 0, 1), least)
        return numpy.fmax.reduce(windows, axis=3) if ignored else windows.max(3)

    return pooled


ELEMENTS = [*_elementwise(), *_extremes()]
