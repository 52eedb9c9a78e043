# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-run --poison: elements that are unwritten, read before they are written, or changed."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy
import pytest
import tvm_ffi
from relax_mlir.tools.relax_run import run

import relax_mlir as rx

PROGRAM = """
func.func private @three(%x: memref<4xf32>, %y: memref<4xf32>) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  scf.for %i = %c0 to %c3 step %c1 {
    %v = memref.load %x[%i] : memref<4xf32>
    memref.store %v, %y[%i] : memref<4xf32>
  }
  return
}
func.func @main(%x: tensor<4xf32> {relax.name = "x"}) -> tensor<4xf32> attributes {relax.result_names = ["y"]} {
  %0 = "relax.call_tir"(%x) {func = @three} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @temporary(%x: tensor<4xf32> {relax.name = "x"}) -> tensor<4xf32> {
  %0 = "relax.call_tir"(%x) {func = @three} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.sort"(%0) {axis = -1, descending = false}: (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func @input(%x: tensor<4xf32> {relax.name = "x"}) -> tensor<4xf32> {
  %0 = "relax.call_dps_packed"(%x) {func = "test_poison.swap"} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @right(%x: tensor<4xf32>) -> tensor<4xf32> {
  %1 = "relax.sort"(%x) {axis = -1, descending = false}: (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
"""


def outcome(*arguments: str | Path) -> tuple[int, str]:
    """Return the exit code and standard output."""
    stdout = io.StringIO()
    return run(list(map(str, arguments)), io.StringIO(), stdout, io.StringIO()), stdout.getvalue()


@tvm_ffi.register_global_func("test_poison.swap", override=True)
def swap(x: Any, y: Any) -> None:
    numpy.from_dlpack(y)[...] = numpy.from_dlpack(x)
    numpy.from_dlpack(x)[2:] = 0


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        ("main", "output 'y' is left unwritten, from element [3] on; f32[4] is written by three ("),
        ("temporary", "output 'result0' is computed of memory that nothing has written: element ["),
        ("input", "input 'x' is the caller's, and is written to, from element [2] on; f32[4] is read by "),
    ],
)
def test_poison_shows_what_is_not_written(function: str, problem: str, tmp_path: Path) -> None:
    rx.compile(rx.Module.parse(PROGRAM)).save(tmp_path / "p.rxa")
    code, out = outcome(tmp_path / "p.rxa", f"--function={function}", "--poison")
    assert code == 1
    assert f"\npoison: {problem}" in out
    assert out.count("poison: ") == 1


def test_poison_of_what_is_right(tmp_path: Path) -> None:
    rx.compile(rx.Module.parse(PROGRAM)).save(tmp_path / "p.rxa")
    code, out = outcome(tmp_path / "p.rxa", "--function=right", "--poison")
    assert (code, "poison" in out) == (0, False)
