# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Readers that are inlined into blocks which compute only some points."""

from __future__ import annotations

import pytest
import relax_mlir as rx
from schedule_kernels import check, kernel


def test_a_reader_that_is_inlined_leaves_out_what_it_left_out() -> None:
    """Guard steps that reach rows of other steps, for which nothing was computed."""
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
