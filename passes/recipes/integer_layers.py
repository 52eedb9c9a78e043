# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantized layers as integer sums, a bias of integers, a requantization, and limits on its result.

A residual and the sums are requantized to the scale of the result with RESIDUAL_BITS more bits each. Their sum is
requantized once more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...bindings.ir import Operation, Value
from ...bindings.mlir import ir
from ...bindings.navigation import made_by, operations_in
from ...bindings.rewriting import is_used, located_error, replace_op
from ...dialects import relax
from ...dialects.core.infos import bit_width, is_unsigned
from ...dialects.relax import const
from ...dialects.relax.known_constants import elements_of
from ...dialects.relax.values import dtype_of, shape_of, with_dtype
from ...support.errors import OptionError
from ...support.requantization import Requantize
from ..patterns.match import matches_of
from ..patterns.matched import Match
from ..patterns.tree import GraphPattern
from ..quantization.numbers import Quantized, as_i32, dequantized, dtype_attribute, made
from ..scales.weights import CONVOLUTIONS, channel_axes
from .forms import is_quantized_form, quantized_form
from .recipe import Op

if TYPE_CHECKING:
    from numpy import ndarray

_PRODUCTS = ("relax.matmul", *CONVOLUTIONS)
#: Operators that limit results, as integers do after the requantization.
_LIMITS = ("relax.nn.relu", "relax.clip")
#: Fractional bits of a residual and of the sums that it is added to.
RESIDUAL_BITS = 8


class _Layer(NamedTuple):
    """Quantized layer: a product, an optional bias, residual and limits, up to the quantize of its result."""

    product: Operation
    data: Quantized
    weights: Quantized
    #: Integers of the bias with the scale of the sums, or None.
    bias: Quantized | None
    #: Other summand of the result, which is computed at run time, or None.
    residual: Quantized | None
    limits: list[Operation]
    quantize: Operation


def requantize_layers(root: Operation, patterns: Sequence[tuple[Op, GraphPattern]]) -> int:
    """Rewrite the layers that a recipe's patterns match. Returns their number.

    Layers with other operators than a product, a bias, a residual and limits keep their real numbers.
    """
    found = 0
    forms = [(op, pattern if is_quantized_form(pattern) else quantized_form(pattern, op)) for op, pattern in patterns]
    for operation in [each for each in operations_in(root) if each.name == "relax.quantize"]:
        found += any(_requantize(operation, op, pattern) for op, pattern in forms if op.out is not None)
    return found


def _requantize(quantize: Operation, op: Op, pattern: GraphPattern) -> bool:
    match = next(iter(matches_of(pattern, quantize)), None)
    layer = None if match is None else _layer(match, quantize)
    if match is None or layer is None or op.out is None:
        return False
    before = [each for each in match.operations if each != quantize]
    if not _rewrite(layer, op.out):
        return False
    for each in reversed(before):
        if not is_used(each):
            each.erase()
    return True


def _layer(match: Match, quantize: Operation) -> _Layer | None:
    limits: list[Operation] = []
    bias = None
    current = made_by(quantize.operands[0])
    while current is not None and current.name in _LIMITS:
        limits.append(current)
        current = made_by(current.operands[0])
    residual, current = _split_residual(current)
    if current is not None and current.name == "relax.add":
        bias = dequantized(current.operands[1])
        if bias is None or elements_of(bias.numbers) is None:
            return None
        current = made_by(current.operands[0])
    if current is None or current.name not in _PRODUCTS or current not in match.operations:
        return None
    data, weights = map(dequantized, current.operands)
    if data is None or weights is None or elements_of(weights.numbers) is None or not data.is_single:
        return None
    return _Layer(current, data, weights, bias, residual, limits[::-1], quantize)


def _split_residual(add: Operation | None) -> tuple[Quantized | None, Operation | None]:
    """Return the residual of a sum and the operation of the other summand, or None and the operation itself."""
    if add is None or add.name != "relax.add":
        return None, add
    for summand, other in (add.operands, reversed(add.operands)):
        found, before = dequantized(summand), made_by(other)
        is_layer = before is not None and before.name in ("relax.add", *_PRODUCTS)
        if found is not None and found.is_single and elements_of(found.numbers) is None and is_layer:
            return found, before
    return None, add


