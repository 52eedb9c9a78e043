# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""vector: what is made of vectors, and what goes between them and memory."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from run_text import equal, run

import relax_mlir as rx

V = "%v = arith.constant dense<[[1, 2, 3, 4], [5, 6, 7, 8]]> : vector<2x4xi32>\n"
N = numpy.arange(1, 9).reshape(2, 4)

CASES: dict[str, tuple[str, str, Any]] = {
    "extract a row": ("%0 = vector.extract %v[1] : vector<4xi32> from vector<2x4xi32>", "vector<4xi32>", N[1]),
    "extract a number": ("%0 = vector.extract %v[1, 2] : i32 from vector<2x4xi32>", "i32", 7),
    "insert": (
        "%r = arith.constant dense<0> : vector<4xi32>\n"
        "%0 = vector.insert %r, %v[0] : vector<4xi32> into vector<2x4xi32>",
        "vector<2x4xi32>", [[0] * 4, N[1]],
    ),
    "shuffle": (
        "%0 = vector.shuffle %v, %v [3, 0] : vector<2x4xi32>, vector<2x4xi32>", "vector<2x4xi32>", N[[1, 0]],
    ),
    "transpose": ("%0 = vector.transpose %v, [1, 0] : vector<2x4xi32> to vector<4x2xi32>", "vector<4x2xi32>", N.T),
    "shape_cast": ("%0 = vector.shape_cast %v : vector<2x4xi32> to vector<8xi32>", "vector<8xi32>", N.ravel()),
    "broadcast": (
        "%r = vector.extract %v[0] : vector<4xi32> from vector<2x4xi32>\n"
        "%0 = vector.broadcast %r : vector<4xi32> to vector<3x4xi32>",
        "vector<3x4xi32>", [N[0]] * 3,
    ),
    "strided slice": (
        "%0 = vector.extract_strided_slice %v {offsets = [0, 1], sizes = [2, 2], strides = [1, 1]}"
        " : vector<2x4xi32> to vector<2x2xi32>",
        "vector<2x2xi32>", N[:, 1:3],
    ),
    "insert a strided slice": (
        "%r = arith.constant dense<0> : vector<2xi32>\n"
        "%0 = vector.insert_strided_slice %r, %v {offsets = [1, 2], strides = [1]}"
        " : vector<2xi32> into vector<2x4xi32>",
        "vector<2x4xi32>", [N[0], [5, 6, 0, 0]],
    ),
    "reduction": (
        "%r = vector.shape_cast %v : vector<2x4xi32> to vector<8xi32>\n"
        "%0 = vector.reduction <mul>, %r : vector<8xi32> into i32",
        "i32", 40320,
    ),
    "multi_reduction": (
        "%r = arith.constant dense<10> : vector<2xi32>\n"
        "%0 = vector.multi_reduction <add>, %v, %r [1] : vector<2x4xi32> to vector<2xi32>",
        "vector<2xi32>", N.sum(1) + 10,
    ),
    "contract": (
        "%r = arith.constant dense<1> : vector<2x2xi32>\n"
        "%0 = vector.contract {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>,"
        " affine_map<(i, j, k) -> (i, j)>], iterator_types = [\"parallel\", \"parallel\", \"reduction\"],"
        " kind = #vector.kind<add>} %v, %v, %r : vector<2x4xi32>, vector<2x4xi32> into vector<2x2xi32>",
        "vector<2x2xi32>", N @ N.T + 1,
    ),
    "outer product": (
        "%r = vector.extract %v[0] : vector<4xi32> from vector<2x4xi32>\n"
        "%0 = vector.outerproduct %r, %r : vector<4xi32>, vector<4xi32>",
        "vector<4x4xi32>", numpy.outer(N[0], N[0]),
    ),
    "steps": ("%0 = vector.step : vector<4xindex>", "vector<4xindex>", range(4)),
    "a mask": ("%0 = vector.constant_mask [1, 2] : vector<2x3xi1>", "vector<2x3xi1>", [[1, 1, 0], [0, 0, 0]]),
    "bits": (
        "%r = vector.extract %v[0] : vector<4xi32> from vector<2x4xi32>\n"
        "%0 = vector.bitcast %r : vector<4xi32> to vector<8xi16>",
        "vector<8xi16>", [1, 0, 2, 0, 3, 0, 4, 0],
    ),
    "bits of less than a byte": (
        "%r = arith.constant dense<[18, -2]> : vector<2xi8>\n%0 = vector.bitcast %r : vector<2xi8> to vector<4xi4>\n",
        "vector<4xi4>", [2, 1, -2, -1],
    ),
    "interleave": (
        "%r = vector.extract %v[0] : vector<4xi32> from vector<2x4xi32>\n"
        "%q = vector.extract %v[1] : vector<4xi32> from vector<2x4xi32>\n"
        "%0 = vector.interleave %r, %q : vector<4xi32> -> vector<8xi32>",
        "vector<8xi32>", [1, 5, 2, 6, 3, 7, 4, 8],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_values(case: str) -> None:
    text, type_, expected = CASES[case]
    found = run(f"{V}{text}\nreturn %0 : {type_}")
    equal(numpy.asarray(found).astype(numpy.int64), numpy.asarray(expected, dtype=numpy.int64))


def test_the_largest_without_a_sign() -> None:
    assert run("""
        %0 = arith.constant dense<[-1, 1, 2]> : vector<3xi8>
        %1 = vector.reduction <maxui>, %0 : vector<3xi8> into i8
        %2 = vector.reduction <maxsi>, %0 : vector<3xi8> into i8
        return %1, %2 : i8, i8""") == (-1, 2)


# ---- memory ----

X = numpy.arange(12, dtype=numpy.float32).reshape(3, 4)
READ = """
    func.func @main(%x: memref<3x4xf32>, %i: index, %j: index) -> {type} {{
      %pad = arith.constant -1.0 : f32
      {before}
      %0 = vector.transfer_read %x[%i, %j], %pad{options} : memref<3x4xf32>, {type}
      return %0 : {type}
    }}"""


def read(type_: str, i: int, j: int, options: str = "", before: str = "") -> Any:
    return run(READ.format(type=type_, options=options, before=before), X, i, j)


def test_transfers_read() -> None:
    equal(read("vector<2xf32>", 1, 1, " {in_bounds = [true]}"), X[1, 1:3])
    equal(read("vector<2x2xf32>", 1, 2), X[1:3, 2:4])
    equal(read("vector<3xf32>", 1, 2), [6, 7, -1])


def test_transfers_by_a_map() -> None:
    turned = " {permutation_map = affine_map<(i, j) -> (j, i)>}"
    equal(read("vector<2x3xf32>", 0, 1, turned), X[:, 1:3].T)
    spread = " {in_bounds = [true, true], permutation_map = affine_map<(i, j) -> (0, j)>}"
    equal(read("vector<3x2xf32>", 1, 1, spread), [X[1, 1:3]] * 3)
    column = " {in_bounds = [true], permutation_map = affine_map<(i, j) -> (i)>}"
    equal(read("vector<2xf32>", 1, 3, column), X[1:3, 3])


def test_transfers_with_a_mask() -> None:
    """What the mask leaves out may be outside."""
    mask = "%two = arith.constant 2 : index\n%mask = vector.create_mask %two : vector<4xi1>"
    equal(read("vector<4xf32>", 2, 2, ", %mask {in_bounds = [true]}", mask), [10, 11, -1, -1])
    turned = ", %mask {in_bounds = [true, true], permutation_map = affine_map<(i, j) -> (j, i)>}"
    mask = "%mask = vector.constant_mask [1, 2] : vector<3x2xi1>"
    equal(read("vector<2x3xf32>", 0, 0, turned, mask), [[0, -1, -1], [1, -1, -1]])


@pytest.mark.parametrize("i, j, place", [(0, 3, "place 4 along axis 1"), (-1, 0, "place -1 along axis 0")])
def test_transfers_outside_are_refused(i: int, j: int, place: str) -> None:
    with pytest.raises(rx.RefusalError, match=f"'vector.transfer_read': it accesses {place}"):
        read("vector<2xf32>", i, j, " {in_bounds = [true]}")


def test_transfers_write() -> None:
    x = X.copy()
    written = run(
        """
        func.func @main(%x: memref<3x4xf32>, %t: tensor<3x4xf32>, %j: index) -> tensor<3x4xf32> {
          %v = arith.constant dense<[10.0, 20.0, 30.0]> : vector<3xf32>
          %c1 = arith.constant 1 : index
          vector.transfer_write %v, %x[%c1, %j] : vector<3xf32>, memref<3x4xf32>
          %two = arith.constant 2 : index
          %mask = vector.create_mask %two : vector<3xi1>
          %0 = vector.transfer_write %v, %t[%c1, %c1], %mask {in_bounds = [true]} : vector<3xf32>, tensor<3x4xf32>
          return %0 : tensor<3x4xf32>
        }""",
        x, X, 2,
    )  # fmt: skip
    equal(x, [X[0], [4, 5, 10, 20], X[2]])
    equal(written, [X[0], [4, 10, 20, 7], X[2]])


def test_loads_and_stores_of_lanes() -> None:
    x = numpy.arange(8, dtype=numpy.float32)
    loaded, masked, gathered = run(
        """
        func.func @main(%x: memref<8xf32>) -> (vector<2xf32>, vector<4xf32>, vector<4xf32>) {
          %c0 = arith.constant 0 : index
          %c3 = arith.constant 3 : index
          %c6 = arith.constant 6 : index
          %mask = arith.constant dense<[true, true, false, false]> : vector<4xi1>
          %places = arith.constant dense<[4, -1, 90, 90]> : vector<4xi32>
          %none = arith.constant dense<-1.0> : vector<4xf32>
          %0 = vector.load %x[%c3] : memref<8xf32>, vector<2xf32>
          %1 = vector.maskedload %x[%c6], %mask, %none : memref<8xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
          %2 = vector.gather %x[%c3][%places], %mask, %none
            : memref<8xf32>, vector<4xi32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
          vector.store %0, %x[%c0] : memref<8xf32>, vector<2xf32>
          vector.maskedstore %x[%c6], %mask, %none : memref<8xf32>, vector<4xi1>, vector<4xf32>
          return %0, %1, %2 : vector<2xf32>, vector<4xf32>, vector<4xf32>
        }""",
        x,
    )
    equal(loaded, [3, 4])
    equal(masked, [6, 7, -1, -1])
    equal(gathered, [7, 2, -1, -1])
    equal(x, [3, 4, 2, 3, 4, 5, -1, -1])


@pytest.mark.parametrize("step", [
    "%0 = vector.transfer_read %x[%c], %v : memref<3xvector<2xf32>>, vector<1x2xf32>",
    "vector.transfer_write %w, %x[%c] : vector<1x2xf32>, memref<3xvector<2xf32>>",
])  # fmt: skip
def test_memory_of_vectors_is_refused(step: str) -> None:
    with pytest.raises(rx.RefusalError, match="the reference has no memory of vectors"):
        run(
            f"""func.func @main(%w: vector<1x2xf32>) {{
              %c = arith.constant 0 : index
              %v = arith.constant dense<0.0> : vector<2xf32>
              %x = memref.alloc() : memref<3xvector<2xf32>>
              {step}
              return
            }}""",
            numpy.zeros((1, 2), "float32"),
        )


def test_a_load_outside_is_refused() -> None:
    with pytest.raises(rx.RefusalError, match=r"'vector.load': it accesses places 3 to 4 of 4"):
        run(
            """func.func @main(%x: memref<3x4xf32>, %j: index) -> vector<2xf32> {
              %0 = vector.load %x[%j, %j] : memref<3x4xf32>, vector<2xf32>
              return %0 : vector<2xf32>
            }""".replace("%j, %j", "%c0, %j").replace("%0 =", "%c0 = arith.constant 0 : index\n%0 =", 1),
            X, 3,
        )  # fmt: skip
