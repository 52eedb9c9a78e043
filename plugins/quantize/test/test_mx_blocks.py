# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operands in OCP's MX blocks: weights when the model is quantized, activations at run time."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy
import pytest
import relax_mlir as rx
from partitioning import Native, codegen
from quantizing import biased, module_of, run, snr
from relax_mlir import relax
from relax_mlir.passes.graph.partition.codegen import find_codegen
from relax_mlir.patterns import is_const, is_op, wildcard
from relax_mlir.recipes import Op

import onnxruntime

#: Element type, largest exponent and largest number of OCP's formats. Numbers of i8 are multiples of 2**-6.
FORMATS: dict[str, tuple[Any, int, float]] = {
    "e4m3": (ml_dtypes.float8_e4m3fn, 8, 448),
    "e5m2": (ml_dtypes.float8_e5m2, 15, 57344),
    "e3m2": (ml_dtypes.float6_e3m2fn, 4, 28),
    "e2m3": (ml_dtypes.float6_e2m3fn, 2, 7.5),
    "e2m1": (ml_dtypes.float4_e2m1fn, 2, 6),
    "i8": (None, 0, 0),
}
DEPTH, COLUMNS = 96, 24


def rounded(array: Any, name: str, axis: int = -1) -> Any:
    """Round blocks of 32 as OCP's specification says, with scales by frexp and elements by ml_dtypes."""
    dtype, largest, most = FORMATS[name]
    moved = numpy.moveaxis(array, axis, -1)
    blocks = moved.reshape(*moved.shape[:-1], -1, 32).astype(float)
    exponent = numpy.frexp(abs(blocks).max(-1, keepdims=True))[1] - 1 - largest
    scale = 2.0 ** numpy.clip(exponent, -127 if dtype else -121, 127)
    if dtype is None:
        numbers = numpy.clip(numpy.rint(blocks / scale * 64), -128, 127) / 64
    else:
        numbers = numpy.clip(blocks / scale, -most, most).astype("float32").astype(dtype).astype(float)
    return numpy.moveaxis((numbers * scale).reshape(moved.shape), -1, axis).astype("float32")


def recipe(x: str | None, w: str, **others: Any) -> rx.Recipe:
    product = is_op("relax.matmul")(wildcard().named("x"), wildcard().named("w"))
    product = product.optional(lambda y: is_op("relax.add")(y, wildcard().named("bias")))
    return rx.Recipe(Op("product", pattern=product, w=w, **({"x": x} if x else {}), **others))


def data(*shape: int, seed: int = 0) -> Any:
    generator = numpy.random.default_rng(seed)
    return (generator.normal(size=shape) * 10.0 ** generator.integers(-6, 5, shape)).astype("float32")


def quantized(x: Any, w: Any, *types: str | None, shape: Any = None) -> rx.Module:
    module = module_of(lambda x: relax.matmul(x, relax.const(w)), shape or ("n", *x.shape[1:]))
    return rx.quantize(module, [x] * 8, recipe(*types), bias_correction=False).module


@pytest.mark.parametrize("name", FORMATS)
def test_numbers_are_those_of_the_specification(name: str) -> None:
    """A product with the identity, which each format represents, shows how the other operand is rounded."""
    types, one = f"{name}@mx32", numpy.eye(DEPTH, dtype="float32")
    w, x = data(DEPTH, COLUMNS), data(7, 5, DEPTH, seed=1)
    x[0, 0], w[:32, 3] = 0, 0
    x[1, :, :32] *= 1e-30
    x[2, :, 32:64] *= numpy.float32(2.0**-130)
    for module, array, expected in (
        (quantized(x, one, types, types), x, rounded(x, name)),
        (quantized(one, w, types, types), one, rounded(w, name, 0)),
    ):
        found = run(module, array)
        numpy.testing.assert_array_equal(found, expected)
        numpy.testing.assert_array_equal(rx.reference(module)["main"](array), expected)


@pytest.mark.parametrize("name", FORMATS)
def test_reference_and_program_have_the_same_bits(name: str) -> None:
    """Sums of small integers are exact in f32, in any order."""
    generator = numpy.random.default_rng(2)
    w = generator.integers(-60, 60, (DEPTH, COLUMNS)).astype("float32")
    x = generator.integers(-60, 60, (7, 5, DEPTH)).astype("float32")
    module = quantized(x, w, f"{name}@mx32", f"{name}@mx32")
    expected = rounded(x, name).astype(float) @ rounded(w, name, 0)
    for found in (run(module, x), rx.reference(module)["main"](x)):
        numpy.testing.assert_array_equal(found, expected.astype("float32"))


@pytest.mark.parametrize("name", ["e4m3", "e5m2"])
def test_onnx(name: str) -> None:
    """Weights in MX blocks leave as DequantizeLinear, and onnxruntime computes the same numbers."""
    w, x = data(DEPTH, COLUMNS), data(7, DEPTH, seed=1)
    module = quantized(x, w, None, f"{name}@mx32")
    exported = rx.to_onnx(module, opset=23)
    assert [node.op_type for node in exported.graph.node].count("DequantizeLinear") == 1
    session = onnxruntime.InferenceSession(exported.SerializeToString(), providers=["CPUExecutionProvider"])
    (theirs,) = session.run(None, {session.get_inputs()[0].name: x})
    numpy.testing.assert_allclose(theirs, run(module, x), rtol=1e-4, atol=1e-4)
    again = rx.from_onnx(exported)
    numpy.testing.assert_allclose(run(again, x), theirs, rtol=1e-4, atol=1e-4)


