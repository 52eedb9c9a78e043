# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bufferization, builtin and llvm: between tensors and memory, types that are held alike, single instructions."""

from __future__ import annotations

import numpy
import pytest
from run_text import equal, run

import relax_mlir as rx


def test_tensors_do_not_change_with_memory() -> None:
    x = numpy.array([1, 2], numpy.int32)
    before, after = run(
        """
        func.func @main(%x: memref<2xi32>) -> (tensor<2xi32>, tensor<2xi32>) {
          %seven = arith.constant 7 : i32
          %0 = bufferization.to_tensor %x : memref<2xi32> to tensor<2xi32>
          linalg.fill ins(%seven : i32) outs(%x : memref<2xi32>)
          %1 = bufferization.to_tensor %x : memref<2xi32> to tensor<2xi32>
          %2 = arith.addi %0, %1 : tensor<2xi32>
          bufferization.materialize_in_destination %2 in restrict writable %x : (tensor<2xi32>, memref<2xi32>) -> ()
          return %0, %1 : tensor<2xi32>, tensor<2xi32>
        }""",
        x,
    )
    equal(before, [1, 2])
    equal(after, [7, 7])
    equal(x, [8, 9])


def test_signs_are_in_types_only() -> None:
    found = run(
        """
        func.func @main(%x: tensor<2xui8>) -> tensor<2xi8> {
          %0 = builtin.unrealized_conversion_cast %x : tensor<2xui8> to tensor<2xi8>
          return %0 : tensor<2xi8>
        }""",
        numpy.array([1, 255], numpy.uint8),
    )
    equal(found, [1, -1])


def test_what_is_no_value_is_refused() -> None:
    with pytest.raises(rx.RefusalError, match="does not know what i32 is as vector<1xi32>"):
        run("""
            %0 = arith.constant 1 : i32
            %1 = builtin.unrealized_conversion_cast %0 : i32 to vector<1xi32>
            return %1 : vector<1xi32>""")


def test_later_stages_are_refused() -> None:
    with pytest.raises(rx.RefusalError, match=r"'llvm.add': the reference runs .* up to 'parallel'"):
        run("""
            %0 = arith.constant 1 : i32
            %1 = llvm.add %0, %0 : i32
            return %1 : i32""")


def intrinsic(name: str, sums: str, factors: str, x: numpy.ndarray, y: numpy.ndarray, start: numpy.ndarray) -> object:
    return run(
        f"""
        func.func @main(%s: tensor<{sums}>, %x: tensor<{factors}>, %y: tensor<{factors}>) -> vector<{sums}> {{
          %c0 = arith.constant 0 : index
          %i = arith.constant 0 : {sums.split("x")[1]}
          %0 = vector.transfer_read %s[%c0], %i : tensor<{sums}>, vector<{sums}>
          %j = arith.constant 0 : i8
          %1 = vector.transfer_read %x[%c0], %j : tensor<{factors}>, vector<{factors}>
          %2 = vector.transfer_read %y[%c0], %j : tensor<{factors}>, vector<{factors}>
          %3 = llvm.call_intrinsic "{name}"(%0, %1, %2)
            : (vector<{sums}>, vector<{factors}>, vector<{factors}>) -> vector<{sums}>
          return %3 : vector<{sums}>
        }}""",
        start, x, y,
    )  # fmt: skip


def test_sums_of_products() -> None:
    x, y = numpy.arange(16, dtype=numpy.int8) - 8, numpy.arange(16, dtype=numpy.int8) - 3
    start = numpy.array([1, 2, 3, 4], numpy.int32)
    unsigned = x.astype(numpy.uint8).astype(int)
    found = intrinsic("llvm.x86.avx512.vpdpbusd.128", "4xi32", "16xi8", x, y, start)
    equal(found, start + (unsigned * y).reshape(4, 4).sum(1))
    found = intrinsic("llvm.aarch64.neon.sdot.v4i32.v16i8", "4xi32", "16xi8", x, y, start)
    equal(found, start + (x.astype(int) * y).reshape(4, 4).sum(1))
    with pytest.raises(rx.RefusalError, match=r"does not know the intrinsic llvm.x86.sse2.pause"):
        intrinsic("llvm.x86.sse2.pause", "4xi32", "16xi8", x, y, start)
