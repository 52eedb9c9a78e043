# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Semantics of TensorRT's layers by the documentation, in NumPy."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import numpy
from scipy import special

Inputs = Mapping[int, Any]
Settings = Mapping[str, Any]
EVALUATE: dict[str, Callable[[Inputs, Settings], Any]] = {}

_FLOATS = ("float32", "float16")
_NUMBERS = (*_FLOATS, "int32", "int64")


def layer(kind: str) -> Any:
    def declare(function: Any) -> Any:
        EVALUATE[kind] = function
        return function

    return declare


def _axes(mask: int) -> tuple[int, ...]:
    return tuple(axis for axis in range(8) if mask >> axis & 1)


def _is_float(array: Any) -> None:
    assert array.dtype.name in _FLOATS, array.dtype


# ---- elementwise functions ----

_UNARY = {
    "EXP": numpy.exp, "LOG": numpy.log, "SQRT": numpy.sqrt, "RECIP": numpy.reciprocal, "ABS": numpy.abs,
    "NEG": numpy.negative, "SIN": numpy.sin, "COS": numpy.cos, "TAN": numpy.tan, "SINH": numpy.sinh,
    "COSH": numpy.cosh, "ASIN": numpy.arcsin, "ACOS": numpy.arccos, "ATAN": numpy.arctan, "ASINH": numpy.arcsinh,
    "ACOSH": numpy.arccosh, "ATANH": numpy.arctanh, "CEIL": numpy.ceil, "FLOOR": numpy.floor, "ERF": special.erf,
    "ROUND": numpy.rint, "SIGN": numpy.sign, "NOT": numpy.logical_not,
}  # fmt: skip
_BINARY = {
    "SUM": numpy.add, "PROD": numpy.multiply, "MAX": numpy.maximum, "MIN": numpy.minimum, "SUB": numpy.subtract,
    "DIV": numpy.divide, "POW": numpy.power, "FLOOR_DIV": numpy.floor_divide, "AND": numpy.logical_and,
    "OR": numpy.logical_or, "XOR": numpy.logical_xor, "EQUAL": numpy.equal, "GREATER": numpy.greater,
    "LESS": numpy.less,
}  # fmt: skip


@layer("unary")
def unary(inputs: Inputs, settings: Settings) -> Any:
    name = settings["op"].name
    allowed = ("bool",) if name == "NOT" else _NUMBERS if name in ("ABS", "NEG", "SIGN") else _FLOATS
    assert inputs[0].dtype.name in allowed, (name, inputs[0].dtype)
    return _UNARY[name](inputs[0]).astype(inputs[0].dtype)


@layer("elementwise")
def elementwise(inputs: Inputs, settings: Settings) -> Any:
    one, other, name = inputs[0], inputs[1], settings["op"].name
    assert one.ndim == other.ndim and one.dtype == other.dtype, (name, one.shape, other.shape, one.dtype, other.dtype)
    allowed = ("bool",) if name in ("AND", "OR", "XOR") else _NUMBERS
    assert one.dtype.name in allowed, (name, one.dtype)
    made = _BINARY[name](one, other)
    return made if name in ("EQUAL", "GREATER", "LESS") else made.astype(one.dtype)


_ACTIVATIONS: dict[str, Callable[[Any, float, float], Any]] = {
    "RELU": lambda x, a, b: numpy.maximum(x, 0),
    "SIGMOID": lambda x, a, b: special.expit(x),
    "TANH": lambda x, a, b: numpy.tanh(x),
    "LEAKY_RELU": lambda x, a, b: numpy.where(x >= 0, x, a * x),
    "SELU": lambda x, a, b: numpy.where(x > 0, b * x, b * (a * numpy.exp(x) - a)),
    "SOFTPLUS": lambda x, a, b: a * numpy.logaddexp(b * x, 0),
    "CLIP": lambda x, a, b: numpy.maximum(a, numpy.minimum(b, x)),
    "GELU_ERF": lambda x, a, b: 0.5 * x * (1 + special.erf(x * 0.5**0.5)),
    "GELU_TANH": lambda x, a, b: 0.5 * x * (1 + numpy.tanh((2 / numpy.pi) ** 0.5 * (x + 0.044715 * x**3))),
}


@layer("activation")
def activation(inputs: Inputs, settings: Settings) -> Any:
    _is_float(inputs[0])
    wide = inputs[0].astype("float64")
    return _ACTIVATIONS[settings["type"].name](wide, settings.get("alpha"), settings.get("beta")).astype(
        inputs[0].dtype
    )


@layer("parametric_relu")
def parametric_relu(inputs: Inputs, settings: Settings) -> Any:
    assert inputs[0].ndim == inputs[1].ndim
    return numpy.where(inputs[0] < 0, inputs[0] * inputs[1], inputs[0])


