# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Entries of a recipe: the check of a pattern chooses among them, and quantized layers need the types they state."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from partitioning import Native, codegen
from relax_mlir import relax
from relax_mlir.bindings.navigation import operations_named
from relax_mlir.dialects.relax.known_constants import elements_of
from relax_mlir.patterns import is_const, is_op, wildcard
from relax_mlir.recipes import Op, Tensor

RANDOM = numpy.random.default_rng(76)
X, W = wildcard().named("x"), is_const().named("w")
CONV = is_op("relax.nn.conv2d")(X, W).named("product")
SAMPLES = {"x": RANDOM.normal(size=(16, 8, 8, 8)).astype("float32")}
HALF_UP = rx.Requantize("q31>>shift", rounding="half_up")
UP = rx.Requantize("q31>>shift", rounding="up")


def weights(*shape: int) -> Any:
    return relax.const(RANDOM.normal(size=shape).astype("float32"))


def model(make: Callable[[Any], Any]) -> rx.Module:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(("n", 8, 8, 8))}) as f:
        f.returns(make(*f))
    return module


def depthwise(x: Any) -> Any:
    return relax.nn.conv2d(x, weights(8, 1, 3, 3), groups=8)


def of_two(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """Return the members of a codegen with two patterns that differ by their check."""
    rows = [
        ("npu.conv", CONV, lambda m: m.op("product").groups == 1 or "no groups"),
        ("npu.depthwise", CONV, lambda m: m.op("product").groups > 1 or "only groups"),
    ]
    return {"rows": rows, "recipe": rx.Recipe(Op("npu.conv", **first), Op("npu.depthwise", **second))}


# ---- choice of entries ----


@pytest.mark.parametrize("x", ["u8", "i8"])
def test_each_entry_has_the_layers_that_its_check_accepts(x: str) -> None:
    two = of_two({"x": "u8", "w": "i8@channel symmetric"}, {"x": x, "w": "i8 symmetric"})
    module = model(lambda x: depthwise(relax.nn.conv2d(x, weights(8, 8, 3, 3), padding=1)))
    with codegen(base=Native, **two) as npu:
        quantized = rx.quantize(module, SAMPLES, for_=npu)
        conv, deep = quantized.report.rows
        assert conv.pattern == "npu.conv" and conv.types["w"] == "i8@channel symmetric"
        assert (deep.pattern, deep.types["x"], deep.types["w"]) == ("npu.depthwise", x, "i8 symmetric")
        scales = [
            elements_of(each.operands[1]) for each in operations_named(quantized.module.operation, "relax.dequantize")
        ]
        assert sorted(each.size for each in scales if each is not None)[-2:] == [1, 8]
        program = rx.compile(quantized.module, partition=npu, strict_partition=True)
        found = program["main"](SAMPLES["x"])
    expected = rx.reference(quantized.module)["main"](SAMPLES["x"])
    assert abs(found - expected).max() <= numpy.float32(deep.scale) * 1.01


def test_each_entry_has_its_own_requantization() -> None:
    types = {"x": "i8", "w": "i8 symmetric", "y": "i8"}
    two = of_two({**types, "out": HALF_UP}, {**types, "out": UP})
    with codegen(base=Native, **two) as npu:
        module = rx.quantize(model(depthwise), SAMPLES, for_=npu).module
        rx.Pipeline(f"relax-requantize{{recipe={npu}}}").run(module)
    (found,) = operations_named(module.operation, "relax.requantize")
    assert found.opview.rounding == "up"


def test_reasons_of_all_entries() -> None:
    two = of_two({"x": "i8", "w": "i8 symmetric"}, {"x": "i8", "w": "i8 symmetric"})
    two["rows"] = [
        (name, pattern, lambda m: f"not {m.op('product').groups} groups") for name, pattern, _ in two["rows"]
    ]
    with codegen(base=Native, **two) as npu, pytest.raises(rx.RelaxError) as caught:
        rx.quantize(model(depthwise), SAMPLES, for_=npu)
    (note,) = caught.value.notes
    for name in ("npu.conv", "npu.depthwise"):
        assert f"'{name}' gains no kernel: relax.quantize: not 8 groups" in note


def coarse(match: Any) -> bool | str:
    return match.number("x_scale") > 0.4 or "the scale is too fine"


@pytest.mark.parametrize("reads_more", [False, True])
def test_checks_may_ask_for_scales(reads_more: bool) -> None:
    """An entry that a check refuses after the calibration is followed by another one, of tensors that it has seen."""
    relu = is_op("relax.nn.relu")(CONV)
    rows = [("npu.first", relu, coarse), ("npu.second", CONV if reads_more else relu)]
    recipe = rx.Recipe(*(Op(name, x="i8", w="i8 symmetric") for name, *_ in rows))
    module = model(lambda x: relax.nn.relu(depthwise(x)))
    with codegen(rows, base=Native, recipe=recipe) as npu:
        if not reads_more:
            assert [row.pattern for row in rx.quantize(module, SAMPLES, for_=npu).report.rows] == ["npu.second"]
            return
        with pytest.raises(rx.RelaxError, match="no layer of @main matches") as caught:
            rx.quantize(module, SAMPLES, for_=npu)
    assert "'npu.second' reads or makes tensors that the calibration has not seen" in "\n".join(caught.value.notes)


# ---- types of quantized layers ----

SUMS = is_op("relax.matmul")(X, W).named("product")
LINEAR = SUMS.optional(lambda y: is_op("relax.add")(y, is_const().named("bias")))
TYPES: dict[str, Any] = {"x": "i8", "w": "i8 symmetric", "bias": "i32 derived"}
NUMBERS = RANDOM.integers(-100, 101, (8, 4))


def layer(
    *,
    x_zero: int = 0,
    w_scale: Any = 0.25,
    w_zero: int = 0,
    w: Any = NUMBERS,
    bias_scale: Any = None,
    bias_zero: int = 0,
    y: str = "int8",
    y_scale: float = 2.0,
) -> rx.Module:
    """Return a module of one quantized product. Its data have the scale 0.5."""
    scale = numpy.asarray(w_scale, "float32")
    of_bias = numpy.asarray(scale * numpy.float32(0.5) if bias_scale is None else bias_scale, "float32")
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(("n", 8), "int8")}) as f:
        data = relax.dequantize(*f, relax.const(0.5), relax.const(numpy.int8(x_zero)))
        zeros = relax.const(numpy.full(scale.shape, w_zero, "int8"))
        real = relax.dequantize(relax.const(w.astype("int8")), relax.const(scale), zeros, axis=1)
        bias = relax.const(numpy.arange(4, dtype="int32"))
        zeros = relax.const(numpy.full(of_bias.shape, bias_zero, "int32"))
        sums = relax.add(relax.matmul(data, real), relax.dequantize(bias, relax.const(of_bias), zeros, axis=0))
        zero = relax.const(numpy.zeros((), y))
        f.returns(relax.quantize(sums, relax.const(numpy.float32(y_scale)), zero, out_dtype=y))
    return module


