# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Points of a block that differ between the steps of a loop."""

from __future__ import annotations

import pytest
from relax_mlir.dialects.core.indices import divisions, evaluated
from relax_mlir.dialects.core.symbols_expr import make_variable
from relax_mlir.passes.kernels.loops.apart import keeps_apart
from relax_mlir.passes.kernels.loops.ranges import guards, is_multiple
from relax_mlir.passes.kernels.loops.tree import SPATIAL, Block, Iter

import relax_mlir as rx

_COPY = """
from relax_mlir.script import tir as T

@T.prim_func
def copy(A: T.Buffer((12, 30), "float32"), B: T.Buffer((12, 30), "float32")):
    for i, j in T.grid(12, 30):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
"""


@pytest.mark.parametrize("factors", [[None, 4], [None, 3, 4], [None, 16, 1]], ids=str)
def test_steps_of_loops_that_were_split_and_fused(factors: list[int | None]) -> None:
    sch = rx.Schedule(rx.Module.from_script(_COPY))
    sch.split(sch.fuse(*sch.get_loops(sch.get_block("B"))), factors)
    (tree,) = sch.trees()
    loops = tree.loops()
    for number, loop in enumerate(loops):
        assert keeps_apart(tree.block("B"), loop, {each.name: each.extent for each in loops[number + 1 :]})
    assert not keeps_apart(tree.block("B"), loops[0], {**tree.extents(), loops[-1].name: 1000})


def test_multiples() -> None:
    x, y = make_variable("x", 9), make_variable("y", 9)
    assert is_multiple(4 * x + 8 * y + 12, 4) and is_multiple(8 * ((4 * x) % 12), 4) and is_multiple(0, 4)
    assert not is_multiple(4 * x + 2, 4) and not is_multiple(x, 4)


@pytest.mark.parametrize("more", [-2, 0, 1, 5])
@pytest.mark.parametrize("start", [-8, 0])
def test_guards_of_quotients(start: int, more: int) -> None:
    """Test x // 4 + 1 < n without a division where no dividend is negative."""
    x = make_variable("x", 40)
    index = (x + start) // 4 + more
    block = Block("B", (Iter("v", SPATIAL, 7),), (index,), (), (), ())
    asked = guards(block, {"x": 41})
    for step in range(41):
        at = [evaluated(guard.at, {"x": step}) for guard in asked]
        holds = [(each < guard.limit or not guard.beyond) and (each >= 0 or not guard.below)
                 for guard, each in zip(asked, at, strict=True)]  # fmt: skip
        assert all(holds) == (0 <= evaluated(index, {"x": step}) < 7)
    if start == 0 and more >= 0:
        assert not any(divisions(guard.at) for guard in asked)
