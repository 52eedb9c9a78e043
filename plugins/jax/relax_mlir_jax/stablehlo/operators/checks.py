# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks at run time: jax's assertions on shapes, and the expected results in StableHLO's test data."""

from __future__ import annotations

from relax_mlir.dialects.core.infos import bit_width, is_bool, is_float
from relax_mlir.frontends.core.complex_numbers import Pair
from relax_mlir.frontends.core.control.scf_regions import known_truth
from relax_mlir.frontends.core.tensors import all_of

from ..hlo_attributes import elements_of
from ..prelude import HloNode, Outputs, Tensor, Value, cast, const, info_of, like, register_stablehlo, relax
from .elementwise import in_total_order


def _require(holds: Tensor, message: str) -> None:
    relax.assert_op(all_of(relax.flatten(holds), [0]), format=message)


@register_stablehlo("custom_call @shape_assertion")
def shape_assertion(node: HloNode) -> Outputs:
    """Check an assertion at import if it is constant. Assertions on argument types are checked at the call."""
    message = node.attr("error_message", "an assertion on shapes does not hold")
    if (held := known_truth(node.value(0))) is False:
        raise node.fail(f"it cannot hold: {message}")
    if held is None:
        relax.assert_op(relax.reshape(node.tensor(0), ()), node.tensors()[1:], format=message)
    return []


@register_stablehlo("custom_call @check.expect_eq", "check.expect_eq", "check.expect_eq_const")
def expect_eq(node: HloNode) -> Outputs:
    """Require equal values. NaN equals NaN."""
    for one, other in _parts(node):
        same = relax.equal(one, other)
        if is_float(info_of(one).dtype):
            same = relax.logical_or(same, relax.logical_and(relax.isnan(one), relax.isnan(other)))
        _require(same, "a value is not what check.expect_eq expects")
    return []


@register_stablehlo("custom_call @check.eq")
def eq(node: HloNode) -> Outputs:
    """Return True if all elements are equal."""
    (one, other), *_ = _parts(node)
    return all_of(relax.flatten(relax.equal(one, other)), [0])


@register_stablehlo("custom_call @check.expect_almost_eq", "check.expect_almost_eq", "check.expect_almost_eq_const")
def expect_almost_eq(node: HloNode) -> Outputs:
    """Require a relative difference of at most 1e-4, or of `tolerance`.

    Values below 1 are compared as if they were 1.
    """
    tolerance = node.attr("tolerance", 1e-4)
    for one, other in _parts(node):
        size = relax.maximum(relax.maximum(relax.abs(one), relax.abs(other)), like(one, 1))
        near = relax.less_equal(relax.abs(relax.subtract(one, other)), relax.multiply(size, like(one, tolerance)))
        _require(_or_same(near, one, other), "a value is too far from what check.expect_almost_eq expects")
    return []


@register_stablehlo("custom_call @check.expect_close", "check.expect_close")
def expect_close(node: HloNode) -> Outputs:
    """Require a distance between two limits, in ULPs. Complex numbers are compared part by part."""
    least, most = node.attr("min_ulp_difference", 0), node.attr("max_ulp_difference", 3)
    for one, other in _parts(node):
        if not is_float(info_of(one).dtype):
            _require(relax.equal(one, other), "a value is not what check.expect_close expects")
            continue
        near = _ulps_within(one, other, least, most)
        _require(_or_same(near, one, other), "a value is too far from what check.expect_close expects")
    return []


def _ulps_within(one: Tensor, other: Tensor, least: int, most: int) -> Tensor:
    """Check whether the distance in ULPs is in a range.

    Integer subtraction gives it unless the numbers are too far apart.
    """
    first, second = (cast(_map_to_ordered(tensor), "i64") for tensor in (one, other))
    apart = relax.abs(relax.subtract(first, second))
    roughly = relax.abs(relax.subtract(cast(first, "f64"), cast(second, "f64")))
    near = relax.logical_and(
        relax.greater_equal(apart, const(least, "i64")), relax.less_equal(apart, const(most, "i64"))
    )
    return relax.logical_and(near, relax.less(roughly, const(2.0**62, "f64")))


def _map_to_ordered(x: Tensor) -> Tensor:
    """Map floats to integers of the same order. Both zeros have the same integer."""
    dtype = info_of(x).dtype
    return in_total_order(relax.where(relax.equal(x, like(x, 0)), const(0.0, dtype), x))


def _or_same(near: Tensor, one: Tensor, other: Tensor) -> Tensor:
    """Return `near`, with NaN near to NaN, and an infinity near to itself only."""
    both_nan = relax.logical_and(relax.isnan(one), relax.isnan(other))
    is_finite = relax.logical_and(relax.isfinite(one), relax.isfinite(other))
    same = relax.logical_or(relax.equal(one, other), both_nan)
    return relax.logical_or(same, relax.logical_and(near, is_finite))


def _parts(node: HloNode) -> list[tuple[Tensor, Tensor]]:
    """Return pairs of a value and its expected value, part by part."""
    expected = node.pair(1) if len(node.inputs) > 1 else _constant(node)
    found = node.pair(0)
    halves = [(found.real, expected.real)]
    if found.imag is not None or expected.imag is not None:
        halves.append((found.whole_imag, expected.whole_imag))
    return [(_comparable(one), _comparable(other)) for one, other in halves]


def _constant(node: HloNode) -> Pair:
    parts = [Value(array=element).ssa for element in elements_of(node.operation, node.operation.operands[0].type)]
    return Pair(*parts, *[None] * (2 - len(parts)))


def _comparable(x: Tensor) -> Tensor:
    dtype = info_of(x).dtype
    if is_bool(dtype):
        return cast(x, "i8")
    return cast(x, "f32") if is_float(dtype) and bit_width(dtype) < 16 else x
