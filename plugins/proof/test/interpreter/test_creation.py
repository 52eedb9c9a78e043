# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors made from shapes and numbers, some of which are known at run time only."""

from __future__ import annotations

import numpy
import pytest
from interpreted import meant


@pytest.mark.parametrize("dtype", ["bool", "int4", "uint8", "float16", "bfloat16", "float64"])
def test_every_element_type(dtype: str) -> None:
    assert meant("ones", (2,), dtype=dtype).astype(float).tolist() == [1, 1]
    assert meant("zeros", (), dtype=dtype).astype(float).tolist() == 0
    assert meant("eye", 2, 3, 1, dtype=dtype).astype(float).tolist() == [[0, 1, 0], [0, 0, 1]]
    assert meant("arange", 0, 4, 3, dtype=dtype if dtype != "bool" else "int8").astype(float).tolist() == [0, 3]


def test_filled() -> None:
    x = numpy.zeros((2, 0), "int8")
    assert meant("full_like", x, numpy.array(2.7), symbols=[("n", "m"), ()]).dtype == "int8"
    assert meant("full", (2,), numpy.array(-2.7), dtype="int8").tolist() == [-2, -2]
    assert meant("ones_like", x, dtype="float32").shape == (2, 0)
    assert meant("eye_like", numpy.ones((2, 2), "int32"), numpy.int64(-1)).tolist() == [[0, 0], [1, 0]]


def test_ranges() -> None:
    assert meant("arange", numpy.int64(5), numpy.int64(-2), numpy.int64(-3)).tolist() == [5, 2, -1]
    assert meant("arange", -(2**63), 2**63 - 1, 2**62).tolist() == [-(2**63), -(2**62), 0, 2**62]
    assert meant("arange", 0.0, 1.0, 0.3).tolist() == numpy.float32([0, 0.3, 0.6, 0.9]).tolist()
    assert meant("arange", 0, 1, 0.4, dtype="int8").tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match="the step must not be zero"):
        meant("arange", 0, 1, numpy.int64(0))
    with pytest.raises(ValueError, match="the steps lead nowhere"):
        meant("arange", 0.0, numpy.float64(numpy.inf), 1.0)


def test_triangles_and_windows() -> None:
    x = numpy.arange(1, 7, dtype="uint8").reshape(2, 3)
    assert meant("tril", x, numpy.int64(0)).tolist() == [[1, 0, 0], [4, 5, 0]]
    assert meant("triu", x, 1).tolist() == [[0, 2, 3], [0, 0, 6]]
    found = meant("one_hot", numpy.array([1, -1, 9], "int8"), 5, 2, depth=2, axis=0)
    assert found.tolist() == [[2, 2, 2], [5, 2, 2]]
    assert meant("hamming_window", 1, False, 0.54, 0.46, dtype="float32").tolist() == [1]
    numpy.testing.assert_allclose(meant("hamming_window", numpy.int64(3), False, 0.5, 0.5, dtype="float64"), [0, 1, 0])
