# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arguments of rx.tensor: accepted values, and refusals at the line of the call."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy
import pytest
from relax_mlir.dialects.core.infos import DTYPE_BY_NAME, FLOAT_TYPES, TensorInfo, bit_width, tensor
from relax_mlir.dialects.core.symbols import sym
from relax_mlir.support.errors import RelaxError


def test_sizes_are_numbers_symbols_or_unknown() -> None:
    assert tensor((numpy.int64(3), "n", sym("m"), None, "2*4")) == TensorInfo((3, sym("n"), sym("m"), None, 8), "f32")
    assert tensor(None, "bool") == TensorInfo(None, "i1")
    assert tensor([0]).shape == (0,)


@pytest.mark.parametrize("dtype", [*DTYPE_BY_NAME, *sorted(FLOAT_TYPES), "index", "i17", "complex<f32>"])
def test_every_element_type_is_taken_by_name(dtype: str) -> None:
    assert tensor((), dtype).dtype == DTYPE_BY_NAME.get(dtype, dtype)


@pytest.mark.parametrize(
    ("dtype", "bits"), [("index", 64), ("f8E4M3FN", 8), ("bf16", 16), ("tf32", 32), ("ui4", 4), ("complex<f64>", 128)]
)
def test_bits_of_element_types(dtype: str, bits: int) -> None:
    assert bit_width(dtype) == bits


@pytest.mark.parametrize("dtype", ["vector<4xf32>", "si32", "complex<f16>", "none", "!llvm.ptr"])
def test_bit_width_refuses_unknown_types(dtype: str) -> None:
    with pytest.raises(RelaxError, match="is not an element type"):
        bit_width(dtype)


def test_element_types_of_numpy_are_taken() -> None:
    dtypes = [numpy.float16, numpy.dtype("uint8"), ml_dtypes.bfloat16, numpy.bool_]
    assert [tensor((), dtype).dtype for dtype in dtypes] == ["f16", "ui8", "bf16", "i1"]


@pytest.mark.parametrize(
    ("dtype", "message"),
    [("float33", "'float33' is not an element type; did you mean 'float32'"), (5, "5 is not an element type")],
)
def test_other_element_types_are_refused(dtype: Any, message: str) -> None:
    with pytest.raises(RelaxError, match=message):
        tensor((2,), dtype)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((2, -1), "dimension 1 cannot be -1"),
        (("3 - 5",), "dimension 0 cannot be 3 - 5"),
        ((2**63,), "dimension 0 cannot be 9223372036854775808"),
        ((2.0,), "dimension 0 must be an integer, a symbol or None, got float 2.0"),
        ((True,), "got bool True"),
        (("n +",), "dimension 0 .'n .'.: column 4"),
        (5, "a shape is a tuple of sizes, got 5"),
        ("n", "a shape is a tuple of sizes, got 'n'"),
    ],
)
def test_invalid_sizes_are_refused(shape: Any, message: str) -> None:
    with pytest.raises(RelaxError, match=message):
        tensor(shape)
