# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fresh names: the requested name, or the first free one like it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from relax_mlir.support.names import FreshNames, fresh_name

words = st.sampled_from(["a", "a_1", "a_2", "b"])


@given(wanted=words, taken=st.sets(words))
def test_a_fresh_name(wanted: str, taken: set[str]) -> None:
    name = fresh_name(wanted, taken)
    assert name not in taken
    if wanted not in taken:
        assert name == wanted
    else:
        stem, _, number = name.rpartition("_")
        assert stem == wanted
        assert all(f"{wanted}_{smaller}" in taken for smaller in range(1, int(number)))


@given(wanted=st.lists(words), taken=st.sets(words))
def test_many_fresh_names_equal_single_fresh_names(wanted: list[str], taken: set[str]) -> None:
    names, so_far = FreshNames(taken), set(taken)
    for word in wanted:
        expected = fresh_name(word, so_far)
        so_far.add(expected)
        assert names.of(word) == expected
