# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Presets of rx.Requantize against vectors and formulas of the projects that publish the rules.

cmsis_nn_vectors.json has CMSIS-NN's own unit tests, and VELA the numbers of Vela's test_scaling.py. plugins/tflite
compares layers with LiteRT.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from numpy import ndarray
from relax_mlir import relax
from relax_mlir.patterns import is_op
from relax_mlir.recipes import Op, Recipe
from relax_mlir.support.requantization import Multiplier

CMSIS = json.loads((Path(__file__).parent / "cmsis_nn_vectors.json").read_text())
#: Real multiplier -> multiplier and shift. The real number is multiplier / 2**shift.
VELA = {
    1: (1073741824, 30), 0.5: (1073741824, 31), 0.001: (1099511628, 40), 0.008: (1099511628, 37),
    0.00097652: (2147390190, 41), 0.0009765615959827986: (2147481660, 41),
}  # fmt: skip
Data = dict[str, Any]


@rx.codegens.register_codegen("preset_chip")
class Chip(rx.codegens.Codegen):
    patterns = ()


@pytest.fixture(autouse=True)
def chip() -> Iterator[None]:
    yield
    Chip.recipe = None


def layer(operator: Any, data: list[ndarray], scale: float, result: float, zeros: tuple[int, int], out: Any) -> ndarray:
    """Return the result of a quantized layer after relax-requantize. `zeros` are of the operands and the result."""
    module = rx.Module()
    with module.function("main", [rx.tensor(each.shape, "int8") for each in data]) as f:
        step = relax.const(numpy.float32(scale))
        value = operator(*(relax.dequantize(x, step, relax.const(zeros[0], "int8"), axis=0) for x in f))
        name = value.owner.name
        to = relax.const(numpy.float32(result)), relax.const(zeros[1], "int8")
        f.returns(relax.quantize(value, *to, axis=0, out_dtype="int8"))
    Chip.recipe = Recipe(Op("layer", pattern=is_op(name), y="i8", out=out))
    rx.Pipeline("builtin.module(relax-requantize{recipe=preset_chip})").run(module)
    assert "R.dequantize(" not in module.script()
    return numpy.asarray(rx.reference(module)["main"](*data))


def i8(numbers: list[int], *shape: int) -> ndarray:
    return numpy.array(numbers, "int8").reshape(*shape)


def test_sums_of_cmsis_nn() -> None:
    """Both operands have the multiplier 1/2. The result has twice their scale: 1 / 2**20 is left."""
    case: Data = CMSIS["add"]
    found = layer(
        relax.add,
        [i8(case["input1"], -1), i8(case["input2"], -1)],
        0.5,
        1.0,
        (-case["input1_offset"], case["output_offset"]),
        rx.Requantize.cmsis_nn(),
    )
    assert found.tolist() == case["output_ref"]


@pytest.mark.parametrize("name", ["avgpooling_1", "avgpooling_4"])
def test_pools_of_cmsis_nn(name: str) -> None:
    case: Data = CMSIS[name]
    shape = case["batch_size"], case["input_h"], case["input_w"], case["input_c"]
    size, strides = ((case["filter_h"], case["filter_w"]), (case["stride_h"], case["stride_w"]))
    ends = [
        max((case[f"output_{each}"] - 1) * stride + taps - case[f"input_{each}"], 0)
        for each, stride, taps in zip("hw", strides, size, strict=True)
    ]
    pool = lambda x: relax.nn.avg_pool2d(  # noqa: E731
        x, pool_size=size, strides=strides, padding=[0, 0, *ends], layout="NHWC"
    )
    found = layer(pool, [i8(case["input_tensor"], *shape)], 0.5, 0.5, (0, 0), rx.Requantize.cmsis_nn())
    assert found.ravel().tolist() == case["output"]


def test_softmax_of_cmsis_nn() -> None:
    case: Data = CMSIS["softmax"]
    scale = Fraction(case["input_mult"], 2 ** (31 - case["input_left_shift"] + 26))
    data = i8(case["input"], case["num_rows"], case["row_size"])
    found = layer(relax.nn.softmax, [data], float(scale), 1 / 256, (0, -128), rx.Requantize.cmsis_nn())
    assert found.ravel().tolist() == case["output_ref"]


def requantized(case: Data, sums: ndarray, multiplier: Any, shift: Any) -> list[int]:
    """Return the sums by stated multipliers. CMSIS-NN counts shifts to the left."""
    given = Multiplier(numpy.array(multiplier, "int32"), -numpy.array(shift, "int32"))
    whole = rx.Requantize.cmsis_nn().apply(sums.astype("int32"), given, case["output_offset"], "int8")
    return numpy.clip(whole, case["out_activation_min"], case["out_activation_max"]).ravel().tolist()


