# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Factorizations and triangular systems, beside numpy."""

from __future__ import annotations

import numpy
import pytest
from hlo_oracle import called

T = "tensor<2x3x3xf32>"


def _matrices() -> numpy.ndarray:
    x = numpy.random.default_rng(0).normal(size=(2, 3, 3)).astype("float32")
    return x @ x.transpose(0, 2, 1) + numpy.eye(3, dtype="float32")


def _of_one(operation: str) -> str:
    return f"func.func @main(%x: {T}) -> {T} {{\n  %r = {operation} : {T}\n  return %r : {T}\n}}"


@pytest.mark.parametrize("is_lower", [True, False])
def test_cholesky(is_lower: bool) -> None:
    """Return NaN for a matrix that is not positive definite."""
    a = _matrices()
    lower = numpy.linalg.cholesky(a)
    lower[1], a[1] = numpy.tril(numpy.full((3, 3), numpy.nan)), -numpy.eye(3)
    (made,) = called(_of_one(f"stablehlo.cholesky %x, lower = {str(is_lower).lower()}"), [a])
    numpy.testing.assert_allclose(made, lower if is_lower else lower.transpose(0, 2, 1), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("is_left", [True, False])
@pytest.mark.parametrize("is_lower", [True, False])
@pytest.mark.parametrize("transposed", ["NO_TRANSPOSE", "TRANSPOSE"])
def test_triangular_solve(is_left: bool, is_lower: bool, transposed: str) -> None:
    a, b = _matrices(), numpy.random.default_rng(1).normal(size=(2, 3, 3)).astype("float32")
    text = f"""func.func @main(%a: {T}, %b: {T}) -> {T} {{
  %r = "stablehlo.triangular_solve"(%a, %b) <{{left_side = {str(is_left).lower()}, lower = {str(is_lower).lower()},
    unit_diagonal = false, transpose_a = #stablehlo<transpose {transposed}>}}> : ({T}, {T}) -> {T}
  return %r : {T}
}}"""
    (made,) = called(text, [a, b])
    factor = numpy.tril(a) if is_lower else numpy.triu(a)
    factor = factor.transpose(0, 2, 1) if transposed == "TRANSPOSE" else factor
    numpy.testing.assert_allclose(factor @ made if is_left else made @ factor, b, rtol=1e-4, atol=1e-4)
