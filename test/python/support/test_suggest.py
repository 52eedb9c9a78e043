# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Did-you-mean suggestions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from relax_mlir.bindings.upstream_passes import upstream_passes
from relax_mlir.support.suggest import nearest, suggest

WORDS = ["relax-canonicalize", "relax-inline", "symbol-dce", "relax.nn.conv2d"]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("relax-cannonicalize", "relax-canonicalize"),
        ("relax_inline", "relax-inline"),
        ("RELAX-INLINE", "relax-inline"),
        ("symbol-dcee", "symbol-dce"),
        ("conv2d", "relax.nn.conv2d"),
        ("nn.conv2d", "relax.nn.conv2d"),
        ("v2d", None),
        ("qqq", None),
        ("", None),
    ],
)
def test_nearest(word, expected):
    assert nearest(word, WORDS) == expected


@pytest.mark.parametrize(
    ("word", "candidates", "expected"),
    [
        ("half_away_from_zero", ["half_even", "half_away", "half_to_zero", "to_zero"], "half_away"),
        ("q16>>shift", ["float", "q31>>shift", "q15>>shift"], "q15>>shift"),
        (
            "affine-expand-index-ops-s-affine",
            ["affine-expand-index-ops", "affine-expand-index-ops-as-affine"],
            "affine-expand-index-ops-as-affine",
        ),
    ],
)
def test_suggestions_for_longer_words_and_ties(word, candidates, expected):
    assert nearest(word, candidates) == expected


def test_suggest_is_the_end_of_a_sentence():
    assert suggest("relax-inlin", WORDS) == "; did you mean 'relax-inline'?"
    assert suggest("qqq", WORDS) == ""
    assert suggest("relax-inlin", []) == ""


@given(st.sampled_from(list(upstream_passes())), st.data())
def test_one_lost_letter_gives_a_pass_at_most_as_far_away(name, data):
    if len(name) < 4:
        return
    position = data.draw(st.integers(0, len(name) - 1))
    found = nearest(name[:position] + name[position + 1 :], upstream_passes())
    assert found is not None and abs(len(found) - len(name)) <= 2
