# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --relax-canonicalize --print-script | FileCheck %s

# Of floats only -0.0 may be added and only 0.0 subtracted: 0.0 would turn -0.0 into 0.0.
# CHECK-LABEL: def float_zeros(
# CHECK: ) ->
# CHECK-NEXT: a: R.Tensor((4,), "float32") = R.add(x, R.const(0.0, "float32"))
# CHECK-NEXT: b: R.Tensor((4,), "float32") = R.subtract(x, R.const(-0.0, "float32"))
# CHECK-NEXT: return a, b, x, x
def float_zeros(x: f32[4]) -> R.Tuple(f32[4], f32[4], f32[4], f32[4]):
    a = R.add(x, R.const(0.0, "float32"))
    b = R.subtract(x, R.const(-0.0, "float32"))
    c = R.add(x, R.const(-0.0, "float32"))
    d = R.subtract(x, R.const(0.0, "float32"))
    return a, b, c, d


# CHECK-LABEL: def neutral(
# CHECK: ) ->
# CHECK-NEXT: return f, f, f, f, i, i, i, b, b
def neutral(f: f32[n], i: i32["?"], b: bool[4]) -> R.Tuple(
    f32[n], f32[n], f32[n], f32[n], i32["?"], i32["?"], i32["?"], bool[4], bool[4]
):
    f1 = R.multiply(R.const([1.0], "float32"), f)
    f2 = R.divide(f, R.const([1.0], "float32"))
    f3 = R.power(f, R.const([1.0], "float32"))
    f4 = R.multiply(f, R.broadcast_to(R.const([1.0], "float32"), R.shape(["n"])))
    i1 = R.add(R.const(0, "int32"), i)
    i2 = R.bitwise_and(i, R.const(-1, "int32"))
    i3 = R.left_shift(i, R.const(0, "int32"))
    b1 = R.logical_and(R.const(True, R.Tensor((4,), "bool")), b)
    b2 = R.logical_xor(b, R.const(False, "bool"))
    return f1, f2, f3, f4, i1, i2, i3, b1, b2


# A constant that gives the result its shape stays: an unknown size may be 1.
# CHECK-LABEL: def broadcasting_constant(
# CHECK-NEXT: y: R.Tensor(("?",), "float32") = R.multiply(x, R.const(1.0, R.Tensor((4,), "float32")))
# CHECK-NEXT: return y
def broadcasting_constant(x: f32["?"]) -> f32["?"]:
    y: f32["?"] = R.multiply(x, R.const(1.0, R.Tensor((4,), "float32")))
    return y


# 0 is the product of integers, not of floats; false absorbs in "and".
# CHECK-LABEL: def absorbing(
# CHECK: ) ->
# CHECK-NEXT: floats: R.Tensor((4,), "float32") = R.multiply(f, R.const(0.0, R.Tensor((4,), "float32")))
# CHECK-NEXT: return R.const(0, R.Tensor((4,), "int32")), floats, R.const(False, R.Tensor((4,), "bool"))
def absorbing(i: i32[4], f: f32[4], b: bool[4]) -> R.Tuple(i32[4], f32[4], bool[4]):
    ints = R.multiply(i, R.const(0, R.Tensor((4,), "int32")))
    floats = R.multiply(f, R.const(0.0, R.Tensor((4,), "float32")))
    bools = R.logical_and(b, R.const(False, R.Tensor((4,), "bool")))
    return ints, floats, bools


# NaN is not equal to itself, inf - inf is NaN: floats stay.
# CHECK-LABEL: def with_itself(
# CHECK: ) ->
# CHECK-NEXT: difference: R.Tensor((4,), "float32") = R.subtract(f, f)
# CHECK-NEXT: equal: R.Tensor((4,), "bool") = R.equal(f, f)
# CHECK-NEXT: return f, R.const(0, R.Tensor((4,), "int32")), R.const(True, R.Tensor((4,), "bool")), difference, equal
def with_itself(i: i32[4], f: f32[4]) -> R.Tuple(f32[4], i32[4], bool[4], f32[4], bool[4]):
    largest = R.maximum(f, f)
    zeros = R.subtract(i, i)
    trues = R.less_equal(i, i)
    difference = R.subtract(f, f)
    equal = R.equal(f, f)
    return largest, zeros, trues, difference, equal


# Constants go to the right; not through a maximum of floats, which may see the order of NaN and of zeros.
# CHECK-LABEL: def constants_to_the_right(
# CHECK: ) ->
# CHECK-NEXT: sum: R.Tensor((4,), "float32") = R.add(f, R.const(2.0, "float32"))
# CHECK-NEXT: less: R.Tensor((4,), "bool") = R.greater(f, R.const(2.0, "float32"))
# CHECK-NEXT: of_floats: R.Tensor((4,), "float32") = R.maximum(R.const(2.0, "float32"), f)
# CHECK-NEXT: of_ints: R.Tensor((4,), "int32") = R.maximum(i, R.const(2, "int32"))
# CHECK-NEXT: return sum, less, of_floats, of_ints
def constants_to_the_right(f: f32[4], i: i32[4]) -> R.Tuple(f32[4], bool[4], f32[4], i32[4]):
    two = R.const(2.0, "float32")
    sum = R.add(two, f)
    less = R.less(two, f)
    of_floats = R.maximum(two, f)
    of_ints = R.maximum(R.const(2, "int32"), i)
    return sum, less, of_floats, of_ints


