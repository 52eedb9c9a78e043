# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Oracle of the sweep of narrow kernels: NumPy's 64-bit integers, and f64 for floats with exact sums."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import ml_dtypes
import numpy
from narrow_cases import Case, Requantize, limits

NUMPY = {
    "ui8": numpy.dtype("uint8"), "i8": numpy.dtype("int8"), "i16": numpy.dtype("int16"), "i32": numpy.dtype("int32"),
    "f32": numpy.dtype("float32"), "f16": numpy.dtype("float16"), "bf16": numpy.dtype(ml_dtypes.bfloat16),
    "f8E4M3FN": numpy.dtype(ml_dtypes.float8_e4m3fn), "f8E5M2": numpy.dtype(ml_dtypes.float8_e5m2),
}  # fmt: skip


class Arrays(NamedTuple):
    """Values of a case: channels first, and the weights of a convolution as outputs, inputs, window.

    The weights of a transposed convolution are inputs, outputs, window. Numbers of channels are vectors.
    """

    x: Any
    w: Any
    w_zeros: Any
    bias: Any
    added: Any
    multiplier: Any
    shift: Any
    #: Scales of x, w and y, powers of two, of a case with quantized operands.
    scales: tuple[float, float, float] = (1.0, 1.0, 1.0)
    #: Parts of a product with blocks of few bits.
    blocks: dict[str, Any] | None = None


def convolution(case: Case, x: Any, w: Any) -> Any:
    """Return the convolution of whole numbers, tap by tap."""
    rank, groups = case.family.rank, case.groups
    pads = [(0, 0), (0, 0), *zip(case.padding[:rank], case.padding[rank:], strict=True)]
    x = numpy.pad(x, pads)
    spatial = [
        (size - (length - 1) * far - 1) // step + 1
        for size, length, far, step in zip(x.shape[2:], case.window, case.dilation, case.strides, strict=True)
    ]
    x = x.reshape(x.shape[0], groups, -1, *x.shape[2:])
    w = w.reshape(groups, -1, *w.shape[1:])
    total = numpy.zeros((x.shape[0], groups, w.shape[1], *spatial), x.dtype)
    for tap in itertools.product(*map(range, case.window)):
        starts = [place * far for place, far in zip(tap, case.dilation, strict=True)]
        taken = tuple(
            slice(start, start + (count - 1) * step + 1, step)
            for start, count, step in zip(starts, spatial, case.strides, strict=True)
        )
        total += numpy.einsum("ngc...,goc->ngo...", x[(..., *taken)], w[(..., *tap)])
    return total.reshape(total.shape[0], -1, *spatial)


def transposed_convolution(case: Case, x: Any, w: Any) -> Any:
    """Return the transposed convolution: each element of the data adds the window times itself to the result."""
    rank = case.family.rank
    whole = [
        (size - 1) * step + (length - 1) * far + 1
        for size, step, length, far in zip(x.shape[2:], case.strides, case.window, case.dilation, strict=True)
    ]
    total = numpy.zeros((x.shape[0], w.shape[1], *whole), x.dtype)
    for tap in itertools.product(*map(range, case.window)):
        starts = [place * far for place, far in zip(tap, case.dilation, strict=True)]
        put = tuple(
            slice(start, start + (size - 1) * step + 1, step)
            for start, size, step in zip(starts, x.shape[2:], case.strides, strict=True)
        )
        total[(..., *put)] += numpy.einsum("nc...,co->no...", x, w[(..., *tap)])
    kept = tuple(
        slice(before, size - after)
        for before, after, size in zip(case.padding[:rank], case.padding[rank:], whole, strict=True)
    )
    return total[(..., *kept)]


def along_channels(case: Case, vector: Any, rank: int) -> Any:
    """Return numbers of the output channels in a shape that broadcasts with results, channels first."""
    vector = numpy.asarray(vector)
    if vector.ndim == 0 or not case.family.data:
        return vector
    return vector.reshape(-1, *[1] * (rank - 2))


def sums(case: Case, arrays: Arrays) -> Any:
    """Return the exact sums of products."""
    wide = "int64" if case.is_integer else "float64"
    x = arrays.x.astype(wide) - case.x_zero
    w = arrays.w.astype(wide) - arrays.w_zeros.astype(wide)
    if case.family.kind == "transposed":
        return transposed_convolution(case, x, w)
    if case.family.data:
        return convolution(case, x, w)
    if case.family.kind == "turned":
        return numpy.einsum("ak,nk->an", x, w)
    return numpy.matmul(x, w)


def expected(case: Case, arrays: Arrays) -> Any:
    """Return the result, channels first."""
    if arrays.blocks is not None:
        return blocks(case, arrays)
    total = sums(case, arrays)
    if case.qdq:
        return _quantized(case, arrays, total)
    if case.is_integer:
        total = _wrapped(total, "i32")
    for step in case.steps:
        if step == "bias":
            total = total + along_channels(case, arrays.bias, total.ndim).astype(total.dtype)
        elif step == "add":
            total = total + arrays.added.astype(total.dtype)
        elif step == "relu":
            total = numpy.maximum(total, 0)
        elif step == "clip":
            total = numpy.clip(total, *CLIP)
        total = _wrapped(total, "i32") if case.is_integer else total
    if case.requantize is not None:
        multiplier, shift = (along_channels(case, each, total.ndim) for each in (arrays.multiplier, arrays.shift))
        return requantized(case.requantize, total, multiplier, shift)
    if case.is_integer:
        return total.astype("int32")
    return total.astype("float32").astype(NUMPY[case.x] if case.narrow_result else "float32")


#: Limits of the step `clip`.
CLIP = (-100, 300)


