# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exporters of normalizations: ONNX's operator if the axes fit, else single steps."""

from __future__ import annotations

from collections.abc import Sequence

from .....dialects.core.infos import bit_width
from ..export_call import ExportedOp
from ..export_values import Part, Ref
from ..registry import exports


def _gamma(op: ExportedOp) -> Ref:
    """Return the factors, or ones if the operator has no scale."""
    gamma = op["gamma"]
    return gamma if op.scale else _fill(op, gamma, 1)


def _beta(op: ExportedOp) -> Ref:
    beta = op["beta"]
    return beta if op.center else _fill(op, beta, 0)


def _fill(op: ExportedOp, like: Ref, number: int) -> Ref:
    return op.node("Expand", op.number(number, like.dtype), op.node("Shape", like))


def _reshape_along(op: ExportedOp, parameter: Ref, axes: Sequence[int], rank: int) -> Ref:
    """Reshape a parameter with the dimensions of some axes of the data, so that it broadcasts with the data."""
    order = sorted(range(len(axes)), key=lambda place: axes[place])
    return op.graph.unsqueeze(
        op.graph.transpose(parameter, order), [index for index in range(rank) if index not in axes]
    )


def _wide(op: ExportedOp, tensor: Ref) -> Ref:
    """Cast narrow floats to f32, in which means and variances are computed."""
    return op.cast(tensor, "f32") if bit_width(tensor.dtype) < 32 else tensor


def _normalize(op: ExportedOp, data: Ref, mean: Ref, variance: Ref) -> Ref:
    deviation = op.node("Sqrt", op.node("Add", variance, op.number(op.epsilon, variance.dtype)))
    return op.node("Div", op.node("Sub", data, mean), deviation)


def _moments(op: ExportedOp, data: Ref, axes: Sequence[int]) -> tuple[Ref, Ref]:
    mean = op.graph.reduce("ReduceMean", data, list(axes), keep=True)
    distance = op.node("Sub", data, mean)
    return mean, op.graph.reduce("ReduceMean", op.node("Mul", distance, distance), list(axes), keep=True)


def _affine(op: ExportedOp, data: Ref, axes: Sequence[int], rank: int) -> Ref:
    if op.scale:
        data = op.node("Mul", data, _wide(op, _reshape_along(op, op["gamma"], axes, rank)))
    return op.node("Add", data, _wide(op, _reshape_along(op, op["beta"], axes, rank))) if op.center else data


def _own(op: ExportedOp, axes: Sequence[int], parameters: Sequence[int]) -> Ref:
    """Normalize in single steps, by the data's own mean and variance."""
    data, rank = _wide(op, op["data"]), op.rank("data")
    made = _affine(op, _normalize(op, data, *_moments(op, data, axes)), parameters, rank)
    return op.cast(made, op["data"].dtype)


def _has_its_epsilon(op: ExportedOp) -> bool:
    """Check whether epsilon is exact. ONNX's attribute is an f32, so an f64 operator would use another number."""
    return op["data"].dtype != "f64"


@exports("relax.nn.layer_norm")
def layer_norm(op: ExportedOp) -> Ref:
    rank, axes = op.rank("data"), op.axes_of("data", op.axes)
    if axes != list(range(rank - len(axes), rank)) or not _has_its_epsilon(op):
        return _own(op, axes, axes)
    beta = op["beta"] if op.center else None
    return op.node("LayerNormalization", op["data"], _gamma(op), beta, axis=axes[0] - rank, epsilon=op.epsilon)


def _is_usual(op: ExportedOp) -> bool:
    """Check whether channels are the second dimension and the normalization covers all dimensions behind them."""
    rank = op.rank("data")
    axes = sorted(op.axes_of("data", op.axes))
    return op.axis_of("data", op.channel_axis) == 1 and axes == list(range(2, rank)) and rank > 2


