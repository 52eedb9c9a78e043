# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Normalizations: (data - mean) / sqrt(variance + epsilon) * gamma + beta.

Means and variances are f32 for narrower floats. The variance is computed from the distances to the mean.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

from ...bindings.ir import OpView, Value
from ...dialects.core.infos import TensorInfo
from ...dialects.core.symbols import equal
from ...dialects.relax.values import tensor_info
from ...emit import linalg, loops, tensors
from ...emit.axis_reduction import Read, Reduction
from ...emit.conversions import rounded, widened
from ...emit.numbers import Number, intrinsic
from ...passes.legalize.call import Body, LegalizeCall
from ...passes.legalize.rules import Legalized, register_legalize

#: Operation of a step on the data's elements and the step's operand.
Step = Callable[[Number, Number], Number]


def _norm(
    call: LegalizeCall,
    axes: Sequence[int],
    body: Body,
    outputs: Sequence[TensorInfo] | None = None,
    pattern: str | None = None,
) -> list[Value]:
    """Call a PrimFunc of `body(data, *parameters, *outputs)`. The parameters have the data's sizes along the axes."""
    shape, *others = map(call.shape, call.operands)
    unproven = [
        (1 + parameter, position, axis)
        for parameter, other in enumerate(others)
        for position, axis in enumerate(axes)
        if equal(other[position], shape[axis]) is not True
    ]

    def write(*values: Value) -> Value:
        for parameter, position, axis in unproven:
            name = call.op.definition.operands[parameter].name
            sizes = loops.size(values[parameter], position), loops.size(values[0], axis)
            loops.require_same(*sizes, f"{name} and the data along axis {axis}")
        return body(*values)

    return call.prim(write, outputs=outputs, pattern=pattern)


def _inverse_deviation(rows: Reduction, variance: Value, epsilon: float) -> Value:
    """Return 1 / sqrt(variance + epsilon), over the axes that are not reduced."""
    return rows.over_kept(lambda x: intrinsic("rsqrt", widened(x) + epsilon), [variance], rows.empty(rows.dtype))


def _apply_steps(rows: Reduction, steps: Sequence[tuple[Step, Read | None]], output: Value) -> Value:
    """Apply steps to the data. Each step is an operator with its operand; a step without an operand is left out."""
    taken = [(apply, read) for apply, read in steps if read is not None]

    def body(x: Number, *scalars: Number) -> Number:
        result = widened(x)
        for (apply, _), value in zip(taken, scalars, strict=True):
            result = apply(result, widened(value))
        return rounded(result, str(output.type.element_type))

    return rows.everywhere(body, [rows.whole, *(read for _, read in taken)], output)


def _affine(op: OpView, gamma: Read, beta: Read) -> list[tuple[Step, Read | None]]:
    """Return the steps that the attributes request."""
    return [(operator.mul, gamma if op.scale else None), (operator.add, beta if op.center else None)]


def _normalize_rows(op: OpView, rows: Reduction, gamma: Read, beta: Read, output: Value) -> Value:
    """Normalize by the data's own mean and variance along the rows' axes."""
    mean = rows.mean(widened, [rows.whole])
    factor = _inverse_deviation(rows, rows.variance(mean), op.epsilon)
    steps = [(operator.sub, rows.part(mean)), (operator.mul, rows.part(factor)), *_affine(op, gamma, beta)]
    return _apply_steps(rows, steps, output)


def _axes(axes: Sequence[int], data: Value) -> list[int]:
    """Return the axes as nonnegative numbers, in the order of the parameters' dimensions."""
    return [axis % linalg.rank_of(data) for axis in axes]


@register_legalize("relax.nn.layer_norm", by_types=True)
def layer_norm(call: LegalizeCall) -> Legalized:
    axes = _axes(call.op.axes, call.operands[0])

    def body(data: Value, gamma: Value, beta: Value, output: Value) -> Value:
        return _normalize_rows(call.op, Reduction(data, axes), (gamma, axes), (beta, axes), output)

    return _norm(call, axes, body)


