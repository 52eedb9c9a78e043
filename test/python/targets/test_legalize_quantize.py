# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax.quantize and relax.dequantize, compiled and run, against onnxruntime, or numpy if it lacks the types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy
import pytest
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from onnx_oracle import IS_OLD, run_onnx
from prim_jit import called, run_op
from relax_mlir.dialects.core.infos import DTYPE_BY_NAME

import relax_mlir as rx

REALS = ["float16", "bfloat16", "float32"]
ONNX_INTS = ["int8", "uint8", "int16", "uint16"]
SMALL_FLOATS = [name for name in DTYPE_BY_NAME if name.startswith(("float8_", "float6_", "float4_"))]
QUANTIZED = ["int2", "uint2", "int4", "uint4", *ONNX_INTS, *SMALL_FLOATS]


def numpy_type(name: str) -> Any:
    return numpy.dtype(getattr(ml_dtypes, name, name))


@pytest.fixture(autouse=True)
def quiet() -> Any:
    with numpy.errstate(all="ignore"):
        yield


def reals(name: str, count: int = 600) -> Any:
    """Return random numbers, ties, numbers out of every range, infinities and NaN."""
    special = [0, -0.0, numpy.inf, -numpy.inf, numpy.nan, 6e4, -6e4, 1e-7]
    halves = numpy.arange(-20, 20) + 0.5
    random = numpy.random.default_rng(5).normal(size=count) * 10.0 ** numpy.random.default_rng(6).integers(-3, 5, count)
    return numpy.concatenate([special, halves, random]).astype(numpy_type(name))


def run(op: str, *arrays: Any, shapes: Sequence[Any] = (), **attributes: Any) -> Any:
    return run_op(f"relax.{op}", *arrays, symbols=shapes, **attributes)


def quantized(x: Any, scale: Any, zero_point: Any, target: str) -> Any:
    """Quantize by the formula. Scale and zero point broadcast to x."""
    quotient = x.astype("float32") / scale.astype("float32")
    dtype = numpy_type(target)
    if target in SMALL_FLOATS:
        limit = float(ml_dtypes.finfo(dtype).max)
        return numpy.clip(quotient + zero_point.astype("float32"), -limit, limit).astype(dtype)
    limits = ml_dtypes.iinfo(dtype)
    whole = numpy.rint(quotient).astype("float64") + zero_point.astype("float64")
    return numpy.clip(numpy.nan_to_num(whole, nan=0), int(limits.min), int(limits.max)).astype("int64").astype(dtype)


def dequantized(x: Any, scale: Any, zero_point: Any, target: str) -> Any:
    if x.dtype.kind in "iu" or "int" in x.dtype.name:
        difference = (x.astype("int64") - zero_point.astype("int64")).astype("float32")
    else:
        difference = x.astype("float32") - zero_point.astype("float32")
    return (difference * scale.astype("float32")).astype(numpy_type(target))


def same(actual: Any, expected: Any) -> None:
    assert actual.dtype == expected.dtype and actual.shape == expected.shape
    wide = "int64" if "int" in actual.dtype.name else "float64"
    numpy.testing.assert_array_equal(actual.astype(wide), expected.astype(wide))


def zero_points(name: str) -> list[int]:
    """Return some zero points of the type, with its limits."""
    if name in SMALL_FLOATS:
        return [1] if name == "float8_e8m0fnu" else [0, 1]
    limits = ml_dtypes.iinfo(numpy_type(name))
    return [0, int(limits.min), int(limits.max)]


@pytest.mark.parametrize("target", QUANTIZED)
def test_quantize_to_every_type(target: str) -> None:
    for real in REALS if target in ("int8", "int4", "float8_e4m3fn") else ["float32"]:
        x = reals(real)
        for point in zero_points(target):
            scale, zero_point = numpy.array(0.37, numpy_type(real)), numpy.array(point, numpy_type(target))
            actual = run("quantize", x, scale, zero_point, out_dtype=target)
            same(actual, quantized(x, scale, zero_point, target))


