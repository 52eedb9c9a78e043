# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives of operators that read and write at indices. The gradient of a read adds at the index."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relax_mlir.bindings.ir import Value
from relax_mlir.dialects.core.codec import decode
from relax_mlir.dialects.core.infos import ScalarInfo, TensorInfo
from relax_mlir.dialects.core.operands import operand_info
from relax_mlir.dialects.relax import const
from relax_mlir.dialects.relax.values import dtype_of, same_known_shape, shape_of
from relax_mlir.passes.graph.decompose.tensor_formulas import as_tensor, relax
from relax_mlir.passes.graph.gradient_rules import register_gradient
from relax_mlir.passes.graph.layout.conversion import permuted

from ..gradient_call import Gradient, GradientCall, Gradients
from ..positions import moved_back, moved_by_itself, positions_of
from ..requirements import rank_of


@register_gradient("relax.take", by_types=True)
def take(call: GradientCall) -> Gradients:
    if call.mode == "nan":
        return [_taken_or_nan(call)]
    indices, shape = decode(call.indices.type), shape_of(call.x)
    count = indices.rank if isinstance(indices, TensorInfo) else None
    if count is None or shape is None or call.axis is None or call.mode != "fast":
        return [moved_by_itself(call)]
    axis, rank = call.axis % len(shape), len(shape)
    # The axis and the indices go first, so that each index selects a slice.
    front = [axis, *(position for position in range(rank) if position != axis)]
    back = [front.index(index) for index in range(rank)]
    read = [*range(axis, axis + count), *range(axis), *range(axis + count, rank + count - 1)]
    zeros = relax.zeros_like(permuted(call.x, front))
    places = relax.expand_dims(call.indices, axis=[count])
    return [permuted(relax.scatter_nd(zeros, places, permuted(call.gradient, read), reduction="add"), back)]


def _taken_or_nan(call: GradientCall) -> Value:
    """Differentiate take with NaN for indices out of bounds: padding represents these."""
    index = relax.add(relax.astype(as_tensor(call.indices), dtype="i64"), const(1, "i64"))

    def move(positions: Value) -> Value:
        if call.axis is None:
            padded = relax.nn.pad(relax.flatten(positions), pad_width=[1, 1], pad_value=-1)
            return relax.take(padded, index, axis=0, mode="clip")
        rank = rank_of(call, positions)
        axis = call.axis % rank
        widths = [int(position == axis) for position in range(rank) for _ in range(2)]
        return relax.take(relax.nn.pad(positions, pad_width=widths, pad_value=-1), index, axis=axis, mode="clip")

    return moved_back(call.gradient, call.x, move, has_others=True)


@register_gradient("relax.gather_elements", by_types=True)
def gather_elements(call: GradientCall) -> Gradients:
    zeros = relax.zeros_like(call.data)
    return relax.scatter_elements(zeros, call.indices, call.gradient, axis=call.axis, reduction="add")


@register_gradient("relax.gather_nd", by_types=True)
def gather_nd(call: GradientCall) -> Gradients:
    if call.batch_dims:
        return moved_by_itself(call)
    return relax.scatter_nd(relax.zeros_like(call.data), call.indices, call.gradient, reduction="add")


class _Scatter:
    """Scatter of a call, and the gather at the same indices."""

    def __init__(self, call: GradientCall):
        self._call = call
        self._is_nd = call.operation.name == "relax.scatter_nd"
        self._axis = {} if self._is_nd else {"axis": call.axis}

    def write(self, data: Value, updates: Value, reduction: str) -> Value:
        name = "scatter_nd" if self._is_nd else "scatter_elements"
        return relax.dialect.ops[name](data, self._call.indices, updates, **self._axis, reduction=reduction)

    def read(self, data: Value) -> Value:
        name = "gather_nd" if self._is_nd else "gather_elements"
        return relax.dialect.ops[name](data, self._call.indices, **self._axis)


@register_gradient(["relax.scatter_nd", "relax.scatter_elements"], by_types=True)
def scatter(call: GradientCall) -> Sequence[Gradient]:
    by_data, by_updates = _BY_REDUCTION[call.reduction](call, _Scatter(call))
    return [by_data, None, by_updates]


def _sum(call: GradientCall, scatter: _Scatter) -> tuple[Gradient, Gradient]:
    return call.gradient, lambda: scatter.read(call.gradient)


def _differentiate_overwriting(call: GradientCall, scatter: _Scatter) -> tuple[Gradient, Gradient]:
    """Differentiate an overwriting scatter. Of several updates of one place only the last has a gradient."""

    def by_updates() -> Value:
        numbers = positions_of(call.updates)
        written = scatter.write(relax.zeros_like(call.data, dtype="i64"), numbers, "update")
        return _where(relax.equal(scatter.read(written), numbers), scatter.read(call.gradient))

    zeros = relax.zeros_like(call.updates)
    return lambda: scatter.write(call.gradient, zeros, "update"), by_updates


