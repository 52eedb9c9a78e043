# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Networks from TensorFlow's converter, beside TFLite's interpreter."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest
import relax_mlir as rx
from partitioning import codegen
from relax_mlir.patterns import find, quantized_conv, quantized_linear
from tflite_model import drawn_arguments, interpreted

MODELS = Path(__file__).parent / "models"
#: Steps that a quantized result may be off, or how far floats may be.
LIMITS = {
    "mobilenet": 1e-6, "mobilenet_float16": 1e-6, "mobilenet_int8": 1, "mobilenet_int16": 1, "segments": 1e-5,
    "segments_int8": 1, "recurrent": 1e-6, "transformer": 1e-5,
    # Layer norms of this model amplify earlier rounding errors.
    "transformer_int8": 4,
}  # fmt: skip


def test_every_model_is_tested() -> None:
    assert {path.stem for path in MODELS.glob("*.tflite")} == LIMITS.keys()


@pytest.mark.parametrize("name", LIMITS)
def test_agrees_with_the_interpreter(name: str) -> None:
    model = (MODELS / f"{name}.tflite").read_bytes()
    given = drawn_arguments(model)
    (expected,) = interpreted(model, given)
    made = numpy.asarray(rx.compile(rx.from_tflite(model))["main"](*given))
    assert (made.shape, made.dtype) == (expected.shape, expected.dtype)
    wide = [each.astype("float64") for each in (made, expected)]
    numpy.testing.assert_allclose(*wide, rtol=0, atol=LIMITS[name])


def test_one_compilation_serves_every_batch() -> None:
    model = (MODELS / "mobilenet_int8.tflite").read_bytes()
    main = rx.compile(rx.from_tflite(model))["main"]
    for batch in (1, 3):
        given = drawn_arguments(model, batch)
        (expected,) = interpreted(model, given)
        difference = numpy.asarray(main(*given)).astype("int64") - expected
        assert abs(difference).max() <= 1


@pytest.mark.parametrize(("name", "counts"), [("mobilenet_int8", (17, 1)), ("segments_int8", (3, 0))])
def test_quantized_layers_are_found(name: str, counts: tuple[int, int]) -> None:
    """Find each quantized layer of a network once, with its epilogue, as codegens do."""
    pattern = quantized_linear() | quantized_conv()
    with codegen([("npu.layer", pattern)]):
        stages = rx.stages("llvm", partition="npu").until("partition-input")
        lowered = rx.lower(rx.from_tflite(MODELS / f"{name}.tflite"), pipeline=stages)
    matches = list(find(lowered, pattern))
    inside = [op for match in matches for op in match.operations[:-1]]
    found = [match.op("product").operation.name for match in matches if match.root not in inside]
    assert tuple(found.count(f"relax.{each}") for each in ("nn.conv2d", "matmul")) == counts


@pytest.mark.parametrize("name, count", [("mobilenet_int8", 18), ("transformer_int8", 8)])
def test_products_are_of_bytes(name: str, count: int) -> None:
    cpu = "llvm{cpu=cascadelake}"
    module = rx.from_tflite(MODELS / f"{name}.tflite")
    text = rx.lower(module, cpu, pipeline=rx.stages(cpu).until("integers")).script()
    assert text.count('out_dtype="int32"') == count
