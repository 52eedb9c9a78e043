# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --relax-canonicalize --print-script | FileCheck %s
"""Situations of Apache TVM's test_transform_canonicalize_bindings.py (match_cast)."""


# Symbols of parameters are known in the whole function, and symbols of a match_cast only after it.
# CHECK-LABEL: def shapes_of(
# CHECK: ) ->
# CHECK-NEXT: zk = R.match_cast(z, out_sinfo=R.Tensor(("k",), "float32"))
# CHECK-NEXT: later: R.Shape(("k",)) = R.shape_of(zk)
# CHECK-NEXT: unknown: R.Shape(("?",)) = R.shape_of(z)
# CHECK-NEXT: return R.shape((2, 3)), R.shape((2, "n")), later, unknown, s
def shapes_of(x: f32[2, 3], y: f32[2, n], z: f32["?"], s: R.Shape(("n", 2))) -> R.Tuple(
    R.Shape((2, 3)), R.Shape((2, "n")), R.Shape(("k",)), R.Shape(("?",)), R.Shape(("n", 2))
):
    static = R.shape_of(x)
    symbolic = R.shape_of(y)
    zk = R.match_cast(z, out_sinfo=f32[k])
    later = R.shape_of(zk)
    unknown = R.shape_of(z)
    reshaped = R.reshape(y, s)
    of_reshaped = R.shape_of(reshaped)
    return static, symbolic, later, unknown, of_reshaped


# CHECK-LABEL: def back_and_forth(
# CHECK: ) ->
# CHECK-NEXT: return t, s
def back_and_forth(t: i64[2], s: R.Shape(("?", "?"))) -> R.Tuple(i64[2], R.Shape(("?", "?"))):
    shape = R.tensor_to_shape(t)
    tensor_back = R.shape_to_tensor(shape)
    tensor = R.shape_to_tensor(s)
    shape_back = R.tensor_to_shape(tensor)
    return tensor_back, shape_back


# A negative number is no size: the run will say so.
# CHECK-LABEL: def constants(
# CHECK: ) ->
# CHECK-NEXT: made: R.Shape(("?", "?")) = R.shape_expr(dims=(4, 5))
# CHECK-NEXT: bad: R.Shape(("?",)) = R.tensor_to_shape(R.const([-1], "int64"))
# CHECK-NEXT: return R.const(6, "int64"), R.const([2, 3], "int64"), made, bad
def constants(x: f32[2, 3]) -> R.Tuple(i64, i64[2], R.Shape(("?", "?")), R.Shape(("?",))):
    size = R.size(x)
    shape = R.shape_of(x)
    sizes = R.shape_to_tensor(shape)
    made = R.tensor_to_shape(R.const([4, 5], "int64"))
    bad = R.tensor_to_shape(R.const([-1], "int64"))
    return size, sizes, made, bad


# A cast that says nothing new is passed by where operands may have any type, and goes when no use is left.
# CHECK-LABEL: def proven_casts(
# CHECK: ) ->
# CHECK-NEXT: e: R.Tensor(("?", "?"), "float32") = R.exp(x)
# CHECK-NEXT: return e, x
def proven_casts(x: f32[4, n]) -> R.Tuple(f32["?", "?"], f32[4, n]):
    unknown = R.match_cast(x, out_sinfo=f32["?", "?"])
    e = R.exp(unknown)
    same = R.match_cast(x, out_sinfo=f32[4, n])
    return e, same


# Returned, the value must keep its type.
# CHECK-LABEL: def needed_cast(
# CHECK-NEXT: y = R.match_cast(x, out_sinfo=R.Tensor(("?",), "float32"))
# CHECK-NEXT: return y
def needed_cast(x: f32[4]) -> f32["?"]:
    y = R.match_cast(x, out_sinfo=f32["?"])
    return y


# Checks stay, used or not.
# CHECK-LABEL: def checks(
# CHECK-NEXT: size = R.match_cast(x, out_sinfo=R.Tensor((4,), "float32"))
# CHECK-NEXT: rank = R.match_cast(y, out_sinfo=R.Tensor(("?",), "float32"))
# CHECK-NEXT: symbol = R.match_cast(x, out_sinfo=R.Tensor(("n",), "float32"))
# CHECK-NEXT: kind = R.match_cast(o, out_sinfo=R.Tensor((4,), "float32"))
# CHECK-NEXT: return
def checks(x: f32["?"], y: R.Tensor("float32"), o: R.Object):
    size = R.match_cast(x, out_sinfo=f32[4])
    rank = R.match_cast(y, out_sinfo=f32["?"])
    symbol = R.match_cast(x, out_sinfo=f32[n])
    kind = R.match_cast(o, out_sinfo=f32[4])
    return


# CHECK-LABEL: def scalars(
# CHECK-NEXT: size: R.Tensor((), "int64") = R.scalar_to_tensor(R.prim_value("n"))
# CHECK-NEXT: return R.const(2.5, "float32"), size
def scalars(x: f32[n]) -> R.Tuple(f32, i64):
    number = R.scalar_to_tensor(T.float32(2.5))
    size = R.scalar_to_tensor(R.prim_value("n"))
    return number, size


# A cast stays if types are invalid without it: 4 and 5 are added where sizes are unknown, and this fails at run
# time.
# CHECK-LABEL: def cast_that_hides_a_size(
# CHECK: ) ->
# CHECK-NEXT: hidden = R.match_cast(x, out_sinfo=R.Tensor(("?",), "float32"))
# CHECK-NEXT: sum: R.Tensor((5,), "float32") = R.add(hidden, y)
# CHECK-NEXT: return sum
def cast_that_hides_a_size(x: f32[4], y: f32[5]) -> f32[5]:
    hidden = R.match_cast(x, out_sinfo=f32["?"])
    sum = R.add(hidden, y)
    return sum