@contextmanager
def linear(types: dict[str, Any]) -> Iterator[str]:
    with codegen([("npu.linear", LINEAR)], recipe=rx.Recipe(Op("npu.linear", **{**TYPES, **types}))) as npu:
        yield npu


def reason(module: rx.Module, types: dict[str, Any]) -> str:
    """Return why the product of a module stays with the target, or ""."""
    journal = rx.Journal()
    with linear(types) as npu:
        rx.compile(module, partition=rx.Partition(codegens=(npu,), explain=True), journal=journal, opt_level=0)
    kept = [fact for fact in json.loads(journal.to_json())["facts"] if fact["kind"] == "kept"]
    found = [fact["reason"] for fact in kept if fact["operator"] == "relax.matmul"]
    return found[0] if found else ""


SCALES = numpy.array([0.25, 0.5, 1.0, 2.0])
CHANNELS = {"w": "i8@channel symmetric"}


@pytest.mark.parametrize(
    ("types", "given", "why"),
    [
        ({}, {}, ""),
        ({}, {"x_zero": 3}, ""),
        ({"x": "i8 symmetric"}, {"x_zero": 3}, "x has the zero point 3, and the recipe states 'i8 symmetric'"),
        ({}, {"w_zero": -3}, "w has the zero point -3, and the recipe states 'i8 symmetric'"),
        ({"w": "i8"}, {"w_zero": -3}, ""),
        ({}, {"w_scale": SCALES}, "w has 4 scales, and the recipe states 'i8 symmetric'"),
        (CHANNELS, {"w_scale": SCALES}, ""),
        (CHANNELS, {}, "w has 1 scale, and the recipe states 'i8@channel symmetric'"),
        ({"w": ("i8@channel symmetric", "i8 symmetric")}, {}, ""),
        ({}, {"bias_scale": 0.1}, "bias has other scales than the product of the scales of x and w, and the recipe"),
        ({**CHANNELS}, {"w_scale": SCALES, "bias_scale": SCALES}, "bias has other scales than the product"),
        ({}, {"bias_zero": 1}, "bias has the zero point 1, and the recipe states 'i32 derived'"),
        ({}, {"y": "uint8"}, "y has elements of ui8, and the recipe states 'i8'"),
        ({"y": ("i8", "u8")}, {"y": "uint8"}, ""),
        ({"w": "i8 symmetric narrow"}, {"w": numpy.full((8, 4), -128)}, "w has numbers from -128 to -128, and"),
        ({"w": "i8 symmetric narrow"}, {}, ""),
        ({"w": "i8 symmetric reduced"}, {}, "w has numbers from -"),
        ({"y": "i8 power_of_two"}, {}, ""),
        ({"y": "i8 power_of_two"}, {"y_scale": 3.0}, "y has the scale 3, which is no power of two, and the recipe"),
    ],
)
def test_layers_need_the_types_that_the_recipe_states(types: dict[str, Any], given: dict[str, Any], why: str) -> None:
    found = reason(layer(**given), types)
    assert (f"'npu.linear': {why}" in found) if why else found == "", found


