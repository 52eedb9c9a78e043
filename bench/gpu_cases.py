# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of bench/gpu.py: operators at sizes from models, here and in torch."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import ml_dtypes
import numpy

import relax_mlir as rx
from relax_mlir import relax

_random = numpy.random.default_rng(0)


class Case(NamedTuple):
    """Operator.

    `work` is its number of operations on numbers of `unit`, or with "bytes" the bytes that it reads and writes.
    """

    name: str
    unit: str
    work: float
    arrays: tuple[Any, ...]
    build: Callable[..., Any]
    #: Function of torch and its tensors that returns a tensor; None if torch has no equivalent.
    in_torch: Callable[..., Any] | None
    #: True if f32 factors are rounded to 10 bits of their fractions.
    tf32: bool = False

    def module(self) -> rx.Module:
        module = rx.Module()
        with module.function("main", [rx.tensor(each.shape, each.dtype.name) for each in self.arrays]) as f:
            f.returns(self.build(*f))
        return module


def array(dtype: str, *shape: int) -> Any:
    if dtype == "int8":
        return _random.integers(-8, 8, shape).astype("int8")
    return (_random.standard_normal(shape) / 4).astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def product(dtype: str, m: int, k: int, n: int) -> Case:
    sums = "int32" if dtype == "int8" else dtype

    def in_torch(torch: Any, a: Any, b: Any) -> Any:
        return torch._int_mm(a, b) if dtype == "int8" else torch.matmul(a, b)

    arrays = array(dtype, m, k), array(dtype, k, n)
    build = partial(relax.matmul, out_dtype=sums)
    # cuBLAS has products of bytes for more than 16 rows.
    theirs = in_torch if dtype != "int8" or m > 16 else None
    return Case(f"product {m}x{k}x{n} {dtype}", dtype, 2.0 * m * n * k, arrays, build, theirs)


def rounded_product(m: int, k: int, n: int) -> Case:
    """Return a product on tensor cores, as with `cuda{tf32=true}`."""

    def in_torch(torch: Any, a: Any, b: Any) -> Any:
        before, torch.backends.cuda.matmul.allow_tf32 = torch.backends.cuda.matmul.allow_tf32, True
        try:
            return torch.matmul(a, b)
        finally:
            torch.backends.cuda.matmul.allow_tf32 = before

    exact = product("float32", m, k, n)
    return exact._replace(name=f"product {m}x{k}x{n} tf32", unit="tf32", in_torch=in_torch, tf32=True)


