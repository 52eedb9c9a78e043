# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arithmetic, and tensors made of numbers."""

from __future__ import annotations

from typing import Any

import numpy
from export_row import R, Row, b, call, f, i, positive, shape_of


def _unary() -> list[Row]:
    floats = (
        "abs acos acosh asin asinh atan atanh ceil cos cosh erf exp floor log negative round rsqrt sigmoid sign sin "
        "sinh sqrt square tan tanh trunc nn.relu nn.gelu nn.gelu_tanh nn.selu nn.silu isfinite isinf isnan"
    ).split()
    within = {"acosh": positive(2, 3) + 1, "log": positive(2, 3), "rsqrt": positive(2, 3), "sqrt": positive(2, 3)}
    small = {name: f(2, 3).clip(-0.9, 0.9) for name in ("acos", "asin", "atanh")}
    odd = numpy.array([[numpy.nan, numpy.inf, -numpy.inf], [0, -0.5, 2.5]], "float32")
    special = {name: odd for name in ("isfinite", "isinf", "isnan", "trunc")}
    rows = []
    for name in floats:
        given = {**within, **small, **special}.get(name, f(2, 3))
        rows.append(Row(name, call(name), (given,)))
        rows.append(Row(f"{name} f16", call(name), (given.astype("float16"),), rtol=3e-3))
    for name in (
        "abs",
        "ceil",
        "floor",
        "isfinite",
        "isinf",
        "isnan",
        "negative",
        "nn.relu",
        "round",
        "sign",
        "square",
        "trunc",
    ):
        rows.append(Row(f"{name} i8", call(name), (i(4, 3, dtype="int8"),)))
        rows.append(Row(f"{name} i32", call(name), (i(4, 3, dtype="int32"),)))
    return rows


def _binary() -> list[Row]:
    rows = []
    for (
        name
    ) in "add subtract multiply divide maximum minimum equal not_equal less less_equal greater greater_equal".split():
        rows.append(Row(name, call(name), (f(2, 3), f(3))))
        for dtype in ("int8", "uint8", "int16", "uint16", "uint32"):
            low = 1 if "divide" in name or dtype[0] == "u" else -9
            pair = (i(4, 3, low=low, dtype=dtype), i(3, low=low, dtype=dtype))
            rows.append(Row(f"{name} {dtype}", call(name), pair))
        rows.append(Row(f"{name} f16", call(name), (f(2, 3, dtype="float16"), f(3, dtype="float16")), rtol=3e-3))
    for name in ("floor_divide", "floor_mod", "mod"):
        signs = numpy.array([7, -7, 7, -7, 6, -6, 6]), numpy.array([3, 3, -3, -3, 3, -3, -3])
        for dtype in ("float32", "int8", "int32", "int64"):
            rows.append(Row(f"{name} {dtype}", call(name), tuple(each.astype(dtype) for each in signs)))
        rows.append(Row(f"{name} uint8", call(name), (i(9, low=1, dtype="uint8"), i(9, low=1, dtype="uint8"))))
    nearly_whole = numpy.array([2.5, -2.5, 1, numpy.inf, -1], "float32")
    by = numpy.array([0.001, 0.001, 0, 2, numpy.inf], "float32")
    rows.append(Row("floor_divide nearly whole", call("floor_divide"), (nearly_whole, by)))
    rows.append(Row("power", call("power"), (positive(2, 3), f(2, 3))))
    rows.append(Row("log_add_exp", call("log_add_exp"), (f(2, 3, scale=90), f(3, scale=90))))
    infinite = (
        numpy.array([numpy.inf, -numpy.inf, numpy.inf], "float32"),
        numpy.array([numpy.inf, -numpy.inf, 1], "float32"),
    )
    rows.append(Row("log_add_exp infinite", call("log_add_exp"), infinite))
    for name in (
        "logical_and",
        "logical_or",
        "logical_xor",
        "less",
        "equal",
        "bitwise_and",
        "bitwise_or",
        "bitwise_xor",
    ):
        rows.append(Row(f"{name} bool", call(name), (b(4, 3), b(3))))
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        rows.append(Row(name, call(name), (i(4, 3, dtype="int32"), i(3, dtype="int32"))))
    for name in ("left_shift", "right_shift"):
        for dtype in ("int8", "uint8", "int32", "uint64"):
            low = 0 if dtype[0] == "u" else -99
            given = i(9, low=low, high=99, dtype=dtype), i(9, low=0, high=6, dtype=dtype)
            rows.append(Row(f"{name} {dtype}", call(name), given))
    rows.append(Row("bitwise_not", call("bitwise_not"), (i(4, dtype="int16"),)))
    rows.append(Row("bitwise_not bool", call("bitwise_not"), (b(4),)))
    rows.append(Row("logical_not", call("logical_not"), (b(4),)))
    rows.append(Row("ewise_fma", call("ewise_fma"), (f(2, 3), f(2, 3), f(2, 3))))
    rows.append(Row("where", call("where"), (b(4, 1), f(3), f(4, 3))))
    rows.append(
        Row("where f8", lambda c, x: R.astype(R.where(c, *[R.astype(x, "float8_e4m3fn")] * 2), "float32"), (b(3), f(3)))
    )
    rows.append(Row("clip", lambda x: R.clip(x, -0.5, 0.7), (f(2, 3),)))
    rows.append(Row("clip i8", lambda x: R.clip(x, -3, 4), (i(5, dtype="int8"),)))
    for dtype in ("int8", "uint16", "bool", "float16", "float64", "int64"):
        rows.append(Row(f"astype {dtype}", call("astype", dtype=dtype), (positive(2, 3) * 5,), rtol=1e-3))
    rows.append(
        Row("bitcast bool", lambda x: R.bitcast(R.bitcast(x, "bool"), "uint8"), (i(9, low=0, high=2, dtype="uint8"),))
    )
    return rows