def test_both_operands_of_run_time() -> None:
    """Products of two computed matrices have blocks along the summed axis of each."""
    x = numpy.random.default_rng(0).integers(-60, 60, (2, 64, 64)).astype("float32")
    module = module_of(lambda x: relax.matmul(x, relax.tanh(x)), ("n", 64, 64))
    product = is_op("relax.matmul")(wildcard().named("x"), wildcard().named("w"))
    types = rx.Recipe(Op("product", pattern=product, x="e4m3@mx32", w="e4m3@mx32"))
    made = rx.quantize(module, [x] * 8, types).module
    expected = rounded(x, "e4m3") @ rounded(numpy.tanh(x), "e4m3", 1)
    numpy.testing.assert_allclose(run(made, x), expected, rtol=1e-5, atol=1e-3)


def test_layers_with_a_bias_and_their_report() -> None:
    w, bias, x = data(DEPTH, COLUMNS) / 1e4, data(COLUMNS), data(64, DEPTH, seed=1)
    module = module_of(lambda x: biased(relax.matmul(x, relax.const(w)), bias), ("n", DEPTH))
    made = rx.quantize(module, [x] * 8, recipe("e4m3@mx32", "e2m1@mx32", bias="i32 derived"))
    assert made.report.rows[0].types == {"x": "e4m3@mx32", "w": "e2m1@mx32"}
    made.report.measure()
    assert 8 < snr(run(module, x), run(made.module, x)) < 40


def test_numbers_that_are_not_finite() -> None:
    x = numpy.ones((3, DEPTH), "float32")
    module = quantized(x, numpy.eye(DEPTH, dtype="float32"), "e4m3@mx32", "e4m3@mx32")
    x[1, 40], x[2, 70] = numpy.inf, numpy.nan
    for found in (run(module, x), rx.reference(module)["main"](x)):
        assert (found[0] == 1).all() and numpy.isnan(found[1]).all() and numpy.isnan(found[2]).all()


def test_codegens_take_mx_products() -> None:
    """A pattern of a product of floats also matches the product of MX blocks."""
    w, x = data(DEPTH, COLUMNS), data(7, DEPTH, seed=1)
    module = module_of(lambda x: relax.matmul(x, relax.const(w)), (7, DEPTH))
    pattern = is_op("relax.matmul")(wildcard().named("x"), is_const().named("w"))
    with codegen([("npu.linear", pattern)], base=Native) as npu:
        find_codegen(npu).recipe = rx.Recipe(Op("npu.linear", x="e4m3@mx32", w="e2m1@mx32"))
        made = rx.quantize(module, [x] * 8, npu)
        assert [row.pattern for row in made.report.rows] == ["npu.linear"]
        journal = rx.Journal()
        program = rx.compile(made.module, partition=npu, strict_partition=True, journal=journal)
        numpy.testing.assert_allclose(program["main"](x), run(made.module, x), rtol=1e-5, atol=1e-3)
        (part,) = [fact["name"] for fact in journal.facts if fact["kind"] == "external"]
        assert part == "fused_dequantize_reshape_dequantize_reshape_permute_dims_matmul_npu"


# ---- bad input ----


_GRANULARITIES = "expected one of tensor, channel, block<numbers>, mx<numbers>, such as @block32"
_OWN_SCALES = "MX blocks have scales of their own, without zero points"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("u8@mx32", "numbers of MX blocks are e4m3, e5m2, e3m2, e2m3, e2m1, i8"),
        ("i8@mx32 symmetric", f"leave out 'symmetric': {_OWN_SCALES}"),
        ("e4m3@mx", f"'@mx': {_GRANULARITIES}"),
        ("e4m3@mx0", f"'@mx0': {_GRANULARITIES}"),
        ("e2m1@mx32 narrow", "'narrow' is for integers"),
        ("e4m3@mx32 dynamic", f"leave out 'dynamic': {_OWN_SCALES}"),
    ],
)
def test_types(text: str, message: str) -> None:
    with pytest.raises(rx.RelaxError) as caught:
        Op("a", x=text)
    assert str(caught.value) == f"Op('a'), x: '{text}': {message}"


def test_a_result_has_no_mx_blocks() -> None:
    with pytest.raises(rx.RelaxError, match="y: a result has one scale"):
        Op("a", x="i8", y="e4m3@mx32")


@pytest.mark.parametrize("depth", [80, "n"])
def test_blocks_that_do_not_divide(depth: int | str) -> None:
    x = numpy.ones((80, 80), "float32")
    module = module_of(lambda x: relax.matmul(x, relax.tanh(x)), (depth, depth))
    with pytest.raises(rx.ModelError) as caught:
        rx.quantize(module, [x] * 8, recipe("e4m3@mx32", "e4m3@mx32"))
    assert (
        "relax.matmul (relax.matmul): MX blocks are for operands of products, whose summed size has to be known and"
        in str(caught.value)
    )


def test_the_next_type_is_taken() -> None:
    x, w = numpy.ones((8, 80), "float32"), numpy.ones((80, 4), "float32")
    types = rx.Recipe(Op("relax.matmul", x1=("e4m3@mx32", "e4m3"), x2=("e4m3@mx32", "e4m3")))
    module = module_of(lambda x: relax.matmul(x, relax.const(w)), ("n", 80))
    assert rx.quantize(module, [x] * 8, types).report.rows[0].types["x2"] == "e4m3"
