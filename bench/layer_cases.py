# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers of networks for bench/layer_floors.py: tables of convolutions and products, with their work and bytes."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias


class Conv(NamedTuple):
    """2-D convolution of a square image, batch 1. Odd kernels preserve the size, even ones have no padding."""

    #: Number of these layers in the network.
    count: int
    inputs: int
    outputs: int
    taps: int
    side: int
    stride: int = 1
    groups: int = 1
    activation: str = "relu"

    @property
    def name(self) -> str:
        options = {" /": self.stride, " g": self.groups}
        suffix = "".join(f"{sign}{number}" for sign, number in options.items() if number > 1)
        return f"conv {self.taps}x{self.taps} {self.inputs}->{self.outputs} {self.side}x{self.side}{suffix}"

    @property
    def padding(self) -> int:
        return self.taps // 2 if self.taps % 2 else 0

    @property
    def out_side(self) -> int:
        return (self.side + 2 * self.padding - self.taps) // self.stride + 1

    @property
    def flops(self) -> int:
        """Return the operations of the direct sums, without products with the padding."""
        starts = range(-self.padding, self.out_side * self.stride - self.padding, self.stride)
        along = sum(0 <= start + tap < self.side for start in starts for tap in range(self.taps))
        return 2 * self.inputs // self.groups * self.outputs * along**2

    @property
    def weights(self) -> int:
        """Return the number of weights, without the bias."""
        return self.inputs // self.groups * self.outputs * self.taps**2

    @property
    def data(self) -> int:
        """Return the number of elements of the input and the result."""
        return self.inputs * self.side**2 + self.outputs * self.out_side**2


class Product(NamedTuple):
    """Product of rows with constant weights. `normed` places a layer normalization before the product."""

    count: int
    rows: int
    inner: int
    columns: int
    activation: str = ""
    normed: bool = False

    @property
    def name(self) -> str:
        return f"product {self.rows}x{self.inner}x{self.columns}" + (f" {self.activation}" if self.activation else "")

    @property
    def flops(self) -> int:
        return 2 * self.rows * self.inner * self.columns

    @property
    def weights(self) -> int:
        return self.inner * self.columns

    @property
    def data(self) -> int:
        return self.rows * (self.inner + self.columns)


class Attention(NamedTuple):
    """Batch of products of two activations: queries with keys, or weights with values. `batch` counts heads."""

    count: int
    batch: int
    rows: int
    inner: int
    columns: int

    @property
    def name(self) -> str:
        return f"attention {self.batch}x{self.rows}x{self.inner}x{self.columns}"

    @property
    def flops(self) -> int:
        return 2 * self.batch * self.rows * self.inner * self.columns

    @property
    def weights(self) -> int:
        """Return the number of elements of the keys or values, which differ from layer to layer like weights."""
        return self.batch * self.inner * self.columns

    @property
    def data(self) -> int:
        return self.batch * self.rows * (self.inner + self.columns)


Layer: TypeAlias = Conv | Product | Attention


def _depthwise(count: int, channels: int, taps: int, side: int, stride: int = 1, activation: str = "relu6") -> Conv:
    return Conv(count, channels, channels, taps, side, stride, channels, activation)


def _pointwise(count: int, inputs: int, outputs: int, side: int, activation: str = "") -> Conv:
    return Conv(count, inputs, outputs, 1, side, activation=activation)


_RESNET50: tuple[Layer, ...] = (
    Conv(1, 3, 64, 7, 224, 2),
    Conv(1, 64, 64, 1, 56),
    Conv(3, 64, 64, 3, 56),
    Conv(4, 64, 256, 1, 56),
    Conv(2, 256, 64, 1, 56),
    Conv(1, 256, 128, 1, 56),
    Conv(1, 128, 128, 3, 56, 2),
    Conv(1, 256, 512, 1, 56, 2),
    Conv(4, 128, 512, 1, 28),
    Conv(3, 512, 128, 1, 28),
    Conv(3, 128, 128, 3, 28),
    Conv(1, 512, 256, 1, 28),
    Conv(1, 256, 256, 3, 28, 2),
    Conv(1, 512, 1024, 1, 28, 2),
    Conv(6, 256, 1024, 1, 14),
    Conv(5, 1024, 256, 1, 14),
    Conv(5, 256, 256, 3, 14),
    Conv(1, 1024, 512, 1, 14),
    Conv(1, 512, 512, 3, 14, 2),
    Conv(1, 1024, 2048, 1, 14, 2),
    Conv(3, 512, 2048, 1, 7),
    Conv(2, 2048, 512, 1, 7),
    Conv(2, 512, 512, 3, 7),
    Product(1, 1, 2048, 1000),
)

