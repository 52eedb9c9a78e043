# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of matrices, convolutions, pools, reductions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy
from numpy import ndarray
from tosa_program import NUMPY, Given, Program, constant, kept, simple, windows_of

# ---- products of matrices, convolutions, pools ----

#: Element types of data, weight, sums and result, and the zero points.
_KINDS = [
    ("f32", "f32", "f32", "f32", 0, 0, 1e-4),
    ("f16", "f16", "f32", "f16", 0, 0, 1e-2),
    ("i8", "i8", "i32", "i32", 0, 0, 0),
    ("i8", "i8", "i32", "i32", 3, 0, 0),
    ("i16", "i8", "i48", "i48", 0, 0, 0),
]


def _zero(name: str, dtype: str, point: int) -> str:
    return constant(name, [float(point) if dtype[0] == "f" else point], dtype)


def _convolutions() -> list[Program]:
    found = []
    for kind in _KINDS:
        found += _convolutions_of(*kind)
    return found


def _convolutions_of(x: str, w: str, acc: str, made: str, zx: int, zw: int, rtol: float) -> list[Program]:
    found = []
    before = [_zero("y", x, zx), _zero("z", w, zw)]
    more = [("%y", f"tensor<1x{x}>"), ("%z", f"tensor<1x{w}>")]
    note = f"to-{made}" + (f"-{zx}" if zx else "")
    bias = Given((4,), made, -1000, 1000) if made[0] == "i" else Given((4,), made)

    def add(op: str, shapes: Sequence[Sequence[int]], result: Sequence[int], attributes: str, expected: Any) -> None:
        given = [Given(tuple(shapes[0]), x), Given(tuple(shapes[1]), w), bias]
        attributes = f"{attributes}, acc_type = {acc}"
        found.append(simple(op, given, expected, (result, made), attributes, rtol, before, more, note))

    def convolved(function: Callable[..., ndarray], *settings: Any) -> Callable[..., ndarray]:
        wide = "float64" if made[0] == "f" else "int64"
        return lambda x, w, b: (function(x.astype(wide) - zx, w.astype(wide) - zw, *settings) + b.astype(wide)).astype(
            NUMPY[made]
        )

    plain = ((1, 2), (2, 1), (1, 0, 2, 1))
    text = "pad = array<i64: 1, 0, 2, 1>, stride = array<i64: 1, 2>, dilation = array<i64: 2, 1>"
    add("conv2d", [(2, 6, 7, 3), (4, 3, 2, 3)], (2, 3, 5, 4), text, convolved(_conv, *plain))
    add("depthwise_conv2d", [(2, 6, 7, 2), (3, 2, 2, 2)], (2, 3, 5, 4), text, convolved(_depthwise, *plain))
    volume = "pad = array<i64: 0, 1, 1, 0, 1, 1>, stride = array<i64: 1, 2, 1>, dilation = array<i64: 1, 1, 1>"
    add(
        "conv3d",
        [(1, 4, 5, 4, 2), (4, 2, 2, 3, 2)],
        (1, 4, 3, 4, 4),
        volume,
        convolved(_conv, (1, 2, 1), (1, 1, 1), (0, 1, 1, 0, 1, 1)),
    )
    for around in ((0, 0, 0, 0), (-1, 2, 1, -1)):
        text = f"out_pad = array<i64: {', '.join(map(str, around))}>, stride = array<i64: 2, 1>"
        size = (1, 9 + around[0] + around[1], 6 + around[2] + around[3], 4)
        note = f"to-{made}-{zx}-{sum(map(abs, around))}"
        add("transpose_conv2d", [(1, 4, 5, 3), (4, 3, 2, 3)], size, text, convolved(_transposed, (2, 1), around))
    zeros = [("%y", f"tensor<1x{x}>"), ("%z", f"tensor<1x{x}>")]
    if x != "i16":
        given = [Given((2, 3, 5), x), Given((2, 5, 4), x)]
        found.append(
            simple(
                "matmul",
                given,
                _multiplied(zx, zx, made),
                ((2, 3, 4), made),
                "",
                rtol,
                [_zero("y", x, zx), _zero("z", x, zx)],
                zeros,
                note,
            )
        )
    return found


def _multiplied(za: int, zb: int, made: str) -> Callable[..., ndarray]:
    wide = "float64" if made[0] == "f" else "int64"
    return lambda a, b: ((a.astype(wide) - za) @ (b.astype(wide) - zb)).astype(NUMPY[made])


