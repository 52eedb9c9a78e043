# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops over several unknown sizes become one: a batch of few rows each is as fast as many rows."""

from __future__ import annotations

import numpy
import pytest
from compiling import array, built, floats

import relax_mlir as rx
from relax_mlir import relax


def _product(x, w, bias):
    return relax.add(relax.matmul(x, w), bias)


INPUTS = [rx.tensor(("batch", "rows", 24)), rx.tensor((24, 40)), rx.tensor((40,))]


def _bufferized() -> str:
    module = rx.Module()
    with module.function("main", INPUTS) as f:
        f.returns(_product(*f))
    return str(rx.lower(module, pipeline=rx.stages().until("bufferize")))


def test_joined_once_and_not_copied() -> None:
    text = _bufferized()
    kernel = text[text.index("func.func private @fused_matmul_add") :]
    assert kernel.count("memref.collapse_shape %arg0 [[0, 1], [2]]") == 1
    # The result is written in its final place: nothing of its size is allocated or copied.
    assert "memref.copy" not in kernel
    assert "linalg.generic" not in kernel
    assert "memref.alloc(%" not in kernel


@pytest.mark.parametrize("sizes", [(1, 1), (3, 1), (1, 7), (5, 3), (0, 4), (4, 0), (17, 2)])
def test_all_sizes(sizes: tuple[int, int]) -> None:
    executable = built(INPUTS, _product)
    x, w, bias = floats(*sizes, 24), floats(24, 40, seed=6), floats(40, seed=7)
    expected = numpy.matmul(x, w) + bias
    numpy.testing.assert_allclose(array(executable["main"](x, w, bias)), expected, rtol=1e-5, atol=1e-5)
