# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --relax-dead-code-elimination --print-script | FileCheck %s
# RUN: relax-opt %s --relax-dead-code-elimination='entry-functions=unreached,narrow' --print-script | FileCheck %s --check-prefix=ENTRY
# RUN: not relax-opt %s --relax-dead-code-elimination='entry-functions=unreched' 2>&1 | FileCheck %s --check-prefix=UNKNOWN
"""Situations of Apache TVM's test_transform_dead_code_elimination.py, test_transform_remove_unused_parameters.py,
test_transform_remove_unused_outputs.py."""

from relax_mlir.script import ir as I, relax as R, tir as T

# UNKNOWN: pass 'relax-dead-code-elimination': there is no function @unreched; did you mean 'unreached'?


@I.ir_module(ssa=True)
class Module:
    # Unused operations are removed with their operands, including calls of functions without an effect. Operations with
    # an effect stay.
    # CHECK-LABEL: def unused(
    # CHECK: R.print((x,), format="{}")
    # CHECK-NEXT: cls.loud(x)
    # CHECK-NEXT: y: R.Tensor((4,), "float32") = R.exp(x)
    # CHECK-NEXT: return y
    @R.function
    def unused(x: R.Tensor((4,), "float32"), c: T.bool) -> R.Tensor((4,), "float32"):
        a = R.sin(x)
        b = R.add(a, a)
        R.print((x,), format="{}")
        quiet = cls.quiet(b)
        tir = R.call_tir(cls.only_for_unused, (b,), out_sinfo=R.Tensor((4,), "float32"))
        loud = cls.loud(x)
        if c:
            r = R.exp(b)
        else:
            r = R.negative(b)
        y = R.exp(x)
        return y

    # ENTRY-LABEL: def loud(
    # CHECK-LABEL: def loud(
    @R.function(private=True)
    def loud(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        R.print((x,), format="{}")
        return x

    # CHECK-NOT: def quiet(
    @R.function(private=True)
    def quiet(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        return R.exp(x)

    # CHECK-NOT: def only_for_unused(
    @T.prim_func(private=True)
    def only_for_unused(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        for i in range(4):
            y[i] = x[i]
        return

    # Functions that only call each other are unreachable.
    # CHECK-NOT: def unreached(
    # ENTRY: def unreached(
    @R.function(private=True)
    def unreached(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        y = cls.back(x)
        return y

    # CHECK-NOT: def back(
    # ENTRY: def back(
    @R.function(private=True)
    def back(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        y = cls.unreached(x)
        return y

    # Results that no caller uses are not made, parameters that are not read are not passed; then their makers go.
    # CHECK-LABEL: def calls(
    # CHECK-NEXT: narrow_0 = cls.narrow(x)
    # CHECK-NEXT: narrow_1 = cls.narrow(narrow_0)
    # CHECK-NEXT: return narrow_1
    # ENTRY-LABEL: def calls(
    # ENTRY: R.cos(
    @R.function
    def calls(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        lost = R.cos(x)
        first, second = cls.narrow(x, lost)
        third, fourth = cls.narrow(first, second)
        return third

    # CHECK-LABEL: def narrow(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
    # CHECK-NEXT: exp_0: R.Tensor((4,), "float32") = R.exp(x)
    # CHECK-NEXT: return exp_0
    @R.function(private=True)
    def narrow(x: R.Tensor((4,), "float32"), unread: R.Tensor((4,), "float32")) -> R.Tuple(
        R.Tensor((4,), "float32"), R.Tensor((4,), "float32")
    ):
        return R.exp(x), R.tan(x)

    # A parameter that is not read may define a size.
    # CHECK-LABEL: def sizes(
    # CHECK: made = cls.sized(x)
    # CHECK-NEXT: return made
    @R.function
    def sizes(x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32")) -> R.Tensor(("n",), "float32"):
        made = cls.sized(x, y)
        return made

    # CHECK-LABEL: def sized(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
    @R.function(private=True)
    def sized(x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32")) -> R.Tensor(("n",), "float32"):
        return R.zeros(R.shape(["n"]), "float32")

    # So may a shape or a number. If another parameter also defines the size, they are neither passed nor computed.
    # CHECK-LABEL: def shapes(
    # CHECK: made = cls.shaped(x)
    # CHECK-NEXT: return made
    # CHECK-LABEL: def shaped(x: R.Tensor(("n", "m"), "float32")) -> R.Tensor(("n", "m"), "float32"):
    @R.function
    def shapes(x: R.Tensor(("n", "m"), "float32")) -> R.Tensor(("n", "m"), "float32"):
        s = R.shape(["n", "m"])
        made = cls.shaped(x, s)
        return made

    @R.function(private=True)
    def shaped(x: R.Tensor(("n", "m"), "float32"), s: R.Shape(("n", "m"))) -> R.Tensor(("n", "m"), "float32"):
        return R.add(x, R.zeros(R.shape(["n", "m"]), "float32"))

    # PrimFuncs on tensors lose unused outputs with their computation, and unused inputs. PrimFuncs on buffers write all
    # outputs.
    # CHECK-LABEL: def prim(
    # CHECK-NEXT: {{.*}} = R.call_tir(cls.apart, (x,), out_sinfo=R.Tensor((4,), "float32"))
    # CHECK-NEXT: on_buffers_0, on_buffers_1 = R.call_tir(
    # CHECK-NEXT: cls.on_buffers, (x,),
    # CHECK: return apart_0, on_buffers_0
    # CHECK-LABEL: def apart(
    # CHECK-SAME: A: T.Tensor((4,), "float32"), B: T.Tensor((4,), "float32")) -> T.Tensor((4,), "float32"):
    # CHECK-NEXT: for i in T.grid(4): B[i] = T.exp(A[i])
    # CHECK-NEXT: return B
    # CHECK-LABEL: def on_buffers(
    # CHECK-SAME: x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32"), z: T.Buffer((4,), "float32")):
    @R.function
    def prim(x: R.Tensor((4,), "float32")) -> R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32")):
        first, second = R.call_tir(
            cls.apart,
            (x, x),
            out_sinfo=[R.Tensor((4,), "float32"), R.Tensor((4,), "float32")],
        )
        turned, other = R.call_tir(
            cls.on_buffers,
            (x, x),
            out_sinfo=[R.Tensor((4,), "float32"), R.Tensor((4,), "float32")],
        )
        return first, turned

    @T.prim_func(private=True)
    def apart(
        A: T.Tensor((4,), "float32"),
        unread: T.Tensor((4,), "float32"),
        B: T.Tensor((4,), "float32"),
        C: T.Tensor((4,), "float32"),
    ) -> R.Tuple(T.Tensor((4,), "float32"), T.Tensor((4,), "float32")):
        for i in T.grid(4):
            B[i] = T.exp(A[i])
        for i in T.grid(4):
            C[i] = T.log(A[i])
        return B, C

    @T.prim_func(private=True)
    def on_buffers(
        x: T.Buffer((4,), "float32"),
        unread: T.Buffer((4,), "float32"),
        y: T.Buffer((4,), "float32"),
        z: T.Buffer((4,), "float32"),
    ):
        for i in range(4):
            y[i] = x[i]
            z[i] = x[i]
        return
