# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Operations of undefined dialects, or that a file does.
# RUN: not relax-opt %s 2>&1 | FileCheck %s --check-prefix=UNKNOWN
# RUN: relax-opt %s --allow-unregistered-dialect | FileCheck %s
# RUN: not relax-opt %s --irdl-file=%S/../Inputs/cmath.irdl 2>&1 | FileCheck %s --check-prefix=CHECKED
# RUN: sed s/float64/float32/ %s > %t.py
# RUN: relax-opt %t.py --irdl-file=%S/../Inputs/cmath.irdl | FileCheck %s
# RUN: relax-opt %t.py --irdl-file=%S/../Inputs/cmath.irdl --irdl-names --print-script | FileCheck %s --check-prefix=OUT
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T


@I.ir_module(ssa=True)
class Module:
    # CHECK: func.func @main(%arg0: f{{.*}}) -> f32
    # CHECK-NEXT: "cmath.norm"(%arg0)
    # UNKNOWN: relax-opt-dialects.py:{{[0-9]+}}:{{[0-9]+}}: error: {{.*}}cmath
    # CHECKED: relax-opt-dialects.py:{{[0-9]+}}:{{[0-9]+}}: error: {{.*}}expected 'f32' but got 'f64'
    # OUT: cmath.norm
    @R.function
    def main(x: T.float64) -> T.float32:
        y = I.op("cmath.norm", x, T.float32)
        return y
