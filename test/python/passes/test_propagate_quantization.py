# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-propagate-quantization: products of integers equal numpy's, scaled once.

The oracle computes with integers and scales of 64 bits. A result is the nearest integer, or its neighbour in a tie.
Products of integers without a scale are equal.
"""

from __future__ import annotations

import re

import numpy
import pytest
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st

import relax_mlir as rx
from relax_mlir import relax

_BYTES = {"i8": (numpy.int8, -128, 127), "ui8": (numpy.uint8, 0, 255)}
#: How far from the middle between two steps f32 is sure.
_SURE = 1e-3


class Drawn:
    """Numbers of a type with a scale and a zero point: one for all, or one for each of `channels` along an axis."""

    def __init__(self, random, shape, dtype, channels=0, axis=0, symmetric=False):
        numpy_type, low, high = _BYTES[dtype]
        self.dtype, self.axis, self.channels = dtype, axis, channels
        self.numbers = random.integers(low, high + 1, shape).astype(numpy_type)
        count = (channels,) if channels else ()
        self.scale = (random.random(count) * 0.05 + 0.01).astype("float32")
        zeros = numpy.zeros(count) if symmetric else random.integers(low, high + 1, count)
        self.zero_point = numpy.asarray(zeros).astype(numpy_type)

    def along(self, array):
        """Return scales or zero points in the shape of the numbers."""
        places = [1] * self.numbers.ndim
        if self.channels:
            places[self.axis] = self.channels
        return array.reshape(places)

    @property
    def whole(self):
        return self.numbers.astype("int64") - self.along(self.zero_point.astype("int64"))

    def real(self, value):
        return relax.dequantize(value, relax.const(self.scale), relax.const(self.zero_point), axis=self.axis)


def _check(found, expected, low, high):
    """Check for the nearest step, or a neighbour where f32 is ambiguous."""
    nearest = numpy.clip(numpy.rint(expected), low, high)
    off = abs(found.astype("int64") - nearest)
    assert off.max(initial=0) <= 1
    middle = abs(abs(expected - numpy.floor(expected)) - 0.5)
    wrong = (off > 0) & (middle > _SURE * numpy.maximum(1, abs(expected) / 64))
    assert not wrong.any(), (found[wrong][:3], expected[wrong][:3])


def _quantized(real, scale, zero, dtype):
    zero_point = relax.const(numpy.array(zero, _BYTES[dtype][0]))
    return relax.quantize(real, relax.const(numpy.float32(scale)), zero_point, axis=0, out_dtype=dtype)


def _run(module, *arrays):
    # Stages of a target without instructions for bytes would leave products unchanged.
    rx.Pipeline("relax-propagate-quantization").run(module)
    return numpy.from_dlpack(rx.compile(module)["main"](*arrays))


_BYTE = st.sampled_from(sorted(_BYTES))


@draws(30)
@given(st.integers(0, 10**6), _BYTE, _BYTE, _BYTE, st.booleans(), st.booleans(), st.booleans(), st.booleans())
def test_products_of_weights(seed, left, right, out, per_channel, symmetric, with_relu, transposed):
    random = numpy.random.default_rng(seed)
    rows, inner, columns = random.integers(1, 40, 3)
    a = Drawn(random, (rows, inner), left)
    axis = 0 if transposed else 1
    shape = (columns, inner) if transposed else (inner, columns)
    b = Drawn(random, shape, right, columns if per_channel else 0, axis, symmetric)
    scale, zero = numpy.float32(random.random() * inner * 0.5 + 0.1), random.integers(0, 100)
    scales = a.scale * b.scale
    bias = random.integers(-10000, 10000, columns).astype("int32")

    module = rx.Module()
    with module.function("main", {"x": rx.tensor(("n", int(inner)), left)}) as f:
        (x,) = f
        weights = b.real(relax.const(b.numbers))
        added = relax.dequantize(relax.const(bias), relax.const(scales), relax.const(numpy.int32(0)), axis=0)
        y = relax.add(relax.matmul(a.real(x), relax.permute_dims(weights) if transposed else weights), added)
        f.returns(_quantized(relax.nn.relu(y) if with_relu else y, scale, zero, out))

    sums = a.whole @ (b.whole.T if transposed else b.whole) + bias
    real = sums * scales.astype("float64") / scale
    found = _run(module, a.numbers)
    _check(found, (numpy.maximum(real, 0) if with_relu else real) + zero, *_BYTES[out][1:])


@draws(30)
@given(st.integers(0, 10**6), _BYTE, _BYTE, st.booleans(), st.booleans(), st.booleans(), st.integers(0, 2))
def test_convolutions(seed, left, right, per_channel, symmetric, depthwise, padding):
    """Quantize the operand in the program: its bytes may become unsigned."""
    random = numpy.random.default_rng(seed)
    channels, size, taps, stride = 4 * random.integers(1, 6), random.integers(3, 9), random.integers(1, 4), 1 + seed % 2
    outputs = int(channels if depthwise else random.integers(1, 5) * 8)
    groups = int(channels) if depthwise else 1
    a = Drawn(random, (2, channels, size, size), left)
    b = Drawn(random, (outputs, channels // groups, taps, taps), right, outputs if per_channel else 0, 0, symmetric)
    scale = numpy.float32(random.random() * 20 + 1)
    given_real = (a.whole * a.scale).astype("float32")

    module = rx.Module()
    with module.function("main", {"x": rx.tensor(given_real.shape)}) as f:
        (x,) = f
        data = a.real(_quantized(x, a.scale, a.zero_point, left))
        y = relax.nn.conv2d(
            data, b.real(relax.const(b.numbers)), padding=[padding] * 4, strides=[stride] * 2, groups=groups
        )
        f.returns(_quantized(y, scale, 7, "ui8"))

    padded = numpy.pad(a.whole, [(0, 0), (0, 0), (padding, padding), (padding, padding)])
    windows = numpy.lib.stride_tricks.sliding_window_view(padded, (taps, taps), (2, 3))[:, :, ::stride, ::stride]
    if depthwise:
        sums = numpy.einsum("nchwij,cij->nchw", windows, b.whole[:, 0])
    else:
        sums = numpy.einsum("nchwij,ocij->nohw", windows, b.whole)
    scales = (a.scale * b.scale).astype("float64")
    real = sums * (scales.reshape(-1, 1, 1) if per_channel else scales) / scale
    _check(_run(module, given_real), real + 7, 0, 255)


@draws(20)
@given(st.integers(0, 10**6), _BYTE, _BYTE)
def test_attention(seed, left, right):
    """Both sides are known to the run only, the second one is moved before."""
    random = numpy.random.default_rng(seed)
    heads, rows, columns, inner = (int(each) for each in random.integers(1, 12, 4))
    a, b = Drawn(random, (heads, rows, inner), left), Drawn(random, (columns, heads, inner), right)
    scale = numpy.float32(random.random() * inner * 0.3 + 0.1)

    module = rx.Module()
    parameters = {"q": rx.tensor((heads, "n", inner), left), "k": rx.tensor(("m", heads, inner), right)}
    with module.function("main", parameters) as f:
        q, k = f
        keys = relax.permute_dims(b.real(k), axes=[1, 2, 0])
        f.returns(_quantized(relax.matmul(a.real(q), keys), scale, 0, "i8"))

    real = numpy.einsum("hni,mhi->hnm", a.whole, b.whole) * (a.scale.astype("float64") * b.scale) / scale
    _check(_run(module, a.numbers, b.numbers), real, -128, 127)


@draws(20)
@given(st.integers(0, 10**6), _BYTE, _BYTE, st.booleans())
def test_whole_products_are_the_same(seed, left, right, per_column):
    """Use run-time zero points, one for each row and each column."""
    random = numpy.random.default_rng(seed)
    rows, inner, columns = (int(each) for each in random.integers(1, 30, 3))
    a, b = Drawn(random, (rows, inner), left, rows, 0), Drawn(random, (inner, columns), right, columns * per_column, 1)

    module = rx.Module()
    with module.function("main", {"x": rx.tensor((rows, inner), left), "p": rx.tensor((rows, 1), "i32")}) as f:
        x, p = f
        shifted = relax.subtract(relax.astype(x, dtype="i32"), p)
        weights = relax.astype(relax.const(b.numbers), dtype="i32")
        zeros = relax.const(b.zero_point.astype("int32"))
        f.returns(relax.matmul(shifted, relax.subtract(weights, zeros), out_dtype="i32"))

    found = _run(module, a.numbers, a.zero_point.astype("int32").reshape(-1, 1))
    numpy.testing.assert_array_equal(found, a.whole @ b.whole)


def _pooled(x):
    return relax.nn.max_pool2d(x, pool_size=[2, 2], padding=[1, 1, 1, 1])


_MOVES = {
    "max_pool2d": _pooled,
    "relu": relax.nn.relu,
    "pad": lambda x: relax.nn.pad(x, pad_width=[0, 0, 0, 0, 1, 0, 0, 2]),
    "permute_dims": lambda x: relax.permute_dims(x, axes=[0, 2, 3, 1]),
    "reshape": lambda x: relax.reshape(x, (6, -1)),
    "strided_slice": lambda x: relax.strided_slice(x, axes=[2], begin=[1], end=[4]),
    "concat": lambda x: relax.concat([x, x], axis=1),
    "split": lambda x: relax.add(*relax.split(x, 2, axis=2)),
}


@pytest.mark.parametrize("dtype", sorted(_BYTES))
@pytest.mark.parametrize("name", sorted(_MOVES))
def test_moves_give_the_same_bits(name, dtype):
    a = Drawn(numpy.random.default_rng(len(name)), (2, 3, 4, 4), dtype)

    def compiled(level):
        module = rx.Module()
        with module.function("main", {"x": rx.tensor((2, 3, 4, 4), dtype)}) as f:
            (x,) = f
            f.returns(_MOVES[name](a.real(x)))
        return numpy.from_dlpack(rx.compile(module, opt_level=level)["main"](a.numbers))

    numpy.testing.assert_array_equal(compiled(2), compiled(0))


@pytest.mark.parametrize("name", ["concat", "max_pool2d", "permute_dims", "reshape", "strided_slice"])
def test_bytes_that_become_unsigned_give_the_same_bits(name):
    """Move bytes between quantization and a product. The zero point -128 is that of a ReLU's result."""
    given_real = numpy.random.default_rng(7).random((2, 3, 4, 4), dtype="float32") * 40

    def compiled(level):
        module = rx.Module()
        with module.function("main", {"x": rx.tensor((2, 3, 4, 4))}) as f:
            (x,) = f
            scale, zero = relax.const(numpy.float32(0.25)), relax.const(numpy.int8(-128))
            moved = _MOVES[name](relax.quantize(x, scale, zero))
            real = relax.dequantize(relax.reshape(moved, (-1, 2)), scale, zero)
            weights = relax.dequantize(relax.const([[1, 2], [3, -4]], "int8"), scale, relax.const(numpy.int8(0)))
            f.returns(relax.matmul(real, weights))
        return numpy.from_dlpack(rx.compile(module, opt_level=level)["main"](given_real))

    numpy.testing.assert_array_equal(compiled(2), compiled(0))


