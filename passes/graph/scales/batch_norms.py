# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Batch norms of inference as a scale, folded into preceding weights if possible, and a shift.

(x - mean) / sqrt(variance + epsilon) * gamma + beta is x * scale + shift. Operations are changed in place, because
models have many batch norms.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ....bindings.ir import Operation, OpView, Type, Value
from ....bindings.mlir import ir
from ....bindings.navigation import is_used_once, made_by, operations_named
from ....bindings.patterns import count_applications
from ....bindings.rewriting import are_used
from ....dialects.core.codec import decode, encode
from ....dialects.core.infos import TensorInfo
from ....dialects.core.symbols import equal
from ....dialects.relax import dialect
from ....dialects.relax.constants import elements_attribute, storage_dtype
from ....dialects.relax.known_constants import constant_op, floats_in_elements
from ....dialects.relax.values import is_valid, normal_axis, stated
from .weights import are_numbers, own_weighted

if TYPE_CHECKING:
    from numpy import ndarray

_NAME = "relax.nn.batch_norm"


class _Norm(NamedTuple):
    """Facts about batch norms of one kind, from types and attributes."""

    parameters: Sequence[TensorInfo]
    axis: int
    dtype: str
    epsilon: float
    has_gamma: bool
    has_beta: bool
    #: Shape of a tensor with one number per channel that broadcasts to the data.
    shape: Sequence[int]
    spread: Type
    element: Type


class BatchNorms:
    """One run of the rewrite over an operation."""

    def __init__(self) -> None:
        #: Norms by types and attributes. None for batch norms that are not rewritten.
        self._norms: dict[Hashable, _Norm | None] = {}

    def run(self, root: Operation) -> None:
        if not (operations := operations_named(root, _NAME)):
            return
        import numpy

        # Infinity and NaN are refused as weights.
        with numpy.errstate(all="ignore"):
            count = sum(self._replace(operation) for operation in operations)
        count_applications("batch_norm_to_scale", count)

    def _replace(self, operation: Operation) -> bool:
        data, *parameters = operands = list(operation.operands)
        types = list(operation.results.types)
        key = (*(value.type for value in operands), *types, *operation.attributes.items())
        if key not in self._norms:
            self._norms[key] = _norm_of(operation.opview, operands)
        norm = self._norms[key]
        numbers = None if norm is None else _scale_and_shift(norm, parameters)
        if norm is None or numbers is None:
            return False
        scale, shift = numbers
        results = list(operation.results)
        with operation.location, ir.InsertionPoint(operation):
            if not _scale_weights(operation, data, norm.axis, scale):
                data = dialect.ops["multiply"](data, _spread(norm, scale))
            shifted = ir.Operation.create("relax.add", types[:1], [data, _spread(norm, shift)])
            others = [stated(value, type_) for value, type_ in zip(parameters[2:], types[1:], strict=True)]
        for result, value in zip(results, [shifted.result, *others], strict=True):
            result.replace_all_uses_with(value)
        operation.erase()
        for value in set(parameters):
            if not are_used([value]):
                value.owner.erase()
        return True


def _norm_of(op: OpView, operands: Sequence[Value]) -> _Norm | None:
    data, *parameters = [decode(value.type) for value in operands]
    assert isinstance(data, TensorInfo)
    if op.training or data.shape is None:
        return None
    infos = [info for info in parameters if isinstance(info, TensorInfo)]
    axis, sizes = normal_axis(op.axis, len(data.shape)), infos[2].shape
    # An unknown size might be 1, which a scale of several channels would enlarge.
    if (
        sizes is None
        or len(sizes) != 1
        or not isinstance(sizes[0], int)
        or equal(data.shape[axis], sizes[0]) is not True
    ):
        return None
    shape = [1] * len(data.shape)
    shape[axis] = sizes[0]
    spread = encode(TensorInfo(tuple(shape), data.dtype), op.operation.context)
    norm = _Norm(infos, axis, data.dtype, op.epsilon, op.scale, op.center, shape, spread, spread.element_type)
    return norm if _fits(op.operation, operands[0], norm) else None


def _fits(operation: Operation, data: Value, norm: _Norm) -> bool:
    """Check whether the sum of the data and a shift can have the batch norm's type."""
    if (type_ := operation.results[0].type) == data.type:
        return True
    import numpy

    with operation.location, ir.InsertionPoint(operation):
        shift = _spread(norm, numpy.zeros(1))
        tried = ir.Operation.create("relax.add", [type_], [data, shift])
    is_fit = is_valid(tried)
    tried.erase()
    shift.owner.erase()
    return is_fit


def _scale_and_shift(norm: _Norm, parameters: Sequence[Value]) -> tuple[ndarray, ndarray] | None:
    found = []
    for value, info in zip(parameters, norm.parameters, strict=True):
        constant = made_by(value, "arith.constant")
        numbers = None if constant is None else floats_in_elements(constant.attributes["value"], info)
        if numbers is None:
            return None
        found.append(numbers)
    import numpy

    gamma, beta, mean, variance = found
    scale = (gamma if norm.has_gamma else 1.0) / numpy.sqrt(variance.astype("float64") + norm.epsilon)
    shift = (beta if norm.has_beta else 0.0) - mean * scale
    return (scale, shift) if are_numbers(scale, norm.dtype) and are_numbers(shift, norm.dtype) else None


def _spread(norm: _Norm, numbers: ndarray) -> Value:
    array = numbers.astype(storage_dtype(norm.dtype)).reshape(norm.shape)
    return constant_op(elements_attribute(array, norm.element, norm.spread), norm.spread).result


def _scale_weights(operation: Operation, value: Value, axis: int, scale: ndarray) -> bool:
    """Scale the weights of the operation that defines a value without other users, and move the operation here."""
    found = own_weighted(value)
    if found is None or found.info.dtype not in ("f32", "f64"):
        return False
    if (found.output_axis, found.outputs) != (axis, scale.size):
        return False
    if (scaled_weights := found.scaled_weights(scale, "outputs")) is None:
        return False
    type_, product, location = found.weight.type, found.op.operation, operation.location
    attribute = elements_attribute(scaled_weights, type_.element_type, type_)
    if is_used_once(found.weight):
        constant = found.constant
        constant.attributes["value"] = attribute
        constant.location = location
        constant.move_before(operation)
    else:
        product.operands[found.place] = constant_op(attribute, type_).result
    product.location = location
    product.move_before(operation)
    return True
