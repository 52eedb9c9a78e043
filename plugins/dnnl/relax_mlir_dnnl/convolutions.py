# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversion rules for convolutions, transposed convolutions, pooling and resizing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir.dialects.core.opdef import Call
from relax_mlir.dialects.core.symbols import Dim
from relax_mlir.dialects.relax.infer.layouts import Layout, layouts_of
from relax_mlir.dialects.relax.infer.windows import each_dimension, windows_of
from relax_mlir.dialects.relax.values import shape_of
from relax_mlir.passes.graph.parts.flat_graph import FlatNode
from relax_mlir.passes.graph.parts.operator_checks import is_static, order_of
from relax_mlir.rewriting import Operation

from .converter import Converter
from .quantized import quantized_product
from .rules import CHECKS, converts
from .runtime.description import Size

_NEAREST, _LINEAR = 196592, 196593
_MAX, _MEAN_OF_ALL, _MEAN_INSIDE = 511, 767, 1023
CONVOLUTIONS = [f"nn.conv{rank}d" for rank in (1, 2, 3)]
TRANSPOSED = [f"nn.conv{rank}d_transpose" for rank in (1, 2, 3)]
_MAX_POOLS = [f"nn.max_pool{rank}d" for rank in (1, 2, 3)]
_MEAN_POOLS = [f"nn.avg_pool{rank}d" for rank in (1, 2, 3)]
_ADAPTIVE = [f"nn.adaptive_avg_pool{rank}d" for rank in (1, 2, 3)]
RESIZED = ("image.resize2d", "image.resize3d")
POOLS = (*_MAX_POOLS, *_MEAN_POOLS, *_ADAPTIVE)


def _permute(layout: Layout) -> list[tuple[str, Sequence[Size]]]:
    order = order_of(layout)
    return [] if order == [*range(len(order))] else [("permute", order)]


def _refuse_convolution(op: Operation, call: Call) -> str:
    if not is_static(call.weight.shape):
        return "oneDNN needs the sizes of the weight at compile time"
    if call.out_dtype not in (None, call.data.dtype):
        return f"oneDNN's result has the operands' element type {call.data.dtype}, not {call.out_dtype}"
    return CHECKS.layouts(call) or _refuse_reach(call)


def _refuse_reach(call: Call) -> str:
    for letter, window in windows_of(call).items():
        if isinstance(window.reach, int) and window.before >= window.reach:
            return f"oneDNN needs padding smaller than the window of {window.reach} along {letter}, got {window.before}"
    return ""


def _windows(call: Call) -> dict[str, list[int]]:
    windows = list(windows_of(call).values())
    return {
        "taps": [window.taps for window in windows],
        "strides": [window.stride for window in windows],
        "dilation": [window.gap for window in windows],
        "before": [window.before for window in windows],
    }


@converts(*CONVOLUTIONS, refuse=_refuse_convolution)
def convolution(converter: Converter, node: FlatNode) -> None:
    call, layouts = node.call, layouts_of(node.call)
    data, weight = node.operands
    kernel = _permute(layouts["weight"])
    if call.groups > 1:
        kernel.append(("reshape", _group(call, layouts["weight"])))
    channels = order_of(layouts["weight"])[0]
    source = quantized_product(converter, data, weight, axis=channels, mask=3 if call.groups > 1 else 1)
    converter.step(
        "convolution",
        node.result,
        {
            "src": converter.argument(source.data, *_permute(layouts["data"])),
            "weights": converter.argument(source.weight, *kernel),
        },
        _permute(layouts["result"]),
        source.quantized,
        {**_windows(call), **source.attributes},
    )


def _sizes(call: Call, layout: Layout) -> list[int]:
    return [call.weight.shape[axis] for axis in order_of(layout)]


