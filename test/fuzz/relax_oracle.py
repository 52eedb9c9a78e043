# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Semantics of relax's operators in numpy and scipy: one function per operator, called with arrays and attributes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy
import relax_indexing
import relax_networks
import relax_windows
import scipy.special
from graphs import Node, Undefined, numpy_dtype, size_of
from relax_mlir_proof.testing.noise import BY_LARGEST, BY_ONE, EXACT

__all__ = ("BY_LARGEST", "BY_ONE", "EXACT", "FUNCTIONS", "oracle")


def oracle(node: Node, arrays: Sequence[Any], sizes: Mapping[str, int]) -> list[Any]:
    """Return the results in the operator's element types."""
    attributes = {name: _resolved(value, sizes) for name, value in node.attributes.items()}
    wide = [_widened(array) for array in arrays]
    with numpy.errstate(all="ignore"):
        try:
            given = FUNCTIONS[node.op](*wide, **attributes)
        except (ValueError, IndexError, MemoryError) as error:
            raise Undefined(f"{node.op}: {error}") from None
        results = list(given) if isinstance(given, (list, tuple)) else [given]
        return [
            numpy.asarray(each).astype(numpy_dtype(dtype)) for each, dtype in zip(results, node.origin, strict=True)
        ]


def _resolved(value: Any, sizes: Mapping[str, int]) -> Any:
    """Return sizes with values for symbols."""
    if isinstance(value, tuple) and any(isinstance(each, str) for each in value):
        return tuple(size_of(each, sizes) for each in value)
    return value


def _widened(array: Any) -> Any:
    """Return half floats as float32: kernels compute in float32, and round when they store."""
    if isinstance(array, tuple):
        return tuple(_widened(each) for each in array)
    return array.astype("float32") if array is not None and array.dtype.name in ("float16", "bfloat16") else array


# ---- undefined cases ----


def _int_divide(function: Callable[..., Any]) -> Callable[..., Any]:
    def divide(x: Any, y: Any) -> Any:
        if x.dtype.kind in "iu":
            if (y == 0).any():
                raise Undefined("an integer is divided by zero")
            if x.dtype.kind == "i" and ((y == -1) & (x == numpy.iinfo(x.dtype).min)).any():
                raise Undefined("the smallest integer is divided by -1, which overflows")
        return function(x, y)

    return divide


def _divide(x: Any, y: Any) -> Any:
    if x.dtype.kind == "f":
        return x / y
    floor, rest = numpy.divmod(x, y)
    return floor + ((rest != 0) & ((x < 0) != (y < 0))).astype(x.dtype)


def _floor_divide(x: Any, y: Any) -> Any:
    """Divide without rounding the quotient before floor."""
    return (
        numpy.floor_divide(x, y) if x.dtype.kind in "iu" else numpy.floor_divide(*map(_widened, (x, y))).astype(x.dtype)
    )


def _shift(function: Callable[..., Any]) -> Callable[..., Any]:
    def shift(x: Any, y: Any) -> Any:
        if (y < 0).any() or (y >= 8 * x.dtype.itemsize).any():
            raise Undefined("a shift by a negative number, or by more bits than there are")
        return function(x, y)

    return shift


def _power(x: Any, y: Any) -> Any:
    if x.dtype.kind in "iu" and (y < 0).any():
        raise Undefined("an integer to a negative power")
    return numpy.power(x, y)


def _astype(x: Any, dtype: str) -> Any:
    target = numpy_dtype(dtype)
    if x.dtype.kind == "f" and target.kind in "iu":
        limits = numpy.iinfo(target)
        if not (numpy.isfinite(x).all() and ((x > float(limits.min) - 1) & (x < float(limits.max))).all()):
            raise Undefined("a float that the integer type does not have")
    return x.astype(target)


