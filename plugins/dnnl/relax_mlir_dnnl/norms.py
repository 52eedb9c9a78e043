# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversion rules for normalizations, softmax and reductions."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from relax_mlir.dialects.core.opdef import Call
from relax_mlir.dialects.relax.values import normal_axis
from relax_mlir.passes.graph.parts.flat_graph import FlatNode, Ref
from relax_mlir.passes.graph.parts.operator_checks import normal_axes, refuse_reduction
from relax_mlir.rewriting import Operation

from .converter import Converter
from .elementwise import BINARY, LINEAR, POWER, SQUARE
from .rules import CHECKS, converts
from .runtime.description import Argument, PostOp, Size

SOFTMAX = {"nn.softmax": 196608, "nn.log_softmax": 196609}
#: oneDNN's maximum and minimum are left out: they return a number for NaN, and are no faster than the target's.
REDUCTIONS = {"sum": 196596, "prod": 196597, "mean": 196598}


def _parameters(converter: Converter, node: FlatNode, count: Size) -> dict[str, Argument]:
    """Return gamma and beta as vectors, as far as the operator uses them."""
    named = {"scale": ("gamma", node.call.scale), "shift": ("beta", node.call.center)}
    used = {name: node.operand(operand) for name, (operand, is_used) in named.items() if is_used}
    return {name: _convert_to_f32(converter, ref, (count,)) for name, ref in used.items()}


def _convert_to_f32(converter: Converter, ref: Ref, sizes: Sequence[Size]) -> Argument:
    """Return a vector in f32. oneDNN's norms expect f32 vectors for data of every element type."""
    read = converter.argument(ref, ("reshape", sizes))
    if ref.info.dtype == "f32":
        return read
    wide = converter.temporary(sizes, "f32")
    converter.step("reorder", wide, {"src": read})
    return wide


def _refuse_batch_norm(op: Operation, call: Call) -> str:
    if reason := CHECKS.batch_norm(op, call):
        return reason
    if normal_axis(call.axis, len(call.data.shape)) != 1:
        return f"oneDNN expects channels as dimension 1, got axis {call.axis}"
    return "" if isinstance(call.data.shape[1], int) else "oneDNN needs the number of channels at compile time"


@converts("nn.batch_norm", refuse=_refuse_batch_norm)
def batch_norm(converter: Converter, node: FlatNode) -> None:
    statistics = {"mean": node.operand("moving_mean"), "variance": node.operand("moving_var")}
    (channels,) = converter.sizes(node.operand("data").dims[1:2])
    arguments = {
        "src": converter.argument(node.operand("data")),
        **{name: _convert_to_f32(converter, ref, (channels,)) for name, ref in statistics.items()},
        **_parameters(converter, node, channels),
    }
    converter.step("batch_norm", node.result, arguments, attributes={"epsilon": node.call.epsilon})


@converts("nn.layer_norm", refuse=CHECKS.layer_norm)
def layer_norm(converter: Converter, node: FlatNode) -> None:
    data = node.operand("data")
    shape, axes = data.dims, normal_axes(node.call)
    count = prod(size for size in shape[axes[0] :] if isinstance(size, int))
    views = [("reshape", (converter.count(shape[: axes[0]]), count))]
    arguments = {"src": converter.argument(data, *views), **_parameters(converter, node, count)}
    converter.step("layer_norm", node.result, arguments, views, attributes={"epsilon": node.call.epsilon})


@converts("nn.group_norm", "nn.instance_norm", refuse=CHECKS.group_norm)
def group_norm(converter: Converter, node: FlatNode) -> None:
    """Convert a group norm to a layer norm of each group, then a scale and a shift of each channel.

    oneDNN 3.2 has no group norm.
    """
    data = node.operand("data")
    batch, channels, *sizes = data.dims
    groups = node.call.attributes.get("num_groups", channels)
    count = prod(size for size in (channels, *sizes) if isinstance(size, int)) // groups
    views = [("reshape", (converter.count((batch, groups)), count))]
    used = [(BINARY[op], name) for op, name, is_used in
            (("multiply", "gamma", node.call.scale), ("add", "beta", node.call.center)) if is_used]  # fmt: skip
    values: list[Ref | Argument] = [converter.temporary(converter.sizes(data.dims), data.info.dtype) for _ in used]
    values.append(node.result)
    attributes = {"epsilon": node.call.epsilon}
    first = values[0]
    stored = Argument(first.value, (("reshape", views[0][1]),)) if isinstance(first, Argument) else first
    converter.step("layer_norm", stored, {"src": converter.argument(data, *views)}, views, attributes=attributes)
    for (algorithm, name), source, result in zip(used, values, values[1:], strict=False):
        assert isinstance(source, Argument)
        other = converter.argument(node.operand(name), ("reshape", converter.sizes((1, channels, *(1 for _ in sizes)))))
        converter.step("binary", result, {"src": source, "src1": other}, attributes={"algorithm": algorithm})


@converts("nn.rms_norm", refuse=CHECKS.layer_norm, dtypes=("f32",))
def rms_norm(converter: Converter, node: FlatNode) -> None:
    """Convert an RMS norm to the mean of the squares, its power of -1/2, and two products.

    oneDNN 3.2 has no RMS norm.
    """
    data, weight = node.operands
    shape, axes = data.dims, normal_axes(node.call)
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


@converts(*SOFTMAX)
def softmax(converter: Converter, node: FlatNode) -> None:
    data = node.operands[0]
    attributes = {"algorithm": SOFTMAX[node.operator], "axis": normal_axis(node.call.axis, len(data.dims))}
    converter.step("softmax", node.result, {"src": converter.argument(data)}, attributes=attributes)


@converts(*REDUCTIONS, refuse=refuse_reduction)
def reduction(converter: Converter, node: FlatNode) -> None:
    """Convert a reduction. oneDNN keeps the reduced dimensions, which a view may remove."""
    call, shape = node.call, node.operands[0].dims
    axes = [*range(len(shape))] if call.axis is None else [normal_axis(axis, len(shape)) for axis in call.axis]
    reduced = converter.sizes([1 if axis in axes else size for axis, size in enumerate(shape)])
    views = [] if call.keepdims else [("reshape", reduced)]
    attributes = {"algorithm": REDUCTIONS[node.operator]}
    converter.step(
        "reduction", node.result, {"src": converter.argument(node.operands[0])}, views, attributes=attributes
    )
