# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --relax-canonicalize --print-script | FileCheck %s
# RUN: graphs %s | relax-opt - --relax-canonicalize='fold-limit=2' --print-script | FileCheck %s --check-prefix=LIMIT

# LIMIT-LABEL: def fold(
# LIMIT: R.add(
# CHECK-LABEL: def fold(
# CHECK-NEXT: return R.const([5, 6, 7], "int32"), R.const(-128, "int8"), R.const([-3, 3], "int32"), R.const([-4, 3], "int32"), R.const({{\[\[}}1.0], [2.0], [3.0]], "float32")
def fold() -> R.Tuple(i32[3], i8, i32[2], i32[2], f32[3, 1]):
    sum = R.add(R.const([1, 2, 3], "int32"), R.const(4, R.Tensor((3,), "int32")))
    wrapped = R.add(R.const(127, "int8"), R.const(1, "int8"))
    sevens = R.const([-7, 7], "int32")
    quotient = R.divide(sevens, R.const(2, "int32"))
    floor = R.floor_divide(sevens, R.const(2, "int32"))
    turned = R.permute_dims(R.const([[1.0, 2.0, 3.0]], "float32"))
    return sum, wrapped, quotient, floor, turned


# Results that depend on the machine stay: division by zero, excessive shifts, floats beyond integers, exp's last
# bit.
# CHECK-LABEL: def left(
# CHECK-NEXT: quotient: R.Tensor((), "int32") = R.divide(R.const(1, "int32"), R.const(0, "int32"))
# CHECK-NEXT: shifted: R.Tensor((), "int32") = R.left_shift(R.const(1, "int32"), R.const(32, "int32"))
# CHECK-NEXT: cut: R.Tensor((), "int8") = R.astype(R.const(1000.0, "float32"), dtype="int8")
# CHECK-NEXT: e: R.Tensor((), "float32") = R.exp(R.const(1000.0, "float32"))
# CHECK-NEXT: zero: R.Tensor((), "float32") = R.maximum(R.const(0.0, "float32"), R.const(-0.0, "float32"))
# CHECK-NEXT: return quotient, shifted, cut, e, zero
def left() -> R.Tuple(i32, i32, i8, f32, f32):
    quotient = R.divide(R.const(1, "int32"), R.const(0, "int32"))
    shifted = R.left_shift(R.const(1, "int32"), R.const(32, "int32"))
    large = R.const(1000.0, "float32")
    cut = R.astype(large, "int8")
    e = R.exp(large)
    zero = R.maximum(R.const(0.0, "float32"), R.const(-0.0, "float32"))
    return quotient, shifted, cut, e, zero


# Integers may be grouped at will; sums of floats are rounded in the order in which they stand.
# CHECK-LABEL: def regrouped(
# CHECK: ) ->
# CHECK-NEXT: five: R.Tensor((4,), "int32") = R.add(i, R.const(5, "int32"))
# CHECK-NEXT: once: R.Tensor((4,), "float32") = R.add(f, R.const(0.1, "float32"))
# CHECK-NEXT: twice: R.Tensor((4,), "float32") = R.add(once, R.const(0.1, "float32"))
# CHECK-NEXT: return five, twice
def regrouped(i: i32[4], f: f32[4]) -> R.Tuple(i32[4], f32[4]):
    two = R.add(R.const(2, "int32"), i)
    five = R.add(two, R.const(3, "int32"))
    tenth = R.const(0.1, "float32")
    once = R.add(f, tenth)
    twice = R.add(once, tenth)
    return five, twice


# CHECK-LABEL: def filled(
# CHECK: ) ->
# CHECK-NEXT: symbolic: R.Tensor(("n",), "float32") = R.zeros(s, dtype="float32")
# CHECK-NEXT: large: R.Tensor((2000,), "float32") = R.zeros((2000,), dtype="float32")
# CHECK-NEXT: return R.const(1.0, R.Tensor((2, 3), "float32")), symbolic, large
def filled(s: R.Shape(("n",))) -> R.Tuple(f32[2, 3], f32[n], f32[2000]):
    small = R.ones((2, 3), "float32")
    symbolic = R.zeros(s, "float32")
    large = R.zeros((2000,), "float32")
    return small, symbolic, large


