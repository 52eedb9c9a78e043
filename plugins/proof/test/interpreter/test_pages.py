# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Paged attention and appended rows in the reference, by their definitions."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from interpreted import meant
from paged_sequences import NAMES, Sequences


def reference(given: Sequences, **attributes: Any) -> Any:
    return meant("paged_attention", *(given.arrays.get(name) for name in NAMES), **attributes)


@pytest.mark.parametrize(
    ("sizes", "attributes"),
    [
        ({}, {}),
        ({"places": 3, "width": 5}, {"scale": 0.5, "window_size": 2}),
        ({"pages_dtype": "int8"}, {"softcap": 0.5}),
        ({"has_sinks": True, "heads": 6, "shared": 1}, {}),
    ],
    ids=str,
)
def test_attention_by_its_definition(sizes: Any, attributes: Any) -> None:
    given = Sequences([7, 1, 5], **sizes)
    given.arrays["lengths"][3] = 0
    found = reference(given, **attributes)
    numpy.testing.assert_allclose(found, given.expected(**attributes), rtol=1e-5, atol=1e-6)
    assert not found[3].any()


def test_a_large_sink_takes_all_weight() -> None:
    given = Sequences([4], has_sinks=True)
    given.arrays["sinks"][:] = 60
    assert abs(reference(given)).max() < 1e-20
    given.arrays["sinks"][:] = -numpy.inf
    found = reference(given)
    del given.arrays["sinks"]
    numpy.testing.assert_array_equal(found, reference(given))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [("sequences", 2, "sequence 2"), ("lengths", 9, "length 9"), ("lengths", -1, "length -1"), ("table", 6, "page 6")],
)
def test_indices_out_of_range(name: str, value: int, message: str) -> None:
    given = Sequences([7, 5])
    given.arrays[name].flat[0] = value
    with pytest.raises(Exception, match=f"{message}.* is out of range"):
        reference(given)


def test_appended_rows() -> None:
    pages, rows = numpy.zeros((3, 2, 1, 2), "float32"), numpy.array([[[1, 2]], [[3, 4]], [[-5, 2.5]]], "float32")
    found = meant("append_pages", pages, rows, numpy.array([5, -1, 0], "int32"))
    assert found.reshape(6, 2).tolist() == [[-5, 2.5], [0, 0], [0, 0], [0, 0], [0, 0], [1, 2]]
    with pytest.raises(Exception, match="slot 6 is out of range: the pages have 6 places"):
        meant("append_pages", pages, rows, numpy.array([5, 6, 0], "int32"))


def test_quantized_rows() -> None:
    codes, scales = numpy.zeros((1, 2, 2, 2), "int8"), numpy.zeros((1, 2, 2), "float32")
    rows = numpy.array([[[1, -2], [0, 0]]], "float32")
    found, steps = meant("append_pages_quantized", codes, scales, rows, numpy.array([1], "int32"))
    assert found.tolist() == [[[[0, 0], [0, 0]], [[64, -127], [0, 0]]]]
    numpy.testing.assert_array_equal(steps, numpy.array([[[0, 0], [2 / 127, 0]]], "float32"))
