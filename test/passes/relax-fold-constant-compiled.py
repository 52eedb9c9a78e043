# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Operators without a numpy evaluation are compiled and run: all of a module as one program.
# RUN: graphs %s | relax-opt - --relax-fold-constant --print-script | FileCheck %s
# RUN: graphs %s | relax-opt - --relax-fold-constant='compiled=false' --print-script | FileCheck %s --check-prefix=NUMPY

# Steps on the way are nowhere kept, whether numpy or code makes them; several results are several constants.
# CHECK-LABEL: def chain(
# CHECK-NEXT: return R.const([0.0, -4.0, -2.0], "float32"), R.const([3.0, 2.0], "float32"), R.const([2, 1], "int32")
# NUMPY-LABEL: def chain(
# NUMPY: R.cumsum(
# NUMPY: R.topk(
def chain() -> R.Tuple(f32[3], f32[2], i32[2]):
    c = R.const([1.0, 2.0, 3.0], "float32")
    turned = R.negative(R.cumsum(c, axis=0, exclusive=True))
    top, places = R.topk(c, k=2, ret_type="both", axis=0)
    order = R.const([0, 3, 1], "int64")
    longer = R.concat([turned, R.const([-4.0], "float32")], axis=0)
    picked = R.take(longer, order, axis=0)
    moved = R.add(picked, R.const([0.0, 0.0, -1.0], "float32"))
    return moved, top, places


# Element types that numpy lacks.
# CHECK-LABEL: def types(
# CHECK-NEXT: eighth = I.const(I.attr("dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf8E4M3FN>"))
# CHECK-NEXT: return I.const(I.attr("dense<[5.000000e-01, -2.000000e+00]> : tensor<2xbf16>")), eighth, R.const([0.5, 1.0], "float32")
def types() -> R.Tuple(bf16[2], R.Tensor((2,), "float8_e4m3fn"), f32[2]):
    c = R.const([0.5, -2.0], "float32")
    half = R.astype(c, "bfloat16")
    eighth = R.astype(R.const([1.0, 2.0], "float32"), "float8_e4m3fn")
    small = R.dequantize(R.const([1, 2], "int4"), R.const(0.5, "float32"), R.const(0, "int4"), axis=0)
    return half, eighth, small


# A result that is too large to store may lead to a small one.
# CHECK-LABEL: def spread_and_summed(
# CHECK-NEXT: return R.const([0.0, 4096.0], "float32")
def spread_and_summed() -> f32[2]:
    wide = R.broadcast_to(R.const([0.0, 1.0], "float32"), R.shape([4096, 2]))
    return R.sum(wide, axis=[0])


# A value that is broadcast while it is read stays. A table in a lookup is read more cheaply.
# CHECK-LABEL: def looked_up(
# CHECK-NOT: R.take(
# CHECK: R.broadcast_to(
def looked_up() -> R.Tuple(f32[40, 8], f32[40, 8]):
    table = R.const([[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]], "float32")
    rows = R.take(table, R.repeat(R.const([0, 1], "int64"), repeats=20, axis=0), axis=0)
    wide = R.broadcast_to(R.const([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], "float32"), R.shape([40, 8]))
    return rows, wide


# Numbers of four bits stay packed: unpacked they would be read as twice as many bytes.
# CHECK-LABEL: def packed(
# CHECK: R.right_shift(
# CHECK: R.bitwise_and(
def packed() -> u8[128, 2]:
    bytes_ = R.expand_dims(I.const(I.attr("dense<165> : tensor<128xui8>")), axis=[1])
    return R.bitwise_and(R.right_shift(bytes_, R.const([0, 4], "uint8")), R.const(15, "uint8"))


# A PrimFunc is called, with all that it calls.
# CHECK-LABEL: def called(
# CHECK-NEXT: return R.const([2.0, 3.0], "float32")
def called() -> f32[2]:
    return R.call_tir(cls.add_one, (R.const([1.0, 2.0], "float32"),), out_sinfo=f32[2])


# CHECK-LABEL: def called_elsewhere(
# CHECK-NEXT: R.call_tir(
# CHECK-NEXT: cls.on_a_device, (R.const([1.0, 2.0], "float32"),),
def called_elsewhere() -> f32[2]:
    return R.call_tir(cls.on_a_device, (R.const([1.0, 2.0], "float32"),), out_sinfo=f32[2])


@T.prim_func(private=True, attrs={"tir.target": "default"})
def on_a_device(x: T.Buffer((2,), "float32"), y: T.Buffer((2,), "float32")):
    for i in range(2):
        y[i] = x[i]
    return


@T.prim_func(private=True)
def add_one(x: T.Buffer((2,), "float32"), y: T.Buffer((2,), "float32")):
    for i in range(2):
        y[i] = x[i] + T.float32(1)
    return


# In branches as well.
# CHECK-LABEL: def branch(
# CHECK: r = R.const([2.0], "float32")
# CHECK: R.add(x, x)
def branch(x: f32[1], c: T.bool) -> f32[1]:
    if c:
        r = R.maximum(R.const([2.0], "float32"), R.const([1.0], "float32"))
    else:
        r = R.add(x, x)
    return r


# Operations with an effect, foreign functions and failing operations stay, so that the run reports the error. Their
# users stay, too.
# CHECK-LABEL: def not_ours(
# CHECK: R.call_pure_packed(
# CHECK: R.call_dps_packed(
# CHECK: R.call_packed(
# CHECK: R.print((R.const(
# CHECK: outside: R.Tensor((1,), "float32") = R.take(
# CHECK-NEXT: R.const([1.0, 2.0], "float32"), R.const([2], "int64"), axis=0,
# CHECK: [[TURNED:\w+]]: R.Tensor((1,), "float32") = R.negative(outside)
# CHECK-NEXT: return pure, dps, impure, [[TURNED]], R.const([-1.0, -2.0], "float32")
def not_ours() -> R.Tuple(f32[2], f32[2], f32[2], f32[1], f32[2]):
    c = R.const([1.0, 2.0], "float32")
    pure = R.call_pure_packed(func="mine", args=(c,), out_sinfo=f32[2])
    dps = R.call_dps_packed(func="mine", args=(c,), out_sinfo=f32[2])
    impure = R.call_packed(func="mine", args=(c,), out_sinfo=f32[2])
    R.print((c,), format="{}")
    outside = R.take(c, R.const([2], "int64"), axis=0)
    return pure, dps, impure, R.negative(outside), R.negative(R.abs(c))