# The smallest integer divided by -1 overflows: that is for the program to do.
# CHECK-LABEL: def overflow(
# CHECK-NEXT: floor: R.Tensor((2,), "int8") = R.floor_divide(R.const([-128, 4], "int8"), R.const(-1, "int8"))
# CHECK-NEXT: quotient: R.Tensor((2,), "int8") = R.divide(R.const([-128, 4], "int8"), R.const(-1, "int8"))
# CHECK-NEXT: return floor, quotient
def overflow() -> R.Tuple(i8[2], i8[2]):
    x = R.const([-128, 4], "int8")
    minus = R.const(-1, "int8")
    floor = R.floor_divide(x, minus)
    quotient = R.divide(x, minus)
    return floor, quotient


# A column and a row together are a matrix, larger than both: they stay apart. Where one covers the other they do
# not.
# CHECK-LABEL: def column_and_row(
# CHECK: ) ->
# CHECK-NEXT: part: R.Tensor((2, 3), "int32") = R.add(x, R.const({{\[\[}}1], [2]], "int32"))
# CHECK-NEXT: apart: R.Tensor((2, 3), "int32") = R.add(part, R.const({{\[\[}}1, 2, 3]], "int32"))
# CHECK-NEXT: sum: R.Tensor((2, 3), "int32") = R.add(x, R.const({{\[\[}}2, 4, 6], [5, 7, 9]], "int32"))
# CHECK-NEXT: return apart, sum
def column_and_row(x: i32[2, 3]) -> R.Tuple(i32[2, 3], i32[2, 3]):
    column = R.const([[1], [2]], "int32")
    row = R.const([[1, 2, 3]], "int32")
    whole = R.const([[1, 2, 3], [4, 5, 6]], "int32")
    part = R.add(x, column)
    apart = R.add(part, row)
    covered = R.add(x, row)
    sum = R.add(covered, whole)
    return apart, sum


# Floats become integers up to the last one that fits.
# CHECK-LABEL: def limits(
# CHECK-NEXT: next: R.Tensor((), "int64") = R.astype(R.const(9.223372036854776e+18, "float64"), dtype="int64")
# CHECK-NEXT: large: R.Tensor((), "int8") = R.astype(R.const(128.0, "float32"), dtype="int8")
# CHECK-NEXT: return R.const(9223372036854774784, "int64"), next, R.const(127, "int8"), large
def limits() -> R.Tuple(i64, i64, i8, i8):
    last = R.astype(R.const(9223372036854774784.0, "float64"), "int64")
    next = R.astype(R.const(9223372036854775808.0, "float64"), "int64")
    small = R.astype(R.const(127.9, "float32"), "int8")
    large = R.astype(R.const(128.0, "float32"), "int8")
    return last, next, small, large


# An element of a constant is a number, where its place is known and inside.
# CHECK-LABEL: def elements(
# CHECK-NEXT: unknown = tensor.extract({{.*}}, i, 0, T.float32)
# CHECK-NEXT: outside = tensor.extract({{.*}}, T.index(2), T.index(0), T.float32)
# CHECK-NEXT: return T.float32(3.0), T.int64(50), unknown, outside
def elements(i: T.index) -> R.Tuple(T.float32, T.int64, T.float32, T.float32):
    known = tensor.extract(R.const([[1.0, 2.0], [3.0, 4.0]], "float32"), T.index(1), T.index(0), T.float32)
    only = tensor.extract(R.const(50, "int64"), T.int64)
    unknown = tensor.extract(R.const([[1.0, 2.0], [3.0, 4.0]], "float32"), i, 0, T.float32)
    outside = tensor.extract(R.const([[1.0, 2.0], [3.0, 4.0]], "float32"), T.index(2), T.index(0), T.float32)
    return known, only, unknown, outside
