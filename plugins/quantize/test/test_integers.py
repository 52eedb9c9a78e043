# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-requantize: integer layers of a recipe equal numpy's sums and rx.Requantize.apply, in each bit."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy
import pytest
import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.patterns import GraphPattern, is_const, is_op, wildcard
from relax_mlir.recipes import Op, Recipe

_ARITHMETICS = [
    rx.Requantize("q31>>shift", rounding="half_away"),
    rx.Requantize("q31>>shift", rounding="half_away", double_rounding=True),
    rx.Requantize("q15>>shift", rounding="half_up"),
    rx.Requantize("power_of_two", rounding="down"),
    rx.Requantize("float"),
]


def _layer(product: GraphPattern) -> GraphPattern:
    biased = product.optional(lambda y: is_op("relax.add")(y, is_const().named("bias")))
    return biased.optional(lambda y: is_op("relax.nn.relu", "relax.clip")(y, ...))


_X, _W = wildcard().named("x"), is_const().named("w")
_PATTERNS = [
    ("chip.linear", _layer(is_op("relax.matmul")(_X, _W))),
    ("chip.conv", _layer(is_op("relax.nn.conv2d")(_X, _W))),
]


@rx.codegens.register_codegen("chip")
class Chip(rx.codegens.Codegen):
    patterns = _PATTERNS


def _recipe(out: rx.Requantize | None, w: str = "i8@channel symmetric narrow") -> Recipe:
    types = ("i8", w, "i32 derived")
    return Recipe(*(Op(name, x=types[0], w=types[1], bias=types[2], out=out) for name in ("chip.linear", "chip.conv")))


def _linear(draw: numpy.random.Generator) -> rx.Module:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(("n", 16))}) as f:
        y = relax.matmul(*f, relax.const(draw.standard_normal((16, 5)).astype("float32")))
        y = relax.add(y, relax.const(draw.standard_normal(5).astype("float32")))
        f.returns(relax.nn.relu(y))
    return module


def _conv(draw: numpy.random.Generator) -> rx.Module:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(("n", 3, 6, 6))}) as f:
        weights = relax.const(draw.standard_normal((4, 3, 3, 3)).astype("float32"))
        y = relax.nn.conv2d(*f, weights, padding=[1, 1], strides=[2, 2])
        y = relax.add(y, relax.const(draw.standard_normal((4, 1, 1)).astype("float32")))
        f.returns(relax.clip(y, 0, 6))
    return module


@pytest.mark.parametrize("out", _ARITHMETICS, ids=str)
@pytest.mark.parametrize("make", [_linear, _conv])
def test_layers_equal_apply(
    monkeypatch: pytest.MonkeyPatch, make: Callable[[numpy.random.Generator], rx.Module], out: rx.Requantize
) -> None:
    draw = numpy.random.default_rng(0)
    monkeypatch.setattr(Chip, "recipe", _recipe(out))
    module = make(draw)
    shape = (1, 16) if make is _linear else (1, 3, 6, 6)
    samples = [draw.standard_normal(shape).astype("float32") for _ in range(4)]
    quantized = rx.quantize(module, samples, for_="chip", calibrate="minmax").module
    integers = quantized.copy()
    rx.Pipeline("relax-requantize{recipe=chip}").run(integers)
    assert str(integers).count('"relax.requantize"') == 1

    x = draw.standard_normal((50, *shape[1:])).astype("float32") * 2
    expected = numpy.from_dlpack(rx.compile(quantized)["main"](x))
    found = numpy.from_dlpack(rx.compile(integers)["main"](x))
    assert (found == numpy.asarray(rx.reference(integers)["main"](x))).all()
    if out.form != "power_of_two":
        step = numpy.diff(numpy.unique(expected)).min()
        assert abs(found - expected).max() <= 1.01 * step
        assert (found == expected).mean() > 0.99


def test_a_recipe_without_an_arithmetic_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Chip, "recipe", _recipe(None))
    with pytest.raises(rx.RelaxError, match=r"the recipe of 'chip' has no entry with out=rx.Requantize\(...\)"):
        rx.Pipeline("relax-requantize{recipe=chip}").run(_linear(numpy.random.default_rng(0)))