def test_products_of_cmsis_nn() -> None:
    case: Data = CMSIS["mul"]
    left, right = (i8(case[f"input{each}"], -1).astype(int) + case[f"input{each}_offset"] for each in (1, 2))
    assert requantized(case, left * right, case["output_mult"], case["output_shift"]) == case["output_ref"]


def test_layers_of_cmsis_nn() -> None:
    """A zero point on both sides: input_offset and filter_offset are added."""
    case: Data = CMSIS["fully_connected_w_zp"]
    depth, outputs = case["accumulation_depth"], case["out_ch"]
    x = i8(case["input"], -1, depth).astype(int) + case["input_offset"]
    w = i8(case["weights"], outputs, depth).astype(int) + case["filter_offset"]
    assert requantized(case, x @ w.T, case["output_multiplier"], case["output_shift"]) == case["output_ref"]


@pytest.mark.parametrize("name", ["basic", "depthwise_2"])
def test_convolutions_of_cmsis_nn(name: str) -> None:
    case: Data = CMSIS[name]
    channels, outputs = case["in_ch"], case["out_ch"]
    x = i8(case["input"], case["input_h"], case["input_w"], channels).astype(int) + case["input_offset"]
    w = i8(case["weights"], -1, case["filter_y"], case["filter_x"], outputs if name != "basic" else channels)
    x = numpy.pad(x, ((case["pad_y"], case["filter_y"]), (case["pad_x"], case["filter_x"]), (0, 0)))
    multiples = x.repeat(outputs // channels, axis=2)  # depthwise: the result's channels read one of the data each
    sums = numpy.zeros((case["output_h"], case["output_w"], outputs), int)
    for i, j in numpy.ndindex(sums.shape[:2]):
        rows, columns = (
            slice(place * stride, place * stride + taps)
            for place, stride, taps in (
                (i, case["stride_y"], case["filter_y"]),
                (j, case["stride_x"], case["filter_x"]),
            )
        )
        sums[i, j] = (multiples[rows, columns] * w[0].astype(int)).sum(axis=(0, 1)) + case["biases"]
    assert requantized(case, sums, case["output_mult"], case["output_shift"]) == case["output_ref"]


def test_parameters_of_vela() -> None:
    how = rx.Requantize.vela()
    for real, (multiplier, shift) in VELA.items():
        assert tuple(map(int, how.parameters(real))) == (multiplier, shift - 31)


def test_reciprocals_of_vela_divide() -> None:
    """Vela multiplies sums of pools by ((1 << 31 + k) + (1 << k)) // n, with k bits of n - 1, which divides exactly."""
    for count in range(2, 65):
        _, bits = math.frexp(count - 1)
        factor, places = ((1 << 31 + bits) + (1 << bits)) // count, 31 + bits
        for total in range(-128 * count, 128 * count):
            size = abs(total) * factor + (1 << places - 1) >> places
            exact = (2 * abs(total) + count) // (2 * count)
            assert size == exact


def test_products_of_hexagon() -> None:
    """HVX multiplies by the lower, then by the upper half of the multiplier. TVM rounds in the right shift, if any."""
    how, random = rx.Requantize.hexagon(), numpy.random.default_rng(0)
    multiplier, shift = random.integers(2**30, 2**31, 4000), random.integers(-6, 20, 4000)
    sums = random.integers(-(2**31), 2**31, 4000) >> random.integers(7, 31, 4000)
    multiplier[::3] = 2**30
    left = sums << numpy.maximum(-shift, 0)
    even = left * (multiplier & 0xFFFF) >> 16
    doubled = (even + left * (multiplier >> 16)) << 1
    rounded = ((doubled >> 16) + (1 << numpy.maximum(shift, 1) - 1)) >> numpy.maximum(shift, 0)
    expected = numpy.where(shift > 0, rounded, (doubled + (1 << 15)) >> 16)
    given = Multiplier(multiplier.astype("int32"), shift.astype("int32"))
    is_32_bits = abs(expected) < 2**31
    assert (how.apply(sums.astype("int32"), given, 0, "int32") == expected)[is_32_bits].all()


def test_products_of_qnn() -> None:
    """qnn.requantize of TVM adds half of the last place to the 64-bit product, and shifts once."""
    how, random = rx.Requantize.qnn(), numpy.random.default_rng(0)
    sums = random.integers(-(2**24), 2**24, 4000) >> random.integers(0, 24, 4000)
    multiplier, shift = random.integers(2**30, 2**31, 4000), random.integers(-6, 20, 4000)
    multiplier[::3] = 2**30
    left, right = numpy.maximum(-shift, 0), 31 + numpy.maximum(shift, 0)
    expected = ((sums << left) * multiplier + (1 << right - 1)) >> right
    given = Multiplier(multiplier.astype("int32"), shift.astype("int32"))
    assert (how.apply(sums.astype("int32"), given, 0, "int32") == expected).all()
