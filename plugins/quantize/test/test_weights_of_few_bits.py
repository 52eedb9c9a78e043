# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights in blocks, ranges of the least squared error, and scales of run time."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import relax_mlir as rx
from quantizing import biased, module_of, recipe, run, snr
from relax_mlir import relax
from relax_mlir.bindings.navigation import operations_named
from relax_mlir.dialects.relax.known_constants import elements_of
from relax_mlir.passes.graph.recipes.operand_types import parse_operand_type
from relax_mlir.recipes import Op
from relax_mlir_quantize.layer_products import Channels
from relax_mlir_quantize.scales import scale_of_weights
from relax_mlir_quantize.weight_blocks import in_blocks

import onnxruntime

DEPTH, COLUMNS = 80, 24


def _linear(shape: tuple[int | str, ...] = ("n", DEPTH)) -> tuple[rx.Module, Any, Any]:
    generator = numpy.random.default_rng(0)
    w = generator.standard_t(4, size=(DEPTH, COLUMNS)).astype("float32")
    bias = generator.normal(size=COLUMNS).astype("float32")
    x = (generator.normal(size=(32, DEPTH)) * generator.uniform(0.1, 3, DEPTH)).astype("float32")
    return module_of(lambda x: biased(relax.matmul(x, relax.const(w)), bias), shape), w, x


@pytest.mark.parametrize(
    "text", ["i4@block32", "i4@block16 symmetric", "u4@block32", "i8@block16", "i4@block32 narrow symmetric"]
)
def test_products_with_blocks(text: str) -> None:
    module, w, x = _linear()
    quantized = rx.quantize(module, [x], recipe(text, x=None), bias_correction=False).module
    channels = Channels(1)
    channels.add(x)
    blocks = in_blocks(w, parse_operand_type(text, ""), channels.variance, channels.mean)
    expected = run(module, x) - x @ (w - blocks.rounded())
    numpy.testing.assert_allclose(run(quantized, x), expected, rtol=1e-4, atol=1e-3)
    assert "matmul_nbits" in str(quantized)
    exported = rx.to_onnx(quantized)
    assert [node.op_type for node in exported.graph.node].count("MatMulNBits") == 1
    session = onnxruntime.InferenceSession(exported.SerializeToString(), providers=["CPUExecutionProvider"])
    (theirs,) = session.run(None, {session.get_inputs()[0].name: x})
    numpy.testing.assert_allclose(theirs, expected, rtol=1e-3, atol=1e-2)


def test_search_is_better_than_the_whole_range() -> None:
    _, w, x = _linear()
    importance = (x * x).mean(0)
    for text in ("i4@block32 symmetric", "i4@block32"):
        type_ = parse_operand_type(text, "")
        blocks = w[:32].T
        steps = (blocks.max(1) - blocks.min(1)) / 15 if not type_.symmetric else abs(blocks).max(1) / 7
        plain = numpy.rint(blocks / steps[:, None]) * steps[:, None]
        ours = in_blocks(w[:32], type_, importance[:32]).rounded().T
        errors = [(((each - blocks) ** 2) * importance[:32]).sum() for each in (plain, ours)]
        assert errors[1] < 0.9 * errors[0]


@pytest.mark.parametrize("shift", [0.0, 0.5, 5.0])
@pytest.mark.parametrize("text", ["i4@block32 symmetric", "i4@block16", "u4@block32", "i4@block32 narrow symmetric"])
def test_errors_cancel_out_for_the_mean(text: str, shift: float) -> None:
    """Sums without a bias lose no more than by the plain search, and far less if the data has a mean."""
    _, w, x = _linear()
    x = x + numpy.float32(shift)
    type_, mean = parse_operand_type(text, ""), x.mean(0)
    plain = snr(x @ w, x @ in_blocks(w, type_, (x * x).mean(0)).rounded())
    variance = x.var(0)
    ours = in_blocks(w, type_, variance, mean)
    assert snr(x @ w, x @ ours.rounded()) > plain + (5 if shift > 1 else -0.1)
    least, most = int(type_.narrow), 15
    assert least <= ours.codes.min() and ours.codes.max() <= most
    errors = [each.rounded() - w for each in (in_blocks(w, type_, variance), ours)]
    expected = [variance @ error**2 + (mean @ error) ** 2 for error in errors]
    assert (expected[1] <= expected[0] * (1 + 1e-3)).all()


def test_constant_data_has_no_error_on_average() -> None:
    """Data without variance, and rows of zeros, keep numbers finite."""
    _, w, _ = _linear()
    for mean in (numpy.ones(DEPTH), numpy.zeros(DEPTH), numpy.eye(DEPTH)[3]):
        rounded = in_blocks(w, parse_operand_type("i4@block32", ""), numpy.zeros(DEPTH), mean).rounded()
        assert numpy.isfinite(rounded).all()
        assert abs(mean @ (rounded - w)).max() < 0.5


