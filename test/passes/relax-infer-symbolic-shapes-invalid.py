# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --relax-infer-symbolic-shapes --split-input-file --verify-diagnostics
# RUN: not relax-opt %s --relax-infer-symbolic-shapes --split-input-file 2>&1 | FileCheck %s
"""Impossible sizes: an error at the operation that cannot run, and notes at the operations that it contradicts."""

from relax_mlir.script import ir as I, relax as R, tir as T


# Each is said once.
# CHECK: error: 'relax.matmul' op can never run: sizes that must be the same are 3 and 4
# CHECK: note: n = 3 is needed by relax.matmul
# CHECK-NOT: n = 3 is needed by relax.matmul
# CHECK: error: 'relax.matmul' op can never run: sizes that must be the same are 60*n and 80
@I.ir_module(ssa=True)
class TwoNumbers:
    @R.function
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor((3,), "float32"), z: R.Tensor((4,), "float32")) -> R.Tuple(
        R.Tensor((), "float32"), R.Tensor((), "float32")
    ):
        # expected-note-re @+1 {{n = 3 is needed by relax.matmul "a" at {{.*}}}}
        a = R.matmul(x, y)
        # expected-error @+1 {{'relax.matmul' op can never run: sizes that must be the same are 3 and 4}}
        b = R.matmul(x, z)
        return a, b


# -----


# No multiple of 60 is 80.
@I.ir_module(ssa=True)
class Chain:
    @R.function
    def main(
        x: R.Tensor(("n", 60), "float32"), y: R.Tensor(("k",), "float32"), z: R.Tensor((80,), "float32")
    ) -> R.Tuple(R.Tensor((), "float32"), R.Tensor((), "float32")):
        flat = R.flatten(x)
        # expected-note-re @+1 {{60*n = k is needed by relax.matmul "a" at {{.*}}}}
        a = R.matmul(flat, y)
        # expected-error @+1 {{'relax.matmul' op can never run: sizes that must be the same are 60*n and 80}}
        b = R.matmul(y, z)
        return a, b


# -----


# In a called function: the caller's cast follows from the callee's requirement.
@I.ir_module(ssa=True)
class Callee:
    @R.function(private=True)
    def callee(x: R.Tensor(("n",), "float32"), w: R.Tensor((3,), "float32")) -> R.Tensor((), "float32"):
        p = R.matmul(w, x)
        return p

    @R.function
    def main(x: R.Tensor(("2*k",), "float32"), w: R.Tensor((3,), "float32")) -> R.Tensor((), "float32"):
        # expected-note-re @+1 {{2*k = n is needed by relax.match_cast "xn" at {{.*}}}}
        xn = R.match_cast(x, out_sinfo=R.Tensor(("n",), "float32"))
        # expected-error @+1 {{'relax.match_cast' op can never run: sizes that must be the same are 2*k and 3}}
        p = cls.callee(xn, w)
        return p


# -----


# Not even an empty tensor is five rows short.
@I.ir_module(ssa=True)
class Negative:
    @R.function
    def main(
        x: R.Tensor(("n + 5",), "float32"), y: R.Tensor(("k",), "float32"), z: R.Tensor((3,), "float32")
    ) -> R.Tuple(R.Tensor((), "float32"), R.Tensor((), "float32")):
        # expected-note-re @+1 {{n + 5 = k is needed by relax.matmul "a" at {{.*}}}}
        a = R.matmul(x, y)
        # expected-error @+1 {{'relax.matmul' op can never run: sizes that must be the same are n + 5 and 3}}
        b = R.matmul(y, z)
        return a, b


# -----


# A group's size does not divide the inferred n: inference refuses it then.
@I.ir_module(ssa=True)
class Refused:
    @R.function
    def main(
        x: R.Tensor((1, "n", 8, 8), "float32"), y: R.Tensor((1, 6, 8, 8), "float32"), w: R.Tensor(("n",), "float32")
    ) -> R.Tuple(R.Tensor((2, "n", 8, 8), "float32"), R.Tensor((1, "n", 8, 8), "float32")):
        # expected-note-re @+1 {{6 = n is needed by relax.concat "a" at {{.*}}}}
        a: R.Tensor((2, "n", 8, 8), "float32") = R.concat([x, y], axis=0)
        # expected-error-re @+1 {{'relax.nn.group_norm' op can never run: {{.*}}must divide}}
        b = R.nn.group_norm(x, w, w, num_groups=4, channel_axis=1, axes=[2, 3])
        return a, b
