# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-store-small-types --print-script | FileCheck %s
from relax_mlir.script import ir as I, relax as R, tir as T


@I.ir_module(ssa=True)
class Module:
    # Operators that move elements move bytes: no operation is added.
    # CHECK-LABEL: def moves(
    # CHECK-NEXT: x: R.Tensor(("?", 4), "int8"),
    # CHECK-NEXT: y: R.Tensor(("?",), "int8"),
    # CHECK-NEXT: z: R.Tensor(("?",), "int8"),
    # CHECK-NEXT: n: T.index,
    # CHECK-NEXT: flag: T.bool,
    # CHECK-NEXT: ) -> R.Tensor(("?",), "int8"):
    # CHECK-NEXT: first = y[0]
    # CHECK-NEXT: column = tensor.extract_slice(x, [0, 1], [n, 1], [1, 1], R.Tensor(("?",), "int8"))
    # CHECK-NEXT: for i in T.grid(column.shape[0]): z[i] = arith.select(flag, column[i], first)
    # CHECK-NEXT: return z
    @R.function
    def moves(
        x: R.Tensor(("?", 4), "int4"),
        y: R.Tensor(("?",), "int4"),
        z: R.Tensor(("?",), "int4"),
        n: T.index,
        flag: T.bool,
    ) -> R.Tensor(("?",), "int4"):
        first = y[0]
        column = tensor.extract_slice(x, [0, 1], [n, 1], [1, 1], R.Tensor(("?",), "int4"))
        for i in T.grid(column.shape[0]):
            z[i] = arith.select(flag, column[i], first)
        return z

    # Layouts, memory spaces and unknown ranks stay; so do bools and types of whole bytes.
    @R.function(private=True)
    def other(x: T.float8_e5m2) -> T.float8_e5m2: ...

    # CHECK: def other(x: T.int8) -> T.int8: ...
    # CHECK-LABEL: def memrefs(
    # CHECK-NEXT: x: I.type("memref<?xi8, strided<[2], offset: ?>>"),
    # CHECK-NEXT: y: I.type("memref<*xi8, 1>"),
    # CHECK-NEXT: m: T.Buffer((4,), "bool"),
    # CHECK-NEXT: h: T.Buffer((4,), "bfloat16"),
    # CHECK-NEXT: n: T.index,
    # CHECK-NEXT: ):
    # CHECK-NEXT: last = x[0]
    # CHECK-NEXT: for i in range(n):
    # CHECK-NEXT: last = x[i]
    # CHECK-NEXT: v0 = cls.other(last)
    # CHECK-NEXT: x[0] = v0
    # CHECK-NEXT: return
    @R.function
    def memrefs(
        x: I.type("memref<?xf8E5M2, strided<[2], offset: ?>>"),
        y: I.type("memref<*xui4, 1>"),
        m: T.Buffer((4,), "bool"),
        h: T.Buffer((4,), "bfloat16"),
        n: T.index,
    ):
        last = x[0]
        for i in range(n):
            last = x[i]
        x[0] = cls.other(last)
        return

    # Constants are the bits of their elements; NaN too.
    # CHECK: memref.global_(constant=I.unit, initial_value=I.attr("dense<[56, -72, 127]> : tensor<3xi8>"), sym_name="numbers",
    # CHECK-NEXT: memref.global_(initial_value=I.unit, sym_name="unset", {{.*}}type=T.Buffer((2,), "int8"))
    # CHECK-LABEL: def constants(
    # CHECK-NEXT: f = memref.get_global(T.Buffer((3,), "int8"), name=cls.numbers)
    # CHECK-NEXT: return T.int8(60), T.int8(15), R.const([2, 15, 0, 8], "int8"), R.const(127, R.Tensor((200,), "int8")),
    # CHECK-SAME: I.const(I.attr("dense<{{\[\[}}1, 14], [3, 0]]> : vector<2x2xi8>")),
    # CHECK-SAME: f
    I.mlir("""
        memref.global "private" constant @numbers : memref<3xf8E4M3FN> = dense<[1.0, -1.0, 0x7F]>
        memref.global "private" @unset : memref<2xi4> = uninitialized
    """)

    @R.function
    def constants() -> R.Tuple(
        T.float8_e4m3fn,
        T.int4,
        R.Tensor((4,), "float4_e2m1fn"),
        R.Tensor((200,), "float8_e8m0fnu"),
        T.Vector((2, 2), "int4"),
        T.Buffer((3,), "float8_e4m3fn"),
    ):
        a = T.float8_e4m3fn(1.5)
        b = T.int4(-1)
        c = I.const("dense<[1.0, -6.0, 0.0, -0.0]> : tensor<4xf4E2M1FN>")
        d = R.const(1.0, R.Tensor((200,), "float8_e8m0fnu"))
        e = I.const("dense<[[1, -2], [3, 0]]> : vector<2x2xi4>")
        f = memref.get_global(T.Buffer((3,), "float8_e4m3fn"), name=cls.numbers)
        return a, b, c, d, e, f

    # A bitcast has no further effect. Integers are computed directly, with zeros in a byte's other bits.
    # CHECK-LABEL: def integers(x: T.int8, y: T.int8, z: T.int8) -> R.Tuple(T.int8, T.int32, T.int8):
    # CHECK-NEXT: v0 = arith.extui(arith.trunci(x, T.int4) + arith.trunci(y, T.int4), T.int8)
    # CHECK-NEXT: return v0, arith.extsi(arith.trunci(v0, T.int4), T.int32), z
    @R.function
    def integers(x: T.int4, y: T.int4, z: T.float8_e5m2) -> R.Tuple(T.int4, T.int32, T.int8):
        a = x + y
        b = arith.extsi(a, T.int32)
        c = arith.bitcast(z, T.int8)
        return a, b, c

    # Small floats are f32 in between: widened, computed with, rounded.
    # CHECK-LABEL: def floats(x: T.int8x4, y: T.float64) -> R.Tuple(T.int8x4, T.boolx4, T.float64, T.int8):
    # CHECK: a_11 = arith.bitcast({{.*}}, T.float32x4)
    # CHECK: a_23 = arith.bitcast({{.*}}, T.float32x4)
    # CHECK-NEXT: arith.addf(a_11, a_23, fastmath="nnan")
    # CHECK: v11 = arith.bitcast({{.*}}, T.float32x4)
    # CHECK: v23 = arith.bitcast({{.*}}, T.float32x4)
    # CHECK-NEXT: v24 = v11 < v23
    # CHECK-NOT: float8
    # CHECK: = arith.extf({{.*}}, T.float32), T.float64)
    # CHECK-NOT: arith.truncf
    # CHECK: return a_34, v24,
    @R.function
    def floats(x: T.float8_e5m2x4, y: T.float64) -> R.Tuple(T.float8_e5m2x4, T.boolx4, T.float64, T.float8_e5m2):
        a = arith.addf(x, x, fastmath="nnan")
        b = a < x
        c = vector.extract(a, T.float8_e5m2, static_position=(0,))
        d = arith.extf(c, T.float64)
        e = arith.truncf(y, T.float8_e5m2)
        return a, b, d, e
