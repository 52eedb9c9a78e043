# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules for several devices: shardings of Shardy's dialect, and collectives. test/with_jax has jax's programs."""

from __future__ import annotations

import numpy
import pytest
import relax_mlir as rx
from relax_mlir.runtime.arrays import to_numpy
from relax_mlir_jax.stablehlo.sdy_dialect import generic_text

PROGRAM = """
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%x: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
      -> (tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}) {
    %0 = sdy.sharding_constraint %x <@mesh, [{"y"}, {}]> : tensor<8x6xf32>
    %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{"x"}, {"y"}]>] \
out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x", "y"} (%arg: tensor<4x3xf32>) {
      %2 = func.call @double(%arg) : (tensor<4x3xf32>) -> tensor<4x3xf32>
      %3 = "stablehlo.all_gather"(%2) {
        all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>
      } : (tensor<4x3xf32>) -> tensor<4x6xf32>
      %4 = "stablehlo.collective_broadcast"(%3) {
        replica_groups = dense<[[1, 0], [3, 2]]> : tensor<2x2xi64>
      } : (tensor<4x6xf32>) -> tensor<4x6xf32>
      sdy.return %4 : tensor<4x6xf32>
    } : (tensor<8x6xf32>) -> tensor<8x6xf32>
    return %1 : tensor<8x6xf32>
  }
  func.func private @double(%x: tensor<4x3xf32>) -> tensor<4x3xf32> {
    %0 = stablehlo.add %x, %x : tensor<4x3xf32>
    return %0 : tensor<4x3xf32>
  }
}
"""


def test_meshes_and_shardings_of_a_module_are_read() -> None:
    module = rx.from_stablehlo(PROGRAM)
    x = numpy.arange(48, dtype="float32").reshape(8, 6)
    sharded = rx.shard(module)
    assert 'ccl.mesh = "x=2,y=2"' in str(sharded) and 'ccl.sharding = "(x, _)"' in str(sharded)
    with rx.launch(rx.compile(sharded)) as ranks:
        numpy.testing.assert_array_equal(ranks["main"](x), 2 * x)


def test_lines_of_a_module_stay_in_place() -> None:
    text = generic_text(PROGRAM)
    assert len(text.splitlines()) == len(PROGRAM.splitlines())
    assert "sdy.return" in text.splitlines()[PROGRAM.splitlines().index("      sdy.return %4 : tensor<4x6xf32>")]


def test_a_program_of_one_rank_is_not_compiled_alone() -> None:
    with pytest.raises(rx.RelaxError, match=r"divide the module first: rx.shard\(module\)"):
        rx.compile(rx.from_stablehlo(PROGRAM))


def test_a_constraint_alone_changes_no_value() -> None:
    text = PROGRAM[: PROGRAM.index("    %1 =")] + "    return %0 : tensor<8x6xf32>\n  }\n}"
    x = numpy.ones((8, 6), "float32")
    numpy.testing.assert_array_equal(to_numpy(rx.compile(rx.from_stablehlo(text))["main"](x)), x)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("@mesh, [{}", "@other, [{}", "the module has no sdy.mesh @other"),
        ('[{"y"}, {}]> : t', '[{"z"}, {}]> : t', "has no axis 'z'"),
        ("[[0, 1], [2, 3]]> : tensor<2x2", "[[0, 1]]> : tensor<1x2", "do not divide the 4 devices of the module"),
        ("mhlo.num_replicas = 1", "mhlo.num_replicas = 2", "mhlo.num_partitions or mhlo.num_replicas must be"),
        ("  func.func private", '  sdy.mesh @second = <["z"=4]>\n  func.func private', "and a program has one"),
    ],
)
def test_problems_of_modules_are_named(old: str, new: str, problem: str) -> None:
    assert old in PROGRAM
    with pytest.raises(rx.RelaxError, match=problem):
        rx.shard(rx.from_stablehlo(PROGRAM.replace(old, new)))


def test_a_module_without_a_mesh_is_refused() -> None:
    module = rx.from_stablehlo("func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }\n")
    with pytest.raises(rx.OptionError, match="@main has no mesh of its own: pass mesh="):
        rx.shard(module)


@pytest.mark.parametrize(
    ("body", "problem"),
    [("stablehlo.maximum %a, %b", ""), ("stablehlo.subtract %a, %b", "by another function than a sum, product")],
)
def test_combiners(body: str, problem: str) -> None:
    text = f"""
module attributes {{mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 2 : i32}} {{
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
    %0 = "stablehlo.all_reduce"(%x) ({{
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = {body} : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }}) {{replica_groups = dense<> : tensor<0x0xi64>}} : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }}
}}"""
    if problem:
        with pytest.raises(rx.ModelError, match=problem):
            rx.from_stablehlo(text)
    else:
        assert 'kind = "max"' in str(rx.from_stablehlo(text))
