# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which PrimFunc has a block, known before they are bufferized and read."""

from __future__ import annotations

from relax_mlir.bindings.navigation import functions_in
from relax_mlir.passes.loops.tree_reader import may_have_block
from schedule_kernels import KERNELS

import relax_mlir as rx

TWO = """
from relax_mlir.script import ir as I, tir as T

@I.ir_module
class Two:
    @T.prim_func
    def double(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("twice"):
                vi = T.axis.spatial(4, i)
                B[vi] = A[vi] * T.float32(2)

    @T.prim_func
    def more(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("one_more"):
                vi = T.axis.spatial(4, i)
                B[vi] = A[vi] + T.float32(1)
"""


def test_only_what_may_have_a_block_is_read() -> None:
    sch = rx.Schedule(rx.Module.from_script(TWO))
    assert sch.get_block("one_more").function == "more"
    assert list(sch._trees) == ["more"]
    sch.cache_write("one_more", 0, "local")
    assert sch.get_block("B_local").function == "more", "a step has made it"
    assert list(sch._trees) == ["more"]


def test_all_blocks_are_found() -> None:
    seen = 0
    for each in KERNELS:
        module = each.module()
        functions = list(functions_in(module.operation))
        for tree in rx.Schedule(module).trees():
            for block in tree.blocks():
                assert any(may_have_block(function, block.name) for function in functions), (each.name, block.name)
                seen += block.name[-1].isdigit()
    assert seen, "some have a number behind a place's name"