@layer("select")
def select(inputs: Inputs, settings: Settings) -> Any:
    assert inputs[0].dtype == bool and inputs[1].dtype == inputs[2].dtype
    assert inputs[0].ndim == inputs[1].ndim == inputs[2].ndim
    return numpy.where(*(inputs[index] for index in range(3)))


@layer("cast")
def cast(inputs: Inputs, settings: Settings) -> Any:
    name = {"FLOAT": "float32", "HALF": "float16", "INT32": "int32", "INT64": "int64", "BOOL": "bool"}
    return inputs[0].astype(name[settings["to_type"].name])


@layer("identity")
def identity(inputs: Inputs, settings: Settings) -> Any:
    return inputs[0]


@layer("constant")
def constant(inputs: Inputs, settings: Settings) -> Any:
    array = settings["weights"].array
    assert array.size == numpy.prod(settings["shape"], dtype=int)
    return array.reshape(settings["shape"])


@layer("scale")
def scale(inputs: Inputs, settings: Settings) -> Any:
    assert settings["mode"].name == "CHANNEL" and inputs[0].ndim >= 4
    along = [1] * inputs[0].ndim
    along[settings["channel_axis"]] = -1
    shift, factor, power = (settings[name].array.reshape(along) for name in ("shift", "scale", "power"))
    return ((inputs[0] * factor + shift) ** power).astype(inputs[0].dtype)


# ---- products ----


@layer("matrix_multiply")
def matrix_multiply(inputs: Inputs, settings: Settings) -> Any:
    one, other = inputs[0], inputs[1]
    ops = settings["op0"].name, settings["op1"].name
    assert one.dtype == other.dtype
    _is_float(one)
    one = one[..., None, :] if ops[0] == "VECTOR" else one.swapaxes(-1, -2) if ops[0] == "TRANSPOSE" else one
    other = other[..., None] if ops[1] == "VECTOR" else other.swapaxes(-1, -2) if ops[1] == "TRANSPOSE" else other
    assert one.ndim == other.ndim, (one.shape, other.shape)
    made = numpy.matmul(one.astype("float32"), other.astype("float32")).astype(one.dtype)
    made = made[..., 0, :] if ops[0] == "VECTOR" else made
    return made[..., 0] if ops[1] == "VECTOR" else made


def _spatial(settings: Settings, name: str, rank: int, default: int) -> tuple[int, ...]:
    found = tuple(settings.get(name, (default,) * rank))
    assert len(found) == rank, (name, found)
    return found


def _kernel(inputs: Inputs, settings: Settings, first: int) -> Any:
    """Return the kernel from flat Weights or from the second input."""
    given = settings["kernel"].array
    assert (given is None) == (1 in inputs)
    kernel = inputs[1] if given is None else given.reshape(first, -1, *settings["kernel_shape"])
    assert kernel.dtype == inputs[0].dtype and tuple(kernel.shape[2:]) == tuple(settings["kernel_shape"])
    assert inputs[0].ndim == kernel.ndim and kernel.ndim in (4, 5), "over two dimensions or three"
    return kernel.astype("float64")


def _with_bias(made: Any, settings: Settings, like: Any) -> Any:
    if "bias" in settings:
        made = made + settings["bias"].array.reshape(1, -1, *(1,) * (made.ndim - 2))
    return made.astype(like.dtype)


def _taps(kernel_shape: Any, stride: Any, dilation: Any, counts: Any) -> Any:
    """Yield each tap of a kernel with the slices of the input that the tap reads."""
    for tap in itertools.product(*map(range, kernel_shape)):
        yield (
            tap,
            tuple(
                slice(at * gap, at * gap + (count - 1) * step + 1, step)
                for at, gap, step, count in zip(tap, dilation, stride, counts, strict=True)
            ),
        )


