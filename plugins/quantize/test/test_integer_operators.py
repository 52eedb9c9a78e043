# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""out= of operators other than products: integers of relax-requantize against integers of Python, in each bit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from c_programs import COMPILER, CProgram
from numpy import ndarray
from relax_mlir import relax
from relax_mlir.patterns import GraphPattern, is_op
from relax_mlir.recipes import Op, Recipe

HALF = Fraction(1, 2)
ROUND: dict[str, Callable[[Fraction], int]] = {
    "half_even": round,
    "half_up": lambda x: math.floor(x + HALF),
    "half_down": lambda x: math.ceil(x - HALF),
    "half_away": lambda x: math.floor(x + HALF) if x > 0 else math.ceil(x - HALF),
    "half_to_zero": lambda x: math.ceil(x - HALF) if x > 0 else math.floor(x + HALF),
    "up": math.ceil,
    "down": math.floor,
    "to_zero": math.trunc,
}
Q15 = rx.Requantize("q15>>shift", rounding="half_away", left_shift=0)
#: Scale and zero point.
Quant = tuple[float, int]
A, B, Y = (0.0625, -3), (0.09, 7), (0.11, -20)


class Chip(rx.codegens.Codegen):
    patterns = ()


@pytest.fixture(autouse=True)
def chip() -> Iterator[None]:
    from relax_mlir.passes.core.external import CODEGENS

    rx.codegens.register_codegen("bits_chip")(Chip)
    yield
    CODEGENS.entries.pop("bits_chip", None)
    Chip.recipe = None


def real(x: Any, quant: Quant, dtype: str = "int8") -> Any:
    return relax.dequantize(x, relax.const(numpy.float32(quant[0])), relax.const(quant[1], dtype), axis=0)


def layer(
    operator: Callable[..., Any],
    shapes: dict[str, tuple[Any, ...]],
    quants: list[Quant],
    result: Quant = Y,
    dtype: str = "int8",
) -> rx.Module:
    """Return a module of one quantized operator."""
    module = rx.Module()
    with module.function("main", {name: rx.tensor(shape, dtype) for name, shape in shapes.items()}) as f:
        value = operator(*(real(x, quant, dtype) for x, quant in zip(f, quants, strict=True)))
        scale, zero = relax.const(numpy.float32(result[0])), relax.const(result[1], dtype)
        f.returns(relax.quantize(value, scale, zero, axis=0, out_dtype=dtype))
    return module


def rewritten(module: rx.Module, pattern: GraphPattern, out: rx.Requantize, name: str = "i8") -> rx.Module:
    Chip.recipe = Recipe(Op("chip.layer", pattern=pattern, y=name, out=out))
    rx.Pipeline("builtin.module(relax-requantize{recipe=bits_chip})").run(module)
    text = module.script()
    assert "R.dequantize(" not in text
    assert "R.quantize(" not in text
    return module


def pattern(name: str) -> GraphPattern:
    return is_op(name)


def run(module: rx.Module, *data: ndarray, in_c: bool = False) -> ndarray:
    """Return the result of the reference, which compiled programs must equal."""
    expected = numpy.asarray(rx.reference(module)["main"](*data))
    numpy.testing.assert_array_equal(numpy.from_dlpack(rx.compile(module)["main"](*data)), expected)
    if in_c and COMPILER is not None:
        (found,) = CProgram(module)(*data)
        numpy.testing.assert_array_equal(found, expected)
    return expected


def draw(shape: tuple[int, ...], seed: int = 0, dtype: str = "int8") -> ndarray:
    limits = numpy.iinfo(dtype)
    data = numpy.random.default_rng(seed).integers(limits.min, limits.max, shape, dtype, endpoint=True)
    data.flat[:2] = limits.min, limits.max
    return data


def scaled(how: rx.Requantize, sums: Any, factor: float, zero: int = 0, dtype: str = "int8") -> ndarray:
    return how.apply(numpy.asarray(sums, "int32"), how.parameters(factor), zero, dtype)


def f32(quant: Quant) -> float:
    return float(numpy.float32(quant[0]))


# ---- sums and products ----


