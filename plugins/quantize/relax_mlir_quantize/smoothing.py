# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""SmoothQuant: move large channels of activations into the weights of the linear layers behind a norm or a gate.

A layer norm of a transformer has a few channels with numbers that are up to a hundred times the others'. A scale for
the tensor leaves few steps for the others. The channels are divided by factors in the norm's weight and bias, and the
rows of the linear layers' weights multiplied, so that results are the same in floating point. The products of gated
layers (`silu(x @ gate) * (x @ up)`) have still larger channels: the columns of `up` are divided.
https://arxiv.org/abs/2211.10438
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from relax_mlir.bindings.ir import Operation, Value
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import is_used_once, made_by, users_of
from relax_mlir.dialects.core.symbols import equal
from relax_mlir.dialects.relax.known_constants import floats_of, is_constant, make_floats
from relax_mlir.dialects.relax.values import dtype_of, shape_of
from relax_mlir.passes.graph.scales.weights import Weighted, are_numbers, weighted
from relax_mlir.support.errors import OptionError

from .layer_products import Channels, product_of
from .placement import Layer, Placement

if TYPE_CHECKING:
    from numpy import ndarray

_NORMS = ("relax.nn.layer_norm", "relax.nn.rms_norm")
#: Views that may keep the last axis.
_VIEWS = ("relax.reshape", "relax.flatten", "relax.squeeze", "relax.expand_dims")
#: Channels below this share of the largest keep their range.
_SMALL = 1e-5


class _Constant(NamedTuple):
    """Constant operand with a last axis of channels."""

    operation: Operation
    place: int

    @property
    def value(self) -> Value:
        return self.operation.operands[self.place]


@dataclass(frozen=True, eq=False)
class Smoothed:
    """Operation that makes proportional channels, as a norm or a gated layer, and the products that read it."""

    source: Operation
    #: Constants that the source's channels are proportional to.
    constants: list[_Constant]
    products: list[Weighted]

    @property
    def value(self) -> Value:
        return self.source.results[0]


def check_strength(strength: float | None) -> None:
    """Raise OptionError for a strength that is not between 0 and 1."""
    if strength is not None and not 0 <= strength <= 1:
        raise OptionError(f"smooth={strength!r}: expected a strength between 0 and 1, or None to leave activations")


def smoothed_sources(placement: Placement) -> list[Smoothed]:
    """Return operations with proportional channels that only quantized linear layers read."""
    products = _linear_products(placement)
    smoothed_channels: dict[Operation, Smoothed] = {}
    for product in products.values():
        source = _source_before(product.data)
        constants = [] if source is None or source in smoothed_channels else _constants(source)
        if source is None or not constants:
            continue
        readers = list(_readers(source.results[0], source.results[0]))
        if all(reader in products and products[reader].data == data for reader, data in readers):
            read_by = [products[reader] for reader in dict.fromkeys(each for each, _ in readers)]
            smoothed_channels[source] = Smoothed(source, constants, read_by)
    return list(smoothed_channels.values())


def _linear_products(placement: Placement) -> dict[Operation, Weighted]:
    """Return the products of quantized data and a constant matrix."""
    linear_products = {}
    for layer in placement.layers:
        product = product_of(layer)
        if product is not None and _is_linear(product) and _is_static(layer, product.data):
            linear_products[product.op.operation] = product
    return linear_products


def _is_linear(product: Weighted) -> bool:
    return product.op.operation.name == "relax.matmul" and product.place == 1 and product.rank == 2


def _is_static(layer: Layer, data: Value) -> bool:
    return any(value == data and not layer.types[name].is_float for name, value in layer.activations())


def _source_before(value: Value) -> Operation | None:
    """Return the operation that makes a tensor, through views."""
    operation = made_by(value)
    while operation is not None and operation.name in _VIEWS and _has_same_channels(value, operation.operands[0]):
        value = operation.operands[0]
        operation = made_by(value)
    return operation


def _constants(source: Operation) -> list[_Constant]:
    """Return the constants that scale the channels of a result, if there are any."""
    if source.name in _NORMS:
        places = range(1, len(source.operands))
        return [_Constant(source, place) for place in places] if _is_over_channels(source) else []
    if source.name == "relax.matmul":
        product = weighted(source.results[0])
        return [_Constant(source, product.place)] if product is not None and _is_linear(product) else []
    if source.name not in ("relax.add", "relax.multiply"):
        return []
    own = [_Constant(source, place) for place in (0, 1) if _is_of_channels(source.operands[place], source.results[0])]
    if source.name == "relax.multiply" and own:
        return own[:1]
    before = (_constants_before(operand, source.results[0]) for operand in source.operands)
    found = next((constants for constants in before if constants), [])
    # A sum is proportional if both operands are.
    return found if source.name == "relax.multiply" else [*found, *own] if found and own else []