def _creation() -> list[Row]:
    return [
        Row("full", lambda x: R.full(("n2", 3), R.max(x)) if _symbolic(x) else R.full((2, 3), R.max(x)), (f(2, 3),)),
        Row("zeros", lambda x: R.add(x, R.zeros(shape_of(x), "float32")), (f(2, 3),)),
        Row("ones", lambda x: R.add(x, R.ones(shape_of(x), "float32")), (f(2, 3),)),
        Row("full_like", lambda x: R.full_like(x, R.const(2.5), dtype="float64"), (f(2, 3),)),
        Row("zeros_like", lambda x: R.zeros_like(x, dtype="int8"), (f(2, 3),)),
        Row("ones_like", lambda x: R.ones_like(x, dtype="bool"), (f(2, 3),)),
        Row("arange", lambda x: R.add(R.arange(1, 8, 3, dtype="float32"), R.sum(x)), (f(2),)),
        Row("arange down", lambda x: R.add(R.arange(7, -2, -2), R.sum(x)), (i(2),)),
        Row("arange float", lambda x: R.add(R.arange(0.5, 2.25, 0.5, dtype="float32"), R.sum(x)), (f(2),)),
        Row("arange size", lambda x: R.add(R.arange(shape_of(x)[0]), R.sum(x)), (i(5),)),
        Row("eye", lambda x: R.multiply(x, R.eye(3, 4, 1)), (f(3, 4),), True),
        Row("eye square", lambda x: R.multiply(x, R.eye(shape_of(x)[0])), (f(3, 3),)),
        Row("eye_like", lambda x: R.eye_like(x, -1, dtype="int32"), (f(3, 4),)),
        Row("tril", lambda x: R.tril(x, 1), (f(2, 3, 4),)),
        Row("triu i8", lambda x: R.triu(x, -1), (i(3, 4, dtype="int8"),)),
        Row("one_hot", lambda x: R.one_hot(x, 2.5, -1.0, depth=4, axis=0), (numpy.array([[0, 3], [-1, 4]]),)),
        Row("one_hot last", lambda x: R.one_hot(x, 1, 0, depth=3), (i(5, low=0, high=3, dtype="int32"),)),
        Row("hamming_window", lambda x: R.multiply(x, R.hamming_window(8, True, 0.54, 0.46, "float32")), (f(8),), True),
        Row(
            "hamming_window symmetric",
            lambda x: R.multiply(x, R.hamming_window(8, False, 0.5, 0.5, "float32")),
            (f(8),),
            True,
        ),
        Row("scalar_to_tensor", lambda x: R.add(x, R.scalar_to_tensor(2)), (i(3),)),
    ]


def _symbolic(value: Any) -> bool:
    return not all(isinstance(size, int) for size in shape_of(value))


ROWS = [*_unary(), *_binary(), *_creation()]
