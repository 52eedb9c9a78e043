# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-split-batch: images one after the other give the results of a batch, against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from onnx_oracle import run_onnx

import relax_mlir as rx
from relax_mlir import relax

#: Size of an image with work for two cores.
SIZE = 128
#: Small caches make splitting such images worthwhile, and large caches do not.
TARGET, LARGE = "llvm{caches=1K,8K cores=2}", "llvm{caches=1M,64M cores=2}"


def is_split(module: rx.Module, target: str = TARGET) -> bool:
    return "scf.for" in str(rx.lower(module, target, pipeline=rx.stages(target).until("layouts")))


def normal(*shape: int, seed: int = 3) -> Any:
    return numpy.random.default_rng(seed).normal(size=shape).astype("f4")


WEIGHTS = [normal(8, 3, 3, 3), normal(8, 8, 3, 3, seed=4), normal(8, 1, 3, 3, seed=5), normal(8, 5, seed=6)]
BIAS = normal(8, 1, 1, seed=7)


def network(batch: Any, size: int = SIZE) -> rx.Module:
    """Return a network with a residual, a pool, a depthwise convolution, means and a product.

    The first result has another use.
    """
    module = rx.Module()
    with module.function("main", [rx.tensor((batch, 3, size, size))]) as f:
        (data,) = f
        first, second, third, last = (relax.const(each) for each in WEIGHTS)
        x = relax.nn.relu(relax.add(relax.nn.conv2d(data, first, padding=(1, 1, 1, 1)), relax.const(BIAS)))
        y = relax.add(x, relax.nn.conv2d(x, second, padding=(1, 1, 1, 1)))
        pooled = relax.nn.max_pool2d(y, pool_size=(2, 2), strides=(2, 2))
        z = relax.nn.conv2d(relax.concat([pooled, pooled], axis=2), third, groups=8, padding=(1, 1, 1, 1))
        f.returns(pooled, relax.matmul(relax.mean(z, axis=[2, 3]), last))
    return module


def expected(x: Any) -> tuple[Any, Any]:
    first, second, third, last = WEIGHTS
    pads = [1, 1, 1, 1]
    one = numpy.maximum(run_onnx("Conv", x, first, pads=pads)[0] + BIAS, 0)
    two = one + run_onnx("Conv", one, second, pads=pads)[0]
    pooled = run_onnx("MaxPool", two, kernel_shape=[2, 2], strides=[2, 2])[0]
    z = run_onnx("Conv", numpy.concatenate([pooled, pooled], 2), third, pads=pads, group=8)[0]
    return pooled, z.mean((2, 3)) @ last


@pytest.mark.parametrize("batch", [5, "n"])
def test_network(batch: Any) -> None:
    module = network(batch)
    assert is_split(module) and not is_split(module, LARGE)
    program, whole = rx.compile(module, TARGET), rx.compile(module, LARGE)
    for count in (5,) if batch == 5 else (1, 5, 2):
        x = normal(count, 3, SIZE, SIZE)
        together = [numpy.from_dlpack(each) for each in whole["main"](x)]
        for program.threads in (1, 3):
            found = [numpy.from_dlpack(each) for each in program["main"](x)]
            for one, other, wanted in zip(found, together, expected(x), strict=True):
                numpy.testing.assert_array_equal(one, other)
                numpy.testing.assert_allclose(one, wanted, rtol=1e-4, atol=1e-4)


def test_no_images() -> None:
    program = rx.compile(network("n"), TARGET)
    shapes = [tuple(each.shape) for each in program["main"](normal(0, 3, SIZE, SIZE))]
    assert shapes == [(0, 8, SIZE // 2, SIZE // 2), (0, 5)]


def test_pictures_of_any_size_stay_together() -> None:
    """Keep a batch of dynamic images, since the size of an image is unknown."""
    module = rx.Module()
    with module.function("main", [rx.tensor(("n", 3, "h", "w"))]) as f:
        (data,) = f
        x = relax.nn.conv2d(data, relax.const(WEIGHTS[0]), padding=(1, 1, 1, 1))
        f.returns(relax.nn.conv2d(x, relax.const(WEIGHTS[1]), padding=(1, 1, 1, 1)))
    assert not is_split(module)


def chain(between: Any, batch: Any = 4) -> rx.Module:
    module = rx.Module()
    with module.function("main", [rx.tensor((batch, 3, SIZE, SIZE))]) as f:
        (data,) = f
        x = relax.nn.conv2d(data, relax.const(WEIGHTS[0]), padding=(1, 1, 1, 1))
        f.returns(relax.nn.conv2d(between(x), relax.const(WEIGHTS[1]), padding=(1, 1, 1, 1)))
    return module


def scales(*shape: int) -> Any:
    return numpy.full(shape, 0.5, "f4"), numpy.zeros(shape, "i1")


def quantized(scale: Any, zero: Any, axis: int) -> Any:
    def there_and_back(x: Any) -> Any:
        words = [relax.const(scale), relax.const(zero)]
        return relax.dequantize(relax.quantize(x, *words, axis=axis, out_dtype="i8"), *words, axis=axis)

    return there_and_back


@pytest.mark.parametrize(
    ("between", "is_own"),
    [
        (lambda x: relax.add(x, relax.const(normal(1, 8, SIZE, SIZE))), True),
        (lambda x: relax.add(x, relax.const(normal(4, 8, SIZE, SIZE))), False),
        (lambda x: relax.add(x, relax.const(normal(4, 1, 1, 1))), False),
        (lambda x: relax.subtract(x, relax.mean(x, axis=[1], keepdims=True)), True),
        (lambda x: relax.subtract(x, relax.mean(x, axis=[0, 1], keepdims=True)), False),
        (lambda x: relax.subtract(x, relax.max(x, axis=None, keepdims=True)), False),
        (lambda x: relax.reshape(x, (4, 8, 64, SIZE * SIZE // 64)), True),
        (lambda x: relax.nn.pad(x, [0, 0, 0, 0, 1, 0, 0, 1]), True),
        (lambda x: relax.nn.pad(x, [1, 0, 0, 0, 0, 0, 0, 0]), False),
        (lambda x: relax.concat([x, x], axis=3), True),
        (lambda x: relax.concat([x, x], axis=0), False),
        (lambda x: relax.flip(x, axis=0), False),
        (quantized(*scales(), axis=0), True),
        (quantized(*scales(8), axis=1), True),
        (quantized(*scales(4), axis=0), False),
    ],
)
def test_between(between: Any, is_own: bool) -> None:
    """Decide by the operators between two convolutions, with the same results in both cases."""
    module = chain(between)
    assert is_split(module) == is_own
    x = normal(4, 3, SIZE, SIZE)
    found, wanted = (numpy.from_dlpack(rx.compile(module, each)["main"](x)) for each in (TARGET, LARGE))
    numpy.testing.assert_array_equal(found, wanted)
