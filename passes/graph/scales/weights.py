# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constant weights of convolutions and matrix products, as numbers per pair of an input and an output.

These operators are linear: factors of their outputs or inputs may be multiplied into the weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from ....bindings.ir import Operation, OpView, Value
from ....bindings.navigation import defining_op, is_used_once
from ....bindings.rewriting import made_again
from ....dialects.core.cache import cache_of
from ....dialects.core.infos import TensorInfo
from ....dialects.core.opdef import Call, OpDef
from ....dialects.relax.infer.layouts import Layout, layouts_of
from ....dialects.relax.known_constants import floats_in_elements, floats_of, is_constant, make_floats
from ....dialects.relax.values import dtype_of, shape_of, tensor_info

if TYPE_CHECKING:
    from numpy import ndarray

_SPATIAL = ("1d", "2d", "3d")
CONVOLUTIONS = tuple(f"relax.nn.conv{each}" for each in _SPATIAL)
TRANSPOSED = tuple(f"relax.nn.conv{each}_transpose" for each in _SPATIAL)
#: Largest number of each float type of weights.
_LARGEST = {"f16": 65504.0, "bf16": 3.38e38, "f32": 3.4e38, "f64": 1.79e308}
_FLOATS = tuple(_LARGEST)
#: Operators with weights.
WEIGHTED = (*CONVOLUTIONS, *TRANSPOSED, "relax.matmul")