@pytest.mark.parametrize("name", ["add", "subtract"])
@pytest.mark.parametrize("shift", [0, 8])
def test_operands_are_rescaled_to_the_result(name: str, shift: int) -> None:
    how = rx.Requantize("q15>>shift", rounding="half_away", left_shift=shift)
    module = layer(getattr(relax, name), {"a": (3, 40), "b": (40,)}, [A, B])
    rewritten(module, pattern(f"relax.{name}"), how)
    a, b = draw((3, 40)), draw((40,), 1)
    left, right = (
        scaled(how, x.astype(int) - quant[1], f32(quant) / f32(Y) * 2**shift, 0, "int32")
        for x, quant in ((a, A), (b, B))
    )
    total = left + right if name == "add" else left - right
    expected = numpy.clip(total + Y[1], -128, 127) if not shift else scaled(how, total, 2.0**-shift, Y[1])
    numpy.testing.assert_array_equal(run(module, a, b, in_c=True), expected)


def test_operands_are_shifted_by_the_larger_scale() -> None:
    how = rx.Requantize.tflite()
    module = rewritten(layer(relax.add, {"a": (3, 40), "b": (3, 40)}, [A, B]), pattern("relax.add"), how)
    a, b = draw((3, 40)), draw((3, 40), 1)
    twice = 2 * f32(B)
    left, right = (
        scaled(how, (x.astype(int) - quant[1]) << 20, f32(quant) / twice, 0, "int32") for x, quant in ((a, A), (b, B))
    )
    expected = scaled(how, left + right, twice / (2**20 * f32(Y)), Y[1])
    numpy.testing.assert_array_equal(run(module, a, b), expected)


def test_products_have_one_multiplier() -> None:
    module = rewritten(layer(relax.multiply, {"a": (3, 40), "b": (40,)}, [A, B]), pattern("relax.multiply"), Q15)
    a, b = draw((3, 40)), draw((40,), 1)
    product = (a.astype(int) - A[1]) * (b.astype(int) - B[1])
    expected = scaled(Q15, product, f32(A) * f32(B) / f32(Y), Y[1])
    numpy.testing.assert_array_equal(run(module, a, b), expected)


def test_batched_products_have_two_zero_points() -> None:
    shapes = {"a": (2, 5, 9), "b": (2, 9, 4)}
    module = rewritten(layer(relax.matmul, shapes, [A, B], (0.5, 4)), pattern("relax.matmul"), Q15)
    a, b = draw((2, 5, 9)), draw((2, 9, 4), 1)
    sums = (a.astype(int) - A[1]) @ (b.astype(int) - B[1])
    numpy.testing.assert_array_equal(run(module, a, b), scaled(Q15, sums, f32(A) * f32(B) / 0.5, 4))


def test_integer_sums_are_requantized() -> None:
    """The form of ONNX's QLinearMatMul and MatMulInteger: i32 sums, and the product of both scales."""
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((4, 6), "int8")}) as f:
        sums = relax.matmul(*f, relax.const(draw((6, 3), 2)), out_dtype="i32")
        whole = relax.multiply(relax.astype(sums, dtype="f32"), relax.const(numpy.float32(0.003)))
        to = relax.const(numpy.float32(0.5)), relax.const(4, "int8")
        f.returns(relax.quantize(whole, *to, axis=0, out_dtype="i8"))
    rewritten(module, pattern("relax.multiply"), Q15)
    x = draw((4, 6))
    expected = scaled(Q15, x.astype(int) @ draw((6, 3), 2).astype(int), float(numpy.float32(0.003)) / 0.5, 4)
    numpy.testing.assert_array_equal(run(module, x), expected)


# ---- pools and means ----