def _rewrite(layer: _Layer, how: Requantize) -> bool:
    import numpy

    given = [*layer.data[2:], *layer.weights[2:], *layer.quantize.operands[1:]]
    if layer.residual is not None:
        given += layer.residual[2:]
    found = [each for each in map(elements_of, given) if each is not None]
    result = layer.quantize.results[0]
    shape = shape_of(result)
    if len(found) < len(given) or shape is None or found[4].size != 1:
        return False
    found = [each.reshape(()) if each.size == 1 else each for each in found]
    x_scale, x_zero, w_scale, w_zero, scale, zero, *residual = found
    if w_zero.ndim and w_zero.any():
        return False  # several zero points do not broadcast along the axis of the channels
    if layer.bias is not None and not _is_in_sums(layer.bias, x_scale * w_scale):
        return False
    real = x_scale.astype(float) * w_scale.astype(float) / scale.astype(float)
    axis = len(shape) - 1
    if layer.product.name != "relax.matmul":
        axes = channel_axes(layer.product.opview)
        if axes is None:
            return False
        axis = axes[1]
    with layer.quantize.location, ir.InsertionPoint(layer.quantize):
        sums = _sums(layer, x_zero, w_zero)
        to = _Requantization(how, layer.quantize, axis)
        if layer.residual is not None:
            numbers, (r_scale, r_zero) = layer.residual.numbers, residual
            fine, one = 2.0**RESIDUAL_BITS, 2.0**-RESIDUAL_BITS
            other = to(_less(numbers, r_zero), r_scale.astype(float) / float(scale) * fine, 0, "i32")
            sums, real = relax.add(to(sums, real * fine, 0, "i32"), other), numpy.asarray(one)
        whole = to(sums, real, zero, dtype_of(result))
        for limit in layer.limits:
            whole = _limited(whole, limit, float(scale), int(zero))
    replace_op(layer.quantize, [whole])
    return True


class _Requantization(NamedTuple):
    """Emission of requantizations of one layer."""

    how: Requantize
    quantize: Operation
    axis: int

    def __call__(self, sums: Value, real: ndarray, zero: ndarray | int, dtype: str) -> Value:
        try:
            multiplier, shift = self.how.parameters(real)
        except OptionError as error:
            raise located_error(f"relax-requantize: {error.message}", self.quantize.location) from None
        given: Any = {**self.how.attributes(), "axis": self.axis, "out_dtype": dtype}
        constants = const(multiplier), const(shift), const(zero, None if dtype != "i32" else "int32")
        return relax.requantize(sums, *constants, **given)


def _less(numbers: Value, zero: ndarray) -> Value:
    """Return the i32 differences of integers and their zero point."""
    wide = relax.astype(numbers, dtype="i32")
    return relax.subtract(wide, const(zero.astype("int32"))) if zero.any() else wide


def _is_in_sums(bias: Quantized, scale: ndarray) -> bool:
    """Check whether the integers of a bias count the steps of the sums."""
    import numpy

    own, zero = elements_of(bias.scale), elements_of(bias.zero_point)
    return (
        own is not None and zero is not None and not zero.any() and bool(numpy.allclose(own, scale, rtol=1e-6, atol=0))
    )


def _sums(layer: _Layer, x_zero: ndarray, w_zero: ndarray) -> Value:
    """Return the i32 sums of a layer, with its bias."""
    data = layer.data.numbers
    if x_zero.any():
        data = _less(data, x_zero)
    weights = layer.weights.numbers
    if w_zero.any():
        weights = _less(weights, w_zero)
    attributes = {name: layer.product.attributes[name] for name in layer.product.attributes}
    wide = with_dtype(layer.product.results[0], "i32")
    attributes["out_dtype"] = dtype_attribute("i32", data)
    sums = made(layer.product.name, [data, weights], wide, attributes).results[0]
    return sums if layer.bias is None else relax.add(sums, as_i32(layer.bias.numbers))


def _limited(whole: Value, limit: Operation, scale: float, zero: int) -> Value:
    """Limit integers as the operator limits the real numbers that they represent."""
    dtype = dtype_of(whole)
    least: float | None = 0.0
    most: float | None = None
    if limit.name == "relax.clip":
        least, most = (None if each is None else float(each) for each in map(elements_of, limit.operands[1:]))
    for bound, choose in ((least, relax.maximum), (most, relax.minimum)):
        if bound is not None:
            whole = choose(whole, const(_stepped(bound, scale, zero, dtype), dtype))
    return whole


def _stepped(real: float, scale: float, zero: int, dtype: str) -> int:
    """Return the integer of a real number, limited to the type."""
    bits = bit_width(dtype) - (not is_unsigned(dtype))
    low, high = (0 if is_unsigned(dtype) else -(2**bits)), 2**bits - 1
    return min(max(round(real / scale) + zero, low), high)
