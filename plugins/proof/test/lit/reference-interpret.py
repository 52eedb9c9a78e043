# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --reference-interpret | FileCheck %s
"""Public functions become calls of the interpreter, others are removed: the program has all of them as bytecode."""

from relax_mlir.script import ir as I, relax as R, tir as T


@I.ir_module
class Module:
    # CHECK: relax.external_mods = [{codegen = "reference", data = dense_resource<reference>
    # CHECK-SAME: functions = ["main", "sizes"], inputs = [], name = "reference"
    # CHECK-NOT: @helper
    @R.function(private=True)
    def helper(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        return R.exp(x)

    # CHECK-LABEL: func.func @main(
    # CHECK-NEXT: %[[ALL:.*]] = "relax.call_pure_packed"(%arg0) {{.*}}func = "reference.main"{{.*}} -> !relax.object
    # CHECK-NEXT: %[[ZERO:.*]] = arith.constant 0
    # CHECK-NEXT: %[[FIRST:.*]] = "relax.call_pure_packed"(%[[ALL]], %[[ZERO]]) {{.*}}func = "ffi.ArrayGetItem"
    # CHECK-NEXT: %[[ONE:.*]] = arith.constant 1
    # CHECK-NEXT: %[[SECOND:.*]] = "relax.call_pure_packed"(%[[ALL]], %[[ONE]]) {{.*}}func = "ffi.ArrayGetItem"
    # CHECK-NEXT: return %[[FIRST]], %[[SECOND]]
    @R.function
    def main(x: R.Tensor(("n",), "float32")) -> R.Tuple(R.Tensor(("n",), "float32"), R.Tensor(("n",), "float32")):
        y = Module.helper(x)
        z = R.add(y, y)
        return y, z

    # A shape is an object.
    # CHECK-LABEL: func.func @sizes({{.*}} -> !relax.object
    @R.function
    def sizes(x: R.Tensor(("n",), "float32")) -> R.Shape(("n",)):
        s = R.shape_of(x)
        return s
