# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Integer arithmetic of matrix products and convolutions, with a bias and a residual.

A residual and the sums are requantized to the scale of the result with more bits each. Their sum is requantized once
more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from relax_mlir.bindings.ir import Operation, Value
from relax_mlir.bindings.navigation import made_by
from relax_mlir.dialects import relax
from relax_mlir.dialects.core.infos import bit_width
from relax_mlir.dialects.relax import const
from relax_mlir.dialects.relax.known_constants import elements_of
from relax_mlir.passes.graph.quantization.numbers import dequantized, dtype_attribute
from relax_mlir.passes.graph.recipes.stated_operators import PRODUCTS
from relax_mlir.passes.graph.scales.weights import channel_axes

from .layer_emission import Integers, LayerEmission, sizes_of
from .operators import finished_sum, rescaled_summand

if TYPE_CHECKING:
    from numpy import ndarray

_I32 = 2**31 - 1


class _Layer(NamedTuple):
    product: Operation
    #: Constant that is added to the sums, or None.
    bias: Value | None
    #: Summand that is computed at run time, or None.
    residual: Value | None


def emit_layer(to: LayerEmission, last: Operation) -> Value:
    """Return the requantized sums of a product. `last` adds the bias or the residual, or is the product."""
    layer = _layer(to, last)
    data = to.single(layer.product.operands[0], "the first operand")
    weights = to.integers(layer.product.operands[1], "the second operand")
    if to.how.double_rounding and max(map(bit_width, (data.dtype, weights.dtype))) > 8:
        raise to.fail(
            f"the operands are {data.dtype} and {weights.dtype}: TFLite adds products of 16 bits up in 64 bits, which "
            "double_rounding=True does not state; state double_rounding=False for sums of 32 bits"
        )
    axes = _axes(to, layer.product, weights)
    scale = data.scale * weights.scale
    operands = [_operand(to, data), _operand(to, weights)]
    sums = to.on_integers(layer.product, operands, out_dtype=dtype_attribute("i32", operands[0]))
    if layer.bias is not None:
        sums = relax.add(sums, _bias(to, layer.bias, scale, axes))
    if layer.residual is None:
        return to.requantize(sums, scale / to.scale, to.zero, to.dtype, axis=axes)
    if to.how.sums != "result":
        raise to.fail(f"sums={to.how.sums!r} states no sum with a residual, expected 'result'")
    other = to.single(layer.residual, "the residual")
    return finished_sum(
        to, relax.add(rescaled_summand(to, sums, scale, axes), rescaled_summand(to, to.less(other), other.scale))
    )


def _operand(to: LayerEmission, of: Integers) -> Value:
    """Return integers as they are without a zero point, or their i32 differences to it."""
    return to.less(of) if of.zero.any() else of.numbers


def _layer(to: LayerEmission, last: Operation) -> _Layer:
    bias = residual = None
    current: Operation | None = last
    if last.name == "relax.add":
        for place in (0, 1):
            summand, before = last.operands[1 - place], made_by(last.operands[place])
            found = dequantized(summand)
            is_layer = before is not None and before.name in ("relax.add", *PRODUCTS)
            if residual is None and found is not None and elements_of(found.numbers) is None and is_layer:
                residual, current = summand, before
    if current is not None and current.name == "relax.add":
        bias, current = current.operands[1], made_by(current.operands[0])
    if current is None or current.name not in PRODUCTS:
        raise to.fail(
            f"out= has no integers for {last.name} of {'an argument' if current is None else current.name}, "
            "expected a product with a bias; drop out="
        )
    return _Layer(current, bias, residual)


def _axes(to: LayerEmission, product: Operation, weights: Integers) -> int:
    """Return the axis of the result's channels. Check that scales of several channels are along the same axis."""
    rank = len(sizes_of(product.results[0]))
    expected, axis = len(weights.sizes) - 1, rank - 1
    if product.name != "relax.matmul":
        if (axes := channel_axes(product.opview)) is None:
            raise to.fail("the channels are in blocks; convert the layout later, or drop out=")
        axis, expected = axes[1], axes[2][0]
    if (weights.scale.ndim or weights.zero.ndim) and weights.axis != expected:
        raise to.fail(f"the weights have scales along axis {weights.axis}, expected the outputs, axis {expected}")
    return axis


def _bias(to: LayerEmission, value: Value, scale: ndarray, axis: int) -> Value:
    """Return the bias in steps of the sums. Constants of another scale are rounded to the nearest step."""
    import numpy

    reals, found = elements_of(value), dequantized(value)
    if found is not None:
        own = to.integers(value, "the bias")
        numbers = elements_of(own.numbers)
        if numbers is not None and numpy.allclose(own.scale, scale, rtol=1e-6, atol=0) and not own.zero.any():
            return const(numbers.astype("int32"))
        reals = None
    if reals is None:
        raise to.fail("the bias is no constant in steps of the sums, x_scale * w_scale; state bias='i32 derived'")
    rank = len(sizes_of(value))
    place = rank - (len(sizes_of(to.quantize.results[0])) - axis)
    spread = [-1 if index == place else 1 for index in range(rank)]
    steps = scale.reshape(spread) if scale.ndim and rank else scale
    whole = numpy.rint(reals.astype(float) / steps)
    if not (numpy.isfinite(whole).all() and (abs(whole) <= _I32).all()):
        raise to.fail(f"the bias has {abs(whole).max():g} steps of the sums, which exceeds 32 bits")
    return const(whole.astype("int32"))
