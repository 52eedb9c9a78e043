# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exporters of convolutions, transposed convolutions and pools. Layouts other than ONNX's are transposed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .....dialects.relax.infer.layouts import layouts_of
from .....dialects.relax.infer.windows import each_dimension, windows_of
from ..export_call import ExportedOp
from ..export_values import Ref
from ..registry import exports


def in_plain(op: ExportedOp, name: str) -> Ref:
    """Return an operand with its dimensions in ONNX's order."""
    return op.graph.transpose(op[name], plain_places(op, name))


def from_plain(op: ExportedOp, tensor: Ref) -> Ref:
    """Return a result in the operator's layout."""
    places = plain_places(op, "result")
    return op.graph.transpose(tensor, [places.index(axis) for axis in range(len(places))])


def plain_places(op: ExportedOp, name: str) -> list[int]:
    """Return the positions of ONNX's dimensions in the layout of an operand or the result."""
    layout = layouts_of(op.call)[name]
    if (places := layout.places(range(layout.rank))) is None:
        raise op.fail(f"layout '{layout.text}' of '{name}' has blocks", op.call.definition.layouts[name].attribute)
    return places


def _windows(op: ExportedOp, count: int) -> dict[str, Any]:
    """Return the window attributes for a number of spatial dimensions."""
    padding = list(each_dimension(op.padding, count))
    pads = padding if len(padding) == 2 * count else padding * 2
    return {
        "strides": list(each_dimension(op.strides, count)),
        "pads": pads,
        "dilations": list(each_dimension(op.dilation, count)),
    }


CONVOLUTIONS = tuple(f"relax.nn.conv{count}d{suffix}" for count in (1, 2, 3) for suffix in ("", "_transpose"))


@exports(CONVOLUTIONS)
def convolution(op: ExportedOp) -> Ref:
    return convolve(op, None)


def convolve(op: ExportedOp, bias: Ref | None) -> Ref:
    """Export a convolution with a bias per channel. Convolutions of integers have none."""
    dtype = op.result().dtype
    count = len(op.call.definition.windows.letters)
    data, weight = in_plain(op, "data"), in_plain(op, "weight")
    settings = {**_windows(op, count), "group": op.groups}
    if dtype == "i32" and {data.dtype, weight.dtype} <= {"i8", "ui8"} and not op.name.endswith("_transpose"):
        return from_plain(op, op.node("ConvInteger", data, weight, **settings))
    data, weight = op.cast(data, dtype), op.cast(weight, dtype)
    if op.name.endswith("_transpose"):
        extra = list(each_dimension(op.output_padding, count))
        made = op.node("ConvTranspose", data, weight, bias, **settings, output_padding=extra)
    else:
        made = op.node("Conv", data, weight, bias, **settings)
    return from_plain(op, made)


@exports([f"relax.nn.{kind}_pool{count}d" for kind in ("max", "avg") for count in (1, 2, 3)])
def pool(op: ExportedOp) -> Ref:
    count = len(op.call.definition.windows.letters)
    settings = {**_windows(op, count), "kernel_shape": list(each_dimension(op.pool_size, count))}
    if op.ceil_mode:
        settings |= _covering(op, settings["pads"])
    operator = "MaxPool"
    if "avg_pool" in op.name:
        operator = "AveragePool"
        settings["count_include_pad"] = int(op.count_include_pad)
        if set(settings["dilations"]) == {1}:
            # onnxruntime fuses quantized pools to QLinearAveragePool, which refuses this attribute.
            del settings["dilations"]
    return from_plain(op, op.node(operator, in_plain(op, "data"), **settings))


def _covering(op: ExportedOp, pads: list[int]) -> dict[str, Any]:
    """Return the attributes for windows that extend beyond the end.

    The operator omits a window that would start behind the data, but old versions of ONNX count such a window. The
    padding then ends at the end of the last window.
    """
    sizes = [op.shape("data")[place] for place in plain_places(op, "data")[2:]]
    counts = [op.result_shape()[place] for place in plain_places(op, "result")[2:]]
    after, is_other = [], False
    for size, count, window, high in zip(sizes, counts, windows_of(op.call).values(), pads[len(sizes) :], strict=True):
        reach, before = window.reach, window.before
        if not isinstance(size, int) or not isinstance(count, int) or not isinstance(reach, int):
            return {"ceil_mode": 1}
        is_other |= count != -(-(size + before + high - reach) // window.stride) + 1
        after.append(max((count - 1) * window.stride + reach - size - before, 0))
    if not is_other:
        return {"ceil_mode": 1}
    if (
        "avg_pool" in op.name
        and op.count_include_pad
        and any(new > old for new, old in zip(after, pads[len(after) :], strict=True))
    ):
        raise op.fail(
            "a window beyond the end of the padding together with an omitted window has no counterpart", "ceil_mode"
        )
    return {"pads": [*pads[: len(after)], *after]}


@exports([f"relax.nn.adaptive_avg_pool{count}d" for count in (1, 2, 3)])
def adaptive_pool(op: ExportedOp) -> Ref:
    """Export an adaptive pool.

    Windows of equal size make a plain pool; others are products with weights per dimension.
    """
    data = in_plain(op, "data")
    places = plain_places(op, "data")[2:]
    count = len(places)
    if op.output_size is None:
        return from_plain(op, data)
    counts = each_dimension(op.output_size, count)
    if set(counts) == {1}:
        return from_plain(op, op.node("GlobalAveragePool", data))
    sizes = [op.shape("data")[place] for place in places]
    known = [size for size in sizes if isinstance(size, int)]
    if len(known) < count:
        raise op.fail("the data's height and width must be known, unless the result's are 1", "output_size")
    if all(size % number == 0 for size, number in zip(known, counts, strict=True)):
        steps = [size // number for size, number in zip(known, counts, strict=True)]
        return from_plain(op, op.node("AveragePool", data, kernel_shape=steps, strides=steps))
    return from_plain(op, _count_shares(op, data, known, counts))


def _count_shares(op: ExportedOp, data: Ref, sizes: Sequence[int], counts: Sequence[int]) -> Ref:
    import numpy

    rank = len(sizes) + 2
    for axis, (size, count) in enumerate(zip(sizes, counts, strict=True), 2):
        shares = numpy.zeros((size, count))
        for place in range(count):
            begin, end = place * size // count, -(-(place + 1) * size // count)
            shares[begin:end, place] = 1 / (end - begin)
        order = [*(position for position in range(rank) if position != axis), axis]
        product = op.node("MatMul", op.graph.transpose(data, order), op.const(shares, data.dtype))
        data = op.graph.transpose(product, [order.index(index) for index in range(rank)])
    return data
