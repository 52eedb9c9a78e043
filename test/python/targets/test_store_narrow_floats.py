# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that move bf16 call nothing of compiler-rt on any CPU; against numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy
import pytest
from compiling import built

import relax_mlir as rx
from relax_mlir import relax

BOUNDS = numpy.array([10, 20, 30, 70], ml_dtypes.bfloat16)


def shuffled(x: Any) -> Any:
    """Transpose squares of vectors."""
    return relax.einsum([x], subscripts="abc->cab")


def gathered(x: Any) -> Any:
    """Gather elements that are not adjacent into vectors one by one."""
    return relax.strided_slice(x, axes=[0], begin=[1], end=[2**63 - 1], strides=[3])


def kept(x: Any) -> Any:
    """Compare one element with the boundaries in a loop."""
    return relax.bucketize(x, relax.const(BOUNDS))


@pytest.mark.parametrize(
    ("body", "reference", "shape", "level"),
    [
        (shuffled, lambda x: x.transpose(2, 0, 1), (3, 20, 37), 1),
        (gathered, lambda x: x[1::3], (500,), 0),
        (kept, lambda x: numpy.searchsorted(BOUNDS.astype("float32"), x.astype("float32")), (7, 5), 0),
    ],
    ids=lambda each: getattr(each, "__name__", None),
)
def test_bf16_of_symbolic_sizes(
    body: Callable[..., Any], reference: Callable[..., Any], shape: tuple[int, ...], level: int
) -> None:
    """Move elements unchanged, including signalling NaNs: nothing is widened on the way."""
    compiled = built([rx.tensor(("a", "b", "c")[: len(shape)], "bf16")], body, opt_level=level, cache=False)
    x = numpy.random.default_rng(5).integers(0, 100, shape).astype(ml_dtypes.bfloat16)
    if body is gathered:
        x.view("uint16").reshape(-1)[:9] = 0x7F81
    found = rx.runtime.to_numpy(compiled["main"](rx.runtime.tensor(x)))
    expected = reference(x)
    assert found.shape == expected.shape
    numpy.testing.assert_array_equal(*(each.copy().view(f"uint{8 * each.itemsize}") for each in (found, expected)))
