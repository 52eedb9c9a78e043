# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts of n-grams of tokens that are numbers."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from against_onnxruntime import Compared, one_node
from node_suite import Case, cases, check
from onnx_oracle import IS_OLD

import relax_mlir as rx

_NUMBERS = [case for case in cases("TfIdfVectorizer") if "str" not in case.name]


@pytest.mark.parametrize("case", _NUMBERS, ids=lambda case: case.name)
def test_node_suite(case: Case) -> None:
    check(case)


# Single tokens, pairs, triples; one begins another.
_POOL = {"pool_int64s": [3, -1, 5, 3, 5, 5, 5, 3, 5, 5, -1, -1, -1], "ngram_counts": [0, 3, 7]}
_RANDOM = numpy.random.default_rng(7)


def model(x: Any, **attributes: Any) -> Any:
    given = {"min_gram_length": 1, "max_gram_length": 3, "max_skip_count": 0, **_POOL, **attributes}
    return one_node("TfIdfVectorizer", {"x": x}, **{"ngram_indexes": [4, 0, 2, 1, 3, 6, 5], **given})


@pytest.mark.parametrize("mode", ["TF", "IDF", "TFIDF"])
@pytest.mark.parametrize(("shortest", "longest", "skips"), [(1, 3, 0), (2, 3, 2), (1, 1, 4), (3, 3, 9)])
def test_against_onnxruntime(mode: str, shortest: int, longest: int, skips: int) -> None:
    """Test batches and sequences of any size, also shorter than n-grams."""
    if IS_OLD and mode == "TFIDF" and skips:
        pytest.skip("this onnxruntime, the newest that Python 3.10 has, takes weights of other n-grams")
    lengths = {"min_gram_length": shortest, "max_gram_length": longest, "max_skip_count": skips}
    x = _RANDOM.choice([3, -1, 5, 8], (3, 40))
    weights = [0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5]
    compared = Compared(model(x, mode=mode, weights=weights, **lengths))
    for given in (x, x[:1, :7], x[:2, :1].copy()):
        compared(given)


def test_one_sequence() -> None:
    x = _RANDOM.choice([3, -1, 5, 8], 60).astype("int32")
    compared = Compared(model(x, mode="TF", max_skip_count=3))
    compared(x)
    compared(x[:2])


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ({"mode": "DF"}, "must be one of TF, IDF, TFIDF"),
        ({"mode": "TF", "ngram_indexes": [0, 1]}, "must occur once and have an index"),
        ({"mode": "TF", "ngram_counts": [0, 9, 3]}, "must be increasing and within the pool"),
        ({"mode": "TF", "max_skip_count": 10**9}, "needs 1 <= min_gram_length"),
        ({"mode": "IDF", "weights": [1.0]}, "1 weights for 7 n-grams"),
        ({"mode": "IDF", "weights": [1.0] * 6 + [2.0], "ngram_indexes": [0] * 7}, "have different weights"),
        ({"mode": "TF", "pool_strings": ["a"]}, "must both be strings or both numbers"),
    ],
)
def test_refusals(attributes: dict[str, Any], words: str) -> None:
    with pytest.raises(rx.RelaxError, match=words):
        rx.from_onnx(model(numpy.array([1, 2]), **attributes))
