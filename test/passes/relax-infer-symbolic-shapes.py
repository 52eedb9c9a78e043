# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --relax-infer-symbolic-shapes --print-script | FileCheck %s
# RUN: graphs %s | relax-opt - --relax-infer-symbolic-shapes='include-public=true' --print-script | FileCheck %s --check-prefix=PUBLIC
"""Sizes that are proven to be equal.

Counterparts in Apache TVM: test_transform_canonicalize_shapes.py, -bind_symbolic_vars.py.
"""


# 4*n elements are 80. A public signature stays, and n is checked once after it.
# CHECK-LABEL: def a_number(
# CHECK-SAME: x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
# CHECK-NEXT: {{[a-z_0-9]+}} = R.match_cast(x, out_sinfo=R.Tensor((20, 4), "float32"))
# CHECK-NEXT: y_1: R.Tensor((80,), "float32") = R.reshape({{[a-z_0-9]+}}, (80,))
# CHECK-NEXT: R.print(
# CHECK-NEXT: z: R.Tensor((20, 4), "float32") = R.exp({{[a-z_0-9]+}})
# CHECK-NEXT: match_cast_0 = R.match_cast(z, out_sinfo=R.Tensor(("n", 4), "float32"))
# CHECK-NEXT: return match_cast_0
# PUBLIC-LABEL: def a_number(
# PUBLIC-SAME: x: R.Tensor((20, 4), "float32")) -> R.Tensor((20, 4), "float32"):
# PUBLIC-NEXT: y: R.Tensor((80,), "float32") = R.reshape(x, (80,))
def a_number(x: f32[n, 4]) -> f32[n, 4]:
    y = R.reshape(x, R.shape((80,)))
    R.print((y,))
    z = R.exp(x)
    return z


# An operator that nothing needs may go, so it says nothing.
# CHECK-LABEL: def dead(
# CHECK-NEXT: y: R.Tensor((80,), "float32") = R.reshape(x, (80,))
# CHECK-NEXT: return x
def dead(x: f32[n, 4]) -> f32[n, 4]:
    y = R.reshape(x, R.shape((80,)))
    return x


# n = 2*m: a name in terms of others, which unknown sizes get too.
# CHECK-LABEL: def another_name(
# CHECK: {{[a-z_0-9]+}} = R.match_cast(x, out_sinfo=R.Tensor(("2*m",), "float32"))
# CHECK: f: R.Tensor(("2*m",), "float32") = R.flatten(y)
# CHECK: s: R.Tensor(("2*m", 3), "float32") = R.concat(
# CHECK: e: R.Tensor(("2*m", 3), "float32") = R.exp(s)
# CHECK: match_cast_0 = R.match_cast(e, out_sinfo=R.Tensor(("?", 3), "float32"))
# CHECK-NEXT: return match_cast_0
def another_name(x: f32[n], y: f32[m, 2], z: f32[n, 1]) -> f32["?", 3]:
    f = R.flatten(y)
    column = R.reshape(x, R.shape(("2*m", 1)))
    s: f32["?", 3] = R.concat([column, z, R.expand_dims(f, axis=[1])], axis=1)
    e: f32["?", 3] = R.exp(s)
    return e


# a + b = a + c: terms on both sides cancel.
# CHECK-LABEL: def sums(
# CHECK: dot = R.match_cast(z, out_sinfo=R.Tensor(("b",), "float32"))
# CHECK: right: R.Tensor(("a + b",), "float32") = R.concat((x, dot), axis=0)
# CHECK-NEXT: {{.*}}: R.Tensor((), "float32") = R.matmul(left, right)
def sums(x: f32[a], y: f32[b], z: f32[c]) -> f32:
    left = R.concat([x, y], axis=0)
    right = R.concat([x, z], axis=0)
    dot = R.matmul(left, right)
    return dot


# A name that follows from earlier ones is no longer defined: its match_cast becomes a check, or is removed.
# CHECK-LABEL: def known_later(
# CHECK: m = R.match_cast(y, out_sinfo=R.Tensor(("n + 3",), "float32"))
# CHECK-NEXT: part: R.Tensor(("n",), "float32") = R.strided_slice(
# CHECK: r: R.Tensor((), "float32") = R.matmul(x, part)
def known_later(x: f32[n], y: f32["?"]) -> f32:
    m = R.match_cast(y, out_sinfo=f32[k + 3])
    part = R.strided_slice(m, axes=[0], begin=[3], end=[9223372036854775807])
    r = R.matmul(x, part)
    return r


