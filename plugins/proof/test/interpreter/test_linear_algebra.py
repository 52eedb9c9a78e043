# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products: types of their sums, vectors, booleans, empty operands."""

from __future__ import annotations

import ml_dtypes
import numpy
from interpreted import meant

BYTES = numpy.array([[100, 100], [-128, 127]], "int8")


def test_integers() -> None:
    assert meant("matmul", BYTES, BYTES).tolist() == (BYTES.astype(int) @ BYTES).astype("int8").tolist()
    assert meant("matmul", BYTES, BYTES, out_dtype="int32").tolist() == (BYTES.astype(int) @ BYTES).tolist()
    assert meant("matmul", BYTES, BYTES.astype("uint8"), out_dtype="float32").dtype == "float32"
    assert meant("outer", BYTES[0], BYTES[1]).tolist() == [[0, -100], [0, -100]]


def test_shapes() -> None:
    x = numpy.ones((2, 1, 3, 0), "float16")
    assert meant("matmul", x, numpy.ones((4, 0, 5), "float16")).tolist() == numpy.zeros((2, 4, 3, 5)).tolist()
    assert meant("matmul", BYTES[0], BYTES[1]).shape == ()
    assert meant("matmul", BYTES, BYTES[1]).shape == (2,)
    assert meant("einsum", [numpy.ones((2, 3, 3)), numpy.ones((3, 4))], subscripts="...aa,aj->j...").shape == (4, 2)


def test_small_floats_are_added_up_wide() -> None:
    x = numpy.full(512, 1, ml_dtypes.bfloat16)
    assert float(meant("matmul", x, x)) == 512
    ones = numpy.full(3000, 1, "float16")
    assert float(meant("einsum", [ones], subscripts="i->")) == 3000


def test_booleans() -> None:
    x = numpy.array([[True, False], [False, False]])
    assert meant("matmul", x, ~x).tolist() == [[False, True], [False, False]]
    assert meant("einsum", x, x, subscripts="ij,ij->i").tolist() == [True, False]