@pytest.mark.parametrize("source", [*QUANTIZED, "int32", "uint32", "float16", "bfloat16", "float32"])
def test_dequantize_from_every_type(source: str) -> None:
    dtype = numpy_type(source)
    codes = numpy.random.default_rng(5).integers(0, 256, (300, dtype.itemsize), "uint8")
    codes &= 0xFF if source in (*REALS, *ONNX_INTS) or dtype.itemsize > 1 else 2 ** int(width(source)) - 1
    x = codes.view(dtype).ravel()
    point = numpy.array(1 if source == "float8_e8m0fnu" else 3).astype("int8").astype(dtype)
    if dtype.itemsize > 2 or source in REALS:
        point = numpy.array(-70000 if dtype.itemsize > 2 else 7, "int32")
    for target in REALS if source in ("uint8", "int4", "float8_e5m2") else ["float32"]:
        scale = numpy.array(0.37, "float32")
        actual = run("dequantize", x, scale, point, out_dtype=target)
        same(actual, dequantized(x, scale, point, target))


def width(name: str) -> int:
    is_float = name in SMALL_FLOATS
    return (ml_dtypes.finfo if is_float else ml_dtypes.iinfo)(numpy_type(name)).bits


@pytest.mark.parametrize("target", ONNX_INTS)
@pytest.mark.parametrize("real", ["float16", "float32"])
def test_as_onnxruntime_does(real: str, target: str) -> None:
    if real == "float16" and IS_OLD:
        pytest.skip("this onnxruntime, the newest that Python 3.10 has, rounds quotients of f16 twice")
    random = numpy.random.default_rng(2)
    limits = numpy.iinfo(target)
    x = (random.normal(size=(5, 4, 3)) * 200).astype(real)
    # onnxruntime takes infinities of f16 for negative.
    x[0, 0] = [numpy.inf, -numpy.inf, 6e4] if real == "float32" else [6e4, -6e4, 3e4]
    for axis, shape in ((0, (5,)), (-2, (4,)), (2, (3,)), (1, ())):
        scale = random.uniform(0.1, 3, shape).astype(real)
        zero_point = random.integers(limits.min, limits.max, shape, target, endpoint=True)
        scale, zero_point = numpy.asarray(scale, real), numpy.asarray(zero_point, target)
        actual = run("quantize", x, scale, zero_point, axis=axis, out_dtype=target)
        same(actual, run_onnx("QuantizeLinear", x, scale, zero_point, opset=21, axis=axis)[0])
        back = run("dequantize", actual, scale, zero_point, axis=axis, out_dtype=real)
        same(back, run_onnx("DequantizeLinear", actual, scale, zero_point, opset=21, axis=axis)[0])


@pytest.mark.parametrize("zero_point", [-(2**31), -70000, 2**31 - 1, 5], ids=str)
def test_zero_points_of_32_bits(zero_point: int) -> None:
    x = numpy.concatenate([reals("float32"), -numpy.arange(100, dtype="float32") - zero_point])
    point, scale = numpy.array(zero_point, "int32"), numpy.array(1, "float32")
    for target in ("int8", "uint16"):
        same(run("quantize", x, scale, point, out_dtype=target), quantized(x, scale, point, target))
    whole = numpy.array([-(2**31), 2**31 - 1, 0, 17], "int32")
    same(run("dequantize", whole, scale, point, out_dtype="float32"), dequantized(whole, scale, point, "float32"))


@draws(40)
@given(st.data())
def test_along_axes(data: Any) -> None:
    """Quantize all shapes of a rank with one function."""
    shape = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=3), label="shape")
    axis = data.draw(st.integers(-len(shape), len(shape) - 1), label="axis")
    sizes = [data.draw(st.sampled_from([1, shape[axis]]), label=name) for name in ("scale", "zero point")]
    random = numpy.random.default_rng(1)
    x = (random.normal(size=shape) * 100).astype("float32")
    scale = random.uniform(0.5, 2, sizes[0]).astype("float32")
    zero_point = random.integers(-20, 20, sizes[1]).astype("int8")
    symbols = [["a", "b", "c"][: len(shape)], ["s"], ["z"]]
    actual = run("quantize", x, scale, zero_point, shapes=_frozen(symbols), axis=axis, out_dtype="int8")
    along = [1] * len(shape)
    along[axis] = -1
    same(actual, quantized(x, scale.reshape(along), zero_point.reshape(along), "int8"))
    back = run("dequantize", actual, scale, zero_point, shapes=_frozen(symbols), axis=axis, out_dtype="float32")
    same(back, dequantized(actual, scale.reshape(along), zero_point.reshape(along), "float32"))