# Broadcasting: n may be 1, so it need not be 4. 2*n and 6 cannot be 1.
# CHECK-LABEL: def broadcast(
# CHECK: {{[a-z_0-9]+}} = R.match_cast(y, out_sinfo=R.Tensor((6,), "float32"))
# CHECK: a: R.Tensor((4,), "float32") = R.add(x, c)
# CHECK: {{.*}}: R.Tensor((6,), "float32") = R.add({{[a-z_0-9]+}}, d)
def broadcast(x: f32[n], c: f32[4], y: f32["2*m"], d: f32[6]) -> R.Tuple(f32[4], f32[6]):
    a = R.add(x, c)
    b = R.add(y, d)
    return a, b


# Facts of a branch apply in it. A branch that contradicts outer facts is never taken, which is no error.
# CHECK-LABEL: def branches(
# CHECK: [[W:[a-z_0-9]*]] = R.match_cast(w, out_sinfo=R.Tensor((3,), "float32"))
# CHECK: R.match_cast(x, out_sinfo=R.Tensor((8,), "float32"))
# CHECK: R.match_cast(y, out_sinfo=R.Tensor((5,), "float32"))
# CHECK: {{.*}}: R.Tensor((), "float32") = R.matmul({{[a-z_0-9]+}}, v)
def branches(c: T.bool, x: f32[n], y: f32[m], z: f32[4], w: f32[k], v: f32[3]) -> R.Tuple(f32["?"], f32):
    if c:
        x8 = R.match_cast(x, out_sinfo=f32[8])
        b = R.match_cast(x8, out_sinfo=f32["?"])
    else:
        y5 = R.match_cast(y, out_sinfo=f32[5])
        b = R.match_cast(y5, out_sinfo=f32["?"])
    R.print((R.matmul(y, z),))
    r = R.matmul(w, v)
    return b, r


# A private function is its callers': numbers that all of them pass, or that it needs, are in its signature.
# CHECK-LABEL: def from_callers(
# CHECK-NEXT: x: R.Tensor((7, "q", 2), "float32"),
# CHECK-NEXT: y: R.Tensor((5,), "float32"),
# CHECK-NEXT: ) -> R.Tensor((7, "q", 2), "float32"):
# CHECK-NEXT: e: R.Tensor((7, "q", 2), "float32") = R.exp(x)
# CHECK-NEXT: f: R.Tensor((5,), "float32") = R.exp(y)
# CHECK-NEXT: R.print((f,))
@R.function(private=True)
def from_callers(x: f32[p, q, 2], y: f32["?"]) -> f32[p, q, 2]:
    e = R.exp(x)
    f: f32["?"] = R.exp(y)
    R.print((f,))
    return e


# CHECK-LABEL: def needs(
# CHECK-SAME: x: R.Tensor((3, "k"), "float32"), w: R.Tensor((3,), "float32"))
# CHECK-SAME: -> R.Tensor(("k",), "float32")
# CHECK-NEXT: p: R.Tensor(("k",), "float32") = R.matmul(w, x)
@R.function(private=True)
def needs(x: f32[n, k], w: f32[3]) -> f32[k]:
    p = R.matmul(w, x)
    return p


# CHECK-LABEL: def callers(
# CHECK: {{[a-z_0-9]+}} = R.match_cast(c, out_sinfo=R.Tensor((3, "k"), "float32"))
# CHECK: {{[a-z_0-9]+}} = R.match_cast({{.*}}, out_sinfo=R.Tensor((7, "q", 2), "float32"))
# CHECK: {{.*}} = cls.from_callers({{[a-z_0-9]+}}, y)
# CHECK: {{.*}} = cls.needs({{[a-z_0-9]+}}, w)
# CHECK-LABEL: def other_caller(
# CHECK: cls.from_callers({{.*}}, y)
def callers(a: f32[7, 3, 2], y: f32[5], c: f32[n, k], w: f32[3]) -> R.Tuple(f32["?", "?", 2], f32[k]):
    yu = R.match_cast(y, out_sinfo=f32["?"])
    a1 = R.match_cast(a, out_sinfo=f32[p, q, 2])
    a2 = cls.from_callers(a1, yu)
    a3 = R.match_cast(a2, out_sinfo=f32["?", "?", 2])
    d = cls.needs(c, w)
    return a3, d


def other_caller(b: f32[7, 4, 2], y: f32[5]) -> f32[7, "?", 2]:
    yu = R.match_cast(y, out_sinfo=f32["?"])
    b1 = R.match_cast(b, out_sinfo=f32[p, q, 2])
    b2 = cls.from_callers(b1, yu)
    b3 = R.match_cast(b2, out_sinfo=f32[7, "?", 2])
    return b3