_MOBILENET_V2: tuple[Layer, ...] = (
    Conv(1, 3, 32, 3, 224, 2, activation="relu6"),
    _depthwise(1, 32, 3, 112),
    _pointwise(1, 32, 16, 112),
    _pointwise(1, 16, 96, 112, "relu6"),
    _depthwise(1, 96, 3, 112, 2),
    _pointwise(1, 96, 24, 56),
    _pointwise(2, 24, 144, 56, "relu6"),
    _depthwise(1, 144, 3, 56),
    _pointwise(1, 144, 24, 56),
    _depthwise(1, 144, 3, 56, 2),
    _pointwise(1, 144, 32, 28),
    _pointwise(3, 32, 192, 28, "relu6"),
    _depthwise(2, 192, 3, 28),
    _pointwise(2, 192, 32, 28),
    _depthwise(1, 192, 3, 28, 2),
    _pointwise(1, 192, 64, 14),
    _pointwise(4, 64, 384, 14, "relu6"),
    _depthwise(4, 384, 3, 14),
    _pointwise(3, 384, 64, 14),
    _pointwise(1, 384, 96, 14),
    _pointwise(3, 96, 576, 14, "relu6"),
    _depthwise(2, 576, 3, 14),
    _pointwise(2, 576, 96, 14),
    _depthwise(1, 576, 3, 14, 2),
    _pointwise(1, 576, 160, 7),
    _pointwise(3, 160, 960, 7, "relu6"),
    _depthwise(3, 960, 3, 7),
    _pointwise(2, 960, 160, 7),
    _pointwise(1, 960, 320, 7),
    _pointwise(1, 320, 1280, 7, "relu6"),
    Product(1, 1, 1280, 1000),
)

_EFFICIENTNET_B0: tuple[Layer, ...] = (
    Conv(1, 3, 32, 3, 224, 2, activation="silu"),
    _depthwise(1, 32, 3, 112, 1, "silu"),
    _pointwise(1, 32, 8, 1, "silu"),
    _pointwise(1, 8, 32, 1, "sigmoid"),
    _pointwise(1, 32, 16, 112),
    _pointwise(1, 16, 96, 112, "silu"),
    _depthwise(1, 96, 3, 112, 2, "silu"),
    _pointwise(1, 96, 4, 1, "silu"),
    _pointwise(1, 4, 96, 1, "sigmoid"),
    _pointwise(1, 96, 24, 56),
    _pointwise(2, 24, 144, 56, "silu"),
    _depthwise(1, 144, 3, 56, 1, "silu"),
    _pointwise(2, 144, 6, 1, "silu"),
    _pointwise(2, 6, 144, 1, "sigmoid"),
    _pointwise(1, 144, 24, 56),
    _depthwise(1, 144, 5, 56, 2, "silu"),
    _pointwise(1, 144, 40, 28),
    _pointwise(2, 40, 240, 28, "silu"),
    _depthwise(1, 240, 5, 28, 1, "silu"),
    _pointwise(2, 240, 10, 1, "silu"),
    _pointwise(2, 10, 240, 1, "sigmoid"),
    _pointwise(1, 240, 40, 28),
    _depthwise(1, 240, 3, 28, 2, "silu"),
    _pointwise(1, 240, 80, 14),
    _pointwise(3, 80, 480, 14, "silu"),
    _depthwise(2, 480, 3, 14, 1, "silu"),
    _pointwise(3, 480, 20, 1, "silu"),
    _pointwise(3, 20, 480, 1, "sigmoid"),
    _pointwise(2, 480, 80, 14),
    _depthwise(1, 480, 5, 14, 1, "silu"),
    _pointwise(1, 480, 112, 14),
    _pointwise(3, 112, 672, 14, "silu"),
    _depthwise(2, 672, 5, 14, 1, "silu"),
    _pointwise(3, 672, 28, 1, "silu"),
    _pointwise(3, 28, 672, 1, "sigmoid"),
    _pointwise(2, 672, 112, 14),
    _depthwise(1, 672, 5, 14, 2, "silu"),
    _pointwise(1, 672, 192, 7),
    _pointwise(4, 192, 1152, 7, "silu"),
    _depthwise(3, 1152, 5, 7, 1, "silu"),
    _pointwise(4, 1152, 48, 1, "silu"),
    _pointwise(4, 48, 1152, 1, "sigmoid"),
    _pointwise(3, 1152, 192, 7),
    _depthwise(1, 1152, 3, 7, 1, "silu"),
    _pointwise(1, 1152, 320, 7),
    _pointwise(1, 320, 1280, 7, "silu"),
    Product(1, 1, 1280, 1000),
)