@register_legalize("relax.nn.instance_norm", by_types=True)
def instance_norm(call: LegalizeCall) -> Legalized:
    axes, channels = _axes(call.op.axes, call.operands[0]), _axes([call.op.channel_axis], call.operands[0])

    def body(data: Value, gamma: Value, beta: Value, output: Value) -> Value:
        return _normalize_rows(call.op, Reduction(data, axes), (gamma, channels), (beta, channels), output)

    return _norm(call, channels, body)


@register_legalize("relax.nn.group_norm", by_types=True)
def group_norm(call: LegalizeCall) -> Legalized:
    """Normalize groups of channels. The channels become two dimensions, the groups and their members."""
    (channel,), groups = _axes([call.op.channel_axis], call.operands[0]), call.op.num_groups
    inner = channel + 1
    axes = [inner, *(axis + (axis > channel) for axis in _axes(call.op.axes, call.operands[0]))]

    def body(data: Value, gamma: Value, beta: Value, output: Value) -> Value:
        channels = linalg.sizes(data)[channel]
        loops.require_same(channels // groups * groups, channels, f"{groups} groups of channels")
        rows, whole = Reduction(_split_groups(data, channel, groups), axes), _split_groups(output, channel, groups)
        scale, shift = ((_split_groups(value, 0, groups), [channel, inner]) for value in (gamma, beta))
        return tensors.merge(_normalize_rows(call.op, rows, scale, shift, whole), channel, 2)

    return _norm(call, [channel], body)


def _split_groups(tensor: Value, axis: int, groups: int) -> Value:
    """Split the channels into groups and members."""
    # The size is taken from each tensor itself: a size that is static in one tensor may be dynamic in another.
    return tensors.split(tensor, axis, [groups, linalg.sizes(tensor)[axis] // groups])


@register_legalize("relax.nn.rms_norm", by_types=True)
def rms_norm(call: LegalizeCall) -> Legalized:
    axes, epsilon = _axes(call.op.axes, call.operands[0]), call.op.epsilon

    def body(data: Value, weight: Value, output: Value) -> Value:
        rows = Reduction(data, axes)
        factor = _inverse_deviation(rows, rows.mean(lambda x: widened(x) * widened(x), [rows.whole]), epsilon)
        return _apply_steps(rows, [(operator.mul, rows.part(factor)), (operator.mul, (weight, axes))], output)

    return _norm(call, axes, body)


@register_legalize("relax.nn.batch_norm", by_types=True)
def batch_norm(call: LegalizeCall) -> Legalized:
    channels = _axes([call.op.axis], call.operands[0])
    others = [axis for axis in range(linalg.rank_of(call.operands[0])) if axis not in channels]
    momentum, epsilon = call.op.momentum, call.op.epsilon

    def result(rows: Reduction, mean: Value, variance: Value, gamma: Value, beta: Value, output: Value) -> Value:
        factor = rows.part(_inverse_deviation(rows, variance, epsilon))
        affine = _affine(call.op, (gamma, channels), (beta, channels))
        return _apply_steps(rows, [(operator.sub, rows.part(mean)), (operator.mul, factor), *affine], output)

    def in_training(
        data: Value, gamma: Value, beta: Value, old_mean: Value, old_variance: Value, *outputs: Value
    ) -> list[Value]:
        rows = Reduction(data, others)
        mean = rows.mean(widened, [rows.whole])
        variance = rows.variance(mean)
        return [
            result(rows, mean, variance, gamma, beta, outputs[0]),
            rows.over_kept(lambda old, new: _move_average(old, new, momentum), [old_mean, mean], outputs[1]),
            rows.over_kept(lambda old, new: _move_average(old, new, momentum), [old_variance, variance], outputs[2]),
        ]

    def in_use(data: Value, gamma: Value, beta: Value, mean: Value, variance: Value, output: Value) -> Value:
        return result(Reduction(data, others), mean, variance, gamma, beta, output)

    if call.op.training:
        return _norm(call, channels, in_training)
    normalized = _norm(call, channels, in_use, [tensor_info(call.op.results[0])], "broadcast")
    return [*normalized, *map(call.cast, call.operands[3:], call.result_infos[1:])]


def _move_average(old: Number, new: Number, momentum: float) -> Number:
    """Return the moving average after adding a new value."""
    return rounded(widened(old) * (1 - momentum) + new * momentum, old.dtype)