@exports("relax.nn.instance_norm")
def instance_norm(op: ExportedOp) -> Ref:
    if not _is_usual(op) or not _has_its_epsilon(op):
        return _own(op, op.axes_of("data", op.axes), op.axes_of("data", [op.channel_axis]))
    return op.node("InstanceNormalization", op["data"], _gamma(op), _beta(op), epsilon=op.epsilon)


@exports("relax.nn.group_norm")
def group_norm(op: ExportedOp) -> Ref:
    """Export group_norm. The channels are split in two dimensions: groups, and channels of a group."""
    # Runtimes expand GroupNormalization to nodes of the data's type, for which few have bf16 kernels.
    if _is_usual(op) and op.graph.opset >= 21 and _has_its_epsilon(op) and op["data"].dtype != "bf16":
        settings = {"num_groups": op.num_groups, "epsilon": op.epsilon}
        return op.node("GroupNormalization", op["data"], _gamma(op), _beta(op), **settings)
    channel, parts, rank = op.axis_of("data", op.channel_axis), op.parts("data"), op.rank("data")
    size = op.node("Div", op.sizes.one(op.graph, parts[channel]), op.ints(op.num_groups))
    split: list[Part] = [*parts[:channel], op.num_groups, size, *parts[channel + 1 :]]
    grouped = op.reshape(_wide(op, op["data"]), split)
    axes = [channel + 1, *(axis + (axis > channel) for axis in op.axes_of("data", op.axes))]
    made = op.reshape(_normalize(op, grouped, *_moments(op, grouped, axes)), parts)
    return op.cast(_affine(op, made, [channel], rank), op["data"].dtype)


@exports("relax.nn.rms_norm")
def rms_norm(op: ExportedOp) -> Ref:
    rank, axes = op.rank("data"), op.axes_of("data", op.axes)
    if op.graph.opset >= 23 and axes == list(range(rank - len(axes), rank)):
        return op.node("RMSNormalization", op["data"], op["weight"], axis=axes[0] - rank, epsilon=op.epsilon)
    data = _wide(op, op["data"])
    mean = op.graph.reduce("ReduceMean", op.node("Mul", data, data), axes, keep=True)
    deviation = op.node("Sqrt", op.node("Add", mean, op.number(op.epsilon, mean.dtype)))
    scaled = op.node("Mul", op.node("Div", data, deviation), _wide(op, _reshape_along(op, op["weight"], axes, rank)))
    return op.cast(scaled, op["data"].dtype)


@exports("relax.nn.batch_norm")
def batch_norm(op: ExportedOp) -> list[Ref]:
    """Export batch_norm. Training uses the batch's own mean and variance, and updates the moving ones."""
    axis, rank = op.axis_of("data", op.axis), op.rank("data")
    if op.training:
        return _export_training_norm(op, axis, rank)
    moving = [op["moving_mean"], op["moving_var"]]
    if axis == 1 and rank > 1 and _has_its_epsilon(op):
        operands = [op["data"], _gamma(op), _beta(op), *moving]
        return [op.node("BatchNormalization", *operands, epsilon=op.epsilon), *moving]
    mean, variance = (_wide(op, _reshape_along(op, each, [axis], rank)) for each in moving)
    made = _affine(op, _normalize(op, _wide(op, op["data"]), mean, variance), [axis], rank)
    return [op.cast(made, op["data"].dtype), *moving]


def _export_training_norm(op: ExportedOp, axis: int, rank: int) -> list[Ref]:
    data, others = _wide(op, op["data"]), [index for index in range(rank) if index != axis]
    moments = _moments(op, data, others)
    made = _affine(op, _normalize(op, data, *moments), [axis], rank)
    moved = []
    for old, new in zip((op["moving_mean"], op["moving_var"]), moments, strict=True):
        kept = op.node("Mul", _wide(op, old), op.number(1 - op.momentum, data.dtype))
        share = op.node("Mul", op.graph.squeeze(new, others), op.number(op.momentum, data.dtype))
        moved.append(op.cast(op.node("Add", kept, share), old.dtype))
    return [op.cast(made, op["data"].dtype), *moved]