_CONVNEXT_T: tuple[Layer, ...] = (
    Conv(1, 3, 96, 4, 224, 4, activation=""),
    _depthwise(3, 96, 7, 56, 1, ""),
    Product(3, 3136, 96, 384, "gelu", normed=True),
    Product(3, 3136, 384, 96),
    Conv(1, 96, 192, 2, 56, 2, activation=""),
    _depthwise(3, 192, 7, 28, 1, ""),
    Product(3, 784, 192, 768, "gelu", normed=True),
    Product(3, 784, 768, 192),
    Conv(1, 192, 384, 2, 28, 2, activation=""),
    _depthwise(9, 384, 7, 14, 1, ""),
    Product(9, 196, 384, 1536, "gelu", normed=True),
    Product(9, 196, 1536, 384),
    Conv(1, 384, 768, 2, 14, 2, activation=""),
    _depthwise(3, 768, 7, 7, 1, ""),
    Product(3, 49, 768, 3072, "gelu", normed=True),
    Product(3, 49, 3072, 768),
    Product(1, 1, 768, 1000),
)

_BERT: tuple[Layer, ...] = (
    Product(48, 128, 768, 768),
    Attention(12, 12, 128, 64, 128),
    Attention(12, 12, 128, 128, 64),
    Product(12, 128, 768, 3072, "gelu"),
    Product(12, 128, 3072, 768),
    Product(1, 1, 768, 768),
)

# 16 blocks of width 2048, 32 heads of 64 that share 8 heads of keys and values, a vocabulary of 32000.
_LLAMA_DECODE: tuple[Layer, ...] = (
    Product(32, 1, 2048, 2048),
    Product(32, 1, 2048, 512),
    Attention(16, 8, 4, 64, 1024),
    Attention(16, 8, 4, 1024, 64),
    Product(16, 1, 2048, 8192, "silu"),
    Product(16, 1, 2048, 8192),
    Product(16, 1, 8192, 2048),
    Product(1, 1, 2048, 32000),
)

_LLAMA_PREFILL: tuple[Layer, ...] = (
    Product(32, 128, 2048, 2048),
    Product(32, 128, 2048, 512),
    Attention(16, 8, 512, 64, 128),
    Attention(16, 8, 512, 128, 64),
    Product(16, 128, 2048, 8192, "silu"),
    Product(16, 128, 2048, 8192),
    Product(16, 128, 8192, 2048),
)

NETWORKS: dict[str, tuple[Layer, ...]] = {
    "resnet50": _RESNET50,
    "mobilenet_v2": _MOBILENET_V2,
    "efficientnet_b0": _EFFICIENTNET_B0,
    "convnext_t": _CONVNEXT_T,
    "bert": _BERT,
    "llama_decode": _LLAMA_DECODE,
    "llama_prefill": _LLAMA_PREFILL,
}
