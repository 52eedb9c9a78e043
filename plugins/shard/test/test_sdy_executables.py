# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`suite.py shardy`: a file in the form of Shardy's executable tests."""

from __future__ import annotations

import pytest

pytest.importorskip("jax", reason="jax is not installed; suite.py jax runs this test")

from sdy_executables import run_test

EXECUTABLE = """// RUN: a script
//--- part1.mlir
sdy.mesh @grid = <["a"=4], device_ids=[1, 0, 3, 2]>
func.func @parallel_sums(%x: tensor<3x2xi32> {sdy.sharding = #sdy.sharding<@grid, [{}, {"a":(2)2}]>})
    -> (tensor<3xi32> {sdy.sharding = #sdy.sharding<@grid, [{}]>}) {
  %0 = stablehlo.constant dense<0> : tensor<i32>
  %1 = stablehlo.reduce(%x init: %0) applies stablehlo.add across dimensions = [1]
    : (tensor<3x2xi32>, tensor<i32>) -> tensor<3xi32>
  %2 = sdy.all_reduce {"a":(2)2} %1 out_sharding=<@grid, [{}]> : tensor<3xi32>
  %3 = stablehlo.add %2, %2 {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"a"}]>]>} : tensor<3xi32>
  return %3 : tensor<3xi32>
}
//--- part2.mlir
func.func @main() {
  %0 = stablehlo.constant dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi32>
  %1 = stablehlo.constant dense<[6, 14, 22]> : tensor<3xi32>
  %2 = stablehlo.slice %0 [0:3, 0:1] : (tensor<3x2xi32>) -> tensor<3x1xi32>
  %3 = stablehlo.slice %0 [0:3, 1:2] : (tensor<3x2xi32>) -> tensor<3x1xi32>
  %4:4 = "interpreter.run_parallel"(%3, %2, %3, %2) {
    programs = [[@parallel_sums, @parallel_sums, @parallel_sums, @parallel_sums]]
  } : (tensor<3x1xi32>, tensor<3x1xi32>, tensor<3x1xi32>, tensor<3x1xi32>)
    -> (tensor<3xi32>, tensor<3xi32>, tensor<3xi32>, tensor<3xi32>)
  "check.expect_eq"(%4#0, %1) : (tensor<3xi32>, tensor<3xi32>) -> ()
  "check.expect_eq"(%4#3, %1) : (tensor<3xi32>, tensor<3xi32>) -> ()
  return
}
"""


@pytest.mark.parametrize("planner", ["rule", "shardy"])
def test_files_like_shardys(planner: str) -> None:
    """Divide by parts of an axis, on devices in another order, and notice a wrong result."""
    run_test(EXECUTABLE, planner)
    with pytest.raises(AssertionError, match=r"expect_eq: \[7, 15, 23\] and \[6, 14, 22\]"):
        run_test(EXECUTABLE, planner, is_broken=True)