def _constants_before(value: Value, result: Value) -> list[_Constant]:
    operation = made_by(value)
    is_sole = operation is not None and is_used_once(value) and _has_same_channels(value, result)
    return _constants(operation) if operation is not None and is_sole else []


def _is_of_channels(value: Value, result: Value) -> bool:
    return is_constant(value) and _has_same_channels(value, result)


def _is_over_channels(norm: Operation) -> bool:
    shape = shape_of(norm.results[0])
    constants = list(norm.operands)[1:]
    if shape is None or [axis % len(shape) for axis in norm.opview.axes] != [len(shape) - 1]:
        return False
    if not (getattr(norm.opview, "center", True) and getattr(norm.opview, "scale", True)):
        return False
    return all(is_constant(constant) and len(shape_of(constant) or ()) == 1 for constant in constants)


def _has_same_channels(one: Value, other: Value) -> bool:
    first, second = shape_of(one), shape_of(other)
    return bool(first) and bool(second) and equal(first[-1], second[-1]) is True  # type: ignore[index]


def _readers(value: Value, norm: Value) -> Iterator[tuple[Operation, Value]]:
    """Yield operations other than views that read a norm, with the tensor that they read."""
    for user in dict.fromkeys(users_of(value)):
        if user.name in _VIEWS and _has_same_channels(user.results[0], norm):
            yield from _readers(user.results[0], norm)
        else:
            yield user, value


def smooth(smoothed_channels: Collection[Smoothed], channels: Mapping[Value, Channels], strength: float) -> int:
    """Divide channels of sources by factors, and multiply the weights behind. Returns the number of changed sources.

    channels: statistics of the sources' results. strength: 0 leaves the weights' ranges equal, 1 the activations'.
    """
    return sum(_smooth(smoothed, channels[smoothed.value].most, strength) for smoothed in smoothed_channels)


def _smooth(smoothed: Smoothed, most: ndarray | None, strength: float) -> bool:
    import numpy

    # Earlier factors have replaced weights.
    products = [weighted(each.op.operation.results[0]) for each in smoothed.products]
    parameters = [floats_of(each.value) for each in smoothed.constants]
    if most is None or None in products or any(parameter is None for parameter in parameters):
        return False
    read_by = [each for each in products if each is not None]
    weights = numpy.max([abs(each.by_group()).max((0, 1, 3)) for each in read_by], axis=0)
    factors = _factors(most, weights, strength)
    divided = [array / factors for array in parameters if array is not None]
    scaled = [product.scaled_weights(factors, "inputs") for product in read_by]
    fits = (are_numbers(array, dtype_of(each.value)) for each, array in zip(smoothed.constants, divided, strict=True))
    if any(each is None for each in scaled) or not all(fits):
        return False
    for constant, array in zip(smoothed.constants, divided, strict=True):
        replace(constant.operation, constant.place, array)
    for product, scaled_array in zip(read_by, scaled, strict=True):
        assert scaled_array is not None
        replace(product.op.operation, product.place, scaled_array)
    return True


def _factors(activations: ndarray, weights: ndarray, strength: float) -> ndarray:
    """Return the divisor of each channel. Channels without numbers, or without weights, keep theirs."""
    import numpy

    is_used = (activations > _SMALL * activations.max()) & (weights > _SMALL * weights.max())
    raised = activations.clip(1e-30) ** strength / weights.clip(1e-30) ** (1 - strength)
    if not is_used.any():
        return numpy.ones(len(raised))
    # Factors around 1 keep numbers of f16 in range.
    return numpy.where(is_used, raised / numpy.exp(numpy.log(raised[is_used]).mean()), 1.0)


def replace(operation: Operation, place: int, array: ndarray) -> None:
    """Let an operation read a constant with other numbers of the same type."""
    old = operation.operands[place]
    with old.owner.location, ir.InsertionPoint(operation):
        operation.operands[place] = make_floats(array, dtype_of(old), operation.context)