def _choose(call: GradientCall, scatter: _Scatter) -> tuple[Gradient, Gradient]:
    """Differentiate max and min: equal shares go to all elements that are equal to the result."""
    dtype = dtype_of(call.data)
    of_data = relax.astype(relax.equal(call.data, call.result), dtype=dtype)
    of_updates = relax.astype(relax.equal(call.updates, scatter.read(call.result)), dtype=dtype)
    share = relax.divide(call.gradient, scatter.write(of_data, of_updates, "add"))
    return (
        lambda: relax.multiply(of_data, share),
        lambda: relax.multiply(of_updates, scatter.read(share)),
    )


def _differentiate_mean(call: GradientCall, scatter: _Scatter) -> tuple[Gradient, Gradient]:
    """Differentiate the mean, which counts the previous element as one of the values."""
    counts = scatter.write(relax.ones_like(call.data), relax.ones_like(call.updates), "add")
    share = relax.divide(call.gradient, counts)
    return share, lambda: scatter.read(share)


def _differentiate_product(call: GradientCall, scatter: _Scatter) -> tuple[Gradient, Gradient]:
    """Differentiate the product: each element gets the product of the others, without a division by 0.

    The product of nonzero elements and the number of zeros are computed separately. A zero gets the product if it is
    the only zero of its place, and other elements get it if there is no zero.
    """
    dtype = dtype_of(call.data)
    one, none = const(1, dtype), const(0, dtype)

    def counted(x: Value) -> Value:
        return relax.astype(relax.equal(x, none), dtype=dtype)

    def not_zero(x: Value) -> Value:
        return relax.where(relax.equal(x, none), one, x)

    product = scatter.write(not_zero(call.data), not_zero(call.updates), "mul")
    zeros = scatter.write(counted(call.data), counted(call.updates), "add")
    arriving = relax.multiply(call.gradient, product)

    def by(x: Value, arriving: Value, zeros: Value) -> Value:
        is_free = relax.equal(relax.subtract(zeros, counted(x)), none)
        return _where(is_free, relax.divide(arriving, not_zero(x)))

    return (
        lambda: by(call.data, arriving, zeros),
        lambda: by(call.updates, scatter.read(arriving), scatter.read(zeros)),
    )


_BY_REDUCTION: dict[str, Callable[[GradientCall, _Scatter], tuple[Gradient, Gradient]]] = {
    "add": _sum, "update": _differentiate_overwriting, "max": _choose, "min": _choose,
    "mean": _differentiate_mean, "mul": _differentiate_product,
}  # fmt: skip


def _where(condition: Value, gradient: Value) -> Value:
    return relax.where(condition, gradient, relax.zeros_like(gradient))


@register_gradient("relax.index_put", by_types=True)
def index_put(call: GradientCall) -> Sequence[Gradient]:
    indices = list(call.indices)
    read = relax.index_tensor

    def by_values() -> Value:
        gradient = read(call.gradient, indices)
        if not call.accumulate:
            # If several values go to one place, only the last one has a gradient.
            numbers = positions_of(gradient)
            written = relax.dialect.ops["index_put"](relax.zeros_like(call.data, dtype="i64"), indices, numbers)
            gradient = _where(relax.equal(read(written, indices), numbers), gradient)
        return gradient if same_known_shape(gradient, call.values) else relax.collapse_sum_like(gradient, call.values)

    def by_data() -> Value:
        if call.accumulate:
            return call.gradient
        return relax.dialect.ops["index_put"](call.gradient, indices, relax.zeros_like(call.values))

    return [by_data, *(None for _ in indices), by_values]


@register_gradient("relax.slice_scatter", by_types=True)
def slice_scatter(call: GradientCall) -> Sequence[Gradient]:
    """Gradient of slice_scatter: zero for the overwritten region, the slice of the gradient for the update."""
    bounds = (call.start, call.end, call.step)
    written = relax.zeros_like(call.src)
    return [
        lambda: relax.slice_scatter(call.gradient, written, *bounds, axis=call.axis),
        lambda: _read(call, bounds),
    ]


def _read(call: GradientCall, bounds: Sequence[Value]) -> Value:
    numbers = [_number(call, bound) for bound in bounds]
    begin, end, step = ([number] for number in numbers)
    return relax.strided_slice(call.gradient, axes=[call.axis], begin=begin, end=end, strides=step)


def _number(call: GradientCall, scalar: Value) -> int:
    info = operand_info(scalar)
    if not isinstance(info, ScalarInfo) or not isinstance(info.value, int):
        raise call.fail("only with bounds that are numbers")
    return info.value