@pytest.mark.parametrize("bias_correction", [False, True])
def test_means_of_data_without_a_bias(bias_correction: bool) -> None:
    _, w, x = _linear()
    x = numpy.maximum(x, 0)
    module = module_of(lambda x: relax.matmul(x, relax.const(w)), ("n", DEPTH))
    quantized = rx.quantize(module, [x], recipe("i4@block32 symmetric", x=None), bias_correction=bias_correction).module
    plain = x @ in_blocks(w, parse_operand_type("i4@block32 symmetric", ""), (x * x).mean(0)).rounded()
    assert snr(x @ w, run(quantized, x)) > snr(x @ w, plain) + 1


def test_blocks_of_zeros_and_of_one_sign() -> None:
    w = numpy.zeros((64, 3), "float32")
    w[:, 1] = numpy.linspace(1, 2, 64)
    w[:, 2] = -w[:, 1]
    for text in ("i4@block32", "i4@block32 symmetric"):
        found = in_blocks(w, parse_operand_type(text, ""))
        assert numpy.isfinite(found.scale).all()
        assert (found.rounded()[:, 0] == 0).all()
        assert abs(found.rounded() - w).max() < 0.16


def test_blocks_of_convolutions_are_refused() -> None:
    w = numpy.ones((4, 3, 3, 3), "float32")
    module = module_of(lambda x: relax.nn.conv2d(x, relax.const(w)), (1, 3, 8, 8))
    with pytest.raises(rx.ModelError, match="no layer of @main matches") as caught:
        rx.quantize(module, [numpy.ones((1, 3, 8, 8), "float32")], recipe("i4@block16", x=None))
    assert "blocks of weights are for the constant matrix" in str(caught.value)


def test_the_next_type_is_taken_where_blocks_do_not_fit() -> None:
    w = numpy.ones((4, 3, 3, 3), "float32")
    module = module_of(lambda x: relax.nn.conv2d(x, relax.const(w)), (1, 3, 8, 8))
    types = rx.Recipe(Op("relax.nn.conv2d", weight=("i4@block16", "i8@channel symmetric")))
    report = rx.quantize(module, [numpy.ones((1, 3, 8, 8), "float32")], types).report
    assert report.rows[0].types == {"weight": "i8@channel symmetric"}


def test_ranges_of_the_least_squared_error() -> None:
    _, w, _ = _linear()
    type_ = parse_operand_type("i4@channel symmetric", "")
    errors = [((scale_of_weights(w, type_, 1, is_searched=how).rounded(w) - w) ** 2).sum(0) for how in (False, True)]
    assert (errors[1] <= errors[0]).all()
    assert errors[1].sum() < 0.85 * errors[0].sum()


@pytest.mark.parametrize("text", ["u8 dynamic", "i8 dynamic", "i8 dynamic symmetric"])
def test_scales_of_run_time(text: str) -> None:
    """The samples do not matter: data a thousand times as large has the same relative error."""
    module, _, x = _linear()
    quantized = rx.quantize(module, [x], recipe("i8@channel symmetric", text), bias_correction=False).module
    for factor in (1, 1000):
        data = (x * factor).astype("float32")
        assert snr(run(module, data), run(quantized, data)) > 35
    zeros = numpy.zeros((2, DEPTH), "float32")
    numpy.testing.assert_allclose(run(quantized, zeros), run(module, zeros), atol=1e-6)


def test_scales_of_run_time_multiply_bytes() -> None:
    module, _, x = _linear()
    quantized = rx.quantize(module, [x], recipe("i8@channel symmetric", "u8 dynamic")).module
    cpu = "llvm{cpu=cascadelake}"
    text = rx.lower(quantized, cpu, pipeline=rx.stages(cpu).until("integers")).script()
    assert text.count('out_dtype="int32"') == 1


@pytest.mark.parametrize(("cpu", "most"), [("x86-64-v3", 64), ("cascadelake", 127)])
def test_avx2_has_weights_of_half_of_the_range(cpu: str, most: int) -> None:
    module, _, x = _linear()
    quantized = rx.quantize(module, [x], f"llvm{{cpu={cpu}}}").module
    found = [elements_of(each.operands[0]) for each in operations_named(quantized.operation, "relax.dequantize")]
    weights = [each for each in found if each is not None and each.ndim == 2 and each.dtype == numpy.int8]
    assert len(weights) == 1 and abs(weights[0].astype(int)).max() == most
    assert snr(run(module, x), run(quantized, x)) > 30


def test_a_result_has_no_scale_of_run_time() -> None:
    with pytest.raises(rx.RelaxError, match="a result has one scale, known beforehand"):
        Op("relax.matmul", x1="i8", x2="i8", y="i8 dynamic")
