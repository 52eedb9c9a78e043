# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Normalizations, softmax and reductions."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ....bindings.ir import Operation
from ....bindings.navigation import use_count
from ....dialects.core.opdef import Call
from ....dialects.relax.values import normal_axis
from ....runtime.external.dnnl.description import Argument, PostOp, Size
from ..core.flatten import FlatNode, Ref
from .converter import Converter
from .elementwise import BINARY, LINEAR, POWER, SQUARE
from .rules import converts, is_static

_SOFTMAX, _LOG_SOFTMAX = 196608, 196609
REDUCTIONS = {"max": 196594, "min": 196595, "sum": 196596, "prod": 196597, "mean": 196598}


def _parameters(converter: Converter, node: FlatNode, count: Any) -> dict[str, Argument]:
    """gamma and beta as vectors, where they are used."""
    named = {"scale": ("gamma", node.call.scale), "shift": ("beta", node.call.center)}
    used = {name: node.operand(operand) for name, (operand, is_used) in named.items() if is_used}
    return {name: _in_f32(converter, ref, (count,)) for name, ref in used.items()}


def _in_f32(converter: Converter, ref: Ref, sizes: Sequence[Size]) -> Argument:
    """A vector as norms read it, whatever elements their data have."""
    read = converter.argument(ref, ("reshape", sizes))
    if ref.info.dtype == "f32":
        return read
    wide = converter.temporary(sizes, "f32")
    converter.step("reorder", wide, {"src": read})
    return wide


def _refuse_batch_norm(op: Operation, call: Call) -> str:
    if call.training:
        return "oneDNN is used for inference, and this norm takes the statistics of the batch"
    if any(use_count(each) for each in list(op.results)[1:]):
        return "the new mean and variance are used, which oneDNN does not give"
    if normal_axis(call.axis, len(call.data.shape)) != 1:
        return f"oneDNN has channels as dimension 1, not {call.axis}"
    return "" if isinstance(call.data.shape[1], int) else "oneDNN has to know how many channels there are"


@converts("nn.batch_norm", refuse=_refuse_batch_norm)
def batch_norm(converter: Converter, node: FlatNode) -> None:
    statistics = {"mean": node.operand("moving_mean"), "variance": node.operand("moving_var")}
    (channels,) = converter.sizes((node.operand("data").info.shape or ())[1:2])
    arguments = {
        "src": converter.argument(node.operand("data")),
        **{name: _in_f32(converter, ref, (channels,)) for name, ref in statistics.items()},
        **_parameters(converter, node, channels),
    }
    converter.step("batch_norm", node.result, arguments, attributes={"epsilon": node.call.epsilon})


def _axes(call: Call) -> list[int]:
    rank = len(call.data.shape)
    return sorted(normal_axis(axis, rank) for axis in call.axes)


def _refuse_layer_norm(op: Operation, call: Call) -> str:
    shape, axes = call.data.shape, _axes(call)
    if axes != [*range(len(shape) - len(axes), len(shape))]:
        return f"oneDNN normalizes over the last dimensions, not over {tuple(call.axes)}"
    return "" if is_static(shape[axes[0] :]) else "oneDNN has to know the sizes that are normalized"


@converts("nn.layer_norm", refuse=_refuse_layer_norm)
def layer_norm(converter: Converter, node: FlatNode) -> None:
    data = node.operand("data")
    shape, axes = data.info.shape or (), _axes(node.call)
    count = prod(size for size in shape[axes[0] :] if isinstance(size, int))
    views = [("reshape", (converter.count(shape[: axes[0]]), count))]
    arguments = {"src": converter.argument(data, *views), **_parameters(converter, node, count)}
    converter.step("layer_norm", node.result, arguments, views, attributes={"epsilon": node.call.epsilon})


def _refuse_groups(op: Operation, call: Call) -> str:
    rank = len(call.data.shape)
    if normal_axis(call.channel_axis, rank) != 1 or _axes(call) != [*range(2, rank)]:
        return "oneDNN normalizes groups of channels where these are dimension 1, over all that follow"
    return "" if is_static(call.data.shape[1:]) else "oneDNN has to know the sizes that are normalized"


