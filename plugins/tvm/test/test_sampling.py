# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decisions of schedules: drawn by a seed, recorded, replayed, and drawn again."""

from __future__ import annotations

import pytest
import relax_mlir as rx
from schedule_kernels import check, kernel


def tiled(seed: int | None = None) -> rx.Schedule:
    sch = rx.Schedule(kernel("matmul").module(), seed=seed)
    i, j, _ = sch.get_loops("C")
    factors = sch.sample_perfect_tile(j, 2, max_innermost_factor=64)
    sch.split(j, factors)
    sch.split(i, [None, sch.sample_categorical([2, 3, 4], [0.2, 0.3, 0.5])])
    return sch


def decisions(sch: rx.Schedule) -> list[str]:
    return [line.partition("decision=")[2] for line in sch.trace.splitlines() if "decision=" in line]


def test_a_seed_draws_the_same_each_time() -> None:
    assert tiled(7).trace == tiled(7).trace
    assert len({tuple(decisions(tiled(seed))) for seed in range(20)}) > 3


def test_traces_contain_the_drawn_values() -> None:
    sch = tiled(7)
    again = rx.Schedule(kernel("matmul").module(), trace=sch.trace, seed=1)
    assert again.trace == sch.trace and again.show() == sch.show()
    assert "sch.split(j, [v0, v1])" in sch.trace and "sch.split(i, [None, v2])" in sch.trace
    check(kernel("matmul"), again)


def test_other_decisions() -> None:
    """Replay with another decision: steps that use the number follow it."""
    sch = tiled(7)
    other = sch.trace.with_decisions({"v2": 1})
    assert decisions(rx.Schedule(kernel("matmul").module(), trace=other))[1] == "1)"
    drawn = {rx.Schedule(kernel("matmul").module(), trace=sch.trace.with_decisions(), seed=seed).trace
             for seed in range(10)}  # fmt: skip
    assert len(drawn) > 2
    for each in list(drawn)[:3]:
        check(kernel("matmul"), rx.Schedule(kernel("matmul").module(), trace=each))
    with pytest.raises(rx.RelaxError, match="no line of the schedule draws 'v9'"):
        sch.trace.with_decisions({"v9": 1})
    with pytest.raises(rx.RelaxError, match=r"the decision \[5, 5\] is not 2 numbers with the product"):
        rx.Schedule(kernel("matmul").module(), trace=sch.trace.with_decisions({"v0": [5, 5]}))


def test_a_copy_goes_on_by_itself() -> None:
    sch = tiled(7)
    shown = sch.show()
    other = sch.copy(seed=3)
    assert other.show() == shown
    other.split(other.get_loops("C")[0], [None, 2])
    assert sch.show() == shown and other.show() != shown
    check(kernel("matmul"), other)


TWO = """
from relax_mlir.script import ir as I, tir as T

@I.ir_module
class Two:
    @T.prim_func
    def one(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi] * T.float32(2)

    @T.prim_func
    def other(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi] + T.float32(2)
"""


def test_the_prim_func_of_a_step_is_inferred_or_chosen() -> None:
    """Choose the PrimFunc where a step names no loop and no block."""
    sch = rx.Schedule(rx.Module.from_script(TWO), seed=0)
    with pytest.raises(rx.RelaxError, match="expected loops and blocks of one PrimFunc"):
        sch.get_output_blocks()
    sch.work_on("other")
    (block,) = sch.get_output_blocks()
    assert (block.function, block.name) == ("other", "B")
    assert sch.sample_categorical([4], [1.0]).function == "other"
    assert [each.function for each in sch.get_output_blocks("one")] == ["one"]
    with pytest.raises(rx.RelaxError, match="there is no PrimFunc 'third'"):
        sch.work_on("third")
