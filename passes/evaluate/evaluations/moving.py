# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Evaluations of operators that move elements: reshapes, permutations, slices, joins, gathers and scatters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ....dialects.core.infos import TensorInfo
from ..elements import NotKnown, alike, numbers
from ..registry import EvaluationCall, register_evaluation

if TYPE_CHECKING:
    from numpy import ndarray


def known_shape(call: EvaluationCall) -> Sequence[int]:
    """Return the sizes of the (first) result. Raise NotKnown if they are not numbers."""
    shape: Sequence[int] | None = call.result.shape
    if shape is None or not all(isinstance(size, int) for size in shape):
        raise NotKnown
    return shape


# ---- shapes and orders ----


@register_evaluation(["relax.reshape", "relax.flatten", "relax.expand_dims", "relax.squeeze"], symbols=True)
def reshape(call: EvaluationCall, x: ndarray, *shape: object) -> ndarray:
    return x.reshape(known_shape(call))


@register_evaluation("relax.permute_dims", symbols=True)
def permute_dims(call: EvaluationCall, x: ndarray) -> ndarray:
    return x.transpose(call.axes)


@register_evaluation("relax.broadcast_to", symbols=True)
def broadcast_to(call: EvaluationCall, x: ndarray, shape: object) -> ndarray:
    import numpy

    return numpy.broadcast_to(x, known_shape(call))


@register_evaluation("relax.flip", symbols=True)
def flip(call: EvaluationCall, data: ndarray) -> ndarray:
    import numpy

    return numpy.flip(data, call.axis)


@register_evaluation("relax.tile", symbols=True)
def tile(call: EvaluationCall, data: ndarray) -> ndarray:
    import numpy

    return numpy.tile(data, call.repeats)


# ---- joining and taking apart ----


def _join(name: str) -> Callable[..., object]:
    def rule(call: EvaluationCall, tensors: Sequence[ndarray]) -> ndarray:
        import numpy

        return getattr(numpy, name)(alike(tensors), axis=call.axis)

    return rule


register_evaluation("relax.concat", symbols=True)(_join("concatenate"))
register_evaluation("relax.stack", symbols=True)(_join("stack"))


@register_evaluation("relax.split", symbols=True)
def split(call: EvaluationCall, x: ndarray) -> list[ndarray]:
    import numpy

    axis = call.axis % x.ndim
    lengths = [info.shape[axis] for info in call.results if isinstance(info, TensorInfo) and info.shape]
    return numpy.split(x, numpy.cumsum(lengths)[:-1], axis)


@register_evaluation("relax.strided_slice", symbols=True)
def strided_slice(call: EvaluationCall, x: ndarray) -> ndarray:
    picks = [slice(None)] * x.ndim
    if not all(isinstance(bound, int) for bound in (*call.begin, *call.end)):
        raise NotKnown
    strides = call.strides or [1] * len(call.axes)
    for axis, *bounds in zip(call.axes, call.begin, call.end, strides, strict=True):
        picks[axis] = slice(*bounds)
    return x[tuple(picks)]


# ---- at indices ----


def _positions(indices: ndarray, size: int) -> ndarray:
    """Return indices counted from the front. Raise NotKnown if one is out of bounds: the program refuses it."""
    if ((indices < -size) | (indices >= size)).any():
        raise NotKnown
    return indices.astype("int64") % max(size, 1)


@register_evaluation("relax.take", symbols=True)
def take(call: EvaluationCall, x: ndarray, indices: ndarray) -> ndarray:
    import numpy

    if call.mode != "fast":
        raise NotKnown
    size = x.size if call.axis is None else x.shape[call.axis]
    return numpy.take(x, _positions(numbers(indices), size), call.axis)


@register_evaluation("relax.scatter_elements", symbols=True)
def scatter_elements(call: EvaluationCall, data: ndarray, indices: ndarray, updates: ndarray) -> ndarray:
    import numpy

    axis = call.axis % data.ndim
    places: list[ndarray] = list(numpy.indices(indices.shape, sparse=True))
    places[axis] = _positions(numbers(indices), data.shape[axis])
    return _write(call, data, numpy.broadcast_arrays(*places), updates)


@register_evaluation("relax.scatter_nd", symbols=True)
def scatter_nd(call: EvaluationCall, data: ndarray, indices: ndarray, updates: ndarray) -> ndarray:
    import numpy

    places = numpy.moveaxis(numbers(indices), -1, 0)
    return _write(call, data, [_positions(*each) for each in zip(places, data.shape, strict=False)], updates)


def _write(call: EvaluationCall, data: ndarray, places: Sequence[ndarray], updates: ndarray) -> ndarray:
    """Write updates to distinct indices. NumPy does not define the order of its writes."""
    import numpy

    if call.reduction != "update" or not places:
        raise NotKnown
    flat = numpy.ravel_multi_index(list(places), data.shape[: len(places)]) if data.size else places[0]
    if numpy.unique(flat).size < flat.size:
        raise NotKnown
    data, updates = alike([data, updates])
    result = data.copy()
    result[tuple(places)] = updates
    return result


@register_evaluation("relax.nonzero")
def nonzero(call: EvaluationCall, x: ndarray) -> ndarray:
    import numpy

    if x.ndim == 0:
        raise NotKnown
    return numpy.array(numpy.nonzero(x), "int64")
