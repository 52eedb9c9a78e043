# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arguments that grow in place: existing rows are copied to the device, and new rows back, nothing else."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import relax_mlir as rx
from decoding_model import HEADS, SIZE, WIDTH, expected, growing
from real_webgpu import skip_without


@pytest.fixture(autouse=True)
def _device() -> None:
    skip_without()


RANDOM = numpy.random.default_rng(12)


def _empty(dtype: str = "float32") -> Any:
    return numpy.empty((2, HEADS, 0, SIZE), dtype)


def _x(new: int) -> Any:
    return RANDOM.standard_normal((2, new, WIDTH), "float32")


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_calls_go_on_where_others_have_ended(dtype: str) -> None:
    """Three numbers of 16 bits are a row: it begins in the middle of a word."""
    main = rx.compile(growing(dtype), "webgpu", donate=["keys", "values"])["main"]
    cache, keys, values = main.cache(room=3), _empty(dtype), _empty(dtype)
    for new in (5, 1, 1, 70, 1):
        x = _x(new)
        wanted, keys, values = expected(x, keys, values)
        numpy.testing.assert_allclose(main(x, cache), wanted, rtol=2e-3 if dtype == "float16" else 1e-4, atol=1e-3)
        numpy.testing.assert_allclose(cache["keys"], keys, rtol=2e-3, atol=2e-3)
        numpy.testing.assert_allclose(cache["values"], values, rtol=2e-3, atol=2e-3)
    cache.length = 4
    x = _x(2)
    wanted, keys, _ = expected(x, keys[:, :, :4], values[:, :, :4])
    numpy.testing.assert_allclose(main(x, cache), wanted, rtol=2e-3, atol=1e-3)
    numpy.testing.assert_allclose(cache["keys"], keys, rtol=2e-3, atol=2e-3)


def test_arrays_in_the_place_of_a_cache() -> None:
    main = rx.compile(growing(), "webgpu", donate=["keys", "values"])["main"]
    x, keys, values = _x(3), *RANDOM.standard_normal((2, 2, HEADS, 4, SIZE), "float32")
    kept = keys.copy()
    for found, wanted in zip(main(x, keys, values), expected(x, keys, values), strict=True):
        numpy.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)
    numpy.testing.assert_array_equal(keys, kept)


def test_buffers_of_the_function_below() -> None:
    """Keep the buffer after the new rows. Without room nothing is written."""
    main = rx.compile(growing(), "webgpu", donate=["keys", "values"])["main"]
    buffers = [numpy.full((2, HEADS, 6, SIZE), 7, "float32") for _ in range(2)]
    x = _x(4)
    _, keys, values = expected(x, _empty(), _empty())
    main.packed(x, *buffers, numpy.empty((0, 0), "int8"))
    for buffer, wanted in zip(buffers, (keys, values), strict=True):
        numpy.testing.assert_allclose(buffer[:, :, :4], wanted, rtol=1e-4, atol=1e-4)
        numpy.testing.assert_array_equal(buffer[:, :, 4:], 7)
    before = [each.copy() for each in buffers]
    with pytest.raises(ValueError, match="room"):
        main.packed(x, *buffers, numpy.empty((4, 0), "int8"))
    numpy.testing.assert_array_equal(buffers, before)
