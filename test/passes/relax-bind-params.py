# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A program writes the weights under the names of its results. The same file is the input of the binding.
# RUN: relax-compile %s -o %t.rxa
# RUN: relax-run %t.rxa --function=weights --output=%t.npz
# RUN: relax-opt %s --relax-bind-params='params=%t.npz' --print-script | FileCheck %s
# RUN: not relax-opt %s --relax-bind-params='params=%t.npz function=other' 2>&1 | FileCheck %s --check-prefix=UNKNOWN
# RUN: not relax-opt %s --relax-bind-params='params=%t.npz function=wrong_type' 2>&1 | FileCheck %s --check-prefix=DTYPE
# RUN: not relax-opt %s --relax-bind-params='params=%t.npz function=wrong_shape' 2>&1 | FileCheck %s --check-prefix=SHAPE
# RUN: not relax-opt %s --relax-bind-params='params=%t.npz function=contradicting' 2>&1 | FileCheck %s --check-prefix=SIZE
# RUN: not relax-opt %s --relax-bind-params='params=%t.npz function=callee' 2>&1 | FileCheck %s --check-prefix=CALLED
# RUN: not relax-opt %s --relax-bind-params='params=%t.none.npz' 2>&1 | FileCheck %s --check-prefix=MISSING
# RUN: not relax-opt %s --relax-bind-params='params=%s' 2>&1 | FileCheck %s --check-prefix=NO-FILE
"""Situations of Apache TVM's test_transform_bind_params.py."""

from relax_mlir.script import ir as I, relax as R, tir as T

# UNKNOWN: pass 'relax-bind-params': @other has no parameter 'weight'; it has: x, wieght, bias; did you mean 'wieght'?
# DTYPE: pass 'relax-bind-params': parameter 'bias' is tensor<2xf16>, the array has element type float32
# SHAPE: pass 'relax-bind-params': parameter 'weight' is tensor<2x3xf32>, the array has shape (3, 2)
# SIZE: pass 'relax-bind-params': parameter 'bias' is tensor<?xf32, #relax.sym<["k"]>>, the array has shape (2,) ('k' is 3 already)
# CALLED: relax-bind-params.py:{{[0-9]+:[0-9]+}}: error: pass 'relax-bind-params': @callee is called here
# MISSING: pass 'relax-bind-params': cannot read '{{.*}}none.npz': No such file or directory
# NO-FILE: pass 'relax-bind-params': cannot read '{{.*}}relax-bind-params.py': the file was not written by numpy.savez


@I.ir_module(ssa=True)
class Module:
    @R.function(attrs={"relax.result_names": ["weight", "bias"]})
    def weights() -> R.Tuple(R.Tensor((3, 2), "float32"), R.Tensor((2,), "float32")):
        return R.const([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], "float32"), R.const([7.0, 8.0], "float32")

    # Sizes that follow from weights become numbers everywhere. Other parameters keep their names.
    # CHECK-LABEL: def main(
    # CHECK-SAME: x: R.Tensor(("n", 3), "float32")) -> R.Tensor(("n", 2), "float32"):
    # CHECK-NEXT: h: R.Tensor(("n", 2), "float32") = R.matmul(
    # CHECK-NEXT: x, R.const({{\[\[}}1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], "float32"),
    # CHECK-NEXT: )
    # CHECK-NEXT: y: R.Tensor(("n", 2), "float32") = R.add(h, R.const([7.0, 8.0], "float32"))
    # CHECK-NEXT: return y
    @R.function
    def main(
        weight: R.Tensor(("k", "m"), "float32"), x: R.Tensor(("n", "k"), "float32"), bias: R.Tensor(("m",), "float32")
    ) -> R.Tensor(("n", "m"), "float32"):
        h = R.matmul(x, weight)
        y = R.add(h, bias)
        return y

    @R.function
    def other(
        x: R.Tensor((2,), "float32"), wieght: R.Tensor((3, 2), "float32"), bias: R.Tensor((2,), "float32")
    ) -> R.Tensor((2,), "float32"):
        return x

    @R.function
    def wrong_type(weight: R.Tensor((3, 2), "float32"), bias: R.Tensor((2,), "float16")) -> R.Tensor((2,), "float16"):
        return bias

    @R.function
    def wrong_shape(weight: R.Tensor((2, 3), "float32"), bias: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return bias

    @R.function
    def contradicting(weight: R.Tensor(("k", 2), "float32"), bias: R.Tensor(("k",), "float32")) -> R.Tensor(
        ("k",), "float32"
    ):
        return bias

    @R.function
    def caller(weight: R.Tensor((3, 2), "float32"), bias: R.Tensor((2,), "float32")) -> R.Tensor((3, 2), "float32"):
        y = cls.callee(weight, bias)
        return y

    @R.function(private=True)
    def callee(weight: R.Tensor((3, 2), "float32"), bias: R.Tensor((2,), "float32")) -> R.Tensor((3, 2), "float32"):
        return R.add(weight, bias)
