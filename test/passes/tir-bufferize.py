# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --tir-bufferize --print-script | FileCheck %s

# Outputs are written in place: nothing is allocated.
# CHECK-LABEL: def double(
# CHECK-NEXT: for i in T.grid(A.shape[0]): B[i] = A[i] + A[i]
# CHECK-NEXT: return
@T.prim_func
def double(A: f32["?"], B: f32["?"]) -> f32["?"]:
    for i in T.grid(A.shape[0]):
        B[i] = A[i] + A[i]
    return B


# A loop copies a returned input. Temporary memory is released.
# CHECK-LABEL: def both(
# CHECK-NEXT: v0 = memref.alloc(
# CHECK-NEXT: v0[0] = 1.0
# CHECK-NEXT: for i in T.grid(4): C[i] = v0[0]
# CHECK-NEXT: for i in T.grid(4): B[i] = A[i]
# CHECK-NEXT: memref.dealloc(v0)
# CHECK-NEXT: return
@T.prim_func
def both(A: f32[4], B: f32[4], C: f32[4]) -> R.Tuple(f32[4], f32[4]):
    one = tensor.empty(T.Tensor((4,), "float32"))
    one[0] = 1.0
    for i in T.grid(4):
        C[i] = one[0]
    return A, C


# A function on memory, and one of the graph, stay unchanged.
# CHECK: @T.prim_func
# CHECK-NEXT: def by_hand(A: T.Buffer((4,), "float32")):
# CHECK-NEXT: return
@T.prim_func
def by_hand(A: T.Buffer((4,), "float32")):
    return


# CHECK: @R.function
# CHECK-NEXT: def graph(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
# CHECK-NEXT: return x
def graph(x: f32[4]) -> f32[4]:
    return x


# Loop-carried values are updated in place, also if dimensions were joined for this.
# CHECK-LABEL: def carried(
# CHECK-NEXT: v0 = memref.alloc(
# CHECK-NEXT: v0[:] = 1.0
# CHECK-NEXT: for i in range(8):
# CHECK-NEXT: v1 = memref.collapse_shape(v0, T.Buffer(("?",), "float32"), reassociation={{\[\[}}0, 1]])
# CHECK-NEXT: for j in T.grid(v1.shape[0]): v1[j] = v1[j] + v1[j]
# CHECK-NEXT: for i, j in T.grid(A.shape[0], A.shape[1]): B[i, j] = A[i, j] + v0[i, j]
# CHECK-NEXT: memref.dealloc(v0)
# CHECK-NEXT: return
@T.prim_func
def carried(A: f32["?", "?"], B: f32["?", "?"]) -> f32["?", "?"]:
    C = tensor.empty(A.shape[0], A.shape[1], T.Tensor(("?", "?"), "float32"))
    C[:] = 1.0
    for i in range(8):
        joined = tensor.collapse_shape(C, T.Tensor(("?",), "float32"), reassociation=[[0, 1]])
        for j in T.grid(joined.shape[0]):
            joined[j] = joined[j] + joined[j]
        height = C.shape[0]
        width = C.shape[1]
        C = tensor.expand_shape(joined, [height, width], T.Tensor(("?", "?"), "float32"), reassociation=[[0, 1]])
    for i, j in T.grid(A.shape[0], A.shape[1]):
        B[i, j] = A[i, j] + C[i, j]
    return B


# Sizes exchanged are another view.
# CHECK-LABEL: def exchanged(
# CHECK-NEXT: v0 = A.shape[0]
# CHECK-NEXT: v1 = A.shape[1]
# CHECK-NEXT: v2 = memref.collapse_shape(A, T.Buffer(("?",), "float32"), reassociation={{\[\[}}0, 1]])
# CHECK-NEXT: v3 = memref.expand_shape(v2, [v1, v0], T.Buffer(("?", "?"), "float32"), reassociation={{\[\[}}0, 1]])
# CHECK-NEXT: for i, j in T.grid(v3.shape[0], v3.shape[1]): B[i, j] = math.exp(v3[i, j])
# CHECK-NEXT: return
@T.prim_func
def exchanged(A: f32["?", "?"], B: f32["?", "?"]) -> f32["?", "?"]:
    rows = A.shape[0]
    columns = A.shape[1]
    joined = tensor.collapse_shape(A, T.Tensor(("?",), "float32"), reassociation=[[0, 1]])
    apart = tensor.expand_shape(joined, [columns, rows], T.Tensor(("?", "?"), "float32"), reassociation=[[0, 1]])
    for i, j in T.grid(columns, rows):
        B[i, j] = math.exp(apart[i, j])
    return B


