# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Folding of inference batch norms: a scale and a shift of each channel, and the scale moves into adjacent weights.

A bias may be between the weights and the scale. The multiplication and addition that a model's exporter has left of a
batch norm are folded alike.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from ...bindings.ir import Operation, OpView, Value
from ...bindings.navigation import defining_op, use_count
from ...bindings.patterns import Outcome, Pattern, PatternSet, Rewriter, apply_greedy
from ...dialects.core.infos import is_float
from ...dialects.relax.known_constants import is_constant
from ...dialects.relax.values import dtype_of, keeps_shape, make, shape_of
from ..core.base import Pass
from ..core.registry import register_pass
from .scales.batch_norms import BatchNorms
from .scales.weights import WEIGHTED, are_numbers, has_same_sums, numbers_along, own_weighted, spread_along, weighted

if TYPE_CHECKING:
    from numpy import ndarray

_SHIFTS = ("relax.add", "relax.subtract")
_SCALES = ("relax.multiply", "relax.divide")
_COMMUTATIVE = ("relax.add", "relax.multiply")


@register_pass
class FoldBatchNorm(Pass):
    """Fold batch norms of inference into adjacent weights, or rewrite them to a scale and a shift."""

    name: ClassVar[str] = "relax-fold-batch-norm"
    anchor: ClassVar[str] = "any"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith",)

    def run(self, op: Operation) -> None:
        BatchNorms().run(op)
        apply_greedy(op, _PATTERNS, max_iterations=_MOST_ROUNDS, what=self.name)


_MOST_ROUNDS = 32


class _Step(NamedTuple):
    """Step x * numbers or x + numbers, per channel."""

    source: Value
    constant: Value
    is_scale: bool
    #: True if the numbers are divisors or subtrahends.
    is_inverse: bool

    def numbers(self, axis: int, count: int) -> ndarray | None:
        shape = shape_of(self.source)
        found = None if shape is None else numbers_along(self.constant, axis, len(shape), count)
        if found is None or not self.is_inverse:
            return found
        return 1 / found.astype("float64") if self.is_scale else -found


def _step(value: Value | None, kinds: tuple[str, ...], *, once: bool = True) -> _Step | None:
    """Return the step with a constant that computes a value, or None. With `once` the value must have no other user."""
    op = None if value is None else defining_op(value, *kinds)
    if value is None or op is None:
        return None
    name = op.operation.name
    left, right = op.operation.operands
    if not is_constant(right):
        left, right = right, left
        if name not in _COMMUTATIVE or not is_constant(right):
            return None
    elif is_constant(left):
        return None
    if not is_float(dtype_of(left)) or (once and use_count(value) != 1) or not keeps_shape(left, right):
        return None
    return _Step(left, right, name in _SCALES, name not in _COMMUTATIVE)


def scale_outputs(op: OpView, rewriter: Rewriter) -> Operation | None:
    """Rewrite conv(x, w) * s to conv(x, w * s), and (conv(x, w) + b) * s to conv(x, w * s) + b * s."""
    if (step := _step(op.operation.results[0], _SCALES, once=False)) is None:
        return None
    shift = _step(step.source, _SHIFTS)
    if (found := own_weighted(step.source if shift is None else shift.source)) is None:
        return None
    axis, count = found.output_axis, found.outputs
    factors = step.numbers(axis, count)
    bias = None if shift is None else shift.numbers(axis, count)
    if factors is None or (shift is not None and bias is None):
        return None
    if (product := found.scaled(factors, "outputs", found.data)) is None:
        return None
    if bias is not None:
        return _replace_by_sum(op, product.result, bias * factors, axis)
    return product if product.result.type == op.operation.results[0].type else None


def _replace_by_sum(op: OpView, value: Value, shift: ndarray, axis: int) -> Operation | None:
    """Replace an operation by value + shift."""
    if not are_numbers(shift, dtype_of(value)):
        return None
    return make(op, "relax.add", [value, spread_along(shift, axis, value)])


def merge_shifts(op: OpView, rewriter: Rewriter) -> Operation | None:
    """Rewrite conv(x, w) + b + c to conv(x, w) + (b + c)."""
    last = _step(op.operation.results[0], _SHIFTS, once=False)
    first = None if last is None else _step(last.source, _SHIFTS)
    found = None if first is None else weighted(first.source)
    if last is None or first is None or found is None:
        return None
    axis, count = found.output_axis, found.outputs
    one, other = first.numbers(axis, count), last.numbers(axis, count)
    return None if one is None or other is None else _replace_by_sum(op, first.source, one + other, axis)


def scale_inputs(op: OpView, rewriter: Rewriter) -> Operation | None:
    """Rewrite conv(x * s, w) to conv(x, w * s)."""
    found = weighted(op.operation.results[0])
    step = None if found is None else _step(found.data, _SCALES)
    if found is None or step is None:
        return None
    factors = step.numbers(found.input_axis, found.inputs)
    return None if factors is None else found.scaled(factors, "inputs", step.source)


def shift_behind(op: OpView, rewriter: Rewriter) -> Operation | None:
    """Rewrite conv(x + t, w) to conv(x, w) + conv(t, w), a constant of each channel if there is no padding."""
    found = weighted(op.operation.results[0])
    step = None if found is None or not has_same_sums(found) else _step(found.data, _SHIFTS)
    if found is None or step is None:
        return None
    if (shift := step.numbers(found.input_axis, found.inputs)) is None:
        return None
    same = found.on(found.weight, step.source)
    return _replace_by_sum(op, same.result, found.sums(shift), found.output_axis)


def _without_warnings(rule: Callable[[OpView, Rewriter], Outcome]) -> Callable[[OpView, Rewriter], Outcome]:
    """Silence NumPy's warnings in a rule. The code that builds weights refuses results that are not finite."""

    @functools.wraps(rule)
    def quiet(op: OpView, rewriter: Rewriter) -> Outcome:
        import numpy

        with numpy.errstate(all="ignore"):
            return rule(op, rewriter)

    return quiet


_PATTERNS = PatternSet(
    [
        Pattern(_SCALES, _without_warnings(scale_outputs), after=(*_SHIFTS, *WEIGHTED)),
        Pattern(_SHIFTS, _without_warnings(merge_shifts), after=_SHIFTS),
        Pattern(WEIGHTED, _without_warnings(scale_inputs), after=_SCALES),
        Pattern(WEIGHTED, _without_warnings(shift_behind), after=_SHIFTS),
    ]
)
