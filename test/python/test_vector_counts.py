# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators take fewer instructions with vectors of Arm and RISC-V than without: a part of bench/vector_counts.py."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
vector_counts = importlib.import_module("vector_counts")


@pytest.mark.slow
@pytest.mark.parametrize("name", vector_counts.OPERATORS)
@pytest.mark.parametrize("pair", vector_counts.PAIRS)
def test_vectors_save_a_third_of_the_instructions(pair: str, name: str) -> None:
    if problem := vector_counts.missing_tool(vector_counts.PAIRS[pair][0]):
        pytest.skip(problem)
    operator = vector_counts.OPERATORS[name]
    with_vectors, scalar = vector_counts.count_both(operator._replace(shape=(*operator.shape[:-1], 31)), pair)
    assert with_vectors <= 0.67 * scalar


@pytest.mark.slow
def test_maxima_of_f16_fill_vectors_of_arm() -> None:
    if problem := vector_counts.missing_tool(vector_counts.PAIRS["NEON"][0]):
        pytest.skip(problem)
    relu = vector_counts.OPERATORS["relu"]._replace(shape=(1, 23, 5, 31))
    with_vectors, scalar = vector_counts.count_both(relu, "NEON", "float16")
    assert with_vectors <= 0.4 * scalar


def test_calls_are_counted_from_the_entry_to_the_return() -> None:
    counter = vector_counts.CallCounter(0x200)
    for block in ((0x100, 6, 2), (0x200, 8, 2), (0x200, 8, 2), (0x106, 2, 1)):
        counter.add(*block)
    assert counter.total == 4
