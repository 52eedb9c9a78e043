# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Codegen dnnl: products of quantized tensors, on machines with and without exact sums of byte products."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import relax_mlir as rx
from before_after import results_of
from dnnl_models import floats
from dnnl_parts import OnePart, build_part, built, call_part, compare_steps
from relax_mlir import relax
from relax_mlir_dnnl.runtime import splitting

const = relax.const


def integers(*shape: int, low: int, high: int, dtype: str, seed: int = 7) -> Any:
    return numpy.random.default_rng(seed).integers(low, high + 1, size=shape).astype(dtype)


def dequantized(x: Any, scale: Any, zero_point: Any, axis: int = -1) -> Any:
    return relax.dequantize(x, const(numpy.asarray(scale, "float32")), const(zero_point), axis=axis)


def layer(x: Any, weight: Any, zero_point: Any, *, groups: int = 1, per_channel: bool = True) -> Any:
    count = len(weight)
    scale = numpy.linspace(0.002, 0.02, count) if per_channel else 0.01
    zeros = numpy.zeros(count if per_channel else (), "int8")
    y = relax.nn.conv2d(dequantized(x, 0.05, zero_point), dequantized(const(weight), scale, zeros, 0), padding=1,
                        groups=groups)  # fmt: skip
    return relax.nn.relu(relax.add(y, const(floats(count, 1, 1))))


WIDE = {"low": -127, "high": 127, "dtype": "int8"}
NARROW = {"low": -64, "high": 64, "dtype": "int8"}


@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("zero_point", [numpy.uint8(0), numpy.uint8(7), numpy.int8(-3)])
@pytest.mark.parametrize("weights", [WIDE, NARROW])
def test_convolutions(weights: Any, zero_point: Any, per_channel: bool) -> None:
    name = zero_point.dtype.name
    limits = numpy.iinfo(name)
    data = integers(2, 8, 9, 7, low=limits.min, high=limits.max, dtype=name)
    weight = integers(16, 8, 3, 3, **weights)
    module = built(lambda x: layer(x, weight, zero_point, per_channel=per_channel), rx.tensor(data.shape, name))
    assert compare_steps(module, [data]) == ["convolution+bias+eltwise"]


