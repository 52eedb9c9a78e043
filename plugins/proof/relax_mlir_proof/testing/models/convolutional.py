# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutional networks."""

from __future__ import annotations

from typing import Any

from relax_mlir.bindings.ir import Value
from relax_mlir.dialects import relax

from ..core.networks import Weights, model


def conv(w: Weights, x: Value, channels: int, outputs: int, taps: int = 3, **attributes: Any) -> Value:
    """Apply a convolution with a bias."""
    attributes.setdefault("padding", taps // 2)
    made = relax.nn.conv2d(x, w(outputs, channels // attributes.get("groups", 1), taps, taps), **attributes)
    return relax.add(made, w(outputs, 1, 1))


def normed(w: Weights, x: Value, channels: int) -> Value:
    """Apply a batch norm with statistics of a trained model."""
    made = relax.nn.batch_norm(
        x, w.positive(channels), w(channels), w(channels), w.positive(channels), axis=1, training=False
    )
    return made[0]


def conv_normed(w: Weights, x: Value, channels: int, outputs: int, taps: int = 3, **attributes: Any) -> Value:
    return normed(w, conv(w, x, channels, outputs, taps, **attributes), outputs)


def classified(w: Weights, x: Value, channels: int, classes: int = 10) -> Value:
    """Apply a linear layer to the mean of each channel."""
    return relax.add(relax.matmul(relax.mean(x, axis=[2, 3]), w(channels, classes)), w(classes))


@model("resnet", "batch,3,16,16:f32", batch=(1, 3))
def resnet(w: Weights, x: Value) -> Value:
    x = relax.nn.relu(conv_normed(w, x, 3, 8, 7, strides=2))
    x = relax.nn.max_pool2d(x, pool_size=3, strides=2, padding=1)
    for channels, outputs, stride in ((8, 8, 1), (8, 16, 2)):
        y = relax.nn.relu(conv_normed(w, x, channels, outputs, strides=stride))
        y = conv_normed(w, y, outputs, outputs)
        if stride != 1:
            x = conv_normed(w, x, channels, outputs, 1, strides=stride)
        x = relax.nn.relu(relax.add(y, x))
    return classified(w, x, 16)


@model("mobilenet", "1,3,16,16:f32")
def mobilenet(w: Weights, x: Value) -> Value:
    """Inverted residuals: pointwise expansion, depthwise convolution, pointwise projection."""
    x = relax.clip(conv_normed(w, x, 3, 8, strides=2), min=0, max=6)
    for stride in (1, 2):
        y = relax.clip(conv_normed(w, x, 8, 24, 1), min=0, max=6)
        y = relax.clip(conv_normed(w, y, 24, 24, groups=24, strides=stride), min=0, max=6)
        y = conv_normed(w, y, 24, 8, 1)
        x = relax.add(x, y) if stride == 1 else y
    return relax.nn.softmax(classified(w, x, 8))


@model("unet", "batch,2,16,8:f32", batch=(2, 1))
def unet(w: Weights, x: Value) -> Value:
    first = relax.nn.relu(conv(w, x, 2, 6))
    below = relax.nn.relu(conv(w, relax.nn.max_pool2d(first, pool_size=2, strides=2), 6, 12))
    up = relax.nn.conv2d_transpose(below, w(12, 6, 2, 2), strides=2)
    return relax.sigmoid(conv(w, relax.nn.relu(conv(w, relax.concat([first, up], axis=1), 12, 6)), 6, 1, 1))


@model("vgg", "1,3,16,16:f32")
def vgg(w: Weights, x: Value) -> Value:
    channels = 3
    for outputs in (8, 16):
        x = relax.nn.relu(conv(w, x, channels, outputs))
        x = relax.nn.relu(conv(w, x, outputs, outputs))
        x = relax.nn.max_pool2d(x, pool_size=2, strides=2)
        channels = outputs
    x = relax.reshape(x, (1, 16 * 4 * 4))
    x = relax.nn.relu(relax.add(relax.matmul(x, w(256, 32)), w(32)))
    return relax.nn.log_softmax(relax.matmul(x, w(32, 10)))


@model("densenet", "batch,4,h,7:f32", batch=(1, 2), h=(8, 5))
def densenet(w: Weights, x: Value) -> Value:
    channels = 4
    for _ in range(3):
        x = relax.concat([x, conv(w, relax.nn.relu(normed(w, x, channels)), channels, 4)], axis=1)
        channels += 4
    x = relax.nn.avg_pool2d(conv(w, x, channels, 8, 1), pool_size=2, strides=2)
    return classified(w, x, 8)


@model("squeeze_excite", "2,8,9,9:f32")
def squeeze_excite(w: Weights, x: Value) -> Value:
    y = relax.nn.silu(conv_normed(w, x, 8, 16, 5, strides=2, groups=8))
    gate = relax.mean(y, axis=[2, 3], keepdims=True)
    gate = relax.sigmoid(conv(w, relax.nn.silu(conv(w, gate, 16, 4, 1)), 4, 16, 1))
    return relax.multiply(y, gate)


def conv_last(x: Value, kernel: Value, strides: int = 1) -> Value:
    return relax.nn.conv2d(x, kernel, strides=strides, data_layout="NHWC", kernel_layout="HWIO")


@model("channels_last", "batch,9,9,4:f32", batch=(2, 1))
def channels_last(w: Weights, x: Value) -> Value:
    """Channels-last layouts, as in TensorFlow."""
    x = conv_last(relax.nn.pad(x, (0, 0, 1, 1, 1, 1, 0, 0)), w(3, 3, 4, 8), strides=2)
    x = conv_last(relax.nn.relu(relax.add(x, w(8))), w(1, 1, 8, 6))
    x = relax.nn.max_pool2d(x, pool_size=2, strides=1, layout="NHWC")
    return relax.nn.softmax(relax.matmul(relax.mean(x, axis=[1, 2]), w(6, 5)))


@model("audio", "batch,1,time:f32", batch=(2, 1), time=(64, 41))
def audio(w: Weights, x: Value) -> Value:
    """Convolutions over time, with dilation."""
    x = relax.nn.gelu(relax.nn.conv1d(x, w(8, 1, 8), strides=4, padding=2))
    for dilation in (1, 2, 4):
        y = relax.nn.conv1d(x, w(16, 8, 3), padding=dilation, dilation=dilation)
        kept, gate = relax.split(y, 2, axis=1)
        y = relax.multiply(relax.tanh(kept), relax.sigmoid(gate))
        x = relax.add(x, relax.nn.conv1d(y, w(8, 8, 1)))
    return relax.nn.log_softmax(relax.permute_dims(relax.nn.conv1d(x, w(5, 8, 1)), (0, 2, 1)))


@model("autoencoder", "3,1,12,12:f32[0,1]")
def autoencoder(w: Weights, x: Value) -> tuple[Value, Value]:
    """Autoencoder that also returns the code."""
    code = relax.nn.leakyrelu(conv(w, x, 1, 6, strides=2), alpha=0.1)
    code = relax.tanh(conv(w, code, 6, 4, strides=2))
    y = relax.nn.relu(relax.nn.conv2d_transpose(code, w(4, 6, 4, 4), strides=2, padding=1))
    y = relax.nn.conv2d_transpose(y, w(6, 1, 4, 4), strides=2, padding=1)
    return relax.sigmoid(y), code


@model("upsampling", "batch,4,5,6:f32", batch=(1, 2))
def upsampling(w: Weights, x: Value) -> Value:
    """Upsampling by interpolation and by pixel shuffle."""
    wide = relax.image.resize2d(x, (10, 12), method="linear", coordinate_transformation_mode="half_pixel")
    shuffled = relax.nn.pixel_shuffle(conv(w, x, 4, 16), upscale_factor=2)
    return conv(w, relax.nn.prelu(relax.add(wide, shuffled), w(4), axis=1), 4, 3)


@model("video", "1,2,4,8,8:f32")
def video(w: Weights, x: Value) -> Value:
    x = relax.nn.relu(relax.nn.conv3d(x, w(4, 2, 3, 3, 3), padding=1))
    x = relax.nn.avg_pool3d(x, pool_size=2, strides=2)
    x = relax.nn.instance_norm(x, w.positive(4), w(4), channel_axis=1, axes=[2, 3, 4])
    return relax.matmul(relax.reshape(relax.nn.adaptive_avg_pool3d(x, 1), (1, 4)), w(4, 6))


def group_normed(w: Weights, x: Value, channels: int, groups: int) -> Value:
    return relax.nn.group_norm(x, w.positive(channels), w(channels), groups, channel_axis=1, axes=[2, 3])


@model("diffusion", "batch,4,6,6:f32 batch:f32[0,1]", batch=(2, 1))
def diffusion(w: Weights, x: Value, time: Value) -> Value:
    """A residual block conditioned on the time, and attention over pixels."""
    angles = relax.multiply(relax.expand_dims(time, [1]), w(1, 4))
    known = relax.concat([relax.sin(angles), relax.cos(angles)], axis=1)
    known = relax.matmul(relax.nn.silu(relax.matmul(known, w(8, 8))), w(8, 8))
    y = conv(w, relax.nn.silu(group_normed(w, x, 4, 2)), 4, 8)
    y = relax.add(y, relax.expand_dims(known, [2, 3]))
    y = conv(w, relax.nn.silu(group_normed(w, y, 8, 4)), 8, 8)
    x = relax.add(y, conv(w, x, 4, 8, 1))
    pixels = relax.permute_dims(relax.reshape(x, ("batch", 8, 36)), (0, 2, 1))
    queries, keys, values = (relax.reshape(relax.matmul(pixels, w(8, 8)), ("batch", 36, 2, 4)) for _ in range(3))
    seen = relax.reshape(relax.nn.attention(queries, keys, values), ("batch", 36, 8))
    seen = relax.permute_dims(relax.matmul(seen, w(8, 8)), (0, 2, 1))
    return relax.add(x, relax.reshape(seen, ("batch", 8, 6, 6)))


@model("trunk", "batch,3,10,10:f32", batch=(2, 1))
def trunk(w: Weights, x: Value) -> tuple[Value, ...]:
    """Several results with a common trunk."""
    shared = relax.nn.relu(conv_normed(w, x, 3, 8, strides=2))
    classes = relax.nn.softmax(classified(w, shared, 8))
    return classes, relax.exp(conv(w, shared, 8, 4, 1)), shared, relax.argmax(classes, axis=1)