def _conv(x: ndarray, w: ndarray, stride: Sequence[int], dilation: Sequence[int], pad: Sequence[int]) -> ndarray:
    """Convolve tap by tap. The weight's first dimension is the result's."""
    count = len(stride)
    around = numpy.pad(x, [(0, 0), *zip(pad[0::2], pad[1::2], strict=True), (0, 0)])
    taps = w.shape[1:-1]
    sizes = [(around.shape[1 + d] - (taps[d] - 1) * dilation[d] - 1) // stride[d] + 1 for d in range(count)]
    made = numpy.zeros((len(x), *sizes, len(w)), x.dtype)
    for tap in numpy.ndindex(*taps):
        cut = tuple(
            slice(tap[d] * dilation[d], tap[d] * dilation[d] + (sizes[d] - 1) * stride[d] + 1, stride[d])
            for d in range(count)
        )
        made += around[(slice(None), *cut)] @ w[(slice(None), *tap)].T
    return made


def _depthwise(x: ndarray, w: ndarray, *settings: Any) -> ndarray:
    each = [_conv(x[..., c : c + 1], numpy.moveaxis(w[:, :, c], 2, 0)[..., None], *settings) for c in range(x.shape[3])]
    return numpy.concatenate(each, axis=3)


def _transposed(x: ndarray, w: ndarray, stride: Sequence[int], pad: Sequence[int]) -> ndarray:
    rows, columns = (
        size + 20 for size in ((x.shape[1] - 1) * stride[0] + w.shape[1], (x.shape[2] - 1) * stride[1] + w.shape[2])
    )
    whole = numpy.zeros((len(x), rows, columns, len(w)), x.dtype)
    for r, c, i, j in numpy.ndindex(x.shape[1], x.shape[2], w.shape[1], w.shape[2]):
        whole[:, 10 + r * stride[0] + i, 10 + c * stride[1] + j] += x[:, r, c] @ w[:, i, j].T
    return whole[:, 10 - pad[0] : rows - 10 + pad[1], 10 - pad[2] : columns - 10 + pad[3]]


def _pools() -> list[Program]:
    found = []
    attributes = "kernel = array<i64: 3, 2>, stride = array<i64: 2, 3>, pad = array<i64: 1, 0, 0, 1>"
    for dtype, acc, zero, rtol in (
        ("f32", "f32", 0, 1e-5),
        ("f16", "f32", 0, 4e-3),
        ("i8", "i32", 4, 0),
        ("i16", "i32", 0, 0),
    ):
        before = [_zero("y", dtype, zero), _zero("z", dtype, -zero)]
        more = [(f"%{name}", f"tensor<1x{dtype}>") for name in "yz"]
        found.append(
            simple(
                "avg_pool2d",
                [Given((1, 6, 7, 2), dtype)],
                _averaged(zero),
                ((1, 3, 3, 2), dtype),
                f"{attributes}, acc_type = {acc}",
                rtol,
                before,
                more,
            )
        )
    return found


def _averaged(zero: int) -> Callable[..., ndarray]:
    def averaged(x: ndarray) -> ndarray:
        wide = x.astype("float64" if x.dtype.kind == "f" else "int64") - zero
        settings = ((3, 2), (2, 3), (1, 0, 0, 1), 0)
        total = windows_of(wide, *settings).sum(3)
        counts = windows_of(numpy.ones(x.shape, "int64"), *settings).sum(3)
        if x.dtype.kind == "f":
            return (total / counts).astype(x.dtype)
        made = numpy.zeros(x.shape and total.shape, "int64")
        for place in numpy.ndindex(total.shape):
            power = int(counts[place] - 1).bit_length()
            multiplier = (((1 << 30) + 1) << power) // int(counts[place])
            made[place] = (int(total[place]) * multiplier + (1 << 29 + power) >> 30 + power) - zero
        limits = numpy.iinfo(x.dtype)
        return made.clip(limits.min, limits.max).astype(x.dtype)

    return averaged


def _reductions() -> list[Program]:
    found = []
    for dtype in ("f32", "f16", "i32"):
        low, high = (-100, 100) if dtype == "i32" else (0.5, 1.5)
        given = [Given((2, 5, 6), dtype, low, high)]
        rtol = {"f16": 1e-2}.get(dtype, 1e-5)
        found.append(simple("reduce_sum", given, kept(numpy.sum, 1), ((2, 1, 6), dtype), "axis = 1 : i32", rtol))
        if dtype != "i32":
            found.append(
                simple("reduce_product", given, kept(numpy.prod, 2), ((2, 5, 1), dtype), "axis = 2 : i32", rtol)
            )
    for dtype in ("i8", "i32"):
        given = [Given((2, 5, 6), dtype)]
        found.append(simple("reduce_max", given, kept(numpy.max, 0), ((1, 5, 6), dtype), "axis = 0 : i32"))
        found.append(simple("reduce_min", given, kept(numpy.min, 0), ((1, 5, 6), dtype), "axis = 0 : i32"))
    given = [Given((6, 3), "i1")]
    found.append(simple("reduce_all", given, kept(numpy.all, 1), ((6, 1), "i1"), "axis = 1 : i32"))
    found.append(simple("reduce_any", given, kept(numpy.any, 1), ((6, 1), "i1"), "axis = 1 : i32"))
    return found


WINDOWS = [*_convolutions(), *_pools(), *_reductions()]