def _index(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a search that rejects NaN: numpy takes the first of several, which relax does not promise."""

    def search(x: Any, **attributes: Any) -> Any:
        if x.dtype.kind == "f" and numpy.isnan(x).any():
            raise Undefined("the place of an extreme element among NaNs")
        return function(x, **attributes)

    return search


def _ordered(function: Callable[..., Any]) -> Callable[..., Any]:
    def order(x: Any, **attributes: Any) -> Any:
        if x.dtype.kind == "f" and numpy.isnan(x).any():
            raise Undefined("an order of NaNs")
        return function(x, **attributes)

    return order


# ---- families ----


def _reduction(function: Callable[..., Any]) -> Callable[..., Any]:
    def reduce(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return function(x, axis=None if axis is None else tuple(axis), keepdims=keepdims)

    return reduce


def _mean(x: Any, axis: Any, keepdims: bool) -> Any:
    if x.dtype.kind in "iu" or x.size == 0:
        raise Undefined("the mean of integers, or of nothing")
    return numpy.mean(x, axis=axis, keepdims=keepdims, dtype="float64")


def _variance(x: Any, axis: Any, keepdims: bool) -> Any:
    _mean(x, axis, keepdims)
    return numpy.var(x, axis=axis, keepdims=keepdims, dtype="float64")


def _same_type(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a sum in the element type. Integers wrap around, and floats are summed exactly enough."""

    def sum_of(x: Any, axis: Any, keepdims: bool) -> Any:
        wide = x.dtype if x.dtype.kind in "iu" else "float64"
        return function(x, axis=axis, keepdims=keepdims, dtype=wide)

    return sum_of


def _bools(function: Callable[..., Any], of_bools: Callable[..., Any]) -> Callable[..., Any]:
    def chosen(x: Any, axis: Any, keepdims: bool) -> Any:
        return (of_bools if x.dtype.kind == "b" else function)(x, axis=axis, keepdims=keepdims)

    return chosen


def _cumulative(function: Callable[..., Any]) -> Callable[..., Any]:
    def scan(x: Any, axis: int | None = None, exclusive: bool = False) -> Any:
        wide = x.dtype if x.dtype.kind in "iu" else "float64"
        flat, along = (x.reshape(-1), 0) if axis is None else (x, axis)
        result = function(flat, axis=along, dtype=wide)
        if not exclusive:
            return result
        first = numpy.full_like(
            numpy.take(result, [0], along) if flat.shape[along] else result, function is numpy.cumprod
        )
        return numpy.concatenate([first, numpy.delete(result, -1, along)], along) if flat.shape[along] else result

    return scan


def _softmax(x: Any, axis: int = -1) -> Any:
    if x.shape[axis] == 0:
        return x
    return scipy.special.softmax(x.astype("float64"), axis=axis)


def _log_softmax(x: Any, axis: int = -1) -> Any:
    if x.shape[axis] == 0:
        return x
    shifted = x.astype("float64") - x.max(axis=axis, keepdims=True)
    return shifted - numpy.log(numpy.exp(shifted).sum(axis=axis, keepdims=True))


def _layer_norm(x: Any, gamma: Any, beta: Any, axes: Sequence[int], epsilon: float = 1e-5) -> Any:
    if x.size == 0:
        return x
    wide, axis = x.astype("float64"), tuple(axes)
    centered = wide - wide.mean(axis=axis, keepdims=True)
    return centered / numpy.sqrt((centered**2).mean(axis=axis, keepdims=True) + epsilon) * gamma + beta


def _rms_norm(x: Any, weight: Any, axes: Sequence[int], epsilon: float = 1e-5) -> Any:
    if x.size == 0:
        return x
    wide = x.astype("float64")
    return wide / numpy.sqrt((wide**2).mean(axis=tuple(axes), keepdims=True) + epsilon) * weight


def _batch_norm(x: Any, gamma: Any, beta: Any, mean: Any, variance: Any, axis: int, **_: Any) -> list[Any]:
    shape = [-1 if each == axis % x.ndim else 1 for each in range(x.ndim)]
    scale = gamma / numpy.sqrt(variance.astype("float64") + 1e-5)
    return [(x - mean.reshape(shape)) * scale.reshape(shape) + beta.reshape(shape), mean, variance]


def _strided_slice(x: Any, axes: Any, begin: Any, end: Any, strides: Any) -> Any:
    index = [slice(None)] * x.ndim
    for axis, *bounds in zip(axes, begin, end, strides, strict=True):
        index[axis] = slice(*bounds)
    return x[tuple(index)]


def _split(x: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    return list(numpy.split(x, indices_or_sections, axis=axis))


def _topk(x: Any, k: int, axis: int, largest: bool) -> list[Any]:
    if k > x.shape[axis]:
        raise Undefined("more elements than there are")
    order = numpy.take(_argsort(x, axis, largest), range(k), axis=axis)
    return [numpy.take_along_axis(x, order, axis), order]


def _argsort(x: Any, axis: int, descending: bool) -> Any:
    keys = -x.astype(object) if descending and x.dtype.kind in "iub" else -x if descending else x
    return numpy.argsort(keys, axis=axis, kind="stable")


def _sort(x: Any, axis: int, descending: bool) -> Any:
    return numpy.take_along_axis(x, _argsort(x, axis, descending), axis)


def _pad(x: Any, pad_width: Sequence[int], pad_mode: str = "constant", pad_value: float = 0.0) -> Any:
    pairs = list(zip(pad_width[::2], pad_width[1::2], strict=True))
    if pad_mode != "constant":
        if x.size == 0 or any(max(pair) >= size for pair, size in zip(pairs, x.shape, strict=True)):
            raise Undefined("reflected padding that is as large as the data")
        return numpy.pad(x, pairs, mode={"reflect": "reflect", "replicate": "edge", "circular": "wrap"}[pad_mode])
    return numpy.pad(x, pairs, constant_values=pad_value)


def _one_hot(indices: Any, on_value: float, off_value: float, depth: int, axis: int = -1) -> Any:
    places = numpy.arange(depth)
    hot = indices[..., None] == places
    return numpy.moveaxis(numpy.where(hot, on_value, off_value), -1, axis)


def _scatter_elements(data: Any, indices: Any, updates: Any, axis: int, reduction: str) -> Any:
    result = data.copy()
    for place in itertools.product(*map(range, indices.shape)):
        at = list(place)
        at[axis] = indices[place]
        if reduction == "add":
            result[tuple(at)] += updates[place]
        else:
            result[tuple(at)] = updates[place]
    return result


def _gather_nd(data: Any, indices: Any) -> Any:
    return data[tuple(numpy.moveaxis(indices, -1, 0))]


def _matmul(x: Any, y: Any) -> Any:
    if x.dtype.kind == "f":
        return numpy.matmul(x.astype("float64"), y.astype("float64"))
    return numpy.matmul(x, y)


def _take(x: Any, indices: Any, axis: int | None, mode: str) -> Any:
    if mode == "fast" and indices.size and axis is not None and not x.shape[axis]:
        raise Undefined("an element of nothing")
    return numpy.take(x, indices, axis)


def _gelu_tanh(x: Any) -> Any:
    return 0.5 * x * (1 + numpy.tanh(numpy.sqrt(2 / numpy.pi) * (x + 0.044715 * x**3)))


def _bounded(function: Callable[..., Any]) -> Callable[..., Any]:
    def apply(x: Any) -> Any:
        if numpy.isneginf(x).any():
            raise Undefined("0 times infinity, where the function has a limit")
        return function(x)

    return apply


def _floats(functions: Mapping[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """Return functions that compute in double, like the reference."""
    return {f"relax.{name}": _in_double(function) for name, function in functions.items()}


def _in_double(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arrays, **attributes: function(*(each.astype("float64") for each in arrays), **attributes)


FLOAT_UNARY = _floats(
    {
        **{name: getattr(numpy, name) for name in "cos cosh exp log sin sinh sqrt tan tanh".split()},
        **{name: getattr(numpy, f"arc{name[1:]}") for name in "acos acosh asin asinh atan atanh".split()},
        "erf": scipy.special.erf,
        "sigmoid": scipy.special.expit,
        "rsqrt": lambda x: 1 / numpy.sqrt(x),
        "nn.gelu": _bounded(lambda x: x * scipy.special.ndtr(x)),
        "nn.gelu_tanh": _bounded(_gelu_tanh),
        "nn.silu": _bounded(lambda x: x * scipy.special.expit(x)),
        "nn.selu": lambda x: 1.0507009873554805 * numpy.where(x > 0, x, 1.6732632423543772 * numpy.expm1(x)),
        "nn.softplus": lambda x: numpy.logaddexp(x, 0),
        "nn.leakyrelu": lambda x: numpy.where(x > 0, x, 0.01 * x),
    }
)
FLOAT_BINARY = _floats({"atan2": numpy.arctan2, "log_add_exp": numpy.logaddexp})
ROUNDING = {f"relax.{name}": getattr(numpy, name) for name in "ceil floor trunc".split()} | {
    "relax.round": numpy.rint,
    "relax.isnan": numpy.isnan,
    "relax.isinf": numpy.isinf,
    "relax.isfinite": numpy.isfinite,
}
UNARY = {
    "relax.abs": numpy.abs,
    "relax.negative": numpy.negative,
    "relax.square": numpy.square,
    "relax.sign": numpy.sign,
    "relax.nn.relu": lambda x: numpy.maximum(x, x.dtype.type(0)),
}
ARITHMETIC = {
    **{f"relax.{name}": getattr(numpy, name) for name in "add subtract multiply maximum minimum".split()},
    "relax.divide": _int_divide(_divide),
    "relax.floor_divide": _int_divide(_floor_divide),
    "relax.floor_mod": _int_divide(numpy.mod),
    "relax.mod": _int_divide(numpy.fmod),
    "relax.power": _power,
}
COMPARISONS = {
    f"relax.{name}": getattr(numpy, name) for name in "equal not_equal less less_equal greater greater_equal".split()
}
BITS = {f"relax.{name}": getattr(numpy, name) for name in "bitwise_and bitwise_or bitwise_xor".split()} | {
    "relax.left_shift": _shift(numpy.left_shift),
    "relax.right_shift": _shift(numpy.right_shift),
}
LOGICAL = {f"relax.{name}": getattr(numpy, name) for name in "logical_and logical_or logical_xor".split()}
REDUCTIONS = {
    f"relax.{name}": _reduction(function)
    for name, function in {
        "sum": _bools(_same_type(numpy.sum), numpy.any),
        "prod": _bools(_same_type(numpy.prod), numpy.all),
        "max": numpy.max,
        "min": numpy.min,
        "mean": _mean,
        "variance": _variance,
        "std": lambda x, axis, keepdims: numpy.sqrt(_variance(x, axis, keepdims)),
    }.items()
}
SEARCHES = {"relax.argmax": _index(numpy.argmax), "relax.argmin": _index(numpy.argmin)}
SCANS = {"relax.cumsum": _cumulative(numpy.cumsum), "relax.cumprod": _cumulative(numpy.cumprod)}

FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **FLOAT_UNARY, **FLOAT_BINARY, **ROUNDING, **UNARY, **ARITHMETIC, **COMPARISONS, **BITS, **LOGICAL, **REDUCTIONS,
    **SEARCHES, **SCANS, **relax_windows.FUNCTIONS, **relax_indexing.FUNCTIONS, **relax_networks.FUNCTIONS,
    "relax.logical_not": numpy.logical_not,
    "relax.bitwise_not": numpy.invert,
    "relax.ewise_fma": lambda x, y, z: x * y + z,
    "relax.where": numpy.where,
    "relax.clip": lambda x, min, max: numpy.minimum(numpy.maximum(x, x.dtype.type(min)), x.dtype.type(max)),
    "relax.astype": _astype,
    "relax.reshape": lambda x, shape: x.reshape(shape),
    "relax.flatten": lambda x: x.reshape(-1),
    "relax.nn.batch_flatten": lambda x: x.reshape(x.shape[0], int(numpy.prod(x.shape[1:]))),
    "relax.permute_dims": lambda x, axes=None: numpy.transpose(x, axes),
    "relax.expand_dims": lambda x, axis: numpy.expand_dims(x, tuple(axis)),
    "relax.squeeze": lambda x, axis: numpy.squeeze(x, tuple(axis)),
    "relax.broadcast_to": lambda x, shape: numpy.broadcast_to(x, shape),
    "relax.flip": lambda x, axis: numpy.flip(x, axis),
    "relax.repeat": lambda x, repeats, axis=None: numpy.repeat(x, repeats, axis),
    "relax.tile": lambda x, repeats: numpy.tile(x, repeats),
    "relax.concat": lambda xs, axis: numpy.concatenate(xs, axis),
    "relax.stack": lambda xs, axis: numpy.stack(xs, axis),
    "relax.split": _split,
    "relax.strided_slice": _strided_slice,
    "relax.take": _take,
    "relax.gather_elements": lambda x, indices, axis: numpy.take_along_axis(x, indices, axis),
    "relax.gather_nd": _gather_nd,
    "relax.scatter_elements": _scatter_elements,
    "relax.nn.softmax": _softmax,
    "relax.nn.log_softmax": _log_softmax,
    "relax.nn.layer_norm": _layer_norm,
    "relax.nn.rms_norm": _rms_norm,
    "relax.nn.batch_norm": _batch_norm,
    "relax.matmul": _matmul,
    "relax.outer": numpy.outer,
    "relax.sort": _ordered(_sort),
    "relax.argsort": _ordered(lambda x, axis, descending, dtype="int32": _argsort(x, axis, descending)),
    "relax.topk": _ordered(_topk),
    "relax.tril": lambda x, k: numpy.tril(x, k),
    "relax.triu": lambda x, k: numpy.triu(x, k),
    "relax.full_like": lambda x, value: numpy.full_like(x, value),
    "relax.zeros_like": numpy.zeros_like,
    "relax.ones_like": numpy.ones_like,
    "relax.nn.pad": _pad,
    "relax.one_hot": _one_hot,
    "relax.nonzero": lambda x: numpy.array(numpy.nonzero(x)),
    "relax.size": lambda x: numpy.array(x.size),
    "relax.collapse_sum_to": lambda x, shape: _collapsed(x, shape),
}  # fmt: skip


def _collapsed(x: Any, shape: Sequence[int]) -> Any:
    lead = x.ndim - len(shape)
    wide = x.astype("float64") if x.dtype.kind == "f" else x
    dtype = wide.dtype
    axes = tuple(range(lead)) + tuple(lead + i for i, size in enumerate(shape) if size == 1 and x.shape[lead + i] != 1)
    return wide.sum(axis=axes, dtype=dtype).reshape(shape) if axes else wide
