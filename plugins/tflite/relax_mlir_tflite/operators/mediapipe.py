# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Custom operators of MediaPipe's models, executed by TFLite's default delegate. Their options are C structures."""

from __future__ import annotations

import struct
from typing import NamedTuple

from relax_mlir.frontends.core.padding import padded

from ..prelude import Outputs, Tensor, TfliteNode, Value, cast, const, like, register_tflite, relax, sizes
from .activations import FUNCTIONS
from .convolutions import same_padding

_SAME, _VALID = 1, 2
#: Activations by their numbers in the C structures, which differ from the numbers of the schema.
_ACTIVATIONS = ("NONE", "RELU", "RELU_N1_TO_1", "RELU6", "TANH", "SIGN_BIT")


def _integers(node: TfliteNode, *names: str) -> list[int]:
    """Return the first integers of the operator's options."""
    held, layout = node.row.custom_options, struct.Struct(f"<{len(names)}i")
    if len(held) < layout.size:
        raise node.fail(f"its options have {len(held)} bytes, expected at least {layout.size}: {', '.join(names)}")
    integers = list(layout.unpack_from(held))
    if integers[0] not in (_SAME, _VALID):
        raise node.fail(f"the padding {integers[0]} is neither {_SAME} (SAME) nor {_VALID} (VALID)", "padding")
    for name, number in zip(names[1:], integers[1:], strict=True):
        if number < 1 and name != "activation":
            raise node.fail(f"must be 1 or more, got {number}", name)
    return integers


@register_tflite("Convolution2DTransposeBias")
def transpose_conv_bias(node: TfliteNode) -> Outputs:
    """Convert a transposed convolution of data, weights and a bias. The size of the data determines the result's."""
    padding, *strides = _integers(node, "padding", "stride_width", "stride_height")
    strides.reverse()
    outputs, *kernel, channels = node.fixed_sizes(1, 4)
    _, *own, depth = node.sizes_of(0, 4)
    if depth != channels or node.fixed_sizes(2, 1) != [outputs]:
        raise node.fail(f"data of {depth} channels, weights of {outputs}x{channels} and the bias do not fit")
    cut = [
        _cut(node, size, taps, stride) if padding == _SAME else 0
        for size, taps, stride in zip(own, kernel, strides, strict=True)
    ]
    made = relax.nn.conv2d_transpose(
        node.tensor(0),
        node.tensor(1),
        strides=strides,
        padding=[*(number // 2 for number in cut), *(number - number // 2 for number in cut)],
        data_layout="NHWC",
        kernel_layout="OHWI",
    )
    return relax.add(made, node.tensor(2))


def _cut(node: TfliteNode, size: sizes.Size, taps: int, stride: int) -> int:
    """Return the number of elements that SAME crops from the full result along one dimension."""
    if stride == 1:
        return taps - 1
    if not isinstance(size, int):
        raise node.fail("the size of its data is not known at import, which the padding SAME requires")
    return max(0, taps - (size - 1) % stride - 1)


# ---- pools ----


class _Pool(NamedTuple):
    """Options of a pool: its padding, strides and window, and the name of its activation."""

    padding: int
    strides: tuple[int, int]
    window: tuple[int, int]
    activation: str


def _pool(node: TfliteNode) -> _Pool:
    names = ("padding", "stride_width", "stride_height", "filter_width", "filter_height", "activation")
    padding, right, down, width, height, activation = _integers(node, *names)
    if not 0 <= activation < len(_ACTIVATIONS):
        raise node.fail(f"the activation {activation} is not known", "activation")
    return _Pool(padding, (down, right), (height, width), _ACTIVATIONS[activation])


@register_tflite("MaxPoolingWithArgmax2D")
def max_pool_with_argmax(node: TfliteNode) -> Outputs:
    """Return the largest element of each window, and its index in the window as a float.

    As in MediaPipe, indices are row-major, plus 0.1. TFLite's delegate stores column-major indices as the bits of
    integers. Models are not affected by the difference: only MaxUnpooling2D reads the indices.
    """
    import numpy

    pool, own = _pool(node), node.sizes_of(0, 4)[1:3]
    sides = [
        same_padding(size, taps, step) if pool.padding == _SAME else (0, 0)
        for size, taps, step in zip(own, pool.window, pool.strides, strict=True)
    ]
    lowest = float(numpy.finfo("float32").min)
    made = padded(node.value(0), {1: sides[0], 2: sides[1]}, "constant", lowest)
    data = made if isinstance(made, Value) else Value(ssa=made)
    spans = [
        sizes.plus(sizes.times(sizes.divided(sizes.minus(size, taps), step), step), 1)
        for size, taps, step in zip(sizes.sizes_of(data)[1:3], pool.window, pool.strides, strict=True)
    ]
    best: Tensor = const(lowest, "f32")
    place: Tensor = const(0.0, "f32")
    for number in range(pool.window[0] * pool.window[1]):
        begins = divmod(number, pool.window[1])
        bounds = {
            axis: (begin, sizes.plus(begin, span), step)
            for axis, begin, span, step in zip((1, 2), begins, spans, pool.strides, strict=True)
        }
        tap = sizes.sliced(data, bounds)
        is_larger = relax.greater(tap, best)
        best, place = relax.where(is_larger, tap, best), relax.where(is_larger, const(float(number), "f32"), place)
    return [FUNCTIONS[pool.activation](best), relax.add(place, const(0.1, "f32"))]


@register_tflite("MaxUnpooling2D")
def max_unpooling(node: TfliteNode) -> Outputs:
    """Write each element at its index in a window of zeros. The windows are adjacent."""
    import numpy

    pool = _pool(node)
    if pool.window != pool.strides:
        raise node.fail(f"windows of {pool.window} in steps of {pool.strides} overlap, or leave gaps")
    batch, height, width, channels = node.sizes_of(0, 4)
    down, right = pool.window
    places = cast(node.tensor(1), "i32")
    taps = const(numpy.arange(down * right, dtype="int32").reshape(1, 1, down, 1, right, 1))
    is_there = relax.equal(relax.expand_dims(places, axis=[2, 4]), taps)
    data = relax.expand_dims(node.tensor(0), axis=[2, 4])
    spread = relax.where(is_there, data, like(data, 0))
    return sizes.reshaped(spread, [batch, sizes.times(height, down), sizes.times(width, right), channels])