def test_sums_stay_in_registers():
    """Check that a convolution of bytes with its epilogue is one kernel with only a tile of i32 in memory."""
    random = numpy.random.default_rng(0)
    a, b = Drawn(random, (1, 16, 8, 8), "i8"), Drawn(random, (32, 16, 3, 3), "i8", 32, 0, symmetric=True)
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(a.numbers.shape, "i8"), "y": rx.tensor((1, 32, 6, 6), "ui8")}) as f:
        x, y = f
        summed = relax.nn.conv2d(a.real(x), b.real(relax.const(b.numbers)))
        other = relax.dequantize(y, relax.const(numpy.float32(0.5)), relax.const(numpy.uint8(3)), axis=0)
        f.returns(_quantized(relax.nn.relu(relax.add(summed, other)), 0.5, 0, "ui8"))
    target = "llvm{cpu=x86-64-v4 features=+avx512vnni}"
    text = str(rx.lower(module, target, pipeline=rx.stages(target).until("bufferize")))
    main, *kernels = text.split("func.func ")[1:]
    (conv,) = [kernel for kernel in kernels if "@fused_nn_conv2d" in kernel]
    allocated = [
        re.findall(r"memref<(\d+)x(\d+)xi32>", line)[0] for line in conv.splitlines() if "memref.alloc" in line
    ]
    assert "arith.fptosi" in conv and all(int(rows) * int(lanes) <= 32 * 16 for rows, lanes in allocated)
    assert int(main.partition("arena = ")[2].partition(" ")[0]) < 4 * 32 * 6 * 6, "sums of 32 bits would take more"


