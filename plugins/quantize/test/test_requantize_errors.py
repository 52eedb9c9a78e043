# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers that out= cannot state: one sentence with the entry, the layer and what would help."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy
import pytest
import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.patterns import is_op
from relax_mlir.recipes import Op, Recipe

TFLITE = rx.Requantize.tflite()
TABLE = "Requantize: table= "
NAN, INFINITY = numpy.nan, numpy.inf


@rx.codegens.register_codegen("refusing_chip")
class Chip(rx.codegens.Codegen):
    patterns = ()


@pytest.fixture(autouse=True)
def chip() -> Iterator[None]:
    yield
    Chip.recipe = None


class Case(NamedTuple):
    """Layer of one operator on operands with these scales, and the sentence of its error."""

    operator: Callable[..., Any]
    scales: tuple[Any, ...]
    problem: str
    out: rx.Requantize = TFLITE
    shape: tuple[Any, ...] = (4, 8)
    result: float = 0.1
    dtype: str = "int8"


def table(entries: Any) -> rx.Requantize:
    return rx.Requantize(table=entries)


CASES = {
    "zero": Case(relax.add, (0.0, 0.1), "the scale of x1 is 0.0, expected a finite number above 0; quantize"),
    "infinity": Case(relax.add, (0.1, INFINITY), "the scale of x2 is inf, expected a finite number"),
    "nan": Case(relax.multiply, (NAN, 0.1), "the scale of x1 is nan, expected a finite number"),
    "result": Case(relax.add, (0.1, 0.1), "the scale of the result is 0.0, expected", result=0.0),
    "small": Case(relax.multiply, (1e-9, 1e-9), "needs a shift of 56, expected -31 to 31; the multiplier is the scale"),
    "large": Case(relax.multiply, (1e9, 1e9), "needs a shift of -64, expected -31 to 31; the multiplier is the scale"),
    "far apart": Case(relax.add, (1e-12, 1.0), "needs a shift of 40, expected -31 to 31"),
    "far result": Case(
        relax.add, (1.0, 1.0), "a sum with 8 fractional bits may be 65536000165, which exceeds 32 bits; state",
        rx.Requantize(), result=1e-6,
    ),
    "wide sum": Case(
        relax.add, (1.0, 1.0), "an operand, shifted by 20 bits, may be 34359738368, which exceeds 32 bits",
        rx.Requantize("q31>>shift", sums="largest", left_shift=20), dtype="int16",
    ),
    "real product": Case(
        lambda x, y: relax.matmul(x, relax.permute_dims(y)), (0.1, 0.1), "the second operand is not quantized,",
    ),
    "products of 16 bits": Case(
        relax.matmul, (0.1, 0.1), "TFLite adds products of 16 bits up in 64 bits, which double_rounding=True does not",
        shape=(8, 8), dtype="int16",
    ),
    "channels": Case(relax.add, ([0.1] * 8, 0.1), "x1 has several scales or zero points, expected one of each"),
    "real": Case(
        lambda x: relax.add(x, relax.const(numpy.ones(8, "float32"))), (0.1,),
        "x2 is not quantized, expected the result of relax.dequantize; drop out=",
    ),
    "short table": Case(relax.tanh, (0.1,), TABLE + "has 255 entries, expected 256, one for each", table(range(255))),
    "real table": Case(relax.tanh, (0.1,), TABLE + "expects integers in one dimension", table(lambda *_: [0.5] * 256)),
    "large table": Case(relax.tanh, (0.1,), "table= contains 128, expected -128 to 127", table(range(256))),
    "failing table": Case(relax.tanh, (0.1,), "table=: ZeroDivisionError: division by zero", table(lambda *_: 1 / 0)),
    "wide table": Case(relax.tanh, (0.1,), "its table has 65536 entries: state them by table=", dtype="int16"),
    "softmax": Case(relax.nn.softmax, (0.1,), "expected 1 / 256 and -128; state Fixed('relax.nn.softmax', scale=1"),
    "exact softmax": Case(
        relax.nn.softmax, (0.1,), "the scale of the result is 0.3, expected 1 / 256 or 1 divided", rx.Requantize(),
        result=0.3,
    ),
    "cubic": Case(
        lambda x: relax.image.resize2d(x, (4, 4), method="cubic"), (0.1,), "method cubic with half_pixel has no",
        shape=(1, 2, 3, 3),
    ),
    "open image": Case(
        lambda x: relax.image.resize2d(x, (4, 4)), (0.1,), "the sizes of the images are open; state them",
        shape=("n", 2, "h", 3),
    ),
    "open pool": Case(
        lambda x: relax.nn.avg_pool2d(x, pool_size=(2, 2), padding=[1, 1]), (0.1,),
        "the pool has padding or ceil_mode and open sizes; state the sizes", shape=("n", 2, "h", 3),
    ),
    "open mean": Case(lambda x: relax.mean(x, axis=[1]), (0.1,), "the number of summands is open", shape=(1, "n")),
    "large pool": Case(
        lambda x: relax.nn.avg_pool2d(x, pool_size=(60, 60)), (0.1,), "which exceeds 32 bits", shape=(1, 1, 64, 64)
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_refused_layers(case: Case) -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor(case.shape, case.dtype)] * len(case.scales)) as f:
        zero = relax.const(0, case.dtype)
        steps = [relax.const(numpy.asarray(each, "float32")) for each in case.scales]
        axis = len(case.shape) - 1
        value = case.operator(*(relax.dequantize(x, step, zero, axis=axis) for x, step in zip(f, steps, strict=True)))
        result = relax.const(numpy.float32(case.result))
        f.returns(relax.quantize(value, result, zero, axis=0, out_dtype=case.dtype))
    name = {"int8": "i8", "int16": "i16"}[case.dtype]
    Chip.recipe = Recipe(Op("chip.layer", pattern=is_op(value.owner.name), y=name, out=case.out))
    with pytest.raises(rx.RelaxError, match=re.escape(case.problem)) as caught:
        rx.Pipeline("builtin.module(relax-requantize{recipe=refusing_chip})").run(module)
    message = str(caught.value).partition("\n")[0]
    assert message.startswith("test_requantize_errors.py:")
    assert "relax-requantize: Op('chip.layer'): " in message


def test_operators_without_integers_are_refused() -> None:
    """The recipe is refused, not the layer: the entry would be ignored for each layer."""
    recipe = Recipe(Op("chip.erf", pattern=is_op("relax.erf"), y="i8", out=TFLITE))
    with pytest.raises(rx.RelaxError, match=r"recipe: Op\('chip.erf'\): out= states no integers for relax.erf; drop"):
        recipe.patterns({})


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"sums": "larger"}, "sums= expects one of 'result', 'largest', got 'larger'"),
        ({"left_shift": 40}, "left_shift= expects an integer from 0 to 24, got 40"),
        ({"left_shift": True}, "left_shift= expects an integer from 0 to 24, got True"),
        ({"pools": "mean"}, "pools= expects one of 'multiply', 'divide', got 'mean'"),
        ({"resize_bits": 0}, "resize_bits= expects an integer from 1 to 14, got 0"),
        ({"table": [0.5]}, r"table= expects integers in one dimension, got shape \(1,\) of float64"),
        ({"table": "tanh"}, "table= expects integers in one dimension"),
        ({"table": [[1], [1, 2]]}, "table= expects integers in one dimension"),
    ],
)
def test_bad_fields(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(rx.OptionError, match=problem):
        rx.Requantize(**given)
