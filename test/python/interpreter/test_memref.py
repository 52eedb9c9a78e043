# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""memref: memory, views of it, and what must not be read."""

from __future__ import annotations

import ml_dtypes
import numpy
import pytest
from run_text import equal, run

import relax_mlir as rx

X = numpy.arange(12, dtype=numpy.float32).reshape(3, 4)


@pytest.mark.parametrize("wide", [False, True])
def test_arguments_are_written_to(wide: bool) -> None:
    x = X.copy()
    run(
        """
        func.func @main(%x: memref<3x4xf32>, %i: index) {
          %c1 = arith.constant 1 : index
          %0 = memref.load %x[%i, %c1] : memref<3x4xf32>
          %1 = arith.addf %0, %0 : f32
          memref.store %1, %x[%c1, %i] : memref<3x4xf32>
          return
        }""",
        x, 2, wide=wide,
    )  # fmt: skip
    expected = X.copy()
    expected[1, 2] = 2 * X[2, 1]
    equal(x, expected)


def test_other_elements_and_shapes_are_refused() -> None:
    text = "func.func @main(%x: memref<3x?xf32>) {\n return\n}"
    with pytest.raises(rx.OptionError, match="argument #0 has elements of float64, not f32"):
        run(text, X.astype(float))
    with pytest.raises(rx.OptionError, match=r"argument #0 has the shape \(4, 3\)"):
        run(text, X.T)


@pytest.mark.parametrize("place", [-1, 3])
@pytest.mark.parametrize("access", ["memref.load %x[%i, %i]", "memref.store %one, %x[%i, %i]"])
def test_outside_is_refused(access: str, place: int) -> None:
    found = "%0 = " if "load" in access else ""
    with pytest.raises(rx.RefusalError, match=rf"case.mlir:4.* place {place} along axis 0, which has size 3"):
        run(
            f"""func.func @main(%x: memref<3x4xf32>, %i: index) {{
              %one = arith.constant 1.0 : f32

              {found}{access} : memref<3x4xf32>
              return
            }}""",
            X.copy(), place,
        )  # fmt: skip


@pytest.mark.parametrize("use", ["memref.load %1[%i]", "vector.load %1[%i]", "memref.dealloc %0"])
def test_memory_that_was_given_back_is_refused(use: str) -> None:
    """Also by a view that was made before."""
    line = {"memref.load": "%2 = {} : memref<4xf32>", "vector.load": "%2 = {} : memref<4xf32>, vector<2xf32>"}
    text = line.get(use.split()[0], "{} : memref<8xf32>").format(use)
    with pytest.raises(rx.RefusalError, match="deallocated"):
        run(f"""func.func @main(%i: index) {{
              %0 = memref.alloc() : memref<8xf32>
              %1 = memref.subview %0[0] [4] [1] : memref<8xf32> to memref<4xf32>
              memref.dealloc %0 : memref<8xf32>
              {text}
              return
            }}""", 0)  # fmt: skip


def test_views() -> None:
    found = run(
        """
        func.func @main(%x: memref<3x4xf32>) -> (f32, f32, f32, f32, index) {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %0 = memref.subview %x[1, 1] [2, 2] [1, 2] : memref<3x4xf32> to memref<2x2xf32, strided<[4, 2], offset: 5>>
          %1 = memref.load %0[%c1, %c1] : memref<2x2xf32, strided<[4, 2], offset: 5>>
          %2 = memref.collapse_shape %x [[0, 1]] : memref<3x4xf32> into memref<12xf32>
          %c7 = arith.constant 7 : index
          %3 = memref.load %2[%c7] : memref<12xf32>
          %4 = memref.reinterpret_cast %x to offset: [1], sizes: [2, 3], strides: [1, 4]
            : memref<3x4xf32> to memref<2x3xf32, strided<[1, 4], offset: 1>>
          %5 = memref.load %4[%c1, %c1] : memref<2x3xf32, strided<[1, 4], offset: 1>>
          %6 = memref.transpose %x (i, j) -> (j, i) : memref<3x4xf32> to memref<4x3xf32, strided<[1, 4]>>
          %7 = memref.load %6[%c1, %c0] : memref<4x3xf32, strided<[1, 4]>>
          %8 = memref.dim %6, %c0 : memref<4x3xf32, strided<[1, 4]>>
          return %1, %3, %5, %7, %8 : f32, f32, f32, f32, index
        }""",
        X,
    )
    assert found == (X[2, 3], 7, X[1, 2], X[0, 1], 4)


