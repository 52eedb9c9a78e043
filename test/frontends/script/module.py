# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s | FileCheck %s
# RUN: relax-opt %s --relax-legalize-ops --relax-annotate-op-pattern --relax-fuse-ops=epilogues=true --tir-fuse | FileCheck %s --check-prefix=FUSED
# A module as people write it: tensor programs, constants of the file, a graph that calls both.
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T

HIDDEN = 32


@I.ir_module
class Module:
    # A block that visits each point once is linalg on tensors.
    # CHECK: func.func private @relu(%arg0: tensor<?x32xf32>, %arg1: tensor<?x32xf32>) -> tensor<?x32xf32>
    # CHECK: linalg.generic {{.*}}["parallel", "parallel"]{{.*}} ins(%arg0
    # CHECK: arith.maximumf
    @T.prim_func
    def relu(x: T.handle, y: T.handle):
        n = T.int64()
        X = T.match_buffer(x, (n, HIDDEN), "float32")
        Y = T.match_buffer(y, (n, HIDDEN), "float32")
        for i, j in T.grid(n, HIDDEN):
            with T.block("relu"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = T.max(X[vi, vj], T.float32(0))

    # A function that reads its own results becomes loops over memory.
    # CHECK: func.func private @scan(%arg0: memref<8xf32>, %arg1: memref<8xf32>)
    # CHECK: scf.for
    # CHECK: memref.store
    @T.prim_func
    def scan(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
        for i in T.serial(8):
            with T.block("scan"):
                v = T.axis.opaque(8, i)
                Y[v] = T.if_then_else(v == 0, X[v], Y[v - 1] + X[v])

    # CHECK: func.func @main(%arg0: tensor<?x784xf32, #relax.sym<["n", 784]>> {relax.name = "x"}
    # CHECK: "relax.matmul"(%arg0, %arg1)
    # CHECK: "relax.call_tir"({{.*}}) {func = @relu}
    # FUSED: "relax.call_tir"(%arg0, %arg1) {func = @[[FUSED:.*]]}
    # FUSED-NOT: relax.call_tir
    # FUSED: func.func private @[[FUSED]]
    # FUSED: arith.maximumf
    @R.function
    def main(x: R.Tensor(("n", 784), "float32"), w: R.Tensor((784, HIDDEN), "float32")):
        n = T.int64()
        cls = Module
        with R.dataflow():
            h = R.matmul(x, w)
            y = R.call_tir(cls.relu, (h,), out_sinfo=R.Tensor((n, HIDDEN), "float32"))
            R.output(y)
        return y
