# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tir-split-reductions: sums of parts are the sum, with the same bits by any number of threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import relax_mlir as rx
from relax_mlir import relax

TARGET = "llvm{cores=4}"


def in_parts(module: rx.Module) -> bool:
    return "tensor.insert_slice" in str(rx.lower(module, TARGET, pipeline=rx.stages(TARGET).until("plan")))


def results(module: rx.Module, *arrays: Any) -> Any:
    """Return the results, which must be equal for any number of threads."""
    program, found = rx.compile(module, TARGET), []
    for program.threads in (1, 2, 5):
        found.append(numpy.from_dlpack(program["main"](*arrays)))
    assert len({each.tobytes() for each in found}) == 1
    return found[0]


def one(op: Callable[..., Any], *shapes: Any, dtype: str = "f32", **attributes: Any) -> rx.Module:
    module = rx.Module()
    with module.function("main", [rx.tensor(shape, dtype) for shape in shapes]) as f:
        f.returns(op(*f, **attributes))
    return module


def of_doubles(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, **axis: function(x.astype("f8"), **axis)


@pytest.mark.parametrize(
    ("op", "expected", "shape"),
    [
        (relax.sum, of_doubles(numpy.sum), (1001, 1003)),  # parts of which the last is smaller
        (relax.sum, of_doubles(numpy.sum), (3, 900_001)),  # the outermost loop is too short
        (relax.max, numpy.max, (40, 50, 640)),
        (relax.variance, of_doubles(numpy.var), (960, 1000)),
    ],
    ids=["sum", "short", "max", "variance"],
)
def test_of_all_elements(op: Any, expected: Any, shape: Any) -> None:
    module = one(op, shape)
    assert in_parts(module)
    x = (1 + 1e-3 * numpy.random.default_rng(2).normal(size=shape)).astype("f4")
    numpy.testing.assert_allclose(results(module, x), expected(x), rtol=2e-6)


def test_the_first_of_the_largest() -> None:
    """Count positions from the first element of all."""
    module = one(relax.argmax, (1_500_000,))
    text = str(rx.lower(module, TARGET, pipeline=rx.stages(TARGET).until("plan")))
    assert text.count("tensor.insert_slice") == 2
    x = numpy.zeros(1_500_000, "f4")
    x[[700_000, 900_000, 900_001, 1_400_000]] = [1, 3, 3, 3]
    assert results(module, x) == 900_000


def test_two_results() -> None:
    module = one(relax.sum, (2, 1000, 1000), axis=[1, 2])
    assert in_parts(module)
    x = numpy.random.default_rng(2).normal(size=(2, 1000, 1000)).astype("f4")
    numpy.testing.assert_allclose(results(module, x), x.astype("f8").sum((1, 2)), rtol=1e-6)


def test_integers_overflow_as_they_do() -> None:
    module = one(relax.sum, (1_500_000,), dtype="i32")
    assert in_parts(module)
    x = numpy.random.default_rng(2).integers(-(2**31), 2**31, 1_500_000).astype("i4")
    numpy.testing.assert_array_equal(results(module, x), x.sum(dtype="i4"))


@pytest.mark.parametrize(
    "module",
    [one(relax.sum, (100, 100)), one(relax.sum, (1000, 1000), axis=[1]), one(relax.sum, ("n", 1000))],
    ids=["little", "many", "unknown"],
)
def test_what_stays_whole(module: rx.Module) -> None:
    assert not in_parts(module)
