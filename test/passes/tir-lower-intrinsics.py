# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --tir-lower-intrinsics --split-input-file --print-script | FileCheck %s
# RUN: graphs %s | relax-opt - --pass-pipeline='builtin.module(tir-lower-intrinsics{fast-math=true})' --split-input-file --print-script | FileCheck %s --check-prefix=FAST
# RUN: graphs %s | relax-opt - --pass-pipeline='builtin.module(tir-lower-intrinsics{target=default})' --split-input-file --verify-diagnostics

# exp is arithmetic: no call, no math.exp, and n in 2**n is added to the exponent's bits.
# CHECK-LABEL: def exp(
# CHECK-NOT: cls.
# CHECK-NOT: math.exp
# CHECK: << 23
# CHECK: arith.bitcast
# CHECK: return
# FAST-LABEL: def exp(
# FAST-COUNT-1: << 23
# FAST-NOT: << 23
# FAST: return
def exp(x: T.float32) -> T.float32:
    # expected-error @+2 {{tir-lower-intrinsics for default cannot convert 'tir.exp' op (f32)}}
    # expected-note @+1 {{no pattern is registered for this operation}}
    return T.exp(x)


# -----


# CHECK-LABEL: def vector_of_rank_2(
# CHECK-NEXT: return 1.0 / math.sqrt(x)
def vector_of_rank_2(x: T.Vector((2, 8), "float32")) -> T.Vector((2, 8), "float32"):
    return T.rsqrt(x)


# f32's powers need fewer terms than f64's functions; pairs of them are computed side by side.
# CHECK-LABEL: def power(
# CHECK-COUNT-14: math.fma
# CHECK-NOT: math.fma
# CHECK: return
def power(x: T.float32, y: T.float32) -> T.float32:
    # expected-error @+2 {{cannot convert 'tir.pow' op (f32, f32)}}
    # expected-note @+1 {{no pattern is registered for this operation}}
    return T.pow(x, y)


# f16 goes through f32 and is rounded once.
# CHECK-LABEL: def narrow(
# CHECK-NEXT: return arith.truncf(1.0 / math.sqrt(arith.extf(x, T.float32)), T.float16)
def narrow(x: T.float16) -> T.float16:
    return T.rsqrt(x)


# In a nest's body.
# CHECK-LABEL: def body(
# CHECK-NEXT: for i in T.grid(4): y[i] = math.floor(x[i])
# CHECK-NEXT: return y
def body(x: f32[4], y: f32[4]) -> f32[4]:
    for i in T.grid(4):
        y[i] = T.floor(x[i])
    return y


# A rule may make loops.
# CHECK-LABEL: def gcd(
# CHECK: scf.while
# CHECK: arith.remui(
def gcd(x: T.int32, y: T.int32) -> T.int32:
    return T.gcd(x, y)


# arith has no unsigned types: casts stand where types change.
# CHECK-LABEL: def unsigned(
# CHECK-NEXT: v0 = arith.divui(builtin.unrealized_conversion_cast(x, T.int32), builtin.unrealized_conversion_cast(y, T.int32))
# CHECK-NEXT: return builtin.unrealized_conversion_cast(v0, T.uint32)
def unsigned(x: T.uint32, y: T.uint32) -> T.uint32:
    return T.floordiv(x, y)


# CHECK-LABEL: def prefetch(
# CHECK-NEXT: memref.prefetch(A, i, isDataCache=True, isWrite=True, localityHint=I.attr("2 : i32"))
# CHECK-NEXT: return
def prefetch(A: T.Buffer((8,), "float32"), i: T.index):
    T.prefetch(A, i, rw="write", locality=2)
    return


# -----


# A C function is declared once, however often it is called.
# CHECK-DAG: def VTADepPop(arg0: T.int32) -> T.int32: ...
# CHECK-DAG: def lgamma(arg0: T.float64) -> T.float64: ...
# CHECK-LABEL: def calls(
# CHECK-NEXT: once = cls.VTADepPop(x)
# CHECK-NEXT: twice = cls.VTADepPop(once)
# CHECK-NEXT: z = cls.lgamma(y)
# CHECK-NEXT: return twice, z
def calls(x: T.int32, y: T.float64) -> R.Tuple(T.int32, T.float64):
    once = T.call_extern(x, func="VTADepPop")
    twice = T.call_extern(once, func="VTADepPop")
    # expected-error @+2 {{tir-lower-intrinsics for default cannot convert 'tir.lgamma' op (f64)}}
    # expected-note @+1 {{no pattern is registered for this operation}}
    z = T.lgamma(y)
    return twice, z
