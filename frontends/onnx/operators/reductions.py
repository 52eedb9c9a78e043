# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of reductions, positions of extremes, and cumulative sums and products."""

from __future__ import annotations

from collections.abc import Callable

from ....dialects.core.infos import is_bool, is_float
from ....emit.axis_reduction import highest, lowest
from ...core.sizes import as_tensor, shape_tensor, size_of
from ..prelude import OnnxNode, Outputs, Tensor, cast, const, from_front, info_of, register_onnx, relax

_BY_INPUT_SINCE = {"ReduceSum": 13}
_FLOATS_ONLY_SINCE = {"ReduceLogSum": 28, "ReduceLogSumExp": 28}


class StaticAxes:
    """Reductions over axes that are known at import. None means all axes, an empty list no axes."""

    def __init__(self, node: OnnxNode, axes: tuple[int, ...] | None):
        self._axes = None if axes is None else list(axes)
        self._keepdims = bool(node.int("keepdims", 1))

    def fold(self, name: str, x: Tensor) -> Tensor:
        return relax.dialect.ops[name](x, axis=self._axes, keepdims=self._keepdims)

    def spread_fold(self, name: str, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the result, and the result with a size of 1 along the reduced axes."""
        kept = relax.dialect.ops[name](x, axis=self._axes, keepdims=True)
        return kept if self._keepdims else relax.squeeze(kept, axis=self._axes), kept


def _axes(node: OnnxNode) -> StaticAxes | RunTimeAxes:
    if node.version < _BY_INPUT_SINCE.get(node.op, 18):
        listed = node.ints("axes")
        return StaticAxes(node, tuple(listed) if listed else None)
    axes = node.numbers(1) if node.has(1) else ()
    if axes is None:
        return RunTimeAxes(node)
    if not axes and not node.int("noop_with_empty_axes", 0):
        return StaticAxes(node, None)
    return StaticAxes(node, axes)


_SIMPLE = {"ReduceMax": "max", "ReduceMean": "mean", "ReduceMin": "min", "ReduceProd": "prod", "ReduceSum": "sum"}


def _log_sum_exp(axes: StaticAxes | RunTimeAxes, x: Tensor) -> Tensor:
    """Return log(sum(exp(x))), computed from the distances to the largest element to prevent overflow.

    An infinite largest element is not subtracted.
    """
    largest, spread = axes.spread_fold("max", x)
    zeros = relax.zeros_like
    shift = relax.where(relax.isfinite(largest), largest, zeros(largest))
    shifts = relax.where(relax.isfinite(spread), spread, zeros(spread))
    return relax.add(relax.log(axes.fold("sum", relax.exp(relax.subtract(x, shifts)))), shift)


_COMPOSED: dict[str, Callable[[StaticAxes | RunTimeAxes, Tensor], Tensor]] = {
    "ReduceL1": lambda axes, x: axes.fold("sum", relax.abs(x)),
    "ReduceL2": lambda axes, x: relax.sqrt(axes.fold("sum", relax.square(x))),
    "ReduceLogSum": lambda axes, x: relax.log(axes.fold("sum", x)),
    "ReduceLogSumExp": _log_sum_exp,
    "ReduceSumSquare": lambda axes, x: axes.fold("sum", relax.square(x)),
}


@register_onnx("", [*_SIMPLE, *_COMPOSED])
def reduce(node: OnnxNode) -> Outputs:
    x, dtype = node.tensor(0), node.value(0).dtype
    axes = _axes(node)
    if is_bool(dtype):
        # The sum of booleans is true if any is true, their product if all are.
        return axes.fold({"ReduceMax": "sum", "ReduceMin": "prod"}[node.op], x)
    if node.op in _SIMPLE:
        return axes.fold(_SIMPLE[node.op], x)
    if is_float(dtype) or node.op in ("ReduceL1", "ReduceSumSquare"):
        return _COMPOSED[node.op](axes, x)
    if node.version >= _FLOATS_ONLY_SINCE.get(node.op, node.version + 1):
        raise node.fail(f"takes only floats, got {dtype}: insert a Cast in front of the node")
    # Compute in f64 and truncate towards zero, as a Cast does.
    return relax.astype(_COMPOSED[node.op](axes, relax.astype(x, dtype="f64")), dtype=dtype)


# ---- positions ----
@register_onnx("", ["ArgMax", "ArgMin"])
def position(node: OnnxNode) -> Outputs:
    axis, keepdims = node.int("axis", 0), bool(node.int("keepdims", 1))
    x, name = node.tensor(0), node.op.lower()
    if not node.int("select_last_index", 0):
        return relax.dialect.ops[name](x, axis=axis, keepdims=keepdims)
    axis = node.axis(node.rank(0), 0)
    size = relax.reshape(as_tensor([size_of(x, axis)]), ())
    from_end = relax.dialect.ops[name](relax.flip(x, axis=axis), axis=axis, keepdims=keepdims)
    return relax.subtract(relax.subtract(size, const(1, "i64")), from_end)


# ---- scans ----
@register_onnx("", ["CumSum", "CumProd"])
def scan(node: OnnxNode) -> Outputs:
    if (given := node.number(1)) is not None:
        return _scan_along(node, given)
    # The axis is dynamic: compute the scans along all axes, and select one.
    dtype, rank = node.value(1).dtype, node.rank(0)
    axis = from_front(relax.reshape(node.tensor(1), ()), const(rank, dtype))
    result = _scan_along(node, 0)
    for other in range(1, rank):
        result = relax.where(relax.equal(axis, const(other, dtype)), _scan_along(node, other), result)
    return result


def _scan_along(node: OnnxNode, axis: int) -> Tensor:
    x, is_reversed = node.tensor(0), node.int("reverse", 0)
    if is_reversed:
        x = relax.flip(x, axis=axis)
    result = relax.dialect.ops[node.op.lower()](x, axis=axis, exclusive=bool(node.int("exclusive", 0)))
    return relax.flip(result, axis=axis) if is_reversed else result


# ---- dynamic axes ----


_SCATTER = {"sum": "add", "prod": "mul", "max": "max", "min": "min"}


class RunTimeAxes:
    """Reductions like StaticAxes, with axes from the second input of a node.

    The element at (i, j, ...) goes to the position i * strides[0] + j * strides[1] + ... of the flattened result.
    `strides` are the strides of the result, 0 along reduced axes. The result is reshaped last.
    """

    def __init__(self, node: OnnxNode):
        self._node = node
        self._rank = node.rank(0)
        x = node.tensor(0)
        self._is_reduced = self._mask()
        sizes = shape_tensor(x)
        kept = relax.where(self._is_reduced, const(1, "i64"), sizes)
        self._count = relax.prod(kept, axis=[0], keepdims=True)
        self._shape = self._result_shape(kept)
        self._places = self._flat_places(x, kept)

    def _mask(self) -> Tensor:
        """Return the mask of the reduced axes."""
        node = self._node
        axes = from_front(relax.astype(node.tensor(1), dtype="i64"), const(self._rank, "i64"))
        own = const([[axis] for axis in range(self._rank)], "i64")
        mask = relax.sum(relax.equal(own, relax.expand_dims(axes, axis=[0])), axis=[1])
        if self._listed or node.int("noop_with_empty_axes", 0):
            return mask
        return relax.logical_or(mask, relax.logical_not(relax.sum(mask)))

    @property
    def _listed(self) -> int | None:
        """Return the number of listed axes, or None if it is dynamic."""
        shape = self._node.value(1).shape
        return shape[0] if shape and isinstance(shape[0], int) else None

    def _result_shape(self, kept: Tensor) -> Tensor:
        """Return the result's shape as a value. Without 'keepdims', the number of axes must be known."""
        if self._node.int("keepdims", 1):
            return relax.tensor_to_shape(kept)
        if self._listed is None:
            raise self._node.fail("the rank of the result is unknown: the axes must be constants", "keepdims")
        # Kept axes come first in the order of (is it reduced, axis).
        order = relax.multiply(relax.astype(self._is_reduced, dtype="i64"), const(self._rank, "i64"))
        order = relax.argsort(relax.add(order, const(list(range(self._rank)), "i64")), axis=0, dtype="i64")
        first = relax.strided_slice(order, axes=[0], begin=[0], end=[self._rank - self._listed])
        return relax.tensor_to_shape(relax.take(kept, first, axis=0))

    def _flat_places(self, x: Tensor, kept: Tensor) -> Tensor:
        """Return the position in the flattened result for each element of the flattened operand."""
        strides = relax.flip(relax.cumprod(relax.flip(kept, axis=0), axis=0, exclusive=True), axis=0)
        strides = relax.where(self._is_reduced, const(0, "i64"), strides)
        ones, total = relax.ones_like(x, dtype="i64"), relax.zeros_like(x, dtype="i64")
        for axis in range(self._rank):
            stride = relax.strided_slice(strides, axes=[0], begin=[axis], end=[axis + 1])
            along = relax.cumsum(ones, axis=axis, exclusive=True)
            total = relax.add(total, relax.multiply(along, relax.reshape(stride, ())))
        return relax.flatten(total)

    def fold(self, name: str, x: Tensor) -> Tensor:
        return relax.reshape(self._fold(name, x), self._shape)

    def spread_fold(self, name: str, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the result, and for each element the result to which it contributes."""
        flat = self._fold(name, x)
        spread = relax.reshape(relax.take(flat, self._places, axis=0), relax.shape_of(x))
        return relax.reshape(flat, self._shape), spread

    def _fold(self, name: str, x: Tensor) -> Tensor:
        dtype = info_of(x).dtype
        if name == "mean":
            return self._mean(x, dtype)
        wide = "f32" if dtype in ("f16", "bf16") else "ui8" if is_bool(dtype) else dtype
        name = {"sum": "max", "prod": "min"}.get(name, name) if is_bool(dtype) else name
        flat = relax.flatten(cast(x, wide))
        neutral = {"sum": 0, "prod": 1, "max": lowest(wide), "min": highest(wide)}[name]
        start = relax.full(relax.tensor_to_shape(self._count), const(neutral, wide))
        folded = relax.dialect.ops["scatter_elements"](start, self._places, flat, axis=0, reduction=_SCATTER[name])
        return cast(folded, dtype)

    def _mean(self, x: Tensor, dtype: str) -> Tensor:
        count = relax.divide(relax.size(x), relax.reshape(self._count, ()))
        wide = "f32" if dtype in ("f16", "bf16") else dtype
        return cast(relax.divide(self._fold("sum", cast(x, wide)), relax.astype(count, dtype=wide)), dtype)