def windows(x: ndarray, size: int, stride: int, pad: int) -> Iterator[tuple[tuple[int, int], ndarray]]:
    """Yield the place and the elements of each window of NHWC images, without the padding."""
    counts = [(each + 2 * pad - size) // stride + 1 for each in x.shape[1:3]]
    for i in range(counts[0]):
        for j in range(counts[1]):
            rows, columns = (slice(max(p * stride - pad, 0), p * stride - pad + size) for p in (i, j))
            yield (i, j), x[:, rows, columns].reshape(x.shape[0], -1, x.shape[3]).astype(int)


@pytest.mark.parametrize("rounding", list(ROUND))
def test_sums_of_windows_are_divided(rounding: str) -> None:
    """Equal scales keep the raw integers: a tie rounds away from 0, not from the zero point."""
    how = rx.Requantize("q31>>shift", rounding=rounding, pools="divide")
    pool = lambda x: relax.nn.avg_pool2d(x, pool_size=(2, 2), strides=(2, 2), padding=[1, 1], layout="NHWC")  # noqa: E731
    module = rewritten(layer(pool, {"x": (2, 6, 6, 5)}, [A], A), pattern("relax.nn.avg_pool2d"), how)
    x = draw((2, 6, 6, 5))
    found = run(module, x, in_c=rounding == "half_away")
    for (i, j), window in windows(x, 2, 2, 1):
        count = window.shape[1]
        expected = [[ROUND[rounding](Fraction(int(each), count)) for each in row] for row in window.sum(axis=1)]
        assert found[:, i, j].tolist() == expected


def test_sums_of_windows_are_multiplied() -> None:
    """Windows at the border have fewer elements, and multipliers of their own."""
    pool = lambda x: relax.nn.avg_pool2d(x, pool_size=(3, 3), strides=(2, 2), padding=[1, 1], layout="NHWC")  # noqa: E731
    module = rewritten(layer(pool, {"x": (1, 7, 7, 4)}, [A]), pattern("relax.nn.avg_pool2d"), Q15)
    x = draw((1, 7, 7, 4))
    found = run(module, x)
    for (i, j), window in windows(x, 3, 2, 1):
        sums = (window - A[1]).sum(axis=1)
        assert (found[:, i, j] == scaled(Q15, sums, f32(A) / f32(Y) / window.shape[1], Y[1])).all()


@pytest.mark.parametrize("ceil", [False, True])
def test_open_batches_and_ceiled_windows(ceil: bool) -> None:
    pool = lambda x: relax.nn.avg_pool2d(x, pool_size=(2, 3), strides=(2, 2), ceil_mode=ceil)  # noqa: E731
    shape = ("n", 3, 7, 8)
    module = rewritten(layer(pool, {"x": shape}, [A]), pattern("relax.nn.avg_pool2d"), Q15)
    x = draw((2, 3, 7, 8))
    found = run(module, x)
    assert found.shape == ((2, 3, 4, 4) if ceil else (2, 3, 3, 3))
    for i, j in numpy.ndindex(found.shape[2:]):
        window = x[:, :, 2 * i : 2 * i + 2, 2 * j : 2 * j + 3].reshape(2, 3, -1).astype(int)
        expected = scaled(Q15, (window - A[1]).sum(axis=2), f32(A) / f32(Y) / window.shape[2], Y[1])
        assert (found[:, :, i, j] == expected).all()


@pytest.mark.parametrize("name", ["mean", "nn.adaptive_avg_pool2d"])
def test_means_of_images(name: str) -> None:
    operator = {
        "mean": lambda x: relax.mean(x, axis=[2, 3], keepdims=True),
        "nn.adaptive_avg_pool2d": lambda x: relax.nn.adaptive_avg_pool2d(x, output_size=[1, 1]),
    }[name]
    module = rewritten(layer(operator, {"x": ("n", 3, 7, 5)}, [A]), pattern(f"relax.{name}"), Q15)
    x = draw((2, 3, 7, 5))
    sums = (x.astype(int) - A[1]).sum(axis=(2, 3), keepdims=True)
    numpy.testing.assert_array_equal(run(module, x), scaled(Q15, sums, f32(A) / f32(Y) / 35, Y[1]))


# ---- selections ----


def test_operands_of_concat_are_rescaled() -> None:
    join = lambda *tensors: relax.concat(*tensors, axis=1)  # noqa: E731
    module = layer(join, {"a": (3, 40), "b": (3, 9), "c": (3, 2)}, [A, B, Y])
    rewritten(module, pattern("relax.concat"), Q15)
    data = draw((3, 40)), draw((3, 9), 1), draw((3, 2), 2)
    parts = [scaled(Q15, x.astype(int) - q[1], f32(q) / f32(Y), Y[1]) for x, q in zip(data[:2], (A, B), strict=True)]
    numpy.testing.assert_array_equal(run(module, *data), numpy.concatenate([*parts, data[2]], axis=1))


def nearest(x: Any) -> Any:
    modes = {"coordinate_transformation_mode": "asymmetric", "rounding_method": "floor"}
    return relax.image.resize2d(x, (6, 8), method="nearest_neighbor", **modes)


@pytest.mark.parametrize(
    ("operator", "select"),
    [
        (nearest, lambda x: x.repeat(2, 2).repeat(2, 3)),
        (
            lambda x: relax.nn.max_pool2d(x, pool_size=(3, 2), strides=(3, 2)),
            lambda x: x.reshape(1, 2, 1, 3, 2, 2).max(axis=(3, 5)),
        ),
    ],
    ids=["resize", "max_pool"],
)
def test_selected_elements_are_rescaled(operator: Any, select: Any) -> None:
    either = is_op("relax.image.resize2d") | is_op("relax.nn.max_pool2d")
    module = rewritten(layer(operator, {"x": (1, 2, 3, 4)}, [A]), either, Q15)
    x = draw((1, 2, 3, 4))
    expected = scaled(Q15, select(x).astype(int) - A[1], f32(A) / f32(Y), Y[1])
    numpy.testing.assert_array_equal(run(module, x), expected)


@pytest.mark.parametrize("result", [A, Y], ids=["same scale", "other scale"])
def test_bilinear_sums_have_weights_in_fixed_point(result: Quant) -> None:
    how = rx.Requantize("q31>>shift", rounding="half_up", resize_bits=4)
    resize = lambda x: relax.image.resize2d(x, (5, 3), coordinate_transformation_mode="asymmetric")  # noqa: E731
    module = rewritten(layer(resize, {"x": (1, 2, 3, 4)}, [A], result), pattern("relax.image.resize2d"), how)
    x = draw((1, 2, 3, 4))
    found = run(module, x)
    steps = (16 * 3 + 2) // 5, (16 * 4 + 1) // 3
    for i, j in numpy.ndindex(5, 3):
        (y0, wy), (x0, wx) = divmod(i * steps[0], 16), divmod(j * steps[1], 16)
        y1, x1 = min(y0 + 1, 2), min(x0 + 1, 3)
        zero = A[1] if result is Y else 0
        corner = lambda a, b: x[0, :, a, b].astype(int) - zero  # noqa: E731, B023
        sums = corner(y0, x0) * (16 - wy) * (16 - wx) + corner(y0, x1) * (16 - wy) * wx
        sums = sums + corner(y1, x0) * wy * (16 - wx) + corner(y1, x1) * wy * wx
        if result is A:
            assert found[0, :, i, j].tolist() == [ROUND["half_up"](Fraction(int(each), 256)) for each in sums]
        else:
            assert (found[0, :, i, j] == scaled(how, sums, f32(A) / f32(Y) / 256, Y[1])).all()


# ---- tables ----


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_functions_are_tables(dtype: str) -> None:
    quant, result = (0.05, 10), (1 / 128, 0)
    module = layer(relax.tanh, {"x": (256,)}, [quant], result, dtype)
    rewritten(module, pattern("relax.tanh"), Q15, "i8" if dtype == "int8" else "u8")
    limits = numpy.iinfo(dtype)
    x = numpy.arange(limits.min, limits.max + 1).astype(dtype)
    expected = [ROUND["half_away"](Fraction(math.tanh((int(each) - 10) * f32(quant)) * 128)) for each in x]
    assert run(module, x, in_c=True).tolist() == numpy.clip(expected, limits.min, limits.max).tolist()


def test_stated_tables() -> None:
    entries = draw((256,), 5)
    x = numpy.arange(-128, 128).astype("int8")
    for table in (entries, lambda *parameters: entries if parameters == (f32(A), A[1], f32(Y), Y[1]) else None):
        how = rx.Requantize("float", table=table)
        module = rewritten(layer(relax.sigmoid, {"x": (256,)}, [A]), pattern("relax.sigmoid"), how)
        numpy.testing.assert_array_equal(run(module, x), entries)


def test_softmax_divides_exponentials() -> None:
    how = rx.Requantize("q15>>shift", rounding="half_up")
    result = (1 / 256, -128)
    module = layer(relax.nn.softmax, {"x": (40, 10)}, [A], result)
    rewritten(module, pattern("relax.nn.softmax"), how)
    x = draw((40, 10)) // 4
    x[0] = 0
    powers = [[math.floor(math.exp(-int(row.max() - each) * f32(A)) * 2**15 + 0.5) for each in row] for row in x]
    expected = [[ROUND["half_up"](Fraction(256 * each, sum(row))) - 128 for each in row] for row in powers]
    assert run(module, x, in_c=True).tolist() == numpy.clip(expected, -128, 127).tolist()