@pytest.mark.parametrize("groups", [1, 2, 8])
def test_requantized_result(groups: int) -> None:
    """Compare within one quantization step, because sums are rounded once, in another order."""
    data = integers(1, 8, 9, 9, low=0, high=255, dtype="uint8")
    weight = integers(16, 8 // groups, 3, 3, **NARROW)

    def body(x: Any) -> Any:
        y = layer(x, weight, numpy.uint8(9), groups=groups)
        return relax.quantize(y, const(numpy.float32(0.1)), const(numpy.uint8(3)), out_dtype="uint8")

    assert compare_integers(built(body, rx.tensor(data.shape, "uint8")), data) == 1


def compare_integers(module: rx.Module, data: Any) -> int:
    """Compare a part's integers with the default path's, within one. Return the number of the part's steps."""
    (expected,) = results_of(module, [data])
    part = build_part(module)
    (made,) = call_part(part, [data], [expected])
    assert numpy.abs(made.astype("int32") - expected.astype("int32")).max() <= 1
    assert numpy.ptp(expected) > 50
    return len(part.function.steps)


@pytest.mark.parametrize(("channels", "size"), [(512, 7), (128, 7), (64, 8)])
def test_dequantized_result(channels: int, size: int) -> None:
    """Dequantize a result that oneDNN stores with channels last, with a zero point."""
    data = integers(1, 16, size, size, low=0, high=255, dtype="uint8")
    weight = integers(channels, 16, 3, 3, **NARROW)

    def body(x: Any) -> Any:
        y = relax.quantize(
            layer(x, weight, numpy.uint8(9)), const(numpy.float32(0.1)), const(numpy.uint8(3)), out_dtype="uint8"
        )
        return dequantized(y, 0.1, numpy.uint8(3))

    module = built(body, rx.tensor(data.shape, "uint8"))
    (expected,) = results_of(module, [data])
    (made,) = call_part(build_part(module), [data], [expected])
    assert numpy.abs(made - expected).max() <= 0.1001  # one step


def test_consecutive_integer_convolutions() -> None:
    """Compute consecutive integer convolutions without a dequantization between them."""
    data = integers(1, 8, 9, 9, low=0, high=255, dtype="uint8")

    def body(x: Any) -> Any:
        y = layer(x, integers(16, 8, 3, 3, **NARROW), numpy.uint8(9))
        y = relax.quantize(y, const(numpy.float32(0.1)), const(numpy.uint8(0)), out_dtype="uint8")
        y = layer(y, integers(8, 16, 3, 3, **NARROW), numpy.uint8(0))
        return relax.quantize(y, const(numpy.float32(0.5)), const(numpy.uint8(0)), out_dtype="uint8")

    assert compare_integers(built(body, rx.tensor(data.shape, "uint8")), data) == 2


@pytest.mark.parametrize("zero_point", [numpy.uint8(0), numpy.uint8(9), numpy.int8(4)])
def test_matrices(zero_point: Any) -> None:
    name = zero_point.dtype.name
    limits = numpy.iinfo(name)
    data = integers(2, 5, 12, low=limits.min, high=limits.max, dtype=name)
    weight, scale = integers(12, 16, **NARROW), numpy.linspace(0.002, 0.02, 16)

    def body(x: Any) -> Any:
        y = relax.matmul(dequantized(x, 0.05, zero_point), dequantized(const(weight), scale, numpy.zeros(16, "int8")))
        return relax.nn.gelu(relax.add(y, const(floats(16))))

    assert compare_steps(built(body, rx.tensor(data.shape, name)), [data]) == ["matmul+bias+eltwise"]


def test_exact_sums_and_floats_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """Multiply bytes if their sums are exact, and floats otherwise. Both ways have the same results."""
    data = integers(2, 8, 9, 7, low=0, high=255, dtype="uint8")
    module = built(lambda x: layer(x, integers(16, 8, 3, 3, **NARROW), numpy.uint8(7)), rx.tensor(data.shape, "uint8"))
    (expected,) = results_of(module, [data])
    part: OnePart = build_part(module)
    for is_exact in (True, False):
        monkeypatch.setattr("relax_mlir_dnnl.runtime.plan_builder.is_exact", lambda step, known=is_exact: known)
        (made,) = call_part(part, [data], [expected])
        numpy.testing.assert_allclose(made, expected, rtol=1e-4, atol=1e-4)


def test_instruction_sets_with_exact_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    data = rx.tensor((1, 8, 9, 9), "uint8")
    weights = {True: NARROW, False: WIDE}
    for is_narrow, limits in weights.items():
        part = build_part(
            built(lambda x, bounds=limits: layer(x, integers(16, 8, 3, 3, **bounds), numpy.uint8(7)), data)
        )
        (step,) = part.function.steps
        for instructions, has_wide_sums in (("avx2", False), ("avx512_core", False), ("avx512_core_vnni", True)):
            monkeypatch.setattr(splitting, "library", lambda name=instructions: type("L", (), {"instructions": name}))
            assert splitting.is_exact(step) == (is_narrow or has_wide_sums)


def test_dequantized_tensor_with_two_users() -> None:
    def body(x: Any) -> Any:
        y = dequantized(x, 0.05, numpy.uint8(7))
        weight = dequantized(const(integers(8, 8, 1, 1, **NARROW)), 0.01, numpy.int8(0))
        return relax.add(relax.nn.conv2d(y, weight), y)

    compare_steps(built(body, rx.tensor((1, 8, 5, 5), "uint8")))


@pytest.mark.parametrize("axis", [0, 1])
def test_scales_along_an_axis(axis: int) -> None:
    def body(x: Any) -> Any:
        scale = numpy.linspace(0.01, 0.03, (4, 5)[axis])
        y = relax.nn.relu(dequantized(x, scale, numpy.full((4, 5)[axis], 3, "int8"), axis))
        return relax.quantize(y, const(numpy.float32(0.02)), const(numpy.int8(-5)), axis=axis)

    assert (
        compare_integers(built(body, rx.tensor((4, 5), "int8")), integers(4, 5, low=-128, high=127, dtype="int8")) == 3
    )


def test_weights_stay_integers() -> None:
    """Keep weights as integers: partitioned programs fold dequantized weights only afterwards."""
    data = integers(1, 8, 9, 9, low=0, high=255, dtype="uint8")

    def body(x: Any) -> Any:
        y = layer(x, integers(16, 8, 3, 3, **NARROW), numpy.uint8(9))
        return relax.quantize(y, const(numpy.float32(0.1)), const(numpy.uint8(3)), out_dtype="uint8")

    module = built(body, rx.tensor(data.shape, "uint8"))
    (expected,) = results_of(module, [data])
    folded = module.copy()
    rx.Pipeline("relax-fold-constant").run(folded)
    sizes = []
    for each in (module, folded):
        program = rx.compile(each, partition=["dnnl"], strict_partition=True)
        assert "1 part by dnnl" in repr(program)
        sizes.append(sum(len(external.data) for external in program._artifact.externals))
        made = rx.runtime.to_numpy(program["main"](data))
        assert numpy.abs(made.astype("int32") - expected.astype("int32")).max() <= 1
    # Folded weights are floats. The others are bytes.
    assert sizes[1] - sizes[0] > 2 * 16 * 8 * 9