def few_bits(dtype: str, rows: int, depth: int, columns: int, bits: int = 4, block: int = 32) -> Case:
    """Return a product with weights as codes, in blocks with a scale and a zero point each, as decoders read per
    token."""
    blocks = columns, depth // block
    x, scale = array(dtype, rows, depth), array(dtype, *blocks)
    codes = _random.integers(0, 256, (*blocks, block * bits // 8)).astype("uint8")
    zeros = _random.integers(0, 2**bits, blocks).astype("uint8")
    build = partial(relax.matmul_nbits, bits=bits, block_size=block)
    work = float(codes.nbytes + scale.nbytes + zeros.nbytes)
    return Case(f"{bits} bits {rows}x{depth}x{columns} {dtype}", "bytes", work, (x, codes, scale, zeros), build, None)


def convolution(dtype: str, channels: int, filters: int, size: int, taps: int, stride: int = 1) -> Case:
    pad = taps // 2
    arrays = array(dtype, 8, channels, size, size), array(dtype, filters, channels, taps, taps)
    build = partial(relax.nn.conv2d, strides=(stride,) * 2, padding=(pad,) * 4)

    def in_torch(torch: Any, x: Any, w: Any) -> Any:
        return torch.nn.functional.conv2d(x, w, stride=stride, padding=pad)

    places = ((size - 1) // stride + 1) ** 2
    work = 2.0 * 8 * places * channels * filters * taps**2
    name = f"convolution {taps}x{taps} {channels}->{filters} {size}" + (f" by {stride}" if stride > 1 else "")
    return Case(f"{name} {dtype}", dtype, work, arrays, build, in_torch)


def softmax(dtype: str, rows: int, columns: int) -> Case:
    x = array(dtype, rows, columns)
    build = partial(relax.nn.softmax, axis=-1)
    in_torch = _softmax_in_torch
    return Case(f"softmax {rows}x{columns} {dtype}", "bytes", 2.0 * x.nbytes, (x,), build, in_torch)


def _softmax_in_torch(torch: Any, x: Any) -> Any:
    return torch.softmax(x, -1)


def layer_norm(dtype: str, rows: int, columns: int) -> Case:
    arrays = array(dtype, rows, columns), array(dtype, columns), array(dtype, columns)
    build = partial(relax.nn.layer_norm, axes=[-1], epsilon=1e-5)

    def in_torch(torch: Any, x: Any, scale: Any, shift: Any) -> Any:
        return torch.nn.functional.layer_norm(x, (columns,), scale, shift, 1e-5)

    return Case(f"layer norm {rows}x{columns} {dtype}", "bytes", 2.0 * arrays[0].nbytes, arrays, build, in_torch)


def attention(dtype: str, batch: int, rows: int, length: int, heads: int, size: int) -> Case:
    arrays = array(dtype, batch, rows, heads, size), *(array(dtype, batch, length, heads, size) for _ in range(2))

    def in_torch(torch: Any, *tensors: Any) -> Any:
        by_heads = (each.transpose(1, 2) for each in tensors)
        return torch.nn.functional.scaled_dot_product_attention(*by_heads).transpose(1, 2)

    work = 4.0 * batch * heads * rows * length * size
    name = f"attention {batch}x{heads} heads, {rows} of {length}x{size} {dtype}"
    return Case(name, dtype, work, arrays, relax.nn.attention, in_torch)


def cases() -> list[Case]:
    floats, halves = ("float32", "float16", "bfloat16"), ("float32", "float16")
    square, thin = (4096, 4096, 4096), ((1, 4096, 4096), (16, 4096, 4096))
    return [
        *(product(dtype, *square) for dtype in (*floats, "int8")),
        *(product(dtype, 512, 768, 3072) for dtype in (*floats, "int8")),
        *(rounded_product(*sizes) for sizes in (square, (512, 768, 3072), *thin)),
        *(product(dtype, *sizes) for sizes in thin for dtype in (*floats, "int8")),
        *(few_bits(dtype, *sizes) for sizes in _DECODERS for dtype in halves),
        few_bits("float16", 1, 4096, 4096, 8),
        few_bits("float16", 512, 4096, 4096),
        *(convolution(dtype, *sizes) for sizes in _CONVOLUTIONS for dtype in halves),
        *(softmax(dtype, *sizes) for sizes in ((4096, 4096), (128, 50000)) for dtype in halves),
        *(layer_norm(dtype, 16384, 768) for dtype in halves),
        *(attention(dtype, *sizes) for sizes in _ATTENTIONS for dtype in halves),
    ]


#: Products per token of a Llama of 7 billion weights, and for several tokens at once.
_DECODERS = ((1, 4096, 4096), (1, 4096, 11008), (1, 11008, 4096), (4, 4096, 4096), (16, 4096, 4096))
_CONVOLUTIONS = ((64, 64, 56, 3), (256, 64, 56, 1), (3, 64, 224, 7, 2), (128, 128, 28, 3))
_ATTENTIONS = ((8, 512, 512, 12, 64), (1, 2048, 2048, 32, 128), (1, 1, 2048, 32, 128))


def small_cases() -> list[Case]:
    """Return one case of each kind for a functional check, for instance on the emulator."""
    return [
        product("float32", 8, 12, 9),
        product("float16", 16, 32, 16),
        product("int8", 4, 16, 8),
        rounded_product(16, 32, 16),
        few_bits("float16", 1, 64, 9),
        convolution("float32", 2, 3, 5, 3),
        softmax("float32", 3, 40),
        layer_norm("float32", 3, 40),
        attention("float32", 1, 3, 5, 2, 4),
    ]
