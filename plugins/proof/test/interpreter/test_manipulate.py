# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reshaping, permutation, joining and splitting, with sizes that are known at run time only."""

from __future__ import annotations

import numpy
import pytest
import relax_mlir as rx
from interpreted import meant
from relax_mlir import relax

X = numpy.arange(6, dtype="int16").reshape(2, 3)


def test_shapes() -> None:
    assert meant("reshape", X, ("m", "n"), symbols=[("n", "m")]).shape == (3, 2)
    assert meant("flatten", X, symbols=[("n", "m")]).tolist() == list(range(6))
    assert meant("expand_dims", X, axis=[0, -1], symbols=[("n", "m")]).shape == (1, 2, 3, 1)
    assert meant("squeeze", X[:1], axis=[0], symbols=[(1, "m")]).tolist() == [0, 1, 2]
    assert meant("broadcast_to", X[:, :1], (4, "n", 3), symbols=[("n", 1)]).shape == (4, 2, 3)
    assert meant("permute_dims", X).shape == (3, 2)


def test_broadcasts_undone() -> None:
    data = numpy.ones((2, 3, 4), "uint8") * 100
    assert meant("collapse_sum_to", data, (3, 1)).tolist() == [[800 % 256]] * 3
    assert meant("collapse_sum_like", data, numpy.zeros((1, 4)), symbols=[("a", "b", "c"), ("d", "c")]).tolist() == [
        [88] * 4
    ]
    with pytest.raises(ValueError, match=r"^relax.collapse_sum_like at .*: shape \(2, 4\) cannot be broadcast"):
        meant("collapse_sum_like", data, numpy.zeros((2, 4)), symbols=[("a", "b", "c"), ("d", "c")])


def test_copies() -> None:
    assert meant("repeat", X, repeats=2, axis=1).tolist()[0] == [0, 0, 1, 1, 2, 2]
    assert meant("repeat", X, repeats=2).shape == (12,)
    assert meant("tile", X, repeats=[2, 1, 2]).shape == (2, 2, 6)
    found = meant("layout_transform", X, index_map=lambda n, c: (n, c // 2, c % 2), pad_value=9)
    assert found.tolist() == [[[0, 1], [2, 9]], [[3, 4], [5, 9]]]


def test_several_tensors() -> None:
    x = numpy.arange(5)
    assert [part.tolist() for part in meant("split", x, indices_or_sections=4, symbols=[("n",)])] == [
        [0, 1],
        [2, 3],
        [4],
        [],
    ]
    assert [part.tolist() for part in meant("split", x, indices_or_sections=[1, 9], symbols=[("n",)])] == [
        [0], [1, 2, 3, 4], [],
    ]  # fmt: skip
    assert meant("concat", X, X, axis=-1).shape == (2, 6)
    assert meant("stack", X, X, axis=-1).shape == (2, 3, 2)
    assert [grid.shape for grid in meant("meshgrid", x, x[:2], indexing="xy")] == [(2, 5)] * 2


def test_symbols_are_learnt_and_checked() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor(None, "float32")]) as f:
        x = relax.match_cast(next(iter(f)), rx.tensor(("n", "m"), "float32"))
        f.returns(relax.reshape(x, ("m * 2", "n // 2")), relax.prim_value("n + m"))
    reference = rx.reference(module)["main"]
    found, number = reference(numpy.zeros((4, 3), "float32"))
    assert (found.shape, number) == ((6, 2), 7)
    with pytest.raises(ValueError, match=r"relax.match_cast at .*: its result has 1 dimensions, not 2"):
        reference(numpy.zeros(4, "float32"))
