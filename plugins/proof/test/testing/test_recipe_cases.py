# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of recipes in relax-check: small quantized models of a recipe's layers."""

from __future__ import annotations

import numpy
import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.bindings.navigation import operations_named
from relax_mlir.passes.patterns.match import matches_of
from relax_mlir.patterns import is_op, quantized_linear, wildcard
from relax_mlir.recipes import Op
from relax_mlir_proof.testing.case_lists import all_cases
from relax_mlir_proof.testing.checking import subject_of
from relax_mlir_proof.testing.recipe_cases import _quantized_pattern


def test_cases_are_quantized_layers() -> None:
    cases = {case.name: case for case in all_cases(subject_of("llvm"), ["recipes"])}
    assert {"conv", "linear"} <= {case.subject for case in cases.values()}
    strided = cases["relax.nn.conv2d f32 by 2 padded constants quantized"].make(0)
    found = operations_named(strided.module.operation, "relax.quantize", "relax.dequantize")
    assert len(found) >= 3
    assert all(array.dtype == numpy.float32 for array in strided.calls[0])


def test_llvm_computes_recipe_cases() -> None:
    report = rx.testing.check("llvm", groups=["recipes"], only=["*conv2d f32*", "linear*relu*"], share=0.3)
    assert report.is_right and len(report.verdicts) > 5


def test_a_codegen_without_a_recipe_has_no_cases() -> None:
    assert all_cases(subject_of("vulkan"), ["recipes"]) == []


def test_a_bias_that_is_not_of_channels_stays_real() -> None:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((2, 5, 8), "f32")}) as f:
        (x,) = f
        product = relax.matmul(x, relax.const(numpy.ones((8, 6), "float32")))
        f.returns(relax.add(product, relax.const(numpy.ones((5, 6), "float32"))))
    quantized = rx.quantize(module, [numpy.ones((2, 5, 8), "float32")])
    assert [sorted(row.types) for row in quantized.report.rows] == [["w", "x"]]
    assert list(quantized.report.operators.values()) == ["relax.add"]


def test_results_that_may_be_real() -> None:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((2, 8), "f32")}) as f:
        (x,) = f
        f.returns(relax.matmul(x, relax.const(numpy.ones((8, 6), "float32"))))
    pattern = is_op("relax.matmul")(wildcard().named("x"), wildcard().named("w"))
    for may_be_real in (True, False):
        recipe = rx.Recipe(Op("linear", pattern=pattern, x="i8", w="i8 symmetric", may_be_real=may_be_real))
        (row,) = rx.quantize(module, [numpy.ones((2, 8), "float32")], recipe).report.rows
        assert ("y" in row.types) is not may_be_real


def test_patterns_of_quantized_layers_have_the_stated_types() -> None:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(("n", 8), "f32")}) as f:
        (x,) = f
        weights = numpy.arange(48, dtype="float32").reshape(8, 6) - 20
        f.returns(relax.matmul(relax.matmul(x, relax.const(weights)), relax.const(weights[:6])))
    ops = [
        Op("linear", pattern=quantized_linear(), x="i8", w=f"i8{each} symmetric", bias="i32 derived")
        for each in ("@channel", "")
    ]
    quantized = rx.quantize(module, [numpy.ones((64, 8), "float32")], rx.Recipe(ops[0])).module
    last = operations_named(quantized.operation, "relax.quantize")[1]
    assert [any(True for _ in matches_of(_quantized_pattern(op, op.pattern), last)) for op in ops] == [True, False]
