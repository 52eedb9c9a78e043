# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elements read and written at indices: from the end, outside, several times."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from interpreted import meant

X = numpy.arange(12, dtype="float32").reshape(3, 4)


@pytest.mark.parametrize(
    "mode, expected", [("fast", [3, 2, 0]), ("clip", [0, 2, 0]), ("wrap", [3, 2, 0]), ("nan", [numpy.nan, 2, 0])]
)
def test_take(mode: str, expected: list[float]) -> None:
    found = meant("take", X, numpy.array([-1, 2, 0], "int8"), axis=1, mode=mode)
    numpy.testing.assert_array_equal(found[0], expected)


def test_take_outside() -> None:
    far = numpy.array([2**64 - 1], "uint64")
    with pytest.raises(IndexError, match=r"relax.take at .*: index 18446744073709551615 is out of range for axis 0"):
        meant("take", X, far)
    assert meant("take", X, far, mode="wrap").tolist() == [(2**64 - 1) % 12]
    assert meant("take", X, far, mode="clip").tolist() == [11]
    assert meant("take", X, numpy.int64(-1), axis=0).tolist() == [8, 9, 10, 11]
    with pytest.raises(IndexError, match="cannot take elements along axis 0, which has none"):
        meant("take", numpy.ones((0, 2)), numpy.array([0]), axis=0, mode="clip", symbols=[("n", 2), (1,)])


def test_slices() -> None:
    assert meant(
        "strided_slice", X, axes=[1, 0], begin=["n - 3", 0], end=[2**63 - 1, -1], symbols=[("m", "n")]
    ).shape == (2, 3)
    assert meant("strided_slice", X, axes=[1], begin=[-1], end=[-9], strides=[-3]).tolist()[0] == [3, 0]
    ints = [numpy.array(each) for each in ([0, -1], [2, -9], [1, -2])]
    assert meant("dynamic_strided_slice", X, *ints).tolist() == [[3, 1], [7, 5]]
    with pytest.raises(ValueError, match="the stride of axis 1 is 0"):
        meant("dynamic_strided_slice", X, *ints[:2], numpy.array([1, 0]))


def test_gathered() -> None:
    indices = numpy.array([[0, -1], [1, 0]])
    assert meant("gather_elements", X, indices, axis=0).tolist() == [[0, 9], [4, 1]]
    assert meant("gather_nd", X, indices).tolist() == [3, 4]
    assert meant("gather_nd", X[:2], indices[..., None], batch_dims=1).tolist() == [[0, 3], [5, 4]]
    assert meant("index_tensor", X, [indices, numpy.array([2, 1])]).tolist() == [[2, 9], [6, 1]]
    with pytest.raises(IndexError, match="index 4 is out of range for axis 1 of size 4"):
        meant("gather_elements", X, indices + 4, axis=1)


def test_reversed_sequences() -> None:
    found = meant("reverse_sequence", X, numpy.array([0, 1, 3, 2]), seq_axis=0, batch_axis=1)
    assert found.T.tolist() == [[0, 4, 8], [1, 5, 9], [10, 6, 2], [7, 3, 11]]
    with pytest.raises(ValueError, match="length 4 is larger than the sequence, which has 3"):
        meant("reverse_sequence", X, numpy.array([4, 0, 0, 0]), seq_axis=0, batch_axis=1)


@pytest.mark.parametrize(
    "reduction, expected", [("update", 3), ("add", 16), ("mul", 60), ("max", 10), ("min", 1), ("mean", 4)]
)
def test_written_several_times(reduction: str, expected: int) -> None:
    """Write 2, 1 and 3 to the same place, which holds 10."""
    data = numpy.array([[10, 7]], "int16")
    indices, updates = numpy.array([[0, -2, 0]]), numpy.array([[2, 1, 3]], "int16")
    found = meant("scatter_elements", data, indices, updates, axis=1, reduction=reduction)
    assert found.tolist() == [[expected, 7]]
    if reduction != "mean":
        places = indices.reshape(3, 1)
        found = meant("scatter_nd", data[0], places, updates[0], reduction=reduction)
        assert found.tolist() == [expected, 7]


def test_written_slices() -> None:
    values = numpy.array([[1.0], [2.0]], "float32")
    found = meant("index_put", X, [numpy.array([[0, -1], [0, 0]])], values, accumulate=True)
    assert found[[0, 2]].tolist() == [[4, 5, 6, 7], [10, 11, 12, 13]]
    found = meant("index_put", X, [numpy.array([0, 0]), numpy.array([1, 1])], values[:, 0])
    assert found[0].tolist() == [0, 2, 2, 3]
    assert meant("scatter_nd", X, numpy.zeros((1, 0), "int64"), X[None] * 2).tolist() == (X * 2).tolist()
    found = meant("slice_scatter", X, X[:, :2] * 0 - 1, 0, 4, 2, axis=1)
    assert found[0].tolist() == [-1, 1, -1, 3]
    with pytest.raises(ValueError, match="the step of the slice must be positive, got 0"):
        meant("slice_scatter", X, X[:, :2], 0, 4, numpy.int64(0), axis=1)


def test_booleans_come_together() -> None:
    data: Any = numpy.array([False, True])
    updates = numpy.array([True, False])
    for reduction, expected in (("add", [True, True]), ("mul", [False, False]), ("max", [True, True])):
        found = meant("scatter_elements", data, numpy.array([0, 1]), updates, reduction=reduction)
        assert found.tolist() == expected
