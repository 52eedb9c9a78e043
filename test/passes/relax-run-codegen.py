# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A codegen compiles its modules, and calls of them become calls of functions in the program.
# RUN: env PYTHONPATH=%S/Inputs relax-opt %s --load-plugin=npu_codegen --relax-run-codegen --print-script | FileCheck %s
# RUN: env PYTHONPATH=%S/Inputs relax-opt %s --load-plugin=npu_codegen --relax-run-codegen | FileCheck %s --check-prefix=MADE
# A declined part is inlined at its call, or is an error.
# RUN: env PYTHONPATH=%S/Inputs relax-opt %s --load-plugin=npu_codegen --relax-run-codegen='codegen="npu{refuse=npu_f}"' --print-script | FileCheck %s --check-prefix=DECLINED
# RUN: not env PYTHONPATH=%S/Inputs relax-opt %s --load-plugin=npu_codegen --relax-run-codegen='codegen="npu{refuse=npu_f}" declined=error' 2>&1 | FileCheck %s --check-prefix=ERROR
# ERROR: error: codegen 'npu' declined @p{{.*}}: was asked to refuse
# RUN: not env PYTHONPATH=%S/Inputs relax-opt %s --load-plugin=npu_codegen --relax-run-codegen='codegen="npu{refusal=x}"' 2>&1 | FileCheck %s --check-prefix=OPTION
# OPTION: error: codegen 'npu' has no option 'refusal'; did you mean 'refuse'? (it has refuse, needs)
# RUN: not relax-opt %s --relax-run-codegen 2>&1 | FileCheck %s --check-prefix=UNKNOWN
# UNKNOWN: error: unknown codegen 'npu'
"""Situations of Apache TVM's test_transform_codegen_pass.py."""

from relax_mlir.script import ir as I, relax as R


@I.ir_module(ssa=True)
class Module:
    # CHECK-NOT: class p
    # MADE: relax.external_mods = [{codegen = "npu", data = dense_resource<p> : tensor<
    # MADE-SAME: functions = ["npu_f"], inputs = [1], name = "p",
    # MADE-SAME: version = "1"}]
    @I.ir_module(attrs={"relax.codegen": "npu"})
    class p:
        @R.function(private=True, attrs={"relax.composite": "npu.exp"})
        def exp(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
            y = R.exp(x)
            return y

        @R.function
        def npu_f(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
            y = cls.exp(x)
            return y

    # Nothing calls it.
    # MADE-NOT: name = "idle"
    # DECLINED-NOT: class idle
    @I.ir_module(attrs={"relax.codegen": "npu"})
    class idle:
        @R.function
        def npu_g(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
            y = R.exp(x)
            return y

    # CHECK: R.call_dps_packed(func="p.npu_f", args=(x,), out_sinfo=R.Tensor(("k",), "float32"))
    # DECLINED: def main(
    # DECLINED: R.exp(
    # DECLINED: R.exp(
    # DECLINED-NOT: call
    @R.function
    def main(x: R.Tensor(("k",), "float32")) -> R.Tensor(("k",), "float32"):
        a = R.call_external(args=(x,), attrs={"func": I.attr("@p::@npu_f")}, out_sinfo=R.Tensor(("k",), "float32"))
        b = R.call_external(args=(a,), attrs={"func": I.attr("@p::@npu_f")}, out_sinfo=R.Tensor(("k",), "float32"))
        return b