# CHECK-LABEL: def unary(
# CHECK: ) ->
# CHECK-NEXT: abs1: R.Tensor((4,), "float32") = R.abs(f)
# CHECK-NEXT: up: R.Tensor((4,), "float32") = R.ceil(f)
# CHECK-NEXT: relu1: R.Tensor((4,), "float32") = R.nn.relu(f)
# CHECK-NEXT: return abs1, abs1, up, relu1, i
def unary(f: f32[4], i: i32[4]) -> R.Tuple(f32[4], f32[4], f32[4], f32[4], i32[4]):
    abs1 = R.abs(f)
    abs2 = R.abs(abs1)
    abs3 = R.abs(abs2)
    up = R.ceil(f)
    rounded = R.round(up)
    relu1 = R.nn.relu(f)
    relu2 = R.nn.relu(relu1)
    down = R.floor(i)
    return abs2, abs3, rounded, relu2, down


# With a NaN, a < b and a >= b are both false.
# CHECK-LABEL: def inverted_comparisons(
# CHECK: ) ->
# CHECK-NEXT: differ: R.Tensor((4,), "bool") = R.not_equal(f, f)
# CHECK-NEXT: less: R.Tensor((4,), "bool") = R.less(f, f)
# CHECK-NEXT: not_less: R.Tensor((4,), "bool") = R.logical_not(less)
# CHECK-NEXT: at_least: R.Tensor((4,), "bool") = R.greater_equal(i, j)
# CHECK-NEXT: return differ, not_less, at_least
def inverted_comparisons(f: f32[4], i: i32[4], j: i32[4]) -> R.Tuple(bool[4], bool[4], bool[4]):
    differ = R.logical_not(R.equal(f, f))
    less = R.less(f, f)
    not_less = R.logical_not(less)
    at_least = R.logical_not(R.less(i, j))
    return differ, not_less, at_least


# The chosen value must have the result's shape.
# CHECK-LABEL: def where_broadcasts(
# CHECK: R.where({{.*}}, a, n)
# CHECK: R.where({{.*}}, n, a)
def where_broadcasts(a: f32[4], n: f32) -> R.Tuple(f32[4], f32[4]):
    never = R.where(R.const(False, R.Tensor((4,), "bool")), a, n)
    always = R.where(R.const(True, R.Tensor((4,), "bool")), n, a)
    return never, always


# CHECK-LABEL: def where(
# CHECK: ) ->
# CHECK-NEXT: turned: R.Tensor((4,), "float32") = R.where(c, b, a)
# CHECK-NEXT: return a, b, a, turned
def where(c: bool[4], a: f32[4], b: f32[4]) -> R.Tuple(f32[4], f32[4], f32[4], f32[4]):
    always = R.where(R.const(True, "bool"), a, b)
    never = R.where(R.const(False, R.Tensor((4,), "bool")), a, b)
    same = R.where(c, a, a)
    turned = R.where(R.logical_not(c), a, b)
    return always, never, same, turned


# f16 to f32 keeps every value, f32 to f16 does not; -1 as an unsigned number is another one.
# CHECK-LABEL: def conversions(
# CHECK: ) ->
# CHECK-NEXT: narrow: R.Tensor((4,), "float16") = R.astype(f, dtype="float16")
# CHECK-NEXT: rounded: R.Tensor((4,), "float32") = R.astype(narrow, dtype="float32")
# CHECK-NEXT: i64: R.Tensor((4,), "int64") = R.astype(i, dtype="int64")
# CHECK-NEXT: unsigned: R.Tensor((4,), "uint16") = R.astype(i, dtype="uint16")
# CHECK-NEXT: other: R.Tensor((4,), "int64") = R.astype(unsigned, dtype="int64")
# CHECK-NEXT: return h, rounded, i64, other
def conversions(h: f16[4], f: f32[4], i: i8[4]) -> R.Tuple(f16[4], f32[4], i64[4], i64[4]):
    wide = R.astype(h, "float32")
    same = R.astype(wide, "float16")
    narrow = R.astype(f, "float16")
    rounded = R.astype(narrow, "float32")
    i16 = R.astype(i, "int16")
    i64 = R.astype(i16, "int64")
    unsigned = R.astype(i, "uint16")
    other = R.astype(unsigned, "int64")
    return same, rounded, i64, other
