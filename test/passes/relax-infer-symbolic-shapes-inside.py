# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Facts from an operation in a branch or in a loop's body apply there, to symbols that are known only there.
# RUN: relax-opt %s --relax-infer-symbolic-shapes --print-script | FileCheck %s
from relax_mlir.script import ir as I, relax as R, tir as T


@I.ir_module(ssa=True)
class Module:
    # CHECK-LABEL: def branches(
    # CHECK: if c:
    # CHECK-NEXT: x = R.match_cast(u, out_sinfo=R.Tensor((4,), "float32"))
    # CHECK-NEXT: {{.*}}: R.Tensor((4,), "float32") = R.exp(x)
    # CHECK: else:
    # CHECK-NEXT: x = R.match_cast(u, out_sinfo=R.Tensor((60,), "float32"))
    @R.function
    def branches(c: T.bool, u: R.Tensor(("?",), "float32"), w: R.Tensor((4,), "float32")) -> R.Tensor((), "float32"):
        if c:
            x = R.match_cast(u, out_sinfo=R.Tensor(("k",), "float32"))
            r = R.matmul(R.exp(x), w)
        else:
            x = R.match_cast(u, out_sinfo=R.Tensor(("m",), "float32"))
            r = R.sum(R.reshape(x, (60,)))
        return r

    # Where both have a name for a size, it may be another one in each: nothing is said of it.
    # CHECK-LABEL: def one_name(
    # CHECK: R.match_cast(u, out_sinfo=R.Tensor(("k",), "float32"))
    # CHECK: R.match_cast(u, out_sinfo=R.Tensor(("k",), "float32"))
    @R.function
    def one_name(
        c: T.bool, u: R.Tensor(("?",), "float32"), w: R.Tensor((4,), "float32"), v: R.Tensor((5,), "float32")
    ) -> R.Tensor((), "float32"):
        if c:
            x = R.match_cast(u, out_sinfo=R.Tensor(("k",), "float32"))
            r = R.matmul(x, w)
        else:
            x = R.match_cast(u, out_sinfo=R.Tensor(("k",), "float32"))
            r = R.matmul(x, v)
        return r

    # A branch that contradicts itself is never taken; of a size from around it nothing is said there.
    # CHECK-LABEL: def never(
    # CHECK: n: R.Tensor(("n",), "float32")
    # CHECK: if c:
    # CHECK-NEXT: x = R.match_cast(u, out_sinfo=R.Tensor(("k",), "float32"))
    # CHECK: R.matmul(n, w)
    @R.function
    def never(
        c: T.bool, u: R.Tensor(("?",), "float32"), w: R.Tensor((4,), "float32"), n: R.Tensor(("n",), "float32")
    ) -> R.Tensor((), "float32"):
        if c:
            x = R.match_cast(u, out_sinfo=R.Tensor(("k",), "float32"))
            d = R.match_cast(u, out_sinfo=R.Tensor((5,), "float32"))
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
    @R.function
    def turns(n: R.Tensor(("n",), "float32"), u: R.Tensor(("?",), "float32"), w: R.Tensor((4,), "float32")) -> R.Tensor(
        (), "float32"
    ):
        t = R.matmul(n, w)
        for i in range(0, 3):
            x = R.match_cast(u, out_sinfo=R.Tensor(("k",), "float32"))
            y = R.add(x, n)
            z = R.match_cast(y, out_sinfo=R.Tensor(("k",), "float32"))
            t = R.add(t, R.matmul(z, n))
        return t
