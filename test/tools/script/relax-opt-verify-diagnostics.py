# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Scripts in parts, with the expected diagnostics in comments.
# RUN: relax-opt %s --split-input-file --verify-diagnostics | FileCheck %s
# RUN: relax-opt - --split-input-file --verify-diagnostics < %s | FileCheck %s
# RUN: not relax-opt %s --split-input-file 2>&1 | FileCheck %s --check-prefix=ERRORS
# RUN: sed 's/R.nn.sofmax/R.nn.softmax/' %s > %t.py
# RUN: not relax-opt %t.py --split-input-file --verify-diagnostics 2>&1 | FileCheck %s --check-prefix=MISSING
# RUN: sed 's/expected-err''or/expected-eror/' %s > %t.py
# RUN: not relax-opt %t.py --split-input-file --verify-diagnostics 2>&1 | FileCheck %s --check-prefix=MISSPELT
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R

# CHECK: func.func @good(
# CHECK: func.func @last(
# ERRORS: relax-opt-verify-diagnostics.py:31:12: error: R has no 'nn.sofmax'; did you mean 'nn.softmax'?
# MISSING: error: expected error "R has no 'nn.sofmax'" was not produced
# MISSPELT: error: no diagnostic is called 'eror'; did you mean 'error'?


@R.function
def good(x: R.Tensor((4,), "float32")):
    return R.exp(x)


# -----


@R.function
def misspelt(x: R.Tensor((4,), "float32")):
    # expected-error @below {{R has no 'nn.sofmax'}}
    return R.nn.sofmax(x)


# -----


@I.ir_module(ssa=True)
class Module:
    @R.function
    def two(x: R.Tensor((4,), "float32"), y: R.Tensor((5,), "float32")):
        R.add(x, y)  # expected-error {{does not broadcast}}
        return


# -----


@R.function
def last(x: R.Tensor((4,), "float32")):
    return x