class Weighted(NamedTuple):
    """An operation with constant weights, and the channel axes of its data and result, counted from the front."""

    op: OpView
    data: Value
    weight: Value
    #: Position of the weights among the operands.
    place: int
    input_axis: int
    output_axis: int
    #: The axes of the weights in the order outputs, inputs, taps. For transposed convolutions inputs, outputs, taps.
    order: tuple[int, ...]
    #: Type of the weights.
    info: TensorInfo
    groups: int = 1
    is_transposed: bool = False

    @property
    def constant(self) -> Operation:
        constant: Operation = self.weight.owner.operation
        return constant

    @property
    def numbers(self) -> ndarray:
        floats = floats_in_elements(self.constant.attributes["value"], self.info)
        assert floats is not None, self.op
        return floats

    @property
    def rank(self) -> int:
        return len(self.order)

    @property
    def inputs(self) -> int:
        return self._sizes[0] * (1 if self.is_transposed else self.groups)

    @property
    def outputs(self) -> int:
        return self._sizes[1] * (self.groups if self.is_transposed else 1)

    @property
    def _sizes(self) -> tuple[int, int]:
        """The weights' own inputs and outputs, per group or in total."""
        shape = self.info.shape
        assert shape is not None, self.op
        first, second = shape[self.order[0]], shape[self.order[1]]
        assert isinstance(first, int) and isinstance(second, int), "constants have sizes"
        return (first, second) if self.is_transposed else (second, first)

    def by_group(self, numbers: ndarray | None = None) -> ndarray:
        """Return the weights, or other numbers in their place, as [group, output, input, tap]."""
        ordered = (self.numbers if numbers is None else numbers).transpose(self.order)
        first, second = ordered.shape[:2]
        grouped = ordered.reshape(self.groups, first // self.groups, second, -1)
        return grouped.swapaxes(1, 2) if self.is_transposed else grouped

    def scaled(self, factors: ndarray, by: Literal["outputs", "inputs"], data: Value) -> Operation | None:
        """Return the operation on other data with its weights scaled per output or input, or None if that is
        impossible.
        """
        if (made := self.scaled_weights(factors, by)) is None:
            return None
        return self.on(make_floats(made, self.info.dtype, self.weight.context), data)

    def scaled_weights(self, factors: ndarray, by: Literal["outputs", "inputs"]) -> ndarray | None:
        """Return the weights scaled per output or input, or None if a product is not finite in their type."""
        weights = self.numbers
        made = weights * self.spread(factors, by).astype(weights.dtype, copy=False)
        return made if are_numbers(made, self.info.dtype) else None

    def spread(self, factors: ndarray, by: Literal["outputs", "inputs"]) -> ndarray:
        """Return factors per output or input in the order of the weights' axes."""
        if (by == "inputs") == self.is_transposed:
            # The first axis covers all groups, the second one a single group.
            pairs = factors.reshape(-1, 1)
        else:
            pairs = factors.reshape(self.groups, -1)
            if self.groups > 1:
                count = self.outputs if by == "inputs" else self.inputs
                pairs = pairs.repeat(count // self.groups, 0)
        back = [self.order.index(axis) for axis in range(self.rank)]
        return pairs.reshape(*pairs.shape, *[1] * (self.rank - 2)).transpose(back)

    def sums(self, inputs: ndarray) -> ndarray:
        """Return each output for inputs that are constant over all positions."""
        return (self.by_group() * inputs.reshape(self.groups, 1, -1, 1)).sum((2, 3), dtype="float64").reshape(-1)

    def on(self, weight: Value, data: Value) -> Operation:
        """Return the operation with other weights on other data."""
        operation = self.op.operation
        operands = [data, weight] if self.place else [weight, data]
        return made_again(operation, operands, operation.results.types)


def own_weighted(value: Value) -> Weighted | None:
    """Return `weighted(value)` if the value has no other user."""
    return weighted(value) if is_used_once(value) else None


class _Side(NamedTuple):
    """Operand that may be weights, and the fields of its `Weighted`."""

    place: int
    input_axis: int
    output_axis: int
    order: tuple[int, ...]
    info: TensorInfo
    groups: int = 1
    is_transposed: bool = False


def weighted(value: Value) -> Weighted | None:
    """Return the operation that defines a value, if it has constant weights of the result's element type."""
    if (op := defining_op(value, *WEIGHTED)) is None:
        return None
    operation = op.operation
    operands = list(operation.operands)
    known = cache_of(operation.context).weights
    key = (operation.name, value.type, *(operand.type for operand in operands), *operation.attributes.items())
    if (sides := known.get(key)) is None:
        sides = known.remember(key, _sides(op, value, operands))
    for side in sides:
        if is_constant(operands[side.place]):
            return Weighted(op, operands[1 - side.place], operands[side.place], *side)
    return None


def _sides(op: OpView, value: Value, operands: Sequence[Value]) -> list[_Side]:
    """Return the possible weights by an operation's types and attributes."""
    if shape_of(value) is None:
        return []
    sides = _find_product_sides(op, value) if op.operation.name == "relax.matmul" else _find_convolution_sides(op)
    dtype = dtype_of(value)
    return [side for side in sides if side.info.dtype == dtype and dtype in _FLOATS and _is_full(side.info)]


def _is_full(info: TensorInfo) -> bool:
    return info.shape is not None and 0 not in info.shape


def _find_convolution_sides(op: OpView) -> list[_Side]:
    axes = channel_axes(op)
    return [] if axes is None else [_Side(1, *axes, tensor_info(op.weight), op.groups, op.operation.name in TRANSPOSED)]


def channel_axes(op: OpView) -> tuple[int, int, tuple[int, ...]] | None:
    """Return the channel axes of a convolution, see `_axes`."""
    return _axes(op.definition, tuple(getattr(op, name) for name in _layout_attributes(op.definition)))


@lru_cache(maxsize=256)
def _layout_attributes(definition: OpDef) -> list[str]:
    return list(dict.fromkeys(fact.attribute for fact in definition.layouts.values()))


@lru_cache(maxsize=256)
def _axes(definition: OpDef, texts: tuple[str | None, ...]) -> tuple[int, int, tuple[int, ...]] | None:
    """Return the channel axes of data and result, and the order of the weights' axes. None for blocked layouts."""
    layouts = layouts_of(Call(definition, {}, dict(zip(_layout_attributes(definition), texts, strict=True))))
    if any(axis.block is not None for layout in layouts.values() for axis in layout.axes):
        return None
    kernel = layouts["weight"]
    order = tuple(_place(kernel, letter) for letter in kernel.dimensions)
    return _place(layouts["data"], "C"), _place(layouts["result"], "C"), order


def _place(layout: Layout, letter: str) -> int:
    return next(place for place, axis in enumerate(layout.axes) if axis.dimension == letter)


def _find_product_sides(op: OpView, value: Value) -> list[_Side]:
    """Return a matrix of weights on the right or on the left. Batch dimensions of the data precede its matrix."""
    result, found = shape_of(value), []
    assert result is not None
    for index, (data, weight) in ((1, (op.x1, op.x2)), (0, (op.x2, op.x1))):
        sizes, taps = shape_of(data), shape_of(weight)
        if taps is None or len(taps) < 2 or sizes is None:
            continue
        *batch, rows, columns = range(len(taps))
        if index == 1:
            found.append(_Side(index, len(sizes) - 1, len(result) - 1, (columns, rows, *batch), tensor_info(weight)))
        else:
            behind = min(len(sizes), 2)
            found.append(
                _Side(index, len(sizes) - behind, len(result) - behind, (rows, columns, *batch), tensor_info(weight))
            )
    return found


def has_same_sums(found: Weighted) -> bool:
    """Check whether every element of an output uses the same weights: no padding, no batches of weights."""
    name = found.op.operation.name
    return found.rank == 2 if name == "relax.matmul" else name in CONVOLUTIONS and not any(found.op.padding)


def numbers_along(value: Value, axis: int, rank: int, count: int) -> ndarray | None:
    """Return a constant's numbers along an axis of a tensor of this rank: one per position, or one for all."""
    if (numbers := floats_of(value)) is None or numbers.ndim > rank:
        return None
    along = axis - (rank - numbers.ndim)
    others = [size for place, size in enumerate(numbers.shape) if place != along]
    if any(size != 1 for size in others) or numbers.size not in (1, count):
        return None
    import numpy

    return numpy.broadcast_to(numbers.reshape(-1), (count,))


def spread_along(numbers: ndarray, axis: int, value: Value) -> Value:
    """Return numbers along an axis as a constant of a tensor's rank and element type."""
    shape = [1] * value.type.rank
    shape[axis] = numbers.size
    return make_floats(numbers.reshape(shape), dtype_of(value), value.context)


def are_numbers(array: ndarray, dtype: str) -> bool:
    """Check whether all numbers are finite in an element type."""
    import numpy

    largest = _LARGEST[dtype]
    # If the sum of squares is below the limit, each number is far smaller. The comparison is false for NaN.
    if array.dtype.kind == "f" and numpy.vdot(array, array) < largest:
        return True
    return bool(numpy.maximum.reduce(abs(array), axis=None, initial=0) <= largest)
