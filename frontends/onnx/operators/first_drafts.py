# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of experimental operators of ONNX before version 10, which old models use and onnxruntime still runs."""

from __future__ import annotations

from ...core.sizes import minus, plus, sizes_of, sliced
from ..prelude import OnnxNode, Outputs, Tensor, along_axis, const, register_onnx, register_rows, relax


def _scale(node: OnnxNode, tensor: Tensor, name: str) -> Tensor:
    """Return the product of a tensor with a float attribute, which is 1 by default."""
    factor = node.float(name, 1.0)
    return tensor if factor == 1.0 else relax.multiply(tensor, const(factor, node.value(0).dtype))


register_rows(
    "",
    {
        "Affine": lambda node: relax.add(
            _scale(node, node.tensor(0), "alpha"), const(node.float("beta", 0.0), node.value(0).dtype)
        ),
        "ParametricSoftplus": lambda node: _scale(
            node, relax.nn.softplus(_scale(node, node.tensor(0), "beta")), "alpha"
        ),
        "Scale": lambda node: _scale(node, node.tensor(0), "scale"),
        "ScaledTanh": lambda node: _scale(node, relax.tanh(_scale(node, node.tensor(0), "beta")), "alpha"),
    },
)


@register_onnx("", "ImageScaler")
def image_scaler(node: OnnxNode) -> Outputs:
    """Scale an image, then add the bias of each channel."""
    bias = node.floats("bias", [])
    channels = sizes_of(node.value(0))[1]
    if isinstance(channels, int) and len(bias) != channels:
        raise node.fail(f"has {len(bias)} entries for {channels} channels", "bias")
    row = const(bias, node.value(0).dtype)
    return relax.add(_scale(node, node.tensor(0), "scale"), along_axis(row, 1, node.rank(0)))


@register_onnx("", "Crop")
def crop(node: OnnxNode) -> Outputs:
    """Cut borders off an image, or with a scale, cut a window of that size at the corner given by the borders."""
    border, window = node.ints("border", []), node.ints("scale", [])
    if len(border) != 4 or len(window) not in (0, 2) or node.rank(0) != 4:
        raise node.fail(f"takes images with 4 borders and 2 sizes at most, got {border} and {window}", "border")
    left, top, right, bottom = border
    height, width = sizes_of(node.value(0))[2:]
    ends = [plus(top, window[0]), plus(left, window[1])] if window else [minus(height, bottom), minus(width, right)]
    return sliced(node.value(0), {2: (top, ends[0], 1), 3: (left, ends[1], 1)})
