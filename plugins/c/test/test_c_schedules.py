# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedules of kernels that become C: loops follow them, and no schedule changes a result."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from c_programs import CProgram, needs_compiler
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from schedule_kernels import KERNELS, Kernel, kernel
from schedule_steps import random_schedule

pytestmark = needs_compiler

#: Buffers of dynamic sizes, which a program with static memory cannot have.
UNBOUNDED = "its size has no bound"


def agree(each: Kernel, module: rx.Module, **options: Any) -> None:
    try:
        program = CProgram(module, **options)
    except rx.RelaxError as error:
        assert UNBOUNDED in str(error)
        return
    for seed in range(2):
        arrays = each.arrays(seed)
        expected = each.expected(*arrays)
        results = program(*arrays)
        for result, right in zip(results, expected if isinstance(expected, tuple) else (expected,), strict=True):
            np.testing.assert_allclose(result, right, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("each", KERNELS, ids=lambda each: each.name)
@draws(6, deadline=None)
@given(seed=st.integers(0, 2**32), count=st.integers(1, 8))
def test_random_schedules_never_change_a_result(each: Kernel, seed: int, count: int) -> None:
    agree(each, random_schedule(each.module(), seed, count).mod)


@pytest.mark.parametrize("each", KERNELS, ids=lambda each: each.name)
def test_chosen_schedules_passed_as_a_file_give_the_same_loops(each: Kernel, tmp_path: Path) -> None:
    """Check that the target's schedule, passed as a file, gives the same loops."""
    module = each.module()
    text = rx.schedules.chosen(module, "c")
    if f"def {each.name}(sch):" not in text:
        assert "only linalg operations" in text or "of a view" in text, text
        agree(each, module)
        return
    file = tmp_path / "kernels.py"
    file.write_text(text, encoding="utf-8")
    agree(each, module)
    agree(each, module, schedules=file)


def test_sums_and_what_follows_are_one_nest_in_the_schedule() -> None:
    text = rx.schedules.chosen(kernel("matmul_relu").module(), "c")
    for step in ("sch.reverse_compute_at(", "sch.decompose_reduction(", "sch.reorder("):
        assert step in text
    plain = rx.schedules.chosen(kernel("matmul_relu").module(), "c{loops=plain}")
    assert "sch.reverse_compute_at(" in plain and "sch.reorder(" not in plain


def test_loops_are_the_schedule_s() -> None:
    """Leave vectorized loops to the C compiler."""
    sch = rx.Schedule(kernel("matmul").module())
    i, j, k = sch.get_loops("C")
    j, lanes = sch.split(j, [None, 5])
    k, unrolled = sch.split(k, [None, 3])
    sch.reorder(j, i, k, unrolled, lanes)
    sch.vectorize(lanes)
    sch.unroll(unrolled)
    text = str(rx.sources(sch.mod)["model.c"])
    assert bounds_of(text)[:3] == [7, 21, 8]
    agree(kernel("matmul"), sch.mod)


def test_schedules_by_the_names_of_kernels() -> None:
    lines = ["# schedule 1", 'C = sch.get_block("C")', "i, j, k = sch.get_loops(C)", "sch.reorder(k, j, i)"]
    text = str(rx.sources(kernel("matmul").module(), schedules={"matmul": "\n".join(lines)})["model.c"])
    assert bounds_of(text)[:3] == [24, 35, 21]


def bounds_of(text: str) -> list[int]:
    """Return the bounds of the loops in order."""
    return [int(bound) for bound in re.findall(r"for \(.* < (\d+);", text)]
