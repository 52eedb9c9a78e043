# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random numbers: their distributions. (Bits: StableHLO's own test data.)"""

from __future__ import annotations

import numpy
import pytest
import relax_mlir as rx
from hlo_oracle import array_of
from relax_mlir.runtime.arrays import to_numpy


def _drawn(dtype: str, first: str, second: str, distribution: str) -> list[numpy.ndarray]:
    """Two calls of one program."""
    one, shape = f"tensor<{dtype}>", "tensor<64x32>".replace(">", f"x{dtype}>")
    text = f"""
    func.func @main(%first: {one}, %second: {one}) -> {shape} {{
      %shape = stablehlo.constant dense<[64, 32]> : tensor<2xi64>
      %0 = stablehlo.rng %first, %second, %shape, distribution = {distribution}
          : ({one}, {one}, tensor<2xi64>) -> {shape}
      return %0 : {shape}
    }}"""
    program = rx.compile(rx.from_stablehlo(text), opt_level=1, jobs=1)["main"]
    given = [numpy.array(each, array_of(one).dtype) for each in (float(first), float(second))]
    return [to_numpy(program(*given)).astype("float64") for _ in range(2)]


@pytest.mark.parametrize(("dtype", "low", "high"), [("f32", "0.5", "1.5"), ("f16", "0.0", "1.0"), ("i32", "-2", "5")])
def test_uniform(dtype: str, low: str, high: str) -> None:
    one, other = _drawn(dtype, low, high, "UNIFORM")
    assert not numpy.array_equal(one, other)
    assert one.min() >= float(low) and one.max() < float(high)
    middle = (float(low) + float(high) - (dtype == "i32")) / 2
    numpy.testing.assert_allclose(one.mean(), middle, atol=0.05 * (float(high) - float(low)))


def test_normal() -> None:
    one, other = _drawn("f32", "3.0", "2.0", "NORMAL")
    assert not numpy.array_equal(one, other)
    numpy.testing.assert_allclose([one.mean(), one.std()], [3.0, 2.0], rtol=0.1)
