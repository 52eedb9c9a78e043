# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""te: numbers of all types, against numpy: division, types that meet, constants, functions, choices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from te_running import run

import relax_mlir as rx
from relax_mlir import te

FIVE = 5


def of(function: Callable[[Any], Any], *arrays: np.ndarray) -> np.ndarray:
    """Compute `function(*elements)` on arrays of five."""
    tensors = [te.placeholder((FIVE,), str(each.dtype), name=f"x{n}") for n, each in enumerate(arrays)]
    made = te.compute((FIVE,), lambda i: function(*(each[i] for each in tensors)))
    found: np.ndarray = run([*tensors, made], *arrays)
    return found


SIGNED = np.array([-7, -4, -1, 0, 9], "int32")
BY = np.array([2, -3, 4, 5, -4], "int32")


def test_integers_are_divided_rounding_down() -> None:
    np.testing.assert_array_equal(of(lambda x, y: x // y, SIGNED, BY), SIGNED // BY)
    np.testing.assert_array_equal(of(lambda x, y: x % y, SIGNED, BY), SIGNED % BY)
    np.testing.assert_array_equal(of(lambda x: (x // 4) * 10 + x % 4, SIGNED), (SIGNED // 4) * 10 + SIGNED % 4)
    np.testing.assert_array_equal(of(lambda y: 100 // y * 100 + 100 % y, BY), 100 // BY * 100 + 100 % BY)
    unsigned = np.array([0, 1, 128, 200, 255], "uint8")
    np.testing.assert_array_equal(of(lambda x: x // 3 + x % 100, unsigned), unsigned // 3 + unsigned % 100)
    floats = SIGNED.astype("float32")
    np.testing.assert_array_equal(of(lambda x: x // 2.0 + x % 4.0, floats), floats // 2 + floats % 4)


def test_division_in_words_and_by_nothing() -> None:
    zero = np.array([0, 3, 0, 5, 0], "int32")
    towards_zero = np.trunc(SIGNED / np.where(BY == 0, 1, BY)).astype("int32")
    np.testing.assert_array_equal(of(te.truncdiv, SIGNED, BY), towards_zero)
    np.testing.assert_array_equal(of(te.div, SIGNED, BY), towards_zero)
    np.testing.assert_array_equal(of(te.truncmod, SIGNED, BY), SIGNED - towards_zero * BY)
    np.testing.assert_array_equal(of(te.floordiv, SIGNED, BY), of(te.indexdiv, SIGNED, BY))
    np.testing.assert_array_equal(of(te.floormod, SIGNED, BY), SIGNED % BY)
    np.testing.assert_array_equal(of(te.indexmod, SIGNED, BY), SIGNED % BY)
    np.testing.assert_array_equal(of(lambda x, y: x // y, SIGNED, zero), [0, -2, 0, 0, 0])
    np.testing.assert_array_equal(of(te.truncdiv, SIGNED, zero), [0, -1, 0, 0, 0])
    np.testing.assert_allclose(of(te.div, SIGNED.astype("float32"), BY.astype("float32")), SIGNED / BY)


@pytest.mark.parametrize(
    ("function", "dtypes", "expected", "by_numpy"),
    [
        (lambda x: x * 2.5, ["int32"], "float32", lambda x: x * 2.5),
        (lambda x: x * 2, ["float64"], "float64", lambda x: x * 2),
        (lambda x: x * 0.5, ["float16"], "float16", lambda x: x * 0.5),
        (lambda x: x + 1, ["bool"], "int32", lambda x: x + 1),
        (lambda x: x * 2.5, ["bool"], "float32", lambda x: x * 2.5),
        (lambda x, y: x + y, ["int8", "int64"], "int64", np.add),
        (lambda x, y: x + y, ["uint8", "int32"], "int32", np.add),
        (lambda x, y: x - y, ["float32", "float64"], "float64", np.subtract),
        (lambda x, y: y - x, ["int32", "float16"], "float16", lambda x, y: y - x),
        (lambda x, y: x * y, ["float32", "bool"], "float32", np.multiply),
        (lambda x, y: te.max(x, y), ["int8", "int16"], "int16", np.maximum),
        (lambda x, y: te.if_then_else(x > y, x, y), ["int32", "float32"], "float32", np.maximum),
        (lambda x, y: te.if_then_else(x > y, lambda: x, lambda: y), ["int32", "float32"], "float32", np.maximum),
        (lambda x: te.if_then_else(x > 0, 1, 2.5), ["int32"], "float32", lambda x: np.where(x > 0, 1, 2.5)),
        (lambda x: te.if_then_else(x > 0, lambda: 1, 2.5), ["int32"], "float32", lambda x: np.where(x > 0, 1, 2.5)),
        (lambda x: te.if_then_else(x > 0, 1, 2**40), ["int32"], "int64", lambda x: np.where(x > 0, 1, 2**40)),
        (lambda x: te.if_then_else(x > 0, True, False), ["int32"], "bool", lambda x: x > 0),
        (lambda x: x * np.float32(2), ["int32"], "float32", lambda x: x * 2),
        (lambda x: np.int64(2) * x, ["int8"], "int8", lambda x: x * 2),
        (lambda x: te.power(x, 2), ["float32"], "float32", np.square),
    ],
)
def test_types_that_meet(function: Any, dtypes: list[str], expected: str, by_numpy: Any) -> None:
    arrays = [np.array([0, 1, 2, 1, 3]).astype(dtype) for dtype in dtypes]
    arrays[-1] = arrays[-1][::-1].copy()
    found = of(function, *arrays)
    assert str(found.dtype) == expected
    wide = [each.astype("int64" if "float" not in expected else "float64") for each in arrays]
    np.testing.assert_array_equal(found, by_numpy(*wide).astype(expected))


def test_signs_of_integers() -> None:
    unsigned = np.array([0, 1, 128, 200, 255], "uint8")
    np.testing.assert_array_equal(of(lambda x: te.max(x, 130), unsigned), np.maximum(unsigned, 130))
    np.testing.assert_array_equal(of(lambda x: te.if_then_else(x > 130, 1, 0), unsigned), unsigned > 130)
    np.testing.assert_array_equal(of(lambda x: x >> 1, unsigned), unsigned >> 1)
    np.testing.assert_array_equal(of(lambda x: (~x).astype("int32"), unsigned), 255 - unsigned.astype("int32"))
    np.testing.assert_array_equal(of(lambda x: x + te.const(1, "int16"), unsigned), unsigned.astype("int16") + 1)
    np.testing.assert_array_equal(of(te.abs, unsigned), unsigned)
    np.testing.assert_array_equal(of(te.popcount, unsigned), [0, 1, 1, 3, 8])
    small = np.array([-128, 127, 100, -100, 3], "int8")
    np.testing.assert_array_equal(of(lambda x: x + x, small), small + small)
    np.testing.assert_array_equal(of(lambda x: -x, small), -small)
    np.testing.assert_array_equal(of(te.abs, small), abs(small))
    np.testing.assert_array_equal(of(lambda x: (x << 1) >> 2, small), small << 1 >> 2)


def test_bools() -> None:
    x, y = np.array([True, True, False, False, True]), np.array([True, False, True, False, False])
    np.testing.assert_array_equal(of(lambda a, b: a & b | ~a, x, y), x & y | ~x)
    np.testing.assert_array_equal(of(lambda a, b: te.all(a, b, True), x, y), x & y)
    np.testing.assert_array_equal(of(lambda a, b: te.any(a, b), x, y), x | y)
    np.testing.assert_array_equal(of(lambda a: te.all(a), x), x)
    np.testing.assert_array_equal(of(lambda a, b: a ^ b, x, y), x ^ y)
    np.testing.assert_array_equal(of(lambda a: True & a, x), x)
    np.testing.assert_array_equal(of(lambda a: te.if_then_else(np.bool_(True), a, ~a), x), x)


def test_indices_with_numbers() -> None:
    x = np.arange(5, dtype="float32")
    np.testing.assert_array_equal(of_place(lambda i, a: a[i] + i * 0.5, x), x * 1.5)
    np.testing.assert_array_equal(of_place(lambda i, a: i * a[i], x), x * x)
    np.testing.assert_array_equal(of_place(lambda i, a: (7 - i) // 2 - (-i) % 3 + a[i], x), (7 - x) // 2 - (-x) % 3 + x)
    np.testing.assert_array_equal(of_place(lambda i, a: te.if_then_else(i == 3, 1.0, a[4 - i]), x), [4, 3, 2, 1, 0])
    np.testing.assert_array_equal(of_place(lambda i, a: a[te.min(i + 2, 4)] + a[te.max(i - 2, 0)], x), [2, 3, 4, 5, 6])


def of_place(function: Callable[[Any, Any], Any], array: np.ndarray) -> np.ndarray:
    x = te.placeholder(array.shape, str(array.dtype), name="x")
    found: np.ndarray = run([x, te.compute(array.shape, lambda i: function(i, x))], array)
    return found


def test_sizes_are_numbers() -> None:
    n = te.var("n")
    x = te.placeholder((n,), name="x")
    y = te.compute((n,), lambda i: n * x[i] + x[n - 1 - i] / n)
    array = np.arange(1, 6, dtype="float32")
    np.testing.assert_allclose(run([x, y], array), 5 * array + array[::-1] / 5, rtol=1e-6)


def test_functions() -> None:
    x = np.array([0.5, np.nan, np.inf, -2, 0], "float32")
    np.testing.assert_array_equal(of(te.isnan, x), np.isnan(x))
    np.testing.assert_array_equal(of(lambda a: te.clip(a, 0.0, 1.0), x[[0, 2, 3, 4, 4]]), [0.5, 1, 0, 0, 0])
    in_words = of(lambda a: te.add(a, 1) - te.subtract(2, a) * te.multiply(a, a), x)
    np.testing.assert_array_equal(in_words, x + 1 - (2 - x) * x * x)
    np.testing.assert_array_equal(of(te.abs, x), abs(x))
    tensor = te.placeholder((5,), name="x")
    with te.tag_scope("elemwise"):
        mantissa, exponent = te.compute((5,), lambda i: te.frexp(tensor[i]))
    np.testing.assert_array_equal(run([tensor, mantissa, exponent], x[[0, 3, 4, 4, 4]]), np.frexp(x[[0, 3, 4, 4, 4]]))


def test_max_and_min_propagate_nan_like_numpy() -> None:
    x, y = np.array([1, np.nan, 3, np.nan, -1], "float32"), np.array([np.nan, 2, 1, np.nan, 0], "float32")
    np.testing.assert_array_equal(of(te.max, x, y), np.maximum(x, y))
    np.testing.assert_array_equal(of(te.min, x, y), np.minimum(x, y))


def test_constants() -> None:
    two, half, yes = te.const(2), te.const(0.5), te.const(True)
    assert [each.dtype for each in (two, half, yes)] == ["i32", "f32", "i1"]
    x = np.arange(5, dtype="float32")
    result = of(lambda a: te.if_then_else(yes, a * two + half, te.const(np.float32(9))), x)
    np.testing.assert_array_equal(result, x * 2 + 0.5)
    np.testing.assert_array_equal(of(lambda a: half - a + (1 - half), x), 1 - x)
    np.testing.assert_array_equal(of(lambda a: te.const(3, "float64").astype("float32") * a, x), 3 * x)
    assert te.min_value("int8") == -128 and te.max_value(np.uint8) == 255


def test_calls_of_other_functions() -> None:
    x = np.array([0, 1, 2, 3, 4], "float32")
    np.testing.assert_allclose(of(lambda a: te.call_pure_extern("float32", "sinf", a), x), np.sin(x), rtol=1e-6)
    np.testing.assert_allclose(of(lambda a: te.call_pure_extern("sinf", [a], "f32"), x), np.sin(x), rtol=1e-6)
    np.testing.assert_allclose(of(lambda a: te.call_pure_extern("sinf", a, ty="f32") + a, x), np.sin(x) + x, rtol=1e-6)


def test_numbers_of_rules_mix_with_te_values() -> None:
    x = np.arange(5, dtype="float32") - 2
    result = of(lambda a: rx.select(a > 0.0, rx.number(a), 0.0) + a * rx.number(a), x)
    np.testing.assert_array_equal(result, np.maximum(x, 0) + x * x)