def test_a_view_of_more_than_the_memory_is_refused() -> None:
    with pytest.raises(rx.RefusalError, match=r"'memref.reinterpret_cast': it is larger than its memory"):
        run(
            """func.func @main(%x: memref<3x4xf32>, %n: index) {
              %0 = memref.reinterpret_cast %x to offset: [0], sizes: [%n], strides: [1]
                : memref<3x4xf32> to memref<?xf32>
              return
            }""",
            X, 13,
        )  # fmt: skip


@pytest.mark.parametrize("wide", [False, True])
def test_bytes_are_elements_of_several_types(wide: bool) -> None:
    """As in an arena, in which one tensor's memory is another one's later."""
    found = run(
        """
        func.func @main(%n: index) -> (f32, i64, bf16) {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %c16 = arith.constant 16 : index
          %bytes = arith.constant 48 : index
          %arena = memref.alloc(%bytes) : memref<?xi8>
          %0 = memref.view %arena[%c0][%n] : memref<?xi8> to memref<?xf32>
          %1 = memref.view %arena[%c16][] : memref<?xi8> to memref<2x2xi64>
          %one = arith.constant 1.5 : f32
          %many = arith.constant 1234567890123 : i64
          linalg.fill ins(%one : f32) outs(%0 : memref<?xf32>)
          linalg.fill ins(%many : i64) outs(%1 : memref<2x2xi64>)
          %2 = memref.load %0[%c1] : memref<?xf32>
          %3 = memref.load %1[%c1, %c1] : memref<2x2xi64>
          %4 = memref.view %arena[%c0][] : memref<?xi8> to memref<8xbf16>
          %two = arith.constant 2.5 : bf16
          memref.store %two, %4[%c1] : memref<8xbf16>
          %5 = memref.load %4[%c1] : memref<8xbf16>
          memref.dealloc %arena : memref<?xi8>
          return %2, %3, %5 : f32, i64, bf16
        }""",
        4, wide=wide,
    )  # fmt: skip
    assert found == (1.5, 1234567890123, 2.5)


def test_a_view_outside_of_its_bytes_is_refused() -> None:
    with pytest.raises(rx.RefusalError, match=r"'memref.view': it is larger than its memory of 16 bytes"):
        run("""func.func @main(%start: index) {
              %0 = memref.alloc() : memref<16xi8>
              %1 = memref.view %0[%start][] : memref<16xi8> to memref<4xf32>
              return
            }""", 4)  # fmt: skip


@pytest.mark.parametrize("dtype", ["f32", "bf16", "f64"])
def test_memory_that_nothing_has_written_is_no_number(dtype: str) -> None:
    alone, of_bytes = run(f"""
        %c0 = arith.constant 0 : index
        %0 = memref.alloc() : memref<{dtype}>
        %1 = memref.load %0[] : memref<{dtype}>
        %2 = memref.alloc() : memref<16xi8>
        %3 = memref.view %2[%c0][] : memref<16xi8> to memref<1x{dtype}>
        %4 = memref.load %3[%c0] : memref<1x{dtype}>
        return %1, %4 : {dtype}, {dtype}""")
    assert numpy.isnan(alone) and numpy.isnan(of_bytes)


def test_constants_of_the_module() -> None:
    text = """
        memref.global "private" constant @weights : memref<3xbf16> = dense<[1.0, 2.0, 3.0]>
        func.func @main(%i: index) -> bf16 {
          %0 = memref.get_global @weights : memref<3xbf16>
          %1 = memref.load %0[%i] : memref<3xbf16>
          return %1 : bf16
        }"""
    assert run(text, 2) == ml_dtypes.bfloat16(3)


def test_what_several_threads_would_add() -> None:
    total = numpy.zeros(2, numpy.int32)
    found = run(
        """
        func.func @main(%x: memref<2xi32>) -> i32 {
          %c1 = arith.constant 1 : index
          %five = arith.constant 5 : i32
          %0 = memref.atomic_rmw addi %five, %x[%c1] : (i32, memref<2xi32>) -> i32
          %1 = memref.atomic_rmw addi %five, %x[%c1] : (i32, memref<2xi32>) -> i32
          return %1 : i32
        }""",
        total,
    )
    assert found == 5
    equal(total, [0, 10])
