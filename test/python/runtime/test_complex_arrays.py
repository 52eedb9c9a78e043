# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays of complex numbers are views of pairs, without torch."""

from __future__ import annotations

import numpy
import pytest
from relax_mlir.runtime.arrays import tensor
from relax_mlir.runtime.complex_arrays import in_pairs, of_pairs


@pytest.mark.parametrize("shape", [(), (3,), (0, 2), (4, 3)])
@pytest.mark.parametrize(("dtype", "part"), [("complex64", "float32"), ("complex128", "float64")])
def test_pairs_and_back_are_of_the_same_memory(shape: tuple[int, ...], dtype: str, part: str) -> None:
    array = (numpy.arange(numpy.prod(shape, dtype=int)) * (1 - 2j)).astype(dtype).reshape(shape)
    pairs = in_pairs(array, part, "x")
    assert pairs.dtype == part and pairs.shape == (*shape, 2)
    numpy.testing.assert_array_equal(pairs[..., 1], array.imag)
    again = of_pairs(pairs)
    assert again.dtype == dtype and (not array.size or numpy.shares_memory(again, array))
    numpy.testing.assert_array_equal(again, array)


def test_pairs_of_strided_arrays_are_no_copies() -> None:
    array = numpy.arange(12).reshape(3, 4) * 1j
    array.flags.writeable = False
    for view in (array.T, array[::2, ::-1]):
        pairs = in_pairs(view, "float64", "x")
        assert numpy.shares_memory(pairs, array) and not pairs.flags.writeable
        numpy.testing.assert_array_equal(pairs[..., 1], view.imag)


def test_numbers_and_lists() -> None:
    assert in_pairs(2 - 1j, "float32", "x").tolist() == [2, -1]
    assert in_pairs([1, 2j], "float64", "x").tolist() == [[1, 0], [0, 2]]


def test_tensors_of_tvm_ffi_are_pairs() -> None:
    pairs = tensor(numpy.array([[1, 2], [3, 4]], "float32"))
    assert in_pairs(pairs, "float32", "x") is pairs
    assert of_pairs(pairs).tolist() == [1 + 2j, 3 + 4j]
    assert of_pairs(tensor(numpy.array([1, 2], "float16"))) == numpy.complex64(1 + 2j)


@pytest.mark.parametrize("dtype", ["complex128", "float32"])
def test_other_types_are_refused(dtype: str) -> None:
    with pytest.raises(TypeError, match=f"x expected dtype complex64, got {dtype}"):
        in_pairs(numpy.ones(2, dtype), "float32", "x")
