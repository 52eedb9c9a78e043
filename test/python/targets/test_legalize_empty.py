# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sizes known to be 0: slices and borders of empty tensors begin at the tensor's end, where MLIR refuses reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
from compiling import array, built

import relax_mlir as rx
from relax_mlir import relax

Shape = tuple[int, ...]
IMAGES = ((0, 3, 8, 8), (2, 0, 8, 8))
CASES: list[tuple[str, list[Shape], Callable[..., Any], Shape]] = [
    ("conv1d", [(0, 3, 8), (4, 3, 3)], lambda x, w: relax.nn.conv1d(x, w, padding=1), (0, 4, 8)),
    ("conv2d", [(0, 3, 8, 8), (4, 3, 3, 3)], lambda x, w: relax.nn.conv2d(x, w, padding=1), (0, 4, 8, 8)),
    ("conv2d", [(2, 0, 8, 8), (4, 0, 3, 3)], lambda x, w: relax.nn.conv2d(x, w, padding=1), (2, 4, 8, 8)),
    ("conv2d", [(2, 3, 0, 8), (4, 3, 2, 3)], lambda x, w: relax.nn.conv2d(x, w, padding=1), (2, 4, 1, 8)),
    ("conv3d", [(0, 3, 4, 4, 4), (4, 3, 3, 3, 3)], lambda x, w: relax.nn.conv3d(x, w, padding=1), (0, 4, 4, 4, 4)),
    ("conv2d_transpose", [(0, 3, 8, 8), (3, 4, 3, 3)],
     lambda x, w: relax.nn.conv2d_transpose(x, w, padding=1), (0, 4, 8, 8)),
    ("max_pool2d", [(0, 3, 8, 8)], lambda x: relax.nn.max_pool2d(x, (2, 2), padding=1), (0, 3, 9, 9)),
    ("max_pool2d", [(2, 3, 0, 8)], lambda x: relax.nn.max_pool2d(x, (2, 2), padding=1), (2, 3, 1, 9)),
    ("avg_pool2d", [(2, 0, 8, 8)], lambda x: relax.nn.avg_pool2d(x, (2, 2), padding=1, ceil_mode=True), (2, 0, 9, 9)),
    ("grid_sample", [(0, 3, 8, 8), (0, 2, 5, 5)], lambda x, grid: relax.image.grid_sample(x, grid), (0, 3, 5, 5)),
    ("affine_grid", [(0, 2, 3)], lambda x: relax.image.affine_grid(x, (4, 5)), (0, 2, 4, 5)),
    ("pad", [(0, 3)], lambda x: relax.nn.pad(x, (1, 0, 1, 1)), (1, 5)),
    ("pad", [(3, 0)], lambda x: relax.nn.pad(x, (0, 0, 2, 1)), (3, 3)),
    ("concat", [(0, 3), (2, 3)], lambda x, y: relax.concat([x, y, x], axis=0), (2, 3)),
    ("strided_slice", [(0, 3)], lambda x: relax.strided_slice(x, [0, 1], [2, 1], [9, 3]), (0, 2)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "shapes", "body", "expected"), CASES, ids=lambda each: None if callable(each) else str(each)[:40]
)
def test_known_to_be_empty(name: str, shapes: list[Shape], body: Callable[..., Any], expected: Shape) -> None:
    """Compare with sizes that are 0 only at run time."""
    inputs = [numpy.ones(shape, "float32") for shape in shapes]
    result = array(built([rx.tensor(shape) for shape in shapes], body)["main"](*inputs))
    assert result.shape == expected, name
    symbolic = [tuple(f"n{axis}" if size == 0 else size for axis, size in enumerate(shape)) for shape in shapes]
    same = array(built([rx.tensor(shape) for shape in symbolic], body)["main"](*inputs))
    numpy.testing.assert_array_equal(result, same, err_msg=name)