def _frozen(shapes: Any) -> tuple[Any, ...]:
    return tuple(map(tuple, shapes))


SHAPES = [
    ([(), (), ()], [(), (), ()]),
    ([(), (1,), (1,)], [(), (1,), (1,)]),
    ([(), ("k",), ("m",)], [(), (1,), (1,)]),
    ([("n", 1), ("k",), ()], [(3, 1), (1,), ()]),
    ([("n", 3), (3,), ()], [(2, 3), (3,), ()]),
    ([("n", "m"), ("m",), (1,)], [(2, 3), (3,), (1,)]),
    ([(2, "m"), (3,), ("k",)], [(2, 3), (3,), (3,)]),
    ([("n", 3), ("k",), ("k",)], [(2, 3), (1,), (1,)]),
    ([(0, 3), (3,), (3,)], [(0, 3), (3,), (3,)]),
]


@pytest.mark.parametrize(("symbols", "shapes"), SHAPES, ids=str)
def test_shapes(symbols: Any, shapes: Any) -> None:
    random = numpy.random.default_rng(1)
    x = numpy.asarray(random.normal(size=shapes[0]) * 50, "float32")
    scale = numpy.asarray(random.uniform(0.5, 2, shapes[1]), "float32")
    zero_point = numpy.asarray(random.integers(0, 9, shapes[2]), "int8")
    actual = run("quantize", x, scale, zero_point, shapes=_frozen(symbols), out_dtype="int8")
    expected = quantized(x, scale, zero_point, "int8")
    same(actual, expected.reshape(x.shape))


@pytest.mark.parametrize(
    ("symbols", "sizes"),
    [
        ([("n", "m"), ("k",), ()], "2 and 3"),
        ([("n", "m"), (2,), ()], "2 and 3"),
        ([("n", 3), ("k",), ()], "2 and 3"),
        ([(), ("k",), ()], "2 and 1"),
    ],
    ids=str,
)
def test_sizes_that_do_not_fit(symbols: Any, sizes: str) -> None:
    scale, zero_point = numpy.ones(2, "float32"), numpy.array(0, "int8")
    x = numpy.ones((2, 3)[: len(symbols[0])], "float32")
    for op, source, target in (("quantize", "float32", "int8"), ("dequantize", "int8", "float32")):
        with pytest.raises(ValueError, match=f"sizes {sizes} differ"):
            run(op, x.astype(source), scale, zero_point, shapes=_frozen(symbols), out_dtype=target)


def test_unknown_sizes_and_ranks() -> None:
    x, scale, zero_point = numpy.full((2, 3), 7.6, "float32"), numpy.ones(3, "float32"), numpy.array(1, "uint8")
    module = rx.Module()
    with module.function("main", [rx.tensor(("n", "m")), rx.tensor((3,)), rx.tensor((), "uint8")]) as f:
        data, s, z = f
        unknown = rx.relax.quantize(rx.relax.match_cast(data, rx.tensor((None, 3))), s, z, out_dtype="uint8")
        f.returns(rx.relax.match_cast(unknown, rx.tensor(("n", "m"), "uint8")))
    assert called(rx.compile(module), x, scale, zero_point).tolist() == [[9, 9, 9]] * 2
    module = rx.Module()
    with module.function("main", [rx.tensor(None), rx.tensor(()), rx.tensor((), "uint8")]) as f:
        f.returns(rx.relax.quantize(*f))
    with pytest.raises(rx.RelaxError, match=r"the rank of .* is not known"):
        rx.LegalizeOps(target="llvm")(module)
