# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Moved blocks compute existing elements only: the elements beyond belong to another step."""

from __future__ import annotations

from schedule_kernels import check, kernel

import relax_mlir as rx


def test_what_a_step_leaves_out_is_left_out_by_its_reader() -> None:
    sch = rx.Schedule(kernel("chain").module())
    i, _ = sch.get_loops(sch.get_block("B"))
    outer, inner = sch.split(i, [2, 8])
    sch.split(inner, [None, 3])
    sch.reverse_compute_at(sch.get_block("C"), outer)
    assert "for ax0, ax1 in T.grid(8, 30)" in sch.show()
    check(kernel("chain"), sch)


def test_steps_at_which_nothing_is_made_are_left_out() -> None:
    """Skip steps: a reader would otherwise process rows of a later step, which other threads may compute."""
    sch = rx.Schedule(kernel("chain").module())
    i, _ = sch.get_loops("B")
    outer, inner = sch.split(i, [None, 4])
    _, last = sch.split(inner, [None, 3])
    sch.reverse_compute_at("C", last)
    assert sch.show().count("T.where(3*i_1_1_0 + i_1_1_1 < 4") == 2
    sch.parallel(outer)
    check(kernel("chain"), sch)


def test_lines_that_a_step_makes_whole() -> None:
    sch = rx.Schedule(kernel("chain").module())
    outer, _ = sch.split(sch.fuse(*sch.get_loops(sch.get_block("B"))), [None, 60])
    sch.reverse_compute_at(sch.get_block("C"), outer)
    check(kernel("chain"), sch)


def test_guards_by_iters_go_along() -> None:
    """Guard rfactor's extra steps, which are beyond the buffer, wherever the block runs."""
    sch = rx.Schedule(kernel("rows").module())
    block = sch.get_block("B")
    part = sch.rfactor(sch.split(sch.get_loops(block)[1], [None, 16])[1], 1)
    sch.compute_at(part, sch.get_loops(block)[0])
    assert "if ax0_1 + 16*ax1_1 < 33:" in sch.show(), sch.show()
    check(kernel("rows"), sch)
