# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scf and cf: loops, branches, and functions of several blocks."""

from __future__ import annotations

import numpy
import pytest
import relax_mlir as rx
from run_text import equal, run


def test_a_loop_carries_values() -> None:
    text = """
        func.func @main(%from: index, %to: index, %step: index) -> (index, index) {
          %zero = arith.constant 0 : index
          %0:2 = scf.for %i = %from to %to step %step iter_args(%sum = %zero, %last = %to) -> (index, index) {
            %1 = arith.addi %sum, %i : index
            scf.yield %1, %i : index, index
          }
          return %0#0, %0#1 : index, index
        }"""
    assert run(text, 1, 10, 3) == (12, 7)
    assert run(text, 5, 5, 1) == (0, 5)
    with pytest.raises(rx.RefusalError, match=r"'scf.for': its step is 0"):
        run(text, 0, 1, 0)


def test_a_loop_that_the_data_end() -> None:
    text = """
        func.func @main(%n: i64) -> (i64, i64) {
          %zero = arith.constant 0 : i64
          %one = arith.constant 1 : i64
          %two = arith.constant 2 : i64
          %0:2 = scf.while (%x = %n, %steps = %zero) : (i64, i64) -> (i64, i64) {
            %1 = arith.cmpi sgt, %x, %one : i64
            scf.condition(%1) %x, %steps : i64, i64
          } do {
          ^bb0(%x: i64, %steps: i64):
            %2 = arith.divsi %x, %two : i64
            %3 = arith.addi %steps, %one : i64
            scf.yield %2, %3 : i64, i64
          }
          return %0#0, %0#1 : i64, i64
        }"""
    assert run(text, 1000) == (1, 9)


def test_switch_and_region() -> None:
    text = """
        func.func @main(%which: index) -> i32 {
          %0 = scf.index_switch %which -> i32
          case 2 {
            %1 = arith.constant 20 : i32
            scf.yield %1 : i32
          }
          case 5 {
            %1 = scf.execute_region -> i32 {
              %2 = arith.constant 50 : i32
              scf.yield %2 : i32
            }
            scf.yield %1 : i32
          }
          default {
            %1 = arith.constant -1 : i32
            scf.yield %1 : i32
          }
          return %0 : i32
        }"""
    assert [run(text, which) for which in (2, 5, 3)] == [20, 50, -1]


def test_forall_inserts() -> None:
    x = numpy.arange(6, dtype=numpy.int32)
    text = """
        func.func @main(%x: tensor<6xi32>) -> tensor<6xi32> {
          %0 = scf.forall (%i) = (0) to (6) step (2) shared_outs(%o = %x) -> tensor<6xi32> {
            %1 = tensor.extract_slice %x[%i] [2] [1] : tensor<6xi32> to tensor<2xi32>
            %2 = arith.addi %1, %1 : tensor<2xi32>
            scf.forall.in_parallel {
              tensor.parallel_insert_slice %2 into %o[%i] [2] [1] : tensor<2xi32> into tensor<6xi32>
            }
          }
          return %0 : tensor<6xi32>
        }"""
    equal(run(text, x), 2 * x)


def test_blocks() -> None:
    """Run Euclid's algorithm with branches, and a switch at its end."""
    text = """
        func.func @main(%a: i64, %b: i64) -> i64 {
          %zero = arith.constant 0 : i64
          cf.br ^test(%a, %b : i64, i64)
        ^test(%x: i64, %y: i64):
          %0 = arith.cmpi eq, %y, %zero : i64
          cf.cond_br %0, ^done(%x : i64), ^step(%x, %y : i64, i64)
        ^step(%p: i64, %q: i64):
          %1 = arith.remui %p, %q : i64
          cf.br ^test(%q, %1 : i64, i64)
        ^done(%found: i64):
          %flag = arith.trunci %found : i64 to i32
          cf.switch %flag : i32, [
            default: ^out(%found : i64),
            1: ^out(%zero : i64)
          ]
        ^out(%result: i64):
          return %result : i64
        }"""
    assert run(text, 48, 36) == 12
    assert run(text, 7, 5) == 0
