# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arithmetic with a constant 0.0 keeps NaNs, infinities and signs, on drivers that simplify it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from real_devices import KINDS, compiled, skip_without_type
from relax_mlir import relax

ZEROS = (0.0, -0.0)
OPERATIONS: tuple[tuple[Callable[..., Any], Callable[..., Any]], ...] = (
    (relax.add, numpy.add),
    (relax.subtract, numpy.subtract),
    (relax.multiply, numpy.multiply),
    (relax.divide, numpy.divide),
)


def both_ways(operation: Callable[..., Any], x: Any, zero: Any) -> list[Any]:
    return [operation(x, zero), operation(zero, x)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_arithmetic_with_zero(kind: str, dtype: str) -> None:
    skip_without_type(kind, dtype)
    module, scalar, size = rx.Module(), numpy.dtype(dtype).type, 2100  # several blocks of threads
    with module.function("main", [rx.tensor((size,), dtype)]) as f:
        (x,) = f
        made = [both_ways(each, x, relax.const(scalar(zero))) for zero in ZEROS for each, _ in OPERATIONS]
        f.returns(*(each for pair in made for each in pair))
    x = numpy.resize(numpy.array([0.0, -0.0, 1.5, -1.5, numpy.inf, -numpy.inf, numpy.nan], dtype), size)
    with numpy.errstate(all="ignore"):
        pairs = [both_ways(each, x, scalar(zero)) for zero in ZEROS for _, each in OPERATIONS]
    results = compiled(kind, module).copying()["main"](x)
    for found, expected in zip(results, [each for pair in pairs for each in pair], strict=True):
        numpy.testing.assert_array_equal(numpy.asarray(found), expected)
        is_number = ~numpy.isnan(expected)
        assert (numpy.signbit(numpy.asarray(found)) == numpy.signbit(expected))[is_number].all()