@layer("convolution")
def convolution(inputs: Inputs, settings: Settings) -> Any:
    x, kernel = inputs[0].astype("float64"), _kernel(inputs, settings, settings["num_output_maps"])
    rank = kernel.ndim - 2
    before, after = _spatial(settings, "pre_padding", rank, 0), _spatial(settings, "post_padding", rank, 0)
    stride, dilation = _spatial(settings, "stride_nd", rank, 1), _spatial(settings, "dilation_nd", rank, 1)
    x = numpy.pad(x, [(0, 0), (0, 0), *zip(before, after, strict=True)])
    counts = [(size - (taps - 1) * gap - 1) // step + 1 for size, taps, gap, step in
              zip(x.shape[2:], kernel.shape[2:], dilation, stride, strict=True)]  # fmt: skip
    groups = settings.get("num_groups", 1)
    assert kernel.shape[0] == settings["num_output_maps"] and kernel.shape[1] * groups == x.shape[1]
    made = numpy.zeros((x.shape[0], groups, kernel.shape[0] // groups, *counts))
    for tap, place in _taps(kernel.shape[2:], stride, dilation, counts):
        source = x[(slice(None), slice(None), *place)].reshape(x.shape[0], groups, -1, *counts)
        weight = kernel[(slice(None), slice(None), *tap)].reshape(groups, -1, kernel.shape[1])
        made += numpy.einsum("ngi...,goi->ngo...", source, weight)
    return _with_bias(made.reshape(x.shape[0], -1, *counts), settings, inputs[0])


@layer("deconvolution")
def deconvolution(inputs: Inputs, settings: Settings) -> Any:
    x, kernel = inputs[0].astype("float64"), _kernel(inputs, settings, inputs[0].shape[1])
    rank = kernel.ndim - 2
    before, after = _spatial(settings, "pre_padding", rank, 0), _spatial(settings, "post_padding", rank, 0)
    stride, dilation = _spatial(settings, "stride_nd", rank, 1), _spatial(settings, "dilation_nd", rank, 1)
    groups, counts = settings.get("num_groups", 1), x.shape[2:]
    assert kernel.shape[0] == x.shape[1] and kernel.shape[1] * groups == settings["num_output_maps"]
    sizes = [(count - 1) * step + (taps - 1) * gap + 1 for count, taps, gap, step in
             zip(counts, kernel.shape[2:], dilation, stride, strict=True)]  # fmt: skip
    made = numpy.zeros((x.shape[0], groups * kernel.shape[1], *sizes))
    source = x.reshape(x.shape[0], groups, -1, *counts)
    for tap, place in _taps(kernel.shape[2:], stride, dilation, counts):
        weight = kernel[(slice(None), slice(None), *tap)].reshape(groups, -1, kernel.shape[1])
        product = numpy.einsum("ngi...,gio->ngo...", source, weight)
        made[(slice(None), slice(None), *place)] += product.reshape(x.shape[0], -1, *counts)
    ends = [size - cut for size, cut in zip(sizes, after, strict=True)]
    return _with_bias(made[(..., *(slice(*each) for each in zip(before, ends, strict=True)))], settings, inputs[0])


@layer("pooling")
def pooling(inputs: Inputs, settings: Settings) -> Any:
    x, window = inputs[0].astype("float64"), tuple(settings["window_size"])
    rank = len(window)
    assert x.ndim == rank + 2 and rank in (2, 3)
    stride = _spatial(settings, "stride_nd", rank, 1)
    before, after = _spatial(settings, "pre_padding", rank, 0), _spatial(settings, "post_padding", rank, 0)
    up = "padding_mode" in settings and settings["padding_mode"].name == "EXPLICIT_ROUND_UP"
    counts, pads = [], []
    for size, taps, step, front, back in zip(x.shape[2:], window, stride, before, after, strict=True):
        room = size + front + back - taps
        counts.append((-(-room // step) if up else room // step) + 1)
        pads.append((front, max((counts[-1] - 1) * step + taps - size - front, back)))
    is_max = settings["type"].name == "MAX"
    padded = numpy.pad(x, [(0, 0), (0, 0), *pads], constant_values=-numpy.inf if is_max else 0)
    inside = numpy.pad(numpy.ones(x.shape[2:]), pads)
    made, seen = (numpy.full((*x.shape[:2], *counts), -numpy.inf if is_max else 0.0), numpy.zeros(counts))
    for _, place in _taps(window, stride, (1,) * rank, counts):
        source = padded[(slice(None), slice(None), *place)]
        made = numpy.maximum(made, source) if is_max else made + source
        seen = seen + inside[place]
    if not is_max:
        made = made / (seen if settings.get("average_count_excludes_padding", True) else numpy.prod(window))
    return made.astype(inputs[0].dtype)


# ---- norms and reductions ----


@layer("softmax")
def softmax(inputs: Inputs, settings: Settings) -> Any:
    (axis,) = _axes(settings["axes"])
    return special.softmax(inputs[0].astype("float64"), axis=axis).astype(inputs[0].dtype)


_REDUCE = {"SUM": numpy.sum, "PROD": numpy.prod, "MAX": numpy.max, "MIN": numpy.min, "AVG": numpy.mean}


@layer("reduce")
def reduce(inputs: Inputs, settings: Settings) -> Any:
    assert settings["op"].name != "AVG" or inputs[0].dtype.name in _FLOATS
    wide = inputs[0].astype("float64") if inputs[0].dtype.name in _FLOATS else inputs[0]
    axes = _axes(settings["axes"])
    assert axes and axes[-1] < wide.ndim
    return _REDUCE[settings["op"].name](wide, axis=axes, keepdims=settings["keep_dims"]).astype(inputs[0].dtype)


@layer("normalization")
def normalization(inputs: Inputs, settings: Settings) -> Any:
    x, axes = inputs[0].astype("float64"), _axes(settings["axesMask"])
    expected = tuple(size if axis in axes else 1 for axis, size in enumerate(x.shape))
    assert inputs[1].shape == inputs[2].shape == expected, (inputs[1].shape, expected)
    mean, variance = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    made = (x - mean) / numpy.sqrt(variance + settings.get("epsilon", 1e-5))
    return (made * inputs[1] + inputs[2]).astype(inputs[0].dtype)


@layer("topk")
def topk(inputs: Inputs, settings: Settings) -> Any:
    _is_float(inputs[0])
    (axis,) = _axes(settings["axes"])
    keys = -inputs[0] if settings["op"].name == "MAX" else inputs[0]
    order = numpy.argsort(keys, axis=axis, kind="stable").take(range(settings["k"]), axis=axis)
    return numpy.take_along_axis(inputs[0], order, axis), order.astype("int32")


# ---- data movement ----


@layer("shuffle")
def shuffle(inputs: Inputs, settings: Settings) -> Any:
    x = inputs[0].transpose(settings["first_transpose"]) if "first_transpose" in settings else inputs[0]
    if 1 in inputs:
        assert inputs[1].dtype == "int64"
        return x.reshape(tuple(inputs[1]))
    if "reshape_dims" not in settings:
        return x
    # A 0 keeps the size at its position. A -1 is the size that keeps the number of elements.
    return x.reshape([x.shape[axis] if size == 0 else size for axis, size in enumerate(settings["reshape_dims"])])


@layer("shape")
def shape(inputs: Inputs, settings: Settings) -> Any:
    return numpy.array(inputs[0].shape, "int64")


@layer("concatenation")
def concatenation(inputs: Inputs, settings: Settings) -> Any:
    arrays = [inputs[index] for index in range(len(inputs))]
    assert len({each.dtype for each in arrays}) == 1
    return numpy.concatenate(arrays, settings["axis"])


@layer("gather")
def gather(inputs: Inputs, settings: Settings) -> Any:
    assert inputs[1].dtype.name in ("int32", "int64")
    return inputs[0].take(inputs[1], settings["axis"])


@layer("slice")
def slice_(inputs: Inputs, settings: Settings) -> Any:
    x = inputs[0]
    sizes = tuple(inputs[2]) if 2 in inputs else tuple(settings["shape"])
    fills = "mode" in settings and settings["mode"].name == "FILL"
    assert len(settings["start"]) == len(settings["stride"]) == len(sizes) == x.ndim
    for axis, (start, step, size) in enumerate(zip(settings["start"], settings["stride"], sizes, strict=True)):
        at = start + step * numpy.arange(size)
        inside = (at >= 0) & (at < x.shape[axis])
        assert fills or inside.all(), "out of bounds"
        x = x.take(numpy.where(inside, at, 0), axis)
        if fills:
            keep = inside.reshape([-1 if each == axis else 1 for each in range(x.ndim)])
            assert inputs[4].shape == () and inputs[4].dtype == x.dtype
            x = numpy.where(keep, x, inputs[4])
    return x


@layer("resize")
def resize(inputs: Inputs, settings: Settings) -> Any:
    x = inputs[0].astype("float64")
    sizes = tuple(inputs[1]) if 1 in inputs else tuple(settings["shape"])
    kind = settings["coordinate_transformation"].name
    for axis, size in enumerate(sizes):
        if size == x.shape[axis]:
            continue
        old, at = x.shape[axis], numpy.arange(size, dtype="float64")
        if kind == "HALF_PIXEL":
            at = (at + 0.5) * old / size - 0.5
        elif kind == "ALIGN_CORNERS":
            at = at * (old - 1) / max(size - 1, 1)
        else:
            at = at * old / size
        if settings["resize_mode"].name == "NEAREST":
            round_ = {"FLOOR": numpy.floor, "CEIL": numpy.ceil, "HALF_UP": lambda v: numpy.floor(v + 0.5),
                      "HALF_DOWN": lambda v: numpy.ceil(v - 0.5)}[settings["nearest_rounding"].name]  # fmt: skip
            x = x.take(numpy.clip(round_(at), 0, old - 1).astype(int), axis)
            continue
        low = numpy.floor(at)
        weight = (at - low).reshape([-1 if each == axis else 1 for each in range(x.ndim)])
        first, second = (x.take(numpy.clip(each, 0, old - 1).astype(int), axis) for each in (low, low + 1))
        x = first * (1 - weight) + second * weight
    return x.astype(inputs[0].dtype)