@pytest.mark.parametrize(
    ("option", "problem"),
    [
        ("", "option recipe is missing"),
        ("{recipe=nobody}", "'nobody' is neither a codegen nor a target"),
        ("{recipe=cuda}", "target 'cuda' has no recipe"),
    ],
)
def test_bad_options(option: str, problem: str) -> None:
    with pytest.raises(rx.RelaxError, match=problem):
        rx.Pipeline(f"relax-requantize{option}").run(_linear(numpy.random.default_rng(0)))


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_constants_of_two_bytes_have_scales(monkeypatch: pytest.MonkeyPatch, dtype: str) -> None:
    """NumPy has no bf16. Weights of equal numbers in f32 have the same scales and integers."""
    monkeypatch.setattr(Chip, "recipe", _recipe(None))
    draw = numpy.random.default_rng(4)
    w, x = (draw.integers(-64, 64, shape).astype("float32") / 16 for shape in ((16, 5), (1, 16)))

    def constants(name: str) -> list[str]:
        module = rx.Module()
        with module.function("main", {"x": rx.tensor((1, 16))}) as f:
            f.returns(relax.matmul(relax.astype(*f, dtype=name), relax.const(w, name), out_dtype="f32"))
        made = str(rx.quantize(module, [x], for_="chip", calibrate="minmax").module)
        return re.findall(r"arith.constant dense<(.*)> : tensor<(?:16x5xi8|5xf32)>", made)

    assert constants(dtype) == constants("f32") != []


@pytest.mark.parametrize("zeros", [[0, 0, 0], [0, 1, 0], [2]])
def test_zero_points_of_weights(zeros: list[int]) -> None:
    """Weights have one zero point, or one per channel."""
    draw = numpy.random.default_rng(3)
    w, scales = draw.integers(-9, 9, (4, 3)).astype("int8"), relax.const
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(("n", 4), "i8")}) as f:
        x = relax.dequantize(*f, relax.const(numpy.float32(0.5)), relax.const(numpy.int8(0)), axis=0)
        zero = scales(numpy.array(zeros, "int8"))
        weights = relax.dequantize(scales(w), scales(numpy.full(3, 0.25, "float32")), zero, axis=1)
        one = (scales(numpy.float32(1)), scales(numpy.int8(0)))
        f.returns(relax.quantize(relax.matmul(x, weights), *one, axis=0, out_dtype="i8"))
    expected = rx.reference(module.copy())["main"](data := draw.integers(-9, 9, (5, 4)).astype("int8"))
    Chip.recipe = _recipe(rx.Requantize("float"), "i8@channel")
    try:
        rx.Pipeline("builtin.module(relax-requantize{recipe=chip})").run(module)
    finally:
        Chip.recipe = None
    assert "relax.requantize" in str(module)
    numpy.testing.assert_array_equal(rx.reference(module)["main"](data), expected)


def test_a_residual_is_added_at_the_scale_of_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """Add the layer's own input to its sums. The result is at most one step from the sum of dequantized numbers."""
    draw = numpy.random.default_rng(0)
    summed = is_op("relax.add")(is_op("relax.matmul")(_X, _W), wildcard().named("residual"))
    out = rx.Requantize("q31>>shift", rounding="half_away")
    monkeypatch.setattr(Chip, "patterns", [("chip.residual", summed)])
    layer = Op("chip.residual", x="i8", w="i8 symmetric", residual="i8", out=out)
    monkeypatch.setattr(Chip, "recipe", Recipe(layer))
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((4, 16))}) as f:
        f.returns(relax.add(relax.matmul(*f, relax.const(draw.standard_normal((16, 16)).astype("float32"))), *f))
    x = draw.standard_normal((4, 16)).astype("float32")
    quantized = rx.quantize(module, [x], for_="chip", calibrate="minmax").module
    integers = quantized.copy()
    rx.Pipeline("relax-requantize{recipe=chip}").run(integers)
    assert str(integers).count('"relax.requantize"') >= 2
    got, wanted = (rx.reference(each)["main"](x) for each in (integers, quantized))
    step = numpy.diff(numpy.unique(wanted)).min()
    assert numpy.abs(got - wanted).max() < 1.01 * step and numpy.abs(wanted).max() > 9 * step
