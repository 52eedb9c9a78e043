# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention: masks, heads that serve several queries, caches, concatenated sequences."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from interpreted import meant

# All scores are equal with queries of zeros: the result is the mean of the values that are seen.
QUERY, KEY = numpy.zeros((1, 3, 1, 2)), numpy.ones((1, 4, 1, 2))
VALUE = numpy.array([1.0, 2.0, 4.0, 8.0]).reshape(1, 4, 1, 1)


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({}, [15 / 4] * 3),
        ({"causal_mask": "TopLeft"}, [1, 3 / 2, 7 / 3]),
        ({"causal_mask": "BottomRight"}, [3 / 2, 7 / 3, 15 / 4]),
        ({"causal_mask": "TopLeft", "window_size": 2}, [1, 3 / 2, 3]),
        ({"causal_mask": "BottomRight", "window_size": 1}, [2, 4, 8]),
        ({"window_size": 1}, [15 / 4, 14 / 3, 6]),
    ],
)
def test_masks_and_windows_select_the_attended_keys(attributes: Any, expected: Any) -> None:
    numpy.testing.assert_allclose(meant("nn.attention", QUERY, KEY, VALUE, **attributes).ravel(), expected)


def test_a_query_that_sees_nothing() -> None:
    last = {"causal_mask": "BottomRight"}
    assert meant("nn.attention", QUERY, KEY[:, :1], VALUE[:, :1], **last).ravel().tolist() == [0, 0, 1]
    blind = meant("nn.attention", QUERY, KEY[:, :1], VALUE[:, :1], **last, blind="nan").ravel()
    assert numpy.isnan(blind[:2]).all()
    assert meant("nn.attention", QUERY, KEY[:, :0], VALUE[:, :0], blind="nan").ravel().tolist() == [0, 0, 0]
    bias = numpy.full((1, 1, 3, 4), -numpy.inf)
    assert meant("nn.attention_bias", QUERY, KEY, VALUE, bias).ravel().tolist() == [0, 0, 0]


def test_scores() -> None:
    """Compute exp(2 * scale * key + bias) divided by its sum."""
    query, key = numpy.full((1, 1, 1, 1), 2.0), numpy.array([0.0, 1.0]).reshape(1, 2, 1, 1)
    value, bias = numpy.array([0.0, 1.0]).reshape(1, 2, 1, 1), numpy.log([[[[1.0, 3.0]]]])
    share = lambda power: power / (1 + power)  # noqa: E731
    numpy.testing.assert_allclose(meant("nn.attention", query, key, value), share(numpy.exp(2)))
    numpy.testing.assert_allclose(meant("nn.attention", query, key, value, scale=0.5), share(numpy.exp(1)))
    numpy.testing.assert_allclose(meant("nn.attention_bias", query, key, value, bias), share(3 * numpy.exp(2)))


def test_heads_that_serve_several() -> None:
    value = numpy.arange(2.0).reshape(1, 1, 2, 1)
    found = meant("nn.attention", numpy.zeros((1, 1, 4, 2)), numpy.zeros((1, 1, 1, 2)), value)
    assert found.ravel().tolist() == [0, 0, 1, 1]
    with pytest.raises(ValueError, match="3 heads of query are no multiple of 2"):
        symbols = [(1, 1, "h", 2), (1, 1, 1, 2), (1, 1, "g", 1)]
        meant("nn.attention", numpy.zeros((1, 1, 3, 2)), numpy.zeros((1, 1, 1, 2)), value, symbols=symbols)


def test_rows_of_a_cache() -> None:
    key, value = KEY.swapaxes(1, 2).copy(), VALUE.swapaxes(1, 2).copy()
    value[:, :, 2:] = numpy.nan
    assert meant("nn.attention_cached", QUERY, key, value, None, numpy.int64(2)).ravel().tolist() == [3 / 2] * 3
    masked = meant("nn.attention_cached", QUERY, key, value, None, numpy.int64(2), causal_mask="BottomRight")
    assert masked.ravel().tolist() == [0, 1, 3 / 2]
    with pytest.raises(ValueError, match="length"):
        meant("nn.attention_cached", QUERY, key, value, None, numpy.int64(5))


def test_sequences_end_to_end() -> None:
    starts, key_starts, most = (numpy.array(each, "int32") for each in ([0, 1, 2], [0, 3, 4], [3]))
    found = meant("nn.attention_var_len", QUERY, KEY, VALUE, starts, most, key_starts)
    numpy.testing.assert_allclose(found.ravel(), [7 / 3, 8, 0])
    with pytest.raises(ValueError, match="a sequence starts at 3 and ends at 1, of 3 queries"):
        meant("nn.attention_var_len", QUERY, KEY, VALUE, numpy.array([0, 3, 1], "int32"), most, key_starts)