def _wrapped(total: Any, dtype: str) -> Any:
    return total.astype(NUMPY[dtype]).astype("int64")


def _quantized(case: Case, arrays: Arrays, total: Any) -> Any:
    """Return the result of quantized operands. All scales are powers of two, so that f64 is exact."""
    assert case.requantize is not None
    x_scale, w_scale, y_scale = arrays.scales
    real = total.astype("float64")
    for step in case.steps:
        if step == "bias":
            real = real + along_channels(case, arrays.bias, total.ndim)
        elif step == "add":
            real = real + arrays.added
        elif step == "relu":
            real = numpy.maximum(real, 0)
        elif step == "clip":
            real = numpy.clip(real * x_scale * w_scale, *CLIP) / (x_scale * w_scale)
    steps = numpy.rint(real * (x_scale * w_scale / y_scale))
    dtype = case.requantize.dtype
    return numpy.clip(steps + case.requantize.zero_point, *limits(dtype)).astype(NUMPY[dtype])


# ---- requantization ----


def requantized(how: Requantize, total: Any, multiplier: Any, shift: Any) -> Any:
    """Return integers of 32 bits as a requantization computes them."""
    if how.form == "float":
        real = total.astype("int32").astype("float32") * multiplier.astype("float32")
        whole = numpy.clip(_rounded_real(real.astype("float64"), how.rounding), *limits("i32")).astype("int64")
    elif how.form == "double":
        whole = _twice(total, multiplier.astype("int64"), shift, how.rounding)
    else:
        bits = {"q31": 31, "q15": 15, "power_of_two": 0}[how.form]
        factor = 1 if how.form == "power_of_two" else multiplier.astype("int64")
        whole = rounded_shift(total * factor, shift + bits, how.rounding)
    result = whole + how.zero_point
    low, high = limits(how.dtype)
    return (numpy.clip(result, low, high) if how.saturate else result).astype(NUMPY[how.dtype])


def _twice(total: Any, multiplier: Any, shift: Any, rounding: str) -> Any:
    """Return gemmlowp's result: a shift to the left in 32 bits, a doubling high product, a shift to the right."""
    left = _wrapped(total << numpy.maximum(-shift, 0), "i32")
    high = numpy.clip((left * multiplier + (1 << 30)) >> 31, *limits("i32"))
    return rounded_shift(high, numpy.maximum(shift, 0), rounding)


def rounded_shift(number: Any, shift: Any, rounding: str) -> Any:
    """Return the quotient of integers and a power of two, rounded. A negative shift multiplies."""
    number, shift = numpy.broadcast_arrays(numpy.asarray(number, "int64"), numpy.asarray(shift, "int64"))
    right = numpy.maximum(shift, 0)
    floor = number >> right
    rest = number - (floor << right)
    half = numpy.where(right > 0, numpy.int64(1) << numpy.maximum(right - 1, 0), 1)
    more = _rounds_up(floor, rest, half, rounding, number < 0)
    whole = numpy.where(right > 0, floor + more, number)
    return whole << numpy.maximum(-shift, 0)


def _rounds_up(floor: Any, rest: Any, half: Any, rounding: str, is_negative: Any) -> Any:
    if rounding == "up":
        return rest > 0
    if rounding == "down":
        return numpy.zeros_like(rest, bool)
    if rounding == "to_zero":
        return is_negative & (rest > 0)
    ties = {"half_even": floor % 2 == 1, "half_up": True, "half_down": False, "half_away": ~is_negative,
            "half_to_zero": is_negative}[rounding]  # fmt: skip
    return (rest > half) | ((rest == half) & ties)


def _rounded_real(real: Any, rounding: str) -> Any:
    floor = numpy.floor(real)
    rest = real - floor
    return floor + _rounds_up(floor, rest * 2, 1.0, rounding, real < 0)


# ---- blocks of few bits ----


def blocks(case: Case, arrays: Arrays) -> Any:
    """Return the product with a matrix of codes. Scales are powers of two, and all sums are exact."""
    held = arrays.blocks
    assert held is not None
    bits, size = held["bits"], held["block_size"]
    codes = held["codes"].astype("int64")
    numbers = numpy.stack([codes >> shift & (1 << bits) - 1 for shift in range(0, 8, bits)], -1)
    numbers = numbers.reshape(*codes.shape[:2], size).astype("float64")
    zeros = held["zero_point"]
    zeros = float(1 << bits - 1) if zeros is None else zeros.astype("float64")[..., None]
    columns = ((numbers - zeros) * held["scale"].astype("float64")[..., None]).reshape(codes.shape[0], -1)
    total = arrays.x.astype("float64") @ columns[:, : case.depth].T
    if held["bias"] is not None:
        total = total + held["bias"].astype("float64")
    return total.astype("float32").astype(arrays.x.dtype)


def shapes(case: Case) -> tuple[Sequence[int], Sequence[int]]:
    """Return the shapes of x and w, channels first."""
    batch, *sizes = case.sizes
    if case.family.data:
        inputs, outputs = case.depth * case.groups, case.outputs * case.groups
        weights = (inputs, outputs) if case.family.kind == "transposed" else (outputs, case.depth)
        return (batch, inputs, *sizes), (*weights, *case.window)
    (rows,) = sizes
    return {
        "matmul": ((rows, case.depth), (case.depth, case.outputs)),
        "turned": ((rows, case.depth), (case.outputs, case.depth)),
        "batched": ((batch, rows, case.depth), (batch, case.depth, case.outputs)),
        "shared": ((batch, rows, case.depth), (case.depth, case.outputs)),
        "nbits": ((batch, rows, case.depth), ()),
    }[case.family.kind]