@pytest.mark.parametrize(
    ("target", "is_of_bytes"),
    [
        ("llvm{cpu=x86-64-v4 features=+avx512vnni}", True),
        ("llvm{cpu=haswell}", True),
        ("llvm{triple=aarch64-linux-gnu cpu=cortex-a53}", False),
        ("llvm{triple=aarch64-linux-gnu features=+dotprod}", True),
    ],
)
def test_products_of_bytes_where_a_machine_has_them(target, is_of_bytes):
    module = rx.Module()
    a, b = Drawn(numpy.random.default_rng(0), (4, 8), "ui8"), Drawn(numpy.random.default_rng(1), (8, 4), "i8")
    with module.function("main", {"x": rx.tensor((4, 8), "ui8")}) as f:
        (x,) = f
        f.returns(relax.matmul(a.real(x), b.real(relax.const(b.numbers))))
    lowered = rx.lower(module, target, pipeline=rx.stages(target).until("simplify"))
    assert ("out_dtype = i32" in str(lowered)) == is_of_bytes


@pytest.mark.parametrize(("shape", "is_added"), [((6,), True), ((6, 1), False), ((1, 6), True), ((1,), False)])
def test_scales_of_a_bias_along_another_axis(shape, is_added):
    """A bias joins integer sums only if both have their scales along one axis."""
    random = numpy.random.default_rng(4)
    scales = (random.random(6) + 0.5).astype("float32")
    sums, bias = (random.integers(-99, 99, size).astype("int32") for size in ((6, 6), 6))
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((6, 6), "i32")}) as f:
        scaled = relax.multiply(relax.astype(*f, dtype="f32"), relax.const(numpy.resize(scales, shape)))
        zero = relax.const(numpy.int32(0))
        f.returns(relax.add(scaled, relax.dequantize(relax.const(bias), relax.const(scales), zero, axis=0)))
    expected = sums * numpy.resize(scales, shape) + bias * scales
    rx.Pipeline("builtin.module(relax-propagate-quantization)").run(module)
    assert ("relax.dequantize" not in str(module)) == is_added
    numpy.testing.assert_allclose(_run(module, sums), expected, rtol=1e-5)
