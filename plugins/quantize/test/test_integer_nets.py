# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole nets in the integers of a recipe: each layer is rewritten, and targets agree in each bit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from c_programs import COMPILER, CProgram
from relax_mlir import relax
from relax_mlir.patterns import GraphPattern, is_const, is_op, wildcard
from relax_mlir.recipes import Fixed, Op, Recipe

_X, _W, _A, _B = wildcard().named("x"), is_const().named("w"), wildcard().named("a"), wildcard().named("b")
_UNARY = ("sigmoid", "mean", "nn.avg_pool2d", "nn.softmax", "image.resize2d")
_WEIGHTED = {"x": "i8", "w": "i8@channel symmetric", "bias": "i32 derived"}


def _layer(product: GraphPattern) -> GraphPattern:
    biased = product.optional(lambda y: is_op("relax.add")(y, is_const().named("bias")))
    return biased.optional(lambda y: is_op("relax.nn.relu")(y))


@rx.codegens.register_codegen("net_chip")
class Chip(rx.codegens.Codegen):
    patterns = (
        ("net_chip.conv", _layer(is_op("relax.nn.conv2d")(_X, _W))),
        ("net_chip.linear", _layer(is_op("relax.matmul")(_X, _W))),
        ("net_chip.add", is_op("relax.add")(_A, _B)),
        ("net_chip.multiply", is_op("relax.multiply")(_A, _B)),
        ("net_chip.concat", is_op("relax.concat")([_A, _B])),
        *((f"net_chip.{name.rpartition('.')[2]}", is_op(f"relax.{name}")(_X, ...)) for name in _UNARY),
    )


def _recipe(out: rx.Requantize) -> Recipe:
    return Recipe(
        *(Op(f"net_chip.{name}", out=out, **_WEIGHTED) for name in ("conv", "linear")),
        *(Op(f"net_chip.{name}", a="i8", b="i8", out=out) for name in ("add", "multiply", "concat")),
        *(Op(f"net_chip.{name.rpartition('.')[2]}", x="i8", out=out) for name in _UNARY),
        Fixed("relax.nn.softmax", scale=1 / 256, zero=-128, type="i8"),
    )


@pytest.fixture(autouse=True)
def recipe() -> Iterator[None]:
    yield
    Chip.recipe = None


def _net(batch: int | str) -> rx.Module:
    """Return a net with a residual, a gate, a concatenation, pools of two kinds and a head."""
    random = numpy.random.default_rng(0)

    def conv(x: Any, outputs: int, inputs: int) -> Any:
        weights = random.standard_normal((outputs, inputs, 3, 3)) / (3 * inputs**0.5)
        bias = random.standard_normal((outputs, 1, 1)) / 4
        sums = relax.nn.conv2d(x, relax.const(weights.astype("float32")), padding=[1, 1])
        return relax.nn.relu(relax.add(sums, relax.const(bias.astype("float32"))))

    module = rx.Module()
    with module.function("main", {"x": rx.tensor((batch, 3, 8, 8))}) as f:
        a = conv(*f, 8, 3)
        b = conv(a, 8, 8)
        joined = relax.concat(relax.add(a, b), relax.sigmoid(b), axis=1)
        small = relax.nn.avg_pool2d(joined, pool_size=(2, 2), strides=(2, 2))
        large = relax.image.resize2d(small, (6, 6))
        means = relax.mean(relax.multiply(large, large), axis=[2, 3])
        head = relax.matmul(means, relax.const(random.standard_normal((16, 5)).astype("float32")))
        f.returns(relax.nn.softmax(head))
    return module


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", ["tflite", "plain"])
def test_nets_are_whole_integers(name: str) -> None:
    out = rx.Requantize("q15>>shift", "half_up", left_shift=0) if name == "plain" else rx.Requantize.tflite()
    Chip.recipe = _recipe(out)
    random, batch = numpy.random.default_rng(1), 4 if name == "tflite" else "n"
    samples = [random.standard_normal((4, 3, 8, 8)).astype("float32") for _ in range(4)]
    quantized = rx.quantize(_net(batch), samples, "net_chip", calibrate="minmax")
    assert len(quantized.report.rows) == 11
    integers = quantized.module.copy()
    rx.Pipeline("relax-requantize{recipe=net_chip}").run(integers)
    text = integers.script(elide=True)
    assert (text.count("R.quantize("), text.count("R.dequantize(")) == (1, 1)

    x = random.standard_normal((4, 3, 8, 8)).astype("float32")
    expected = numpy.asarray(rx.reference(integers)["main"](x))
    numpy.testing.assert_array_equal(numpy.from_dlpack(rx.compile(integers)["main"](x)), expected)
    if batch == 4 and COMPILER is not None:
        numpy.testing.assert_array_equal(CProgram(integers)(x)[0], expected)
    # The target's own integers round elsewhere: two steps of the result at most.
    assert abs(numpy.asarray(rx.reference(quantized.module)["main"](x)) - expected).max() <= 2 / 256
