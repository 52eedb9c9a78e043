# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --relax-lower-calls --print-script | FileCheck %s
"""Lowering of calls.

Facts about calls of kernels are in relax-lower-calls-sites.mlir, since only MLIR's text has such attributes.
"""


@T.prim_func
def exp(X: T.Buffer(("?", 8), "float32"), Y: T.Buffer(("?", 8), "float32")):
    return


# The result is the caller's memory; temporaries of symbolic sizes lie in slots of one arena.
# CHECK: @R.function({{.*}}"relax.input_names": ["x"]
# CHECK-NEXT: def chain(arg0: T.Buffer(("?", 8), "float32"), arg1: T.Buffer(("?", 8), "float32")):
# CHECK: [[ARENA:v[0-9]+]] = memref.alloc({{.*}}, T.Buffer(("?",), "int8"), alignment=64, {{.*}}"relax.arena": I.unit})
# CHECK: a = memref.view([[ARENA]],
# CHECK: cls.exp(
# CHECK-NEXT: arg0, a,
# CHECK-NOT: T.assert_(
# CHECK: b = memref.view([[ARENA]], {{v[0-9]+}} * 32,
# CHECK: cls.exp(
# CHECK-NEXT: a, b,
# CHECK: cls.exp(
# CHECK-NEXT: b, arg1,
# CHECK: memref.dealloc([[ARENA]])
# CHECK-NEXT: return
def chain(x: f32[n, 8]) -> f32[n, 8]:
    a = R.call_tir(cls.exp, (x,), out_sinfo=f32[n, 8])
    b = R.call_tir(cls.exp, (a,), out_sinfo=f32[n, 8])
    c = R.call_tir(cls.exp, (b,), out_sinfo=f32[n, 8])
    return c


# Views have no kernel and no memory of their own. A returned input or constant is copied.
# CHECK-LABEL: def views(
# CHECK-NEXT: arg0: T.Buffer((2, 8), "float32"),
# CHECK-NEXT: arg1: T.Buffer((16,), "float32"),
# CHECK-NEXT: arg2: T.Buffer((3,), "int8"),
# CHECK-NEXT: ):
# CHECK-NEXT: flat = memref.reinterpret_cast(arg0, [0], [16], [1],
# CHECK-NEXT: flat_1 = memref.cast(flat, T.Buffer((16,), "float32"))
# CHECK-NEXT: v0 = memref.get_global(T.Buffer((3,), "int8"), name=cls.constant_0)
# CHECK-NEXT: for i in T.grid(16): arg1[i] = flat_1[i]
# CHECK-NEXT: for i in T.grid(3): arg2[i] = v0[i]
# CHECK-NEXT: return
def views(x: f32[2, 8]) -> R.Tuple(f32[16], u8[3]):
    flat = R.flatten(x)
    return flat, R.const([1, 2, 255], "uint8")


# Sizes are computed from the inputs' sizes. The sizes of a match_cast are checked.
# CHECK-LABEL: def cast(arg0: T.Buffer(("?",), "float32"), arg1: T.Buffer(("?",), "float32"), arg2: I.type("!llvm.ptr")):
# CHECK-NEXT: v0 = arg1.shape[0]
# CHECK-NEXT: xn = arg0.shape[0]
# CHECK-NEXT: T.assert_(xn == v0, {{.*}}, kind="ValueError", message="the size of dimension 0: expected {} (that is n), got {}")
# CHECK: T.give_tensor(arg0, arg2, dtype=T.float32)
def cast(x: f32["?"], y: f32[n]) -> f32["?"]:
    xn = R.match_cast(x, out_sinfo=f32[n])
    z = R.match_cast(xn, out_sinfo=f32["?"])
    return z


# A value that may have another size than the result is not written there, even if a later check refuses it.
# CHECK-LABEL: def other_size(
# CHECK-NEXT: arg0: T.Buffer((2, 8), "float32"),
# CHECK-NEXT: arg1: T.Buffer(("?", 8), "float32"),
# CHECK-NEXT: arg2: T.Buffer(("?", 8), "float32"),
# CHECK: v1 = memref.alloc({{.*}}"relax.arena"
# CHECK-NEXT: own = memref.view(v1,
# CHECK-NEXT: own_1 = memref.cast(arg0,
# CHECK-NEXT: own_2 = memref.cast(own,
# CHECK-NEXT: cls.exp(
# CHECK-NEXT: own_1, own_2,
# CHECK: T.assert_({{.*}} message="{} elements cannot take the shape (n, 8), which has {}")
# CHECK: z_{{[0-9]}} = memref.reinterpret_cast(own,
# CHECK: v3 = memref.collapse_shape(arg2,
# CHECK-NEXT: for i in T.grid({{.*}}): v3[i] = v2[i]
def other_size(x: f32[2, 8], like: f32[n, 8]) -> f32[n, 8]:
    own = R.call_tir(cls.exp, (x,), out_sinfo=f32[2, 8])
    z: f32[n, 8] = R.reshape(own, ("n", 8))
    return z


# Both branches write the result into one buffer: a kernel directly, an existing tensor by a copy.
# CHECK-LABEL: def branch(
# CHECK-NEXT: y = memref.alloca(
# CHECK-NEXT: if arg0:
# CHECK: y_2 = memref.cast(y,
# CHECK-NEXT: cls.exp(
# CHECK-NEXT: y_1, y_2,
# CHECK: else:
# CHECK: y_2 = memref.collapse_shape(y,
# CHECK-NEXT: for i in T.grid(16): y_2[i] = y_1[i]
# CHECK-NEXT: v0 = memref.collapse_shape(y, T.Buffer((16,), "float32")
# CHECK-NEXT: v1 = memref.collapse_shape(arg2, T.Buffer((16,), "float32")
# CHECK-NEXT: for i in T.grid(16): v1[i] = v0[i]
# CHECK-NEXT: return
def branch(c: T.bool, x: f32[2, 8]) -> f32[2, 8]:
    if c:
        y = R.call_tir(cls.exp, (x,), out_sinfo=f32[2, 8])
    else:
        y = x
    return y


# CHECK-LABEL: def packed(
# CHECK-NEXT: T.packed(arg0, arg1, func="my.function", attrs={"relax.site": {{.*}} "operators": ["relax.call_dps_packed"],
# CHECK-SAME: "tir.dtypes": ["f32", "f32"], "tir.types": []})
def packed(x: f32[4]) -> f32[4]:
    y = R.call_dps_packed("my.function", (x,), out_sinfo=f32[4])
    return y


# A shape that is returned becomes the runtime's object, made of its sizes; each once, and given back here.
# CHECK-LABEL: def shape(arg0: T.Buffer(("?", 8), "float32"), arg1: I.type("!llvm.ptr"), arg2: I.type("!llvm.ptr")):
# CHECK-NEXT: packed_0 = T.packed({{.*}} func="ffi.Shape", {{.*}} "tir.types": [R.Object]})
# CHECK-NEXT: T.give_object(packed_0, arg1)
# CHECK-NEXT: T.give_object(packed_0, arg2)
# CHECK-NEXT: T.release(packed_0)
# CHECK-NEXT: return
def shape(x: f32["?", 8]) -> R.Tuple(R.Shape(("?", 8)), R.Shape(("?", 8))):
    s = R.shape_of(x)
    return s, s
