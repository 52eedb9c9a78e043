# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Facts from an operation in a branch or in a loop's body apply there, to symbols that are known only there.
# RUN: graphs %s | relax-opt - --relax-infer-symbolic-shapes --print-script | FileCheck %s

# CHECK-LABEL: def branches(
# CHECK: if c:
# CHECK-NEXT: x = R.match_cast(u, out_sinfo=R.Tensor((4,), "float32"))
# CHECK-NEXT: {{.*}}: R.Tensor((4,), "float32") = R.exp(x)
# CHECK: else:
# CHECK-NEXT: x = R.match_cast(u, out_sinfo=R.Tensor((60,), "float32"))
def branches(c: T.bool, u: f32["?"], w: f32[4]) -> f32:
    if c:
        x = R.match_cast(u, out_sinfo=f32[k])
        r = R.matmul(R.exp(x), w)
    else:
        x = R.match_cast(u, out_sinfo=f32[m])
        r = R.sum(R.reshape(x, (60,)))
    return r


# Where both have a name for a size, it may be another one in each: nothing is said of it.
# CHECK-LABEL: def one_name(
# CHECK: R.match_cast(u, out_sinfo=R.Tensor(("k",), "float32"))
# CHECK: R.match_cast(u, out_sinfo=R.Tensor(("k",), "float32"))
def one_name(c: T.bool, u: f32["?"], w: f32[4], v: f32[5]) -> f32:
    if c:
        x = R.match_cast(u, out_sinfo=f32[k])
        r = R.matmul(x, w)
    else:
        x = R.match_cast(u, out_sinfo=f32[k])
        r = R.matmul(x, v)
    return r


# A branch that contradicts itself is never taken; of a size from around it nothing is said there.
# CHECK-LABEL: def never(
# CHECK: n: R.Tensor(("n",), "float32")
# CHECK: if c:
# CHECK-NEXT: x = R.match_cast(u, out_sinfo=R.Tensor(("k",), "float32"))
# CHECK: R.matmul(n, w)
def never(c: T.bool, u: f32["?"], w: f32[4], n: f32[n]) -> f32:
    if c:
        x = R.match_cast(u, out_sinfo=f32[k])
        d = R.match_cast(u, out_sinfo=f32[5])
        a = R.add(R.matmul(x, w), R.matmul(x, d))
        r = R.add(a, R.matmul(n, w))
    else:
        r = R.sum(u)
    return r


# The same facts apply in every iteration, and outer facts apply in the loop.
# CHECK-LABEL: def turns(
# CHECK: R.match_cast(n, out_sinfo=R.Tensor((4,), "float32"))
# CHECK: for i in
# CHECK-NEXT: x = R.match_cast(u, out_sinfo=R.Tensor((4,), "float32"))
# CHECK-NEXT: {{.*}}: R.Tensor((4,), "float32") = R.add(x, {{.*}})
def turns(n: f32[n], u: f32["?"], w: f32[4]) -> f32:
    t = R.matmul(n, w)
    for i in range(0, 3):
        x = R.match_cast(u, out_sinfo=f32[k])
        y = R.add(x, n)
        z = R.match_cast(y, out_sinfo=f32[k])
        t = R.add(t, R.matmul(z, n))
    return t