def test_layers_of_other_types_are_not_requantized() -> None:
    for given, count in (({}, 1), ({"w_zero": 3}, 0)):
        module = layer(**given)
        with linear({"out": HALF_UP}) as npu:
            rx.Pipeline(f"relax-requantize{{recipe={npu}}}").run(module)
        assert len(operations_named(module.operation, "relax.requantize")) == count


def test_a_bias_of_another_axis() -> None:
    """Scales of rows are no scales of channels, even if there are as many."""
    pattern = CONV.optional(lambda y: is_op("relax.add")(y, is_const().named("bias")))
    scales = numpy.full(4, 0.125, "float32")
    recipe = rx.Recipe(Op("npu.conv", x="i8", w="i8@channel symmetric", bias="i32 derived"))
    for shape, axis, is_taken in (((4, 1, 1), 0, True), ((1, 1, 4), 2, False)):
        module = rx.Module()
        with module.function("main", {"x": rx.tensor((1, 2, 4, 4), "int8")}) as f:
            data = relax.dequantize(*f, relax.const(0.5), relax.const(numpy.int8(0)))
            numbers, zeros = RANDOM.integers(-9, 9, (4, 2, 1, 1)).astype("int8"), relax.const(numpy.zeros(4, "int8"))
            real = relax.dequantize(relax.const(numbers), relax.const(scales * 2), zeros, axis=0)
            bias = relax.const(numpy.arange(4, dtype="int32").reshape(shape))
            zeros = relax.const(numpy.zeros(4, "int32"))
            sums = relax.add(relax.nn.conv2d(data, real), relax.dequantize(bias, relax.const(scales), zeros, axis=axis))
            f.returns(relax.quantize(sums, relax.const(2.0), relax.const(numpy.int8(0)), out_dtype="int8"))
        with codegen([("npu.conv", pattern)], recipe=recipe) as npu:
            text = repr(rx.compile(module, partition=npu, opt_level=0))
        assert ("1 part by npu" in text) is is_taken


def test_a_scale_or_a_range_is_fixed_and_a_type_is_not() -> None:
    entries = Tensor("x", type="i16"), Tensor("x", range=(0, 6)), Tensor("x", scale=0.5, zero=3)
    assert [each.is_fixed for each in entries] == [False, True, True]
