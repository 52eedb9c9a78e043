# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --relax-unbind-params='params=%t.npz' --print-script | FileCheck %s
# Binding the written file restores the function.
# RUN: relax-opt %s --relax-unbind-params='params=%t.npz' --relax-bind-params='params=%t.npz' --print-script | FileCheck %s --check-prefix=AGAIN
# RUN: relax-opt %s --relax-unbind-params='params=%t.npz function=twice' --print-script | FileCheck %s --check-prefix=TWICE
# RUN: relax-opt %s --relax-unbind-params='params=%t.npz weights=s*,wide' --print-script | FileCheck %s --check-prefix=NAMED
# RUN: not relax-opt %s --relax-unbind-params='params=%t.npz weights=bais' 2>&1 | FileCheck %s --check-prefix=UNKNOWN
# RUN: not relax-opt %s --relax-unbind-params='params=%t.npz function=layer' 2>&1 | FileCheck %s --check-prefix=CALLED
# RUN: not relax-opt %s --relax-unbind-params='params=%t.npz function=plain' 2>&1 | FileCheck %s --check-prefix=NONE
# RUN: not relax-opt %s --relax-unbind-params='params=%t.none/w.npz' 2>&1 | FileCheck %s --check-prefix=UNWRITABLE
# RUN: not relax-opt %s --relax-unbind-params 2>&1 | FileCheck %s --check-prefix=NO-FILE
from relax_mlir.script import ir as I, relax as R

# UNKNOWN: pass 'relax-unbind-params': no constant of @main is called 'bais'; it has: wide, bias_1, scale, narrow; did you mean 'bias_1'?
# CALLED: relax-unbind-params.py:{{[0-9]+:[0-9]+}}: error: pass 'relax-unbind-params': @layer is called here
# NONE: pass 'relax-unbind-params': @plain has no constants of f16, f32, f64 that could be weights
# UNWRITABLE: cannot write output file '{{.*}}none/w.npz': No such file or directory
# NO-FILE: pass 'relax-unbind-params': params must name the file that the weights are written to


@I.ir_module(ssa=True)
class Module:
    # Numbers, single elements, integers and booleans stay. Parameters get names that do not exist yet.
    # CHECK-LABEL: @R.function(attrs={"num_input": 2})
    # CHECK-NEXT: def main(
    # CHECK-NEXT: x: R.Tensor(("n", 2), "float32"),
    # CHECK-NEXT: bias: R.Tensor((2,), "float32"),
    # CHECK-NEXT: wide: R.Tensor((2,), "float64"),
    # CHECK-NEXT: bias_1: R.Tensor((2,), "float32"),
    # CHECK-NEXT: ) -> R.Tensor(("n", 2), "float32"):
    # CHECK-NEXT: {{.*}} R.astype(wide, dtype="float32")
    # CHECK: R.add({{.*}}, bias_1)
    # CHECK: R.const(2.0, "float32")
    # CHECK: R.const([0.5], "float32")
    # CHECK: R.const([1, 0], "int64")
    # AGAIN-LABEL: def main(
    # AGAIN-NEXT: x: R.Tensor(("n", 2), "float32"),
    # AGAIN-NEXT: bias: R.Tensor((2,), "float32"),
    # AGAIN-NEXT: ) ->
    # AGAIN: R.const([3.0, 4.0], "float64")
    # AGAIN: R.const([1.0, 2.0], "float32")
    # Names may be of any size.
    # NAMED-LABEL: def main(
    # NAMED-NEXT: x: R.Tensor(("n", 2), "float32"),
    # NAMED-NEXT: bias: R.Tensor((2,), "float32"),
    # NAMED-NEXT: wide: R.Tensor((2,), "float64"),
    # NAMED-NEXT: scale: R.Tensor((), "float32"),
    # NAMED-NEXT: ) ->
    @R.function
    def main(x: R.Tensor(("n", 2), "float32"), bias: R.Tensor((2,), "float32")) -> R.Tensor(("n", 2), "float32"):
        wide = R.const([3.0, 4.0], "float64")
        bias_1 = R.const([1.0, 2.0], "float32")
        scale = R.const(2.0, "float32")
        narrow = R.const([0.5], "float32")
        order = R.const([1, 0], "int64")
        a = R.add(x, R.astype(wide, dtype="float32"))
        b = R.add(a, bias_1)
        c = R.multiply(R.add(R.multiply(b, scale), narrow), bias)
        return R.take(c, order, axis=1)

    @R.function(private=True)
    def layer(x: R.Tensor(("n", 2), "float32")) -> R.Tensor(("n", 2), "float32"):
        shift = R.const([5.0, 6.0], "float32")
        return R.add(x, shift)

    # Called twice, a weight is one parameter. The callee keeps its own.
    # TWICE-LABEL: def layer(
    # TWICE: R.const([5.0, 6.0], "float32")
    # TWICE-LABEL: def twice(
    # TWICE-NEXT: x: R.Tensor(("n", 2), "float32"),
    # TWICE-NEXT: shift: R.Tensor((2,), "float32"),
    # TWICE-NEXT: ) ->
    # TWICE: [[ONE:[a-z_0-9]+]]: R.Tensor(("n", 2), "float32") = R.add(x, shift)
    # TWICE-NEXT: {{.*}} = R.add([[ONE]], shift)
    @R.function
    def twice(x: R.Tensor(("n", 2), "float32")) -> R.Tensor(("n", 2), "float32"):
        return cls.layer(cls.layer(x))

    @R.function
    def plain(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return R.add(x, R.const(1.0, "float32"))