@converts("nn.group_norm", "nn.instance_norm", refuse=_refuse_groups)
def group_norm(converter: Converter, node: FlatNode) -> None:
    """oneDNN 3.2 has none: a layer norm of each group, then a scale and a shift of each channel."""
    data = node.operand("data")
    batch, channels, *sizes = data.info.shape or ()
    groups = node.call.attributes.get("num_groups", channels)
    count = prod(each for each in (channels, *sizes) if isinstance(each, int)) // groups
    views = [("reshape", (converter.count((batch, groups)), count))]
    used = [(BINARY[op], name) for op, name, is_used in
            (("multiply", "gamma", node.call.scale), ("add", "beta", node.call.center)) if is_used]  # fmt: skip
    values: list[Ref | Argument] = [
        converter.temporary(converter.sizes(data.info.shape or ()), data.info.dtype) for _ in used
    ]
    values.append(node.result)
    attributes = {"epsilon": node.call.epsilon}
    first = values[0]
    stored = Argument(first.value, (("reshape", views[0][1]),)) if isinstance(first, Argument) else first
    converter.step("layer_norm", stored, {"src": converter.argument(data, *views)}, views, attributes=attributes)
    for (algorithm, name), source, result in zip(used, values, values[1:], strict=False):
        assert isinstance(source, Argument)
        other = converter.argument(node.operand(name), ("reshape", (1, channels, *(1 for _ in sizes))))
        converter.step("binary", result, {"src": source, "src1": other}, attributes={"algorithm": algorithm})


@converts("nn.rms_norm", refuse=_refuse_layer_norm, dtypes=("f32",))
def rms_norm(converter: Converter, node: FlatNode) -> None:
    """oneDNN 3.2 has none: the mean of the squares, its power of -1/2, two products."""
    data, weight = node.operands
    shape, axes = data.info.shape or (), _axes(node.call)
    sizes = converter.sizes(shape)
    squares, means, scaled = (
        converter.temporary(each, "f32") for each in (sizes, [*sizes[: axes[0]], *(1 for _ in axes)], sizes)
    )
    source = converter.argument(data)
    converter.step("eltwise", squares, {"src": source}, attributes={"algorithm": SQUARE, "alpha": 0.0, "beta": 0.0})
    roots = PostOp("eltwise", LINEAR, 1.0, node.call.epsilon), PostOp("eltwise", POWER, 1.0, -0.5)
    converter.step("reduction", means, {"src": squares}, attributes={"algorithm": REDUCTIONS["mean"]}, post_ops=roots)
    attributes = {"algorithm": BINARY["multiply"]}
    converter.step("binary", scaled, {"src": source, "src1": means}, attributes=attributes)
    whole = ("reshape", (*(1 for _ in shape[: axes[0]]), *sizes[axes[0] :]))
    arguments = {"src": scaled, "src1": converter.argument(weight, whole)}
    converter.step("binary", node.result, arguments, attributes=attributes)


def _softmax(converter: Converter, node: FlatNode, algorithm: int) -> None:
    data = node.operands[0]
    attributes = {"algorithm": algorithm, "axis": normal_axis(node.call.axis, len(data.info.shape or ()))}
    converter.step("softmax", node.result, {"src": converter.argument(data)}, attributes=attributes)


@converts("nn.softmax")
def softmax(converter: Converter, node: FlatNode) -> None:
    _softmax(converter, node, _SOFTMAX)


@converts("nn.log_softmax")
def log_softmax(converter: Converter, node: FlatNode) -> None:
    _softmax(converter, node, _LOG_SOFTMAX)


def _refuse_reduction(op: Operation, call: Call) -> str:
    if not call.x.shape:
        return "there is nothing to reduce"
    return "" if call.axis is None or call.axis else "no axis is reduced"


@converts(*REDUCTIONS, refuse=_refuse_reduction)
def reduction(converter: Converter, node: FlatNode) -> None:
    """oneDNN keeps the dimensions."""
    call, shape = node.call, node.operands[0].info.shape or ()
    axes = [*range(len(shape))] if call.axis is None else [normal_axis(axis, len(shape)) for axis in call.axis]
    kept = converter.sizes([1 if axis in axes else size for axis, size in enumerate(shape)])
    views = [] if call.keepdims else [("reshape", kept)]
    attributes = {"algorithm": REDUCTIONS[node.name.removeprefix("relax.")]}
    converter.step(
        "reduction", node.result, {"src": converter.argument(node.operands[0])}, views, attributes=attributes
    )
