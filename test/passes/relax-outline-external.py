# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A codegen's function becomes a module of its own, with its callees.
# RUN: relax-opt %s --relax-outline-external --print-script | FileCheck %s
# RUN: relax-opt %s --relax-outline-external --print-script | FileCheck %s --check-prefix=GONE
# RUN: relax-opt %s --relax-outline-external=codegen=dsp --print-script | FileCheck %s --check-prefix=CHOSEN
from relax_mlir.script import ir as I, relax as R


@I.ir_module(ssa=True)
class Module:
    @R.function(private=True, attrs={"relax.composite": "npu.exp"})
    def exp(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        y = R.exp(x)
        return y

    # CHECK: @I.ir_module(attrs={"relax.codegen": "npu"})
    # CHECK-NEXT: class part:
    # CHECK-NEXT: private=True, attrs={"relax.composite": "npu.exp"})
    # CHECK-NEXT: def exp(
    # CHECK: @R.function
    # CHECK-NEXT: def part(
    # CHECK: cls.exp(
    # CHOSEN: def part(
    # CHOSEN: class whole_dsp:
    @R.function(private=True, attrs={"relax.codegen": "npu"})
    def part(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        y = cls.exp(x)
        return y

    # A public function stays for its callers.
    # CHECK: class whole_dsp:
    # CHECK-NEXT: @R.function
    # CHECK-NEXT: def whole(x: R.Tensor(("n",), "float32"))
    # CHECK: R.abs(x)
    # CHECK: def whole(
    # CHECK-NEXT: R.call_external(
    # CHECK-NEXT: args=(x,), attrs={"func": I.attr("@whole_dsp::@whole")}
    @R.function(attrs={"relax.codegen": "dsp"})
    def whole(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        y = R.abs(x)
        return y

    # GONE-NOT: {{^    }}def exp
    # GONE-NOT: {{^    }}def part
    # GONE: {{^    }}def main
    # CHECK: def main(
    # CHECK: args=(x,), attrs={"func": I.attr("@part::@part")}, out_sinfo=R.Tensor(("n",), "float32")
    # CHECK: I.attr("@whole_dsp::@whole")
    @R.function
    def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        a = cls.part(x)
        b = cls.whole(a)
        return b
