# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Blocks that move compute what is there, no more: what they would go over beyond is another step's."""

from __future__ import annotations

import pytest
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
    """Else a reader would go on with rows of a later step, which other threads may be at."""
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
    """What rfactor's factors go too far for is beyond the buffer, wherever the block runs."""
    sch = rx.Schedule(kernel("rows").module())
    block = sch.get_block("B")
    part = sch.rfactor(sch.split(sch.get_loops(block)[1], [None, 16])[1], 1)
    sch.compute_at(part, sch.get_loops(block)[0])
    assert "if ax0_1 + 16*ax1_1 < 33:" in sch.show(), sch.show()
    check(kernel("rows"), sch)


def test_a_reader_that_is_inlined_leaves_out_what_it_left_out() -> None:
    """Steps that go too far and come to rows of other ones, where nothing was made for them."""
    sch = rx.Schedule(kernel("chain").module())
    i, _ = sch.get_loops("C")
    _, inner = sch.split(i, [None, 4])
    _, last = sch.split(inner, [None, 3])
    sch.compute_at("B", last)
    sch.cache_read("C", "B", "global")
    sch.reverse_compute_inline("C")
    assert sch.show().count("3*i_1_1_0 + i_1_1_1 < 4") == 1
    check(kernel("chain"), sch)


def test_a_reader_that_is_inlined_leaves_out_what_was_padded() -> None:
    sch = rx.Schedule(kernel("chain").module())
    sch.pad_einsum("B", [16, 64])
    sch.reverse_compute_inline("B_cut")
    assert "T.where(" in sch.show() or "if " in sch.show()
    check(kernel("chain"), sch)


def test_limits_of_loops_that_the_maker_has_not_are_refused() -> None:
    sch = rx.Schedule(kernel("nested").module())
    sch.cache_read("C", 0, "global")
    with pytest.raises(rx.RelaxError, match=r"'C' has points only where f < 32: 'B_global' has no such loops"):
        sch.reverse_compute_inline("C")
