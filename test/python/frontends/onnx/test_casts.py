# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Casts of elements to another type: by their bits, or to the nearest power of two."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy
import onnx
import pytest
from c_programs import CProgram, needs_compiler
from compiling import array
from emulated_gpu import run_emulated
from node_suite import Case, cases, check
from onnx import helper
from relax_mlir.runtime import to_numpy

import relax_mlir as rx

_SUITE = [*cases("BitCast"), *(case for case in cases("Cast") if "e8m0" in case.name)]
_E8M0 = onnx.TensorProto.FLOAT8E8M0


@pytest.mark.parametrize("case", _SUITE, ids=lambda case: case.name)
def test_node_suite(case: Case) -> None:
    check(case)


def prepared(op: str, x: Any, opset: int, **attributes: Any) -> Any:
    info = helper.make_tensor_value_info(
        "x", helper.np_dtype_to_tensor_dtype(x.dtype), [f"n{i}" for i in range(x.ndim)]
    )
    node = helper.make_node(op, ["x"], ["y"], **attributes)
    graph = helper.make_graph([node], "g", [info], [onnx.ValueInfoProto(name="y")])
    return rx.OnnxBackend.prepare(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)]))


_SAME_BITS = [
    ["int8", "uint8", "float8_e4m3fn", "float8_e5m2fnuz", "float8_e8m0fnu"],
    ["int16", "uint16", "float16", "bfloat16"],
    ["int32", "uint32", "float32"],
    ["int64", "uint64", "float64"],
]


@pytest.mark.parametrize("names", _SAME_BITS, ids=lambda names: names[0])
def test_bits_between_all_types_of_a_size(names: list[str]) -> None:
    """Cast between all types of a size, with one compilation for two shapes."""
    types = [numpy.dtype(getattr(ml_dtypes, name, name)) for name in names]
    size = types[0].itemsize
    random = numpy.random.default_rng(3)
    codes = numpy.arange(256, dtype="uint8") if size == 1 else random.integers(0, 256, 64 * size, "uint8")
    for source, target in zip(types, [*types[1:], types[0]], strict=True):
        x = codes.view(source).reshape(8, -1)
        run = prepared("BitCast", x, 26, to=helper.np_dtype_to_tensor_dtype(target)).run
        for given in (x, x[:3, :5].copy()):
            made = run([given])[0]
            assert made.dtype == target and made.shape == given.shape
            assert made.tobytes() == given.tobytes()


def test_bits_of_less_than_a_byte() -> None:
    names = ["int4", "uint4", "float4_e2m1fn"]
    for source, target in zip(names, [*names[1:], names[0]], strict=True):
        kinds = [numpy.dtype(getattr(ml_dtypes, name)) for name in (source, target)]
        x = numpy.arange(16, dtype="uint8").reshape(2, 8).view(kinds[0])
        made = prepared("BitCast", x, 26, to=helper.np_dtype_to_tensor_dtype(kinds[1])).run([x])[0]
        assert made.dtype == kinds[1]
        numpy.testing.assert_array_equal(made.view("uint8") & 15, x.view("uint8"))


def test_bits_of_truth() -> None:
    """Read a bool from a byte, which is true if a bit is set."""
    x = numpy.uint8([[0, 1, 2, 255]])
    made = prepared("BitCast", x, 26, to=onnx.TensorProto.BOOL).run([x])[0]
    numpy.testing.assert_array_equal(made, x != 0)
    made = prepared("BitCast", x != 0, 26, to=onnx.TensorProto.INT8).run([x != 0])[0]
    numpy.testing.assert_array_equal(made, numpy.int8([[0, 1, 1, 1]]))


def test_no_bits_are_lost() -> None:
    with pytest.raises(rx.RelaxError, match=r"has 64 bits and .* 32: bits stay as many"):
        prepared("BitCast", numpy.zeros(4, "float32"), 26, to=onnx.TensorProto.INT64)


# ---- powers of two ----

_LOWEST, _LARGEST = 2.0**-127, 2.0**127
_NUMBERS = [1.0, 1.1, 1.5, 1.49, 3.0, 0.75, 1.5 * _LOWEST, 1.4 * _LOWEST, _LOWEST, _LARGEST]
_OUTSIDE = [0.0, 0.9 * _LOWEST, 1.7 * _LARGEST, numpy.inf]
_NONE = [numpy.nan, -1.0]


def nearest(value: float, mode: str) -> float:
    low = 2.0 ** numpy.floor(numpy.log2(value))
    if mode == "nearest":
        return low if value < 1.5 * low else 2 * low
    return low if mode == "down" or value == low else 2 * low


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("mode", ["up", "down", "nearest"])
def test_powers_of_two(mode: str, dtype: str) -> None:
    x = numpy.array([_NUMBERS + _OUTSIDE + _NONE], dtype)
    expected = [nearest(value, mode) for value in _NUMBERS]
    limited = [_LOWEST, _LOWEST, _LARGEST, _LARGEST]
    for saturates, outside in ((1, limited), (0, [numpy.nan] * 4)):
        run = prepared("Cast", x, 24, to=_E8M0, round_mode=mode, saturate=saturates).run
        wanted = numpy.array([expected + outside + [numpy.nan] * 2])
        numpy.testing.assert_array_equal(run([x])[0].astype("float64"), wanted)


def test_unknown_rounding() -> None:
    with pytest.raises(rx.RelaxError, match="must be one of up, down, nearest, got 'odd'"):
        prepared("Cast", numpy.zeros(4, "float32"), 24, to=_E8M0, round_mode="odd")


def _nearest(number: float, least: int, most: int) -> int:
    if math.isnan(number):
        return 0
    return least if number <= least else most if number >= most else int(number)


def _module(x: Any, dtype: str) -> rx.Module:
    module = rx.Module()
    with module.function("main", [rx.tensor(x.shape, x.dtype.name)]) as f:
        (given,) = f
        f.returns(rx.relax.astype(given, dtype=dtype))
    return module


@needs_compiler
@pytest.mark.parametrize("source", ["float16", "float32", "float64"])
def test_floats_out_of_range_become_the_nearest_integer_everywhere(source: str) -> None:
    """Convert NaN to 0, as constants and in the programs of all targets."""
    values = [-1.5, 255.9, 256, 300, 1000, -300, 3e9, -3e9, 1e30, -1e30, numpy.nan, numpy.inf, -numpy.inf, 0.9, -0.9]
    with numpy.errstate(over="ignore"):
        x = numpy.array(values).astype(source)
    for dtype in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"):
        limits = numpy.iinfo(dtype)
        expected = numpy.array([_nearest(float(each), int(limits.min), int(limits.max)) for each in x], dtype)
        constant = rx.Module()
        with constant.function("main", [rx.tensor((1,), dtype)]) as f:
            (given,) = f
            f.returns(rx.relax.concat(given, rx.relax.astype(rx.relax.const(x), dtype=dtype), axis=0))
        module = _module(x, dtype)
        results = {
            "llvm": array(rx.compile(module)["main"](x)),
            "constant": array(rx.compile(constant)["main"](numpy.zeros(1, dtype)))[1:],
            "c": CProgram(module)(x)[0],
            "cuda": to_numpy(run_emulated(rx.compile(module, "cuda"), x), dtype),
        }
        for target, found in results.items():
            numpy.testing.assert_array_equal(found, expected, f"{source} as {dtype}, {target}")
