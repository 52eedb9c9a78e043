# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Accesses that leave their buffer are refused, in each form, by the reference and by llvm{bounds=check}."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import relax_mlir as rx
from run_text import equal

#: A kernel on x, with a number from the caller: a size or a place.
MODULE = """
func.func private @kernel(%x: memref<12xf32>, %number: memref<i32>) attributes {{tir.prim_func}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %zeros = arith.constant dense<0.0> : vector<8xf32>
  %all = arith.constant dense<true> : vector<8xi1>
  %lanes = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : vector<8xi32>
  %loaded = memref.load %number[] : memref<i32>
  %n = arith.index_cast %loaded : i32 to index
  %grid = memref.expand_shape %x [[0, 1]] output_shape [3, 4] : memref<12xf32> into memref<3x4xf32>
  {body}
  return
}}
func.func @main(%x: tensor<12xf32>, %n: tensor<i32>) -> tensor<12xf32> {{
  %0 = "relax.call_tir_inplace"(%x, %n) {{func = @kernel, inplace_indices = array<i64: 0>}}
    : (tensor<12xf32>, tensor<i32>) -> tensor<12xf32>
  return %0 : tensor<12xf32>
}}"""

_KEPT = "vector.store %v, %x[%c0] : memref<12xf32>, vector<8xf32>"
#: The body, a number for which each access is inside, numbers for which an access is not, and a part of the error.
FORMS = {
    "load": (
        "%v = memref.load %grid[%c1, %n] : memref<3x4xf32>\n memref.store %v, %x[%c0] : memref<12xf32>",
        3, (4, -1), "memref.load reads elements {n} to {n} of the 4 along dimension 1 of memref<3x4xf32>",
    ),
    "store": (
        "memref.store %zero, %grid[%n, %c1] : memref<3x4xf32>",
        2, (3, -1), "memref.store writes elements {n} to {n} of the 3 along dimension 0",
    ),
    "vector load": (
        f"%v = vector.load %x[%n] : memref<12xf32>, vector<8xf32>\n {_KEPT}",
        4, (5, -1), "vector.load reads elements {n} to {last} of the 12",
    ),
    "vector store": (
        "vector.store %zeros, %x[%n] : memref<12xf32>, vector<8xf32>",
        4, (5, -1), "vector.store writes elements {n} to {last} of the 12",
    ),
    "transfer": (
        f"%v = vector.transfer_read %x[%n], %zero {{in_bounds = [true]}} : memref<12xf32>, vector<8xf32>\n {_KEPT}",
        4, (5, 11, -1), "vector.transfer_read reads elements {n} to {last} of the 12",
    ),
    "clipped transfer": (
        f"%v = vector.transfer_read %x[%n], %zero : memref<12xf32>, vector<8xf32>\n {_KEPT}",
        11, (-1,), "vector.transfer_read reads elements -1 to 6 of the 12",
    ),
    "transfer of a row": (
        "vector.transfer_write %zeros, %grid[%n, %c0] : vector<8xf32>, memref<3x4xf32>",
        2, (3,), "vector.transfer_write writes elements 3 to 3 of the 3 along dimension 0",
    ),
    "masked transfer": (
        "%m = vector.create_mask %n : vector<8xi1>\n %c8 = arith.constant 8 : index\n"
        "vector.transfer_write %zeros, %x[%c8], %m {in_bounds = [true]} : vector<8xf32>, memref<12xf32>",
        4, (5,), "vector.transfer_write writes elements 8 to 12 of the 12",
    ),
    "masked store": (
        "%w = vector.broadcast %loaded : i32 to vector<8xi32>\n %m = arith.cmpi slt, %lanes, %w : vector<8xi32>\n"
        "%c8 = arith.constant 8 : index\n"
        "vector.maskedstore %x[%c8], %m, %zeros : memref<12xf32>, vector<8xi1>, vector<8xf32>",
        4, (5,), "vector.maskedstore writes elements 8 to 12 of the 12",
    ),
    "gather": (
        "%w = vector.broadcast %loaded : i32 to vector<8xi32>\n %i = arith.muli %lanes, %w : vector<8xi32>\n"
        "%v = vector.gather %x[%c1] [%i], %all, %zeros\n"
        f" : memref<12xf32>, vector<8xi32>, vector<8xi1>, vector<8xf32> into vector<8xf32>\n {_KEPT}",
        1, (2,), "vector.gather reads elements 1 to 15 of the 12",
    ),
    "scatter": (
        "%w = vector.broadcast %loaded : i32 to vector<8xi32>\n %i = arith.subi %lanes, %w : vector<8xi32>\n"
        "vector.scatter %x[%c1] [%i], %all, %zeros : memref<12xf32>, vector<8xi32>, vector<8xi1>, vector<8xf32>",
        1, (2,), "vector.scatter writes elements -1 to 6 of the 12",
    ),
    "slice": (
        "%s = memref.subview %x[%n] [4] [2] : memref<12xf32> to memref<4xf32, strided<[2], offset: ?>>\n"
        "memref.store %zero, %s[%c0] : memref<4xf32, strided<[2], offset: ?>>",
        5, (6, -1), "memref.subview takes elements {n} to {strided} of the 12",
    ),
    "empty slice": (
        "%c12 = arith.constant 12 : index\n"
        "%s = memref.subview %x[%c12] [%n] [1] : memref<12xf32> to memref<?xf32, strided<[1], offset: ?>>\n"
        "linalg.fill ins(%zero : f32) outs(%s : memref<?xf32, strided<[1], offset: ?>>)",
        0, (1,), "memref.subview takes elements 12 to 12 of the 12",
    ),
    "linalg": (
        "%s = memref.reinterpret_cast %x to offset: [0], sizes: [%n], strides: [1] : memref<12xf32> to memref<?xf32>\n"
        "linalg.fill ins(%zero : f32) outs(%s : memref<?xf32>)",
        12, (13,), "memref.reinterpret_cast takes elements 0 to 12 of the 12",
    ),
    "part of bytes": (
        "%b = memref.alloc() : memref<64xi8>\n %p = memref.view %b[%n][] : memref<64xi8> to memref<8xf32>\n"
        "memref.store %zero, %p[%c0] : memref<8xf32>\n memref.dealloc %b : memref<64xi8>",
        32, (33, -1), "memref.view takes elements {n} to {bytes} of the 64",
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_accesses_outside_of_memory_are_refused(form: str) -> None:
    body, inside, outside, text = FORMS[form]
    module = rx.Module.parse(MODULE.format(body=body), "kernel.mlir")
    x = numpy.arange(12, dtype="float32")
    main = rx.reference(module)["main"]
    right = main(x.copy(), numpy.array(inside, "int32"))
    for number in outside:
        shown = text.format(n=number, last=number + 7, strided=number + 6, bytes=number + 31)
        with pytest.raises(IndexError) as caught:
            main(x.copy(), numpy.array(number, "int32"))
        assert f"out of bounds: {shown}" in str(caught.value) and "kernel.mlir:" in str(caught.value)
    checked = rx.compile(module, "llvm{bounds=check}", cache=False)["main"]
    equal(checked(x.copy(), numpy.array(inside, "int32")), right)
    with pytest.raises(IndexError, match="out of bounds: "):
        checked(x.copy(), numpy.array(outside[0], "int32"))


PACKED = """
memref.global "private" constant @packed : memref<2x8xi8> = dense<1>
func.func private @kernel(%x: memref<16xi8>) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %p = arith.constant 0 : i8
  %w = memref.get_global @packed : memref<2x8xi8>
  %0 = vector.transfer_read %w[%c1, %c0], %p {in_bounds = [true]} : memref<2x8xi8>, vector<16xi8>
  vector.transfer_write %0, %x[%c0] {in_bounds = [true]} : vector<16xi8>, memref<16xi8>
  return
}
func.func @main(%x: tensor<16xi8>) -> tensor<16xi8> {
  %0 = "relax.call_tir_inplace"(%x) {func = @kernel, inplace_indices = array<i64: 0>} : (tensor<16xi8>) -> tensor<16xi8>
  return %0 : tensor<16xi8>
}"""


def lowered(text: str, stage: str) -> Any:
    """Lower for code that checks itself: other code is verified statically, and this read is refused."""
    target = "llvm{bounds=check}"
    return rx.lower(rx.Module.parse(text), target, pipeline=rx.stages(target).until(stage))


@pytest.mark.parametrize("stage", ["legalize", "bufferize", "parallel", "entries"])
def test_each_stage_before_statuses_is_checked(stage: str) -> None:
    main = rx.reference(lowered(PACKED, stage))["main"]
    with pytest.raises(IndexError, match=r"reads elements 0 to 15 of the 8 along dimension 1 of constant \S*packed "):
        main(numpy.zeros(16, "int8"))


def test_a_certain_read_behind_a_constant_is_refused_by_the_compiler() -> None:
    with pytest.raises(rx.RelaxError, match=r"reads elements 0 to 15 of the 8 along dimension 1 of constant packed "):
        rx.compile(rx.Module.parse(PACKED), cache=False)


def test_an_unknown_value_of_the_option_is_refused() -> None:
    with pytest.raises(rx.OptionError, match=r"bounds=chek: expected one of trust, check.*did you mean"):
        rx.compile(rx.Module.parse(PACKED), "llvm{bounds=chek}")
