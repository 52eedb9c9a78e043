# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Element types by ONNX's numbers, compared with package onnx."""

from __future__ import annotations

import pytest
from onnx import TensorProto, helper
from relax_mlir.dialects.core.infos import tensor
from relax_mlir.frontends.onnx.tensor_data import dtype_of, number_of
from relax_mlir.support.errors import RelaxError

_NO_NUMBERS = {"UNDEFINED", "STRING", "COMPLEX64", "COMPLEX128"}
_TOO_NEW = {"FLOAT6E2M3", "FLOAT6E3M2"}


@pytest.mark.parametrize(("name", "number"), TensorProto.DataType.items())
def test_numbers(name: str, number: int) -> None:
    if name in _TOO_NEW:
        with pytest.raises(RelaxError, match=f"elements of type #{number} cannot be compiled"):
            dtype_of(number)
        return
    if name in _NO_NUMBERS:
        with pytest.raises(RelaxError, match=f"elements of type {name.lower()} cannot be compiled"):
            dtype_of(number)
        return
    assert dtype_of(number) == tensor((), helper.tensor_dtype_to_np_dtype(number)).dtype
    assert number_of(dtype_of(number)) == number


def test_a_number_that_does_not_exist() -> None:
    with pytest.raises(RelaxError, match="elements of type #99 cannot be compiled"):
        dtype_of(99)