# Loop-carried values have one place for all iterations. Values that only move to another place are copied before a
# place is written: these two change places.
# CHECK-LABEL: def changing_places(
# CHECK: for i in range(n):
# CHECK-NEXT: v6 = memref.alloc(
# CHECK-NEXT: for j in T.grid(4): v6[j] = v3[j] + v5[j]
# CHECK-NEXT: v7 = memref.alloc(
# CHECK-NEXT: for j in T.grid(4): v7[j] = v4[j]
# CHECK-NEXT: v8 = memref.alloc(
# CHECK-NEXT: for j in T.grid(4): v8[j] = v3[j]
# CHECK-NEXT: for j in T.grid(4): v3[j] = v7[j]
# CHECK-NEXT: for j in T.grid(4): v4[j] = v8[j]
# CHECK-NEXT: for j in T.grid(4): v5[j] = v6[j]
# CHECK-NEXT: memref.dealloc(v8)
# CHECK-NEXT: memref.dealloc(v7)
# CHECK-NEXT: memref.dealloc(v6)
# CHECK-NEXT: for i in T.grid(4): D[i] = v3[i] + v4[i]
# CHECK-NEXT: for i in T.grid(4): D[i] = D[i] + v5[i]
# CHECK-NEXT: memref.dealloc(v5)
# CHECK-NEXT: memref.dealloc(v4)
# CHECK-NEXT: memref.dealloc(v3)
# CHECK-NEXT: memref.dealloc(v2)
# CHECK-NEXT: memref.dealloc(v1)
# CHECK-NEXT: memref.dealloc(v0)
# CHECK-NEXT: return
@T.prim_func
def changing_places(A: f32[4], B: f32[4], n: T.index, D: f32[4]) -> f32[4]:
    C = A
    E = A
    for i in range(n, carry=[E, B, C]):
        sum = tensor.empty(T.Tensor((4,), "float32"))
        for j in T.grid(4):
            sum[j] = E[j] + C[j]
        E, B, C = B, E, sum
    for i in T.grid(4):
        D[i] = E[i] + B[i]
    for i in T.grid(4):
        D[i] = D[i] + C[i]
    return D


# The same holds for a dynamic size, if all iterations have the same one.
# CHECK-LABEL: def of_one_size(
# CHECK: v2 = memref.alloc(v0,
# CHECK-NEXT: for i in T.grid(v1.shape[0]): v2[i] = v1[i]
# CHECK-NEXT: for i in range(n):
# CHECK-NEXT: v3 = memref.alloc(v0,
# CHECK-NEXT: for j in T.grid(v2.shape[0]): v3[j] = v2[j] + v2[j]
# CHECK-NEXT: for j in T.grid(v2.shape[0]): v3[j] = v3[j] + v2[j]
# CHECK-NEXT: for j in T.grid(v3.shape[0]): v2[j] = v3[j]
# CHECK-NEXT: memref.dealloc(v3)
# CHECK-NEXT: for i in T.grid(v2.shape[0]): D[i] = v2[i] + v2[i]
@T.prim_func
def of_one_size(A: f32["?"], n: T.index, D: f32["?"]) -> f32["?"]:
    size = A.shape[0]
    C = A
    for i in range(n, carry=[C]):
        sum = tensor.empty(size, T.Tensor(("?",), "float32"))
        for j in T.grid(size):
            sum[j] = C[j] + C[j]
        for j in T.grid(size):
            sum[j] = sum[j] + C[j]
        C = sum
    for i in T.grid(size):
        D[i] = C[i] + C[i]
    return D


# A growing value is new memory in each iteration, which the next one releases.
# CHECK-LABEL: def growing(
# CHECK: for i in range(n, carry=[
# CHECK: memref.alloc(
# CHECK: memref.dealloc(
@T.prim_func
def growing(A: f32["?"], n: T.index, D: f32) -> f32:
    C = A
    for i in range(n, carry=[C]):
        size = C.shape[0] + 1
        longer = tensor.empty(size, T.Tensor(("?",), "float32"))
        for j in T.grid(size):
            longer[j] = 2.0
        C = longer
    D[()] = C[0]
    return D