def _group(call: Call, layout: Layout) -> list[int]:
    """Return the weight's sizes, with the first dimension split into groups."""
    first, *others = _sizes(call, layout)
    return [call.groups, first // call.groups, *others]


def _refuse_transposed(op: Operation, call: Call) -> str:
    if reason := _refuse_convolution(op, call):
        return reason
    extra = each_dimension(call.output_padding, len(windows_of(call)))
    for (letter, window), more in zip(windows_of(call).items(), extra, strict=True):
        if more > window.after:
            return f"output_padding {more} along {letter} is larger than the padding at the end, {window.after}"
    return ""


@converts(*TRANSPOSED, refuse=_refuse_transposed)
def transposed(converter: Converter, node: FlatNode) -> None:
    """Convert a transposed convolution. oneDNN expects weights with the output channels first."""
    call, layouts = node.call, layouts_of(node.call)
    data, weight = node.operands
    kernel = _permute(layouts["weight"])
    spatial = range(2, len(layouts["weight"].dimensions))
    if call.groups > 1:
        kernel.append(("reshape", _group(call, layouts["weight"])))
        kernel.append(("permute", [0, 2, 1, *(axis + 1 for axis in spatial)]))
    else:
        kernel.append(("permute", [1, 0, *spatial]))
    converter.step(
        "deconvolution",
        node.result,
        {"src": converter.argument(data, *_permute(layouts["data"])), "weights": converter.argument(weight, *kernel)},
        _permute(layouts["result"]),
        attributes=_windows(call),
    )


def _refuse_pool(op: Operation, call: Call) -> str:
    reason = CHECKS.layouts(call) or _refuse_reach(call)
    if reason or not call.definition.name.startswith("nn.avg"):
        return reason
    if call.ceil_mode and call.count_include_pad:
        return "oneDNN counts positions after the padding in means, which ceil_mode with count_include_pad leaves out"
    return ""


@converts(*_MAX_POOLS, *_MEAN_POOLS, refuse=_refuse_pool)
def pool(converter: Converter, node: FlatNode) -> None:
    call = node.call
    is_max = call.definition.name.startswith("nn.max")
    mean = _MEAN_OF_ALL if call.attributes.get("count_include_pad") else _MEAN_INSIDE
    _convert_pool(converter, node, {**_windows(call), "algorithm": _MAX if is_max else mean})


def _convert_pool(converter: Converter, node: FlatNode, attributes: Mapping[str, object]) -> None:
    layouts = layouts_of(node.call)
    source = converter.argument(node.operands[0], *_permute(layouts["data"]))
    converter.step("pooling", node.result, {"src": source}, _permute(layouts["result"]), attributes=attributes)


def _refuse_resize(op: Operation, call: Call) -> str:
    layouts = layouts_of(call)
    before, after = (_sizes_over(layouts[name], shape) for name, shape in
                     (("data", call.data.shape), ("result", shape_of(op.results[0]) or ())))  # fmt: skip
    if not (is_static(before) and is_static(after)):
        return "oneDNN needs the sizes of operand and result at compile time"
    if call.out_dtype not in (None, call.data.dtype):
        return f"oneDNN's result has the operand's element type {call.data.dtype}, not {call.out_dtype}"
    mode = call.coordinate_transformation_mode
    if call.method == "linear":
        is_known = mode == "half_pixel" or (mode == "pytorch_half_pixel" and 1 not in after)
        return CHECKS.layouts(call) if is_known else f"oneDNN resizes by the centres of pixels, not by {mode}"
    if call.method != "nearest_neighbor":
        return f"oneDNN has no {call.method} interpolation"
    # With whole factors no coordinate is in the middle between two pixels, so both ways of rounding are equal.
    is_nearest = mode == "half_pixel" and call.rounding_method.startswith("round")
    if not (is_nearest or (mode, call.rounding_method) == ("asymmetric", "floor")):
        return f"oneDNN chooses the nearest pixel, not the pixel by {mode} and '{call.rounding_method}'"
    if any(size % count for size, count in zip(after, before, strict=True)):
        return f"oneDNN rounds differently from {tuple(before)} to {tuple(after)}: a factor is not a whole number"
    return CHECKS.layouts(call)


@converts(*RESIZED, refuse=_refuse_resize)
def resize(converter: Converter, node: FlatNode) -> None:
    layouts = layouts_of(node.call)
    source = converter.argument(node.operands[0], *_permute(layouts["data"]))
    attributes = {"algorithm": _LINEAR if node.call.method == "linear" else _NEAREST}
    converter.step("resampling", node.result, {"src": source}, _permute(layouts["result"]), attributes=attributes)


def _refuse_adaptive(op: Operation, call: Call) -> str:
    if not is_static(_spatial(call)):
        return "oneDNN needs the spatial sizes at compile time"
    output_sizes = each_dimension(call.output_size, len(_spatial(call))) if call.output_size else _spatial(call)
    if any(size % count for size, count in zip(_spatial(call), output_sizes, strict=True)):
        return (
            f"oneDNN pools by windows of one size, but {tuple(_spatial(call))} is no multiple of {tuple(output_sizes)}"
        )
    return CHECKS.layouts(call)


def _spatial(call: Call) -> list[int]:
    return _sizes_over(layouts_of(call)["data"], call.data.shape)


def _sizes_over(layout: Layout, shape: Sequence[Dim]) -> list[Any]:
    """Return the spatial sizes of a shape, over which windows slide."""
    sizes = {axis.dimension: size for axis, size in zip(layout.axes, shape, strict=True)}
    return [sizes[letter] for letter in layout.dimensions[2:]]


@converts(*_ADAPTIVE, refuse=_refuse_adaptive)
def adaptive_pool(converter: Converter, node: FlatNode) -> None:
    """Convert an adaptive pool. Its input sizes are multiples of its output sizes, so all windows have one size."""
    sizes = _spatial(node.call)
    output_sizes = each_dimension(node.call.output_size, len(sizes)) if node.call.output_size else sizes
    taps = [size // count for size, count in zip(sizes, output_sizes, strict=True)]
    count = len(taps)
    attributes = {"taps": taps, "strides": taps, "dilation": [1] * count, "before": [0] * count}
    _convert_pool(converter, node, {**attributes, "algorithm": _MEAN_INSIDE})
