# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Search for the PrimFunc of a block before bufferization and reading, and the buffers that blocks read."""

from __future__ import annotations

import numpy as np
from relax_mlir.bindings.navigation import functions_in
from relax_mlir.passes.kernels.loops.tree_reader import may_have_block
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
    assert list(sch._functions.trees) == ["more"]
    sch.cache_write("one_more", 0, "local")
    assert sch.get_block("B_local").function == "more", "a step has made it"
    assert list(sch._functions.trees) == ["more"]


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


#: Sums of rows, and their means in the same place.
MEANS = """
func.func private @means(%x: tensor<?x4xf32>, %out: tensor<?xf32>) -> tensor<?xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %start = linalg.generic {indexing_maps = [affine_map<(i) -> ()>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]} ins(%zero : f32) outs(%out : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<?xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]} ins(%x : tensor<?x4xf32>) outs(%start : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %b, %a : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  %mean = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      outs(%sum : tensor<?xf32>) {
  ^bb0(%b: f32):
    %quarter = arith.constant 0.25 : f32
    %s = arith.mulf %b, %quarter : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  return %mean : tensor<?xf32>
}
func.func @main(%x: tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?xf32, #relax.sym<["n"]>> {
  %y = "relax.call_tir"(%x) {func = @means} :
      (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?xf32, #relax.sym<["n"]>>
  return %y : tensor<?xf32, #relax.sym<["n"]>>
}
"""


def test_what_goes_on_with_sums_in_their_place_can_go_to_them() -> None:
    sch = rx.Schedule(rx.Module.parse(MEANS))
    sums, means = (block.name for tree in sch.trees() for block in tree.blocks())
    sch.reverse_compute_at(means, sch.get_loops(sums)[0])
    program = rx.compile(sch.mod)
    for rows in (0, 1, 7):
        x = np.random.default_rng(rows).standard_normal((rows, 4)).astype("float32")
        np.testing.assert_allclose(np.from_dlpack(program["main"](x)), x.mean(axis=1), rtol=1e-5, atol=1e-6)


def test_several_that_go_on_have_a_buffer_each() -> None:
    """Write means in place of sums, and their squares in place of the means."""
    square = """
  %square = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      outs(%mean : tensor<?xf32>) {
  ^bb0(%b: f32):
    %s = arith.mulf %b, %b : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  return %square"""
    sch = rx.Schedule(rx.Module.parse(MEANS.replace("  return %mean", square)))
    (tree,) = sch.trees()
    sums, means, squares = tree.blocks()
    assert len({block.writes[0].buffer.name for block in (sums, means, squares)}) == 3
    sch.reverse_compute_at(squares.name, sch.get_loops(means.name)[0])
    x = np.random.default_rng(0).standard_normal((7, 4)).astype("float32")
    result = np.from_dlpack(rx.compile(sch.mod)["main"](x))
    np.testing.assert_allclose(result, x.mean(axis=1) ** 2, rtol=1e-5, atol=1e-6)
